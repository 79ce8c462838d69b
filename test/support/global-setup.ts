// Runs once in Node before the workerd tests: real chains with the contracts on them, and the secrets of a service.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Hex } from "viem";
import type { TestProject } from "vitest/node";
import { devAccounts } from "../../scripts/chain/anvil.ts";
import { clientFor } from "../../scripts/chain/client.ts";
import { deploy, deployContracts } from "../../scripts/chain/deploy.ts";
import { DELAYS, type Keys } from "../../scripts/chain/roles.ts";
import {
  addressesOf,
  drawSecrets,
  type EphemeralChain,
  roleAccounts,
  startEphemeralChain,
} from "../../scripts/ephemeral.ts";
import { randomText } from "../../scripts/secrets.ts";
import { createFrom } from "../chain/test-contracts.ts";
import { startAccessTeams } from "./access-teams.ts";
import { startReceiver } from "./receiver.ts";
import { SLOTS } from "./runtimes.ts";
import { printSchema } from "./schema.ts";
import { startSpoilingNode } from "./spoiling-node.ts";

const DAY_SECONDS = 86_400;
/** The chains of each slot, which the files of one runtime share one after the other. */
const PAIR = [
  { network: "base-sepolia", chainId: 84532, kind: "testnet", confirmations: 1 },
  { network: "base", chainId: 8453, kind: "mainnet", confirmations: 1 },
] as const;
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
const LABS = [
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

const ISSUER = "http://service.test";
const SALT: Hex = `0x${"07".repeat(32)}`;

export default async function setup(project: TestProject) {
  const [labs, pairs, silent, teams, receiver, schema] = await Promise.all([
    Promise.all(LABS.map(startChain)),
    Promise.all(Array.from({ length: SLOTS }, startPair)),
    startSilentNode(),
    startAccessTeams(),
    startReceiver(),
    printSchema(),
  ]);
  const lab = labs.find(({ entry }) => entry.network === "lab");
  if (!lab) throw new Error("no lab");
  // Look-alike contracts: the same code at other addresses.
  const { address: otherToken } = await deploy(lab.anvil.rpcUrl, roleAccounts().admin.privateKey, "TestUSDC", [], SALT);
  const look = await deployAlike(lab);
  project.provide("lab", { otherToken, otherContract: look.contract, otherAuthority: look.authority });
  const operatorKey = randomText(24);
  const secrets = await drawSecrets(operatorKey);
  project.provide(
    "slots",
    pairs.map(({ chains, own, strange, lying }) => ({
      ISSUER,
      NETWORKS: JSON.stringify([...chains, ...labs].map(({ entry }) => entry)),
      OWN_CONTRACT: JSON.stringify(own),
      OTHER_HOLDERS: JSON.stringify(strange),
      LYING_NODE: lying.url,
      ...secrets,
    })),
  );
  // The chains of the labs themselves, behind the nodes that spoil.
  project.provide("honestNodes", Object.fromEntries(labs.map(({ entry, anvil }) => [entry.network, anvil.rpcUrl])));
  project.provide("silentNode", silent.url);
  project.provide("operatorKey", operatorKey);
  project.provide("receiver", receiver.url);
  project.provide("accessTeams", teams.origin);
  project.provide(
    "accounts",
    devAccounts().map(({ address }) => address),
  );
  project.provide("schema", schema);
  return async () => {
    const chains = [...labs, ...pairs.flatMap((pair) => pair.chains)];
    await Promise.all([teams.stop(), ...chains.map(({ anvil }) => anvil.stop())]);
    for (const { node } of labs) node?.stop();
    for (const { lying } of pairs) lying.stop();
    receiver.stop();
    silent.stop();
  };
}

async function startChain(plan: (typeof LABS)[number]) {
  const { anvil, entry } = await startEphemeralChain(plan);
  const node = plan.network.startsWith("lab-") ? await startSpoilingNode(anvil.rpcUrl) : null;
  return { anvil, node, entry: { ...entry, rpc_url: node?.url ?? anvil.rpcUrl } };
}

/**
 * On the first chain of each pair: a contract whose fee one file changes, test/reports/settled-facts.test.ts, one whose roles others hold, for
 * test/networks/read.test.ts, and a node that one file spoils, test/facilitation/lying-node.test.ts.
 */
async function startPair() {
  const chains = await Promise.all(PAIR.map(startEphemeralChain));
  const [first] = chains;
  if (!first) throw new Error("a pair without a chain");
  const own = await deployAlike(first);
  const { address } = roleAccounts().feeRecipient;
  const strange = await deployAlike(first, `0x${"08".repeat(32)}`, { registrar: address, arbiter: address });
  return { chains, own, strange, lying: await startSpoilingNode(first.anvil.rpcUrl) };
}

/** Deploys the contracts once more, at other addresses, with the chain's own token. */
async function deployAlike({ anvil, entry }: EphemeralChain, salt: Hex = SALT, otherKeys: Partial<Keys> = {}) {
  const { feeRecipient, ...holders } = roleAccounts();
  const { settlementContract, authority } = await deployContracts(anvil.rpcUrl, {
    deployerKey: holders.admin.privateKey,
    keys: { ...addressesOf(holders), ...otherKeys },
    feeRecipient: feeRecipient.address,
    token: entry.token as Hex,
    salt,
  });
  return { contract: settlementContract, authority };
}

/** Takes every call and answers none. */
async function startSilentNode(): Promise<{ url: string; stop: () => void }> {
  const server = createServer(() => undefined).listen(0, "127.0.0.1");
  await once(server, "listening");
  const stop = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, stop };
}

declare module "vitest" {
  export interface ProvidedContext {
    slots: Record<string, string>[];
    operatorKey: string;
    accessTeams: string;
    accounts: string[];
    lab: { otherToken: string; otherContract: string; otherAuthority: string };
    silentNode: string;
    receiver: string;
    honestNodes: Record<string, string>;
    schema: string[];
  }
}
