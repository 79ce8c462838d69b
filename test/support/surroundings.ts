// Starts the surroundings of the workerd tests: chains with the contracts, servers on loopback, and the secrets of a service.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Hex } from "viem";
import type { TestProject } from "vitest/node";
import { devAccounts } from "../../scripts/chain/anvil.ts";
import { deployAgain, drawSecrets, roleAccounts, startEphemeralChain } from "../../scripts/ephemeral.ts";
import { randomText } from "../../scripts/secrets.ts";
import { startAccessTeams } from "./access-teams.ts";
import { LABS, OTHER_SALT, otherContracts, planLab } from "./labs.ts";
import { startReceiver } from "./receiver.ts";
import { printSchema } from "./schema.ts";
import { SLOTS } from "./slots.ts";
import { startSpoilingNode } from "./spoiling-node.ts";

/** The chains of each slot, which the files of one runtime share, one after another. */
const PAIR = [
  { network: "base-sepolia", chainId: 84532, kind: "testnet", confirmations: 1 },
  { network: "base", chainId: 8453, kind: "mainnet", confirmations: 1 },
] as const;

const ISSUER = "http://service.test";

export async function startSurroundings(project: TestProject) {
  const [slots, silent, teams, receiver] = await Promise.all([
    Promise.all(Array.from({ length: SLOTS }, startSlot)),
    startSilentNode(),
    startAccessTeams(),
    startReceiver(),
  ]);
  const operatorKey = randomText(24);
  const secrets = await drawSecrets(operatorKey);
  project.provide(
    "slots",
    slots.map(({ bindings }) => ({ ISSUER, ...bindings, ...secrets })),
  );
  project.provide("lab", otherContracts());
  project.provide("silentNode", silent.url);
  project.provide("operatorKey", operatorKey);
  project.provide("receiver", receiver.url);
  project.provide("accessTeams", teams.origin);
  project.provide(
    "accounts",
    devAccounts().map(({ address }) => address),
  );
  project.provide("schema", printSchema());
  return async () => {
    await Promise.all([teams.stop(), ...slots.map(({ stop }) => stop())]);
    receiver.stop();
    silent.stop();
  };
}

/**
 * Starts the chains of one runtime, and on the first of them: a contract whose fee test/reports/settled-facts.test.ts changes, one whose roles others
 * hold, for test/networks/read.test.ts, and a node that test/facilitation/lying-node.test.ts makes faulty.
 */
async function startSlot() {
  const [pair, labs] = await Promise.all([
    Promise.all(PAIR.map(startEphemeralChain)),
    Promise.all(Object.entries(LABS).map(([network, { of: _file, ...plan }]) => planLab({ network, ...plan }))),
  ]);
  const [first] = pair;
  if (!first) throw new Error("a pair without a chain");
  const { rpcUrl } = first.anvil;
  const token = first.entry.token as Hex;
  const own = await deployAgain(rpcUrl, token, OTHER_SALT);
  const { address } = roleAccounts().feeRecipient;
  const strange = await deployAgain(rpcUrl, token, `0x${"08".repeat(32)}`, { registrar: address, arbiter: address });
  const lying = await startSpoilingNode(async () => rpcUrl);
  return {
    bindings: {
      NETWORKS: JSON.stringify([...pair, ...labs].map(({ entry }) => entry)),
      HONEST_NODES: JSON.stringify(Object.fromEntries(labs.map(({ entry, honestUrl }) => [entry.network, honestUrl]))),
      OWN_CONTRACT: JSON.stringify(own),
      OTHER_HOLDERS: JSON.stringify(strange),
      LYING_NODE: lying.url,
    },
    stop: async () => {
      lying.stop();
      await Promise.all([...pair.map(({ anvil }) => anvil.stop()), ...labs.map(({ stop }) => stop())]);
    },
  };
}

/** A node that accepts every call and answers none. */
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
    schema: string[];
  }
}
