// Runs a deployment to a public network: plan, simulation, transactions and verification. The chain's state decides each step, so the next run
// continues an interrupted one, and a run after a complete one sends nothing.
import { BaseError, formatEther, type Hex, MethodNotFoundRpcError, MethodNotSupportedRpcError } from "viem";
import { settlementAbi } from "../abi.ts";
import { checkNetworks } from "../check-networks.ts";
import { writeExplorerFiles } from "./explorer.ts";
import { connect, type Node, sendAndWait, waitUntil, waitUntilIdle } from "./node.ts";
import { describePlan, findObjections, type Plan, readPlan, type Step } from "./plan.ts";
import { DeploymentError, type Settings } from "./settings.ts";
import { findDifferences } from "./verify.ts";

/** One node of a load balancer may not know yet what another has reported. */
const SEEN_WITHIN_MS = 60_000;

export async function runDeployment(settings: Settings, print: (line: string) => void): Promise<void> {
  const node = connect(settings);
  const plan = await readPlan(node, settings);
  for (const line of describePlan(plan, settings)) print(line);
  const objections = findObjections(plan, settings);
  if (objections.length > 0) throw new DeploymentError(...objections);
  const missing = plan.steps.filter(({ done }) => !done);
  if (missing.length > 0) await simulate(node, settings, plan, missing, print);
  if (settings.dryRun) return print("Dry run: nothing was sent.");
  const first = plan.steps.every(({ done }) => !done) ? plan.head : settings.fromBlock;
  await takeSteps(node, settings, print);
  const faults = await findDifferences(node, settings, plan, first);
  if (faults.length > 0) throw new DeploymentError("the deployment differs from the settings:", ...faults);
  print(
    "Verified: the code is that of the artifacts; every role is as planned and no other account has one; the deployer holds nothing.",
  );
  if (settings.out !== null) {
    const view = { address: plan.contract, abi: settlementAbi } as const;
    const vault = await node.client.readContract({ ...view, functionName: "vaultImplementation" });
    for (const file of await writeExplorerFiles(settings.out, settings, plan, vault)) print(`Wrote ${file}`);
  }
  const entry = toNetworksEntry(settings, plan);
  const { registrar, arbiter } = settings.keys;
  const open = await checkNetworks([{ ...entry, rpc_url: settings.rpcUrl }], { registrar, arbiter });
  for (const fault of open) print(`Before the service starts: ${fault}`);
  print("The entry of NETWORKS, with your node in it:");
  print(JSON.stringify(entry));
}

async function takeSteps(node: Node, settings: Settings, print: (line: string) => void): Promise<void> {
  while (true) {
    await waitUntilIdle(node);
    const { steps } = await readPlan(node, settings);
    const index = steps.findIndex(({ done }) => !done);
    const next = steps[index];
    if (next === undefined) return;
    const name = `${index + 1} of ${steps.length}`;
    const { status, blockNumber, transactionHash } = await sendAndWait(node, next, (hash) =>
      print(`Sent ${name}: ${hash}`),
    );
    if (status !== "success")
      throw new DeploymentError(`${transactionHash} failed: run this again with --dry-run to see why`);
    print(`Mined ${name} in block ${blockNumber}`);
    const fault = "the node does not show the mined transaction yet: run this again to continue from there";
    await waitUntil(node.pollingInterval, SEEN_WITHIN_MS, fault, async () => {
      const plan = await readPlan(node, settings);
      return plan.steps[index]?.done === true;
    });
  }
}

/** Simulates all missing steps, each on the effects of those before it, and prints their cost. Sends nothing. */
async function simulate(
  { client }: Node,
  { deployer }: Settings,
  { balance }: Plan,
  missing: readonly Step[],
  print: (line: string) => void,
): Promise<void> {
  const calls = missing.map(({ to, data }) => ({ account: deployer, to, data }));
  const fees = await client.estimateFeesPerGas();
  let gas: bigint;
  try {
    const [block] = await client.simulateBlocks({ blocks: [{ calls }] });
    const failed = missing.flatMap(({ title }, i) => (block?.calls[i]?.status === "success" ? [] : [title]));
    if (failed.length > 0) throw new DeploymentError(...failed.map((title) => `the simulation refuses: ${title}`));
    gas = (block?.calls ?? []).reduce((sum, { gasUsed }) => sum + gasUsed, 0n);
  } catch (error) {
    if (!lacksSimulation(error)) throw error;
    const [next] = calls;
    gas = next === undefined ? 0n : await client.estimateGas(next);
    print("The node has no eth_simulateV1: only the next transaction was simulated.");
  }
  const cost = gas * fees.maxFeePerGas;
  print(`Simulated: ${missing.length} to send, ${gas} gas, at most ${formatEther(cost)} ETH at the present fee`);
  if (balance < cost) throw new DeploymentError(`the deployer has ${formatEther(balance)} ETH, less than that`);
}

const lacksSimulation = (error: unknown): boolean =>
  error instanceof BaseError &&
  error.walk((cause) => cause instanceof MethodNotFoundRpcError || cause instanceof MethodNotSupportedRpcError) !==
    null;

const toNetworksEntry = ({ target, token, base }: Settings, { contract, authority, symbol, decimals }: Plan) => ({
  network: target.network,
  chain_id: target.chain_id,
  kind: target.kind,
  rpc_url: "https://<node>" as const,
  settlement_contract: contract as Hex,
  authority,
  token,
  currency: symbol,
  decimals,
  escrow_base: base,
  required_confirmations: target.required_confirmations,
  explorer: target.explorer,
});
