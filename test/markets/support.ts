// Markets that a provider asks for, and the world of the files that ask for them on a lab's chain.
import { afterEach, beforeAll } from "vitest";
import type { Deps } from "../../src/context.ts";
import { account, plannedClone, vaultImplementationOf } from "../support/chain.ts";
import { restoreLab } from "../support/lab.ts";
import { deliver } from "../support/queue.ts";
import { createWorld, env, type Json, type Reply, type World } from "../support/world.ts";

export const marketsPath = (did: string): string => `/v1/agents/${did}/scope/authorized_markets`;
export const market = (overrides = {}) => ({
  market: "DE-USDC",
  network: "base-sepolia",
  operational_wallet: account(8),
  ...overrides,
});
export const openMarkets = (by: World, did: string, markets: readonly unknown[]): Promise<Reply> =>
  by.call("POST", marketsPath(did), { body: { markets } });

/** Creates a world that knows the lab, for the tests of a file, and passes it to `set`. Each test finds the lab as new. */
export function useLab(network: string, set: (world: World) => void) {
  let world: World;
  beforeAll(async () => {
    world = await createWorld({ NETWORKS: env.NETWORKS });
    set(world);
  });
  afterEach(() => restoreLab(network));
  const job = (did: string) => ({ did, environment: "sandbox" as const, network });
  return {
    job,
    open: (did: string, by = world) => openMarkets(by, did, [market({ network })]),
    marketOf: async (did: string, by = world): Promise<Json> => (await by.call("GET", marketsPath(did))).body.data[0],
    work: (did: string) => deliver(world, "chain", [{ kind: "provision_market", ...job(did) }]),
    /** The minute's jobs on this network alone: they also run on the chains that other files use. */
    alone: (): Deps => {
      const networks = world.deps.config.networks.filter((known) => known.network === network);
      return { ...world.deps, config: { ...world.deps.config, networks } };
    },
  };
}

/**
 * A wallet that is refused once the chain is asked for it: while the next request is written, after the wallet was looked at, it becomes a
 * vault.
 */
export async function refusedWallet({ meter }: World, network = "base-sepolia"): Promise<string> {
  const { address, make } = plannedClone(await vaultImplementationOf(network), network);
  meter.beforeBatch(2, make);
  return address;
}
