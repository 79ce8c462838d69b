// Runs once in Node before the workerd tests: two real chains with the contracts on them, and the secrets of a service.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { readD1Migrations } from "@cloudflare/vitest-plugin";
import type { Hex } from "viem";
import type { TestProject } from "vitest/node";
import { devAccounts } from "../../scripts/chain/anvil.ts";
import { clientFor } from "../../scripts/chain/client.ts";
import { deploy, deployContracts } from "../../scripts/chain/deploy.ts";
import { DELAYS } from "../../scripts/chain/roles.ts";
import { addressesOf, drawSecrets, roleAccounts, startEphemeralChain } from "../../scripts/ephemeral.ts";
import { randomText } from "../../scripts/secrets.ts";
import { createFrom } from "../chain/test-contracts.ts";
import { startAccessTeams } from "./access-teams.ts";
import { startReceiver } from "./receiver.ts";
import { startSpoilingNode } from "./spoiling-node.ts";

const DAY_SECONDS = 86_400;
/**
 * The labs each belong to one file, which stops their blocks and spoils their nodes: `lab` to test/facilitation/on-chain.test.ts, which also
 * turns its clock, so that its past begins five days ago, `lab-signer` to test/objects/chain-signer.test.ts, `lab-markets` to
 * test/markets/on-chain.test.ts, `lab-wallets` to test/markets/wallets.test.ts, `lab-replaced` to
 * test/objects/replaced-calls.test.ts, `lab-moved` to test/facilitation/mined-again.test.ts, `lab-waiting` to
 * test/markets/waiting-consequences.test.ts, `lab-delayed`, whose roles have the delays of production, to test/markets/delayed-wallets.test.ts,
 * `lab-follower` to test/follower/reorganised.test.ts, `lab-reversed` to test/follower/reversed.test.ts, `lab-anew` to
 * test/follower/facilitated-anew.test.ts, `lab-closed`, whose clock is ten minutes late, to test/payments/closed-networks.test.ts. `lab-euro`
 * settles in another currency, for test/payments/currencies.test.ts.
 * `lab-money` belongs to test/follower/money-histories.test.ts, `lab-vaults` to test/markets/unanswered-wallets.test.ts, `lab-bound` to
 * test/follower/replaced-payments.test.ts, `lab-doubted` to test/follower/two-nodes.test.ts, `lab-raced` to
 * test/follower/reversal-races.test.ts, and `lab-split`, `lab-award` and `lab-stalled`, which have the delays of production
 * too, to test/follower/wallets.test.ts, test/disputes/delayed-awards.test.ts and test/disputes/stalled-awards.test.ts.
 */
const CHAINS = [
  { network: "base-sepolia", chainId: 84532, kind: "testnet", confirmations: 1 },
  { network: "base", chainId: 8453, kind: "mainnet", confirmations: 1 },
  {
    network: "lab",
    chainId: 31337,
    kind: "testnet",
    confirmations: 3,
    genesis: Math.floor(Date.now() / 1_000) - 5 * DAY_SECONDS,
  },
  { network: "lab-signer", chainId: 31338, kind: "testnet", confirmations: 1 },
  { network: "lab-markets", chainId: 31339, kind: "testnet", confirmations: 1 },
  { network: "lab-wallets", chainId: 31341, kind: "testnet", confirmations: 1 },
  { network: "lab-replaced", chainId: 31342, kind: "testnet", confirmations: 1 },
  { network: "lab-waiting", chainId: 31343, kind: "testnet", confirmations: 1 },
  { network: "lab-delayed", chainId: 31344, kind: "testnet", confirmations: 1, delays: DELAYS },
  { network: "lab-moved", chainId: 31340, kind: "testnet", confirmations: 1 },
  { network: "lab-follower", chainId: 31345, kind: "testnet", confirmations: 3 },
  { network: "lab-reversed", chainId: 31347, kind: "testnet", confirmations: 3 },
  { network: "lab-anew", chainId: 31348, kind: "testnet", confirmations: 3 },
  {
    network: "lab-euro",
    chainId: 31346,
    kind: "testnet",
    confirmations: 1,
    money: {
      currency: "EURC",
      decimals: 8,
      create: (rpcUrl: string, deployer: Hex) => createFrom(clientFor(rpcUrl), deployer, "EurcLike"),
    },
  },
  {
    network: "lab-closed",
    chainId: 31350,
    kind: "testnet",
    confirmations: 3,
    genesis: Math.floor(Date.now() / 1_000) - 600,
  },
  { network: "lab-money", chainId: 31360, kind: "testnet", confirmations: 2, states: 2_000 },
  { network: "lab-bound", chainId: 31361, kind: "testnet", confirmations: 3 },
  { network: "lab-raced", chainId: 31365, kind: "testnet", confirmations: 3 },
  { network: "lab-doubted", chainId: 31364, kind: "testnet", confirmations: 3 },
  { network: "lab-split", chainId: 31362, kind: "testnet", confirmations: 3, delays: DELAYS },
  { network: "lab-award", chainId: 31366, kind: "testnet", confirmations: 1, delays: DELAYS },
  { network: "lab-stalled", chainId: 31367, kind: "testnet", confirmations: 1, delays: DELAYS },
  { network: "lab-vaults", chainId: 31363, kind: "testnet", confirmations: 1 },
] as const;

export const ISSUER = "http://service.test";

export default async function setup(project: TestProject) {
  const running = await Promise.all(CHAINS.map(startChain));
  const lab = running.find(({ entry }) => entry.network === "lab");
  if (!lab) throw new Error("no lab");
  // Look-alike contracts: the same code at other addresses.
  const salt = `0x${"07".repeat(32)}` as const;
  const { feeRecipient, ...holders } = roleAccounts();
  const deployerKey = holders.admin.privateKey;
  const { address: otherToken } = await deploy(lab.anvil.rpcUrl, deployerKey, "TestUSDC", [], salt);
  const other = await deployContracts(lab.anvil.rpcUrl, {
    deployerKey,
    keys: addressesOf(holders),
    feeRecipient: feeRecipient.address,
    token: lab.entry.token as `0x${string}`,
    salt,
  });
  const [otherContract, otherAuthority] = [other.settlementContract, other.authority];
  project.provide("lab", { otherToken, otherContract, otherAuthority });
  const shared = running.find(({ entry }) => entry.network === "base-sepolia");
  if (!shared) throw new Error("no base-sepolia");
  // A contract whose fee one file changes, test/reports/settled-facts.test.ts, and a node that one file spoils,
  // test/facilitation/lying-node.test.ts, both on the chain that all files share.
  const own = await deployContracts(shared.anvil.rpcUrl, {
    deployerKey,
    keys: addressesOf(holders),
    feeRecipient: feeRecipient.address,
    token: shared.entry.token as `0x${string}`,
    salt,
  });
  project.provide("ownContract", { contract: own.settlementContract, authority: own.authority });
  // A contract whose roles others hold, for test/networks/read.test.ts.
  const strange = await deployContracts(shared.anvil.rpcUrl, {
    deployerKey,
    keys: { ...addressesOf(holders), registrar: feeRecipient.address, arbiter: feeRecipient.address },
    feeRecipient: feeRecipient.address,
    token: shared.entry.token as `0x${string}`,
    salt: `0x${"08".repeat(32)}`,
  });
  project.provide("otherHolders", { contract: strange.settlementContract, authority: strange.authority });
  const silent = createServer(() => undefined).listen(0, "127.0.0.1");
  await once(silent, "listening");
  project.provide("silentNode", `http://127.0.0.1:${(silent.address() as AddressInfo).port}`);
  const lying = await startSpoilingNode(shared.anvil.rpcUrl);
  project.provide("lyingNode", lying.url);
  // The chains themselves, behind the nodes that spoil.
  project.provide("honestNodes", Object.fromEntries(running.map(({ entry, anvil }) => [entry.network, anvil.rpcUrl])));
  const operatorKey = randomText(24);
  project.provide("workerBindings", {
    ISSUER,
    NETWORKS: JSON.stringify(running.map(({ entry }) => entry)),
    ...(await drawSecrets(operatorKey)),
  });
  project.provide("operatorKey", operatorKey);
  const teams = await startAccessTeams();
  const receiver = await startReceiver();
  project.provide("receiver", receiver.url);
  project.provide("accessTeams", teams.origin);
  project.provide(
    "accounts",
    devAccounts().map(({ address }) => address),
  );
  project.provide("migrations", await readD1Migrations("./migrations"));
  return async () => {
    await Promise.all([teams.stop(), ...running.map(({ anvil }) => anvil.stop())]);
    for (const { node } of running) node?.stop();
    lying.stop();
    receiver.stop();
    silent.close();
    silent.closeAllConnections();
  };
}

async function startChain(plan: (typeof CHAINS)[number]) {
  const { anvil, entry } = await startEphemeralChain(plan);
  const node = plan.network.startsWith("lab-") ? await startSpoilingNode(anvil.rpcUrl) : null;
  return { anvil, node, entry: { ...entry, rpc_url: node?.url ?? anvil.rpcUrl } };
}

declare module "vitest" {
  export interface ProvidedContext {
    workerBindings: Record<string, string>;
    operatorKey: string;
    accessTeams: string;
    accounts: string[];
    lab: { otherToken: string; otherContract: string; otherAuthority: string };
    ownContract: { contract: string; authority: string };
    otherHolders: { contract: string; authority: string };
    silentNode: string;
    lyingNode: string;
    receiver: string;
    honestNodes: Record<string, string>;
    migrations: { name: string; queries: string[] }[];
  }
}
