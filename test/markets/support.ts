// Requests for a provider's markets, and the world for test files that use a lab's chain.
import { afterEach, beforeAll } from "vitest";
import type { ChainGateway } from "../../src/chain/gateway.ts";
import { hashDid } from "../../src/chain/hashes.ts";
import type { ChainMessage, Deps } from "../../src/context.ts";
import { MINUTE_MS } from "../../src/core/limits.ts";
import type { ActivityAction } from "../../src/core/vocabulary.ts";
import { provisionMarkets } from "../../src/markets/provision.ts";
import { account, networksWith, plannedClone, vaultImplementationOf } from "../support/chain.ts";
import { restoreLab } from "../support/lab.ts";
import { withDeps } from "../support/variants.ts";
import { createWorld, expectStatus, type Json, type Reply, type World } from "../support/world.ts";

export const marketsPath = (did: string): string => `/v1/agents/${did}/scope/authorized_markets`;
export const market = (overrides = {}) => ({
  market: "DE-USDC",
  network: "base-sepolia",
  operational_wallet: account(8),
  ...overrides,
});
export const openMarkets = (by: World, did: string, markets: readonly unknown[]): Promise<Reply> =>
  by.call("POST", marketsPath(did), { body: { markets } });

/** Creates a world that knows the lab for the tests of a file, and passes it to `set`. Each test starts with a fresh lab. */
export function useLab(network: string, set: (world: World) => void) {
  let world: World;
  beforeAll(async () => {
    world = await createWorld({ NETWORKS: networksWith(network) });
    set(world);
  });
  afterEach(() => restoreLab(network));
  afterEach(() => void world.sent.splice(0));
  const job = (did: string) => ({ did, environment: "sandbox" as const, network });
  return {
    job,
    open: (did: string, by = world) => openMarkets(by, did, [market({ network })]),
    marketOf: async (did: string, by = world): Promise<Json> => (await by.call("GET", marketsPath(did))).body.data[0],
    work: (did: string) => provisionMarkets(world.deps, job(did), later()),
    /** Limits the minute's jobs to this network: otherwise they would also work on the chains of other files. */
    alone: (): Deps => {
      const networks = world.deps.config.networks.filter((known) => known.network === network);
      return { ...world.deps, config: { ...world.deps.config, networks } };
    },
  };
}

/** The activity entries of an action about an agent, in the order in which they were written. */
export const entriesAbout = async (by: World, did: string, action: ActivityAction): Promise<Json[]> =>
  expectStatus(
    await by.call("GET", `/v1/platform/activity?subject_id=${did}&action=${action}&limit=50`),
    200,
  ).data.toReversed();

/** An instant that no test reaches. */
export const later = (): number => Date.now() + MINUTE_MS;

/** A world that checks once for a transaction's block instead of waiting for it. `meanwhile` runs before each check. */
export function impatient(world: World, meanwhile: () => Promise<unknown> = async () => undefined): World {
  const { chain } = world.deps;
  const waitForReceipt: ChainGateway["waitForReceipt"] = async (network, txHash) => {
    await meanwhile();
    return chain.waitForReceipt(network, txHash, 0);
  };
  return withDeps(world, { ...world.deps, chain: { ...chain, waitForReceipt } });
}

/** Takes all messages from the world's queues, and returns those that name the agent. */
export const takeMessages = (world: World, did: string): ChainMessage[] =>
  world.sent
    .splice(0)
    .map(({ body }) => body as ChainMessage)
    .filter((body) => "did" in body && body.did === did);

/**
 * A wallet that only the chain refuses: it becomes a vault while the next request is written, after the request has checked the wallet.
 */
export async function refusedWallet({ meter }: World, network = "base-sepolia"): Promise<string> {
  const { address, make } = plannedClone(await vaultImplementationOf(network), network);
  meter.beforeBatch(2, make);
  return address;
}

/** The operational wallet that the contract has. */
export async function walletHeldFor(world: World, did: string, network = "base-sepolia"): Promise<string | null> {
  const read = await world.deps.chain.readProvider(network, hashDid(did));
  if (!read.ok) throw new Error("the chain does not answer");
  return read.value.operationalWallet;
}
