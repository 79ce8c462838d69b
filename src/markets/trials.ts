// Bounds what a sandbox costs the service on mainnets (MKT-25): a provider that its key registers there costs the registrar gas, and everybody
// may open a sandbox.
import type { ManagementCall } from "../call.ts";
import { findNetwork } from "../chain/networks.ts";
import type { Config } from "../context.ts";
import { ServiceError } from "../core/errors.ts";
import { DAY_MS, SECOND_MS } from "../core/limits.ts";
import type { Read, Statement } from "../db/batch.ts";
import type { MainnetTrials, MarketRow } from "../db/tables/agents.ts";
import type { MarketInput } from "./agent-schema.ts";
import { findTrials, putTrials } from "./trial-store.ts";

const isMainnet = ({ networks }: Config, name: string): boolean => findNetwork(networks, name)?.kind === "mainnet";

/** Read by a sandbox call that names a mainnet, and by no other. */
export function trialsRead(call: ManagementCall, { markets }: MarketInput): Read<MainnetTrials | null> | null {
  const { db, tenant, deps, environment } = call;
  const counts = environment === "sandbox" && markets.some(({ network }) => isMainnet(deps.config, network));
  return counts ? findTrials(db, tenant) : null;
}

type Known = {
  /** The markets that the call asks the chain for. */
  readonly wanted: readonly MarketRow[];
  /** Where the provider has a market or an escrow, in either environment: it is registered there, or was counted. */
  readonly known: readonly { readonly network: string }[];
  readonly trials: MainnetTrials | null;
};

/**
 * Counts the further registrations.
 * @throws ServiceError `rate_limited` when they are too many
 */
export function countTrials(call: ManagementCall, platformId: string, { wanted, known, trials }: Known): Statement[] {
  const { config, clock } = call.deps;
  if (call.environment !== "sandbox") return [];
  const networks = new Set(wanted.map(({ network }) => network).filter((name) => isMainnet(config, name)));
  for (const { network } of known) networks.delete(network);
  const further = networks.size;
  if (further === 0) return [];
  const now = clock.now();
  const { aDay, inAll } = config.sandboxMainnet;
  const asks = (trials?.asks ?? []).filter((at) => at > now - DAY_MS);
  const total = (trials?.total ?? 0) + further;
  // Nothing becomes free of what is counted in all; an operator may raise it.
  if (total > inAll) throw tooMany(`An account registers ${inAll} providers on mainnets from the sandbox.`, DAY_MS);
  const over = asks.length + further - aDay;
  if (over > 0) {
    const free = asks[over - 1] ?? now;
    throw tooMany(`An account registers ${aDay} providers a day on mainnets from the sandbox.`, free + DAY_MS - now);
  }
  const after = { platformId, asks: [...asks, ...Array.from({ length: further }, () => now)], total };
  return putTrials(call.db, trials, after);
}

const tooMany = (message: string, waitMs: number): ServiceError =>
  new ServiceError("rate_limited", { message, headers: { "Retry-After": String(Math.ceil(waitMs / SECOND_MS)) } });
