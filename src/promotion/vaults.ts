// What of an agent's vaults counts in production (AGT-34). The vault of a network is one for both environments; what settlements of the
// sandbox have put into it is test money.
import type { ProviderOnChain } from "../chain/gateway.ts";
import { didHash } from "../chain/hashes.ts";
import type { Deps } from "../context.ts";
import type { MarketRow } from "../db/tables/agents.ts";
import type { EscrowRow } from "../db/tables/money.ts";
import type { EscrowChange } from "../escrow/changes.ts";
import { countedOf, escrowStateAt } from "../escrow/states.ts";

/** `seen`: null where the chain could not be asked. */
type Sighting = { readonly escrow: EscrowRow; readonly seen: ProviderOnChain | null };

/** The escrows of the networks on which the agent has a market. */
export const escrowsInUse = (escrows: readonly EscrowRow[], markets: readonly MarketRow[]): EscrowRow[] =>
  escrows.filter(({ network }) => markets.some((market) => market.network === network && market.status === "ACTIVE"));

/** Asks each vault what it holds now. */
export const lookAtVaults = ({ chain }: Deps, escrows: readonly EscrowRow[]): Promise<Sighting[]> =>
  Promise.all(
    escrows.map(async (escrow) => {
      const read = await chain.readProvider(escrow.network, didHash(escrow.did));
      return { escrow, seen: read.ok ? read.value : null };
    }),
  );

export const allSeen = (sightings: readonly Sighting[]): boolean => sightings.every(({ seen }) => seen !== null);

/**
 * `sandbox`: the agent's escrows there, which end as it leaves; none once it has left. Where the chain was not seen, what was known of the
 * vault stands, less what is found to be test money.
 */
export function fundedBy(sightings: readonly Sighting[], sandbox: readonly EscrowRow[], now: number): EscrowChange[] {
  return sightings.map(({ escrow, seen }) => {
    const left = sandbox.find(({ network }) => network === escrow.network);
    const elsewhere = left?.contributed ?? escrow.elsewhere;
    const held = seen === null ? escrow.balance + escrow.elsewhere : Number(seen.balance);
    const balance = countedOf(held, elsewhere);
    const state = escrowStateAt(escrow.state, balance, escrow.threshold);
    const otherThreshold = left ? 0 : escrow.otherThreshold;
    const updatedAt = seen === null ? escrow.updatedAt : now;
    return { before: escrow, after: { ...escrow, balance, elsewhere, state, otherThreshold, updatedAt } };
  });
}

export const isFunded = (changes: readonly EscrowChange[]): boolean =>
  changes.length > 0 && changes.every(({ after }) => after.state === "ACTIVE");
