// What a dispute does to its provider's escrow and to the counts of both agents (DSP-10, DSP-15), as statements of the batch that moves it.
import { recordEscrowChange } from "../agents/rate.ts";
import { type Counted, countDisputes } from "../agents/store.ts";
import { wantAgain } from "../chain/store.ts";
import type { Deps } from "../context.ts";
import type { Database, Statement } from "../db/batch.ts";
import type { DisputeRow } from "../db/tables/disputes.ts";
import type { EscrowRow } from "../db/tables/money.ts";
import { type Claim, claimed } from "../escrow/changes.ts";
import { moveClaim, movedStates } from "../escrow/store.ts";
import type { AgentWithPrincipal } from "../identity/store.ts";

type Parties = Pick<DisputeRow, "environment" | "providerDid" | "consumerDid" | "network">;
type Found = { readonly provider: AgentWithPrincipal | null; readonly escrow: EscrowRow | null };

export type Effect = {
  readonly provider: Counted;
  readonly consumer: Counted;
  readonly claim: Claim;
};

/** `escrow`: after the claim, for what follows in the batch; null where the provider has none on the network any more. */
export type Applied = { readonly escrow: EscrowRow | null; readonly turned: boolean; readonly statements: Statement[] };

export function applyClaim(deps: Deps, of: Parties, found: Found, claim: Claim, now: number): Applied {
  const { db } = deps;
  const { provider, escrow: before } = found;
  if (!before || (claim.disputed === 0 && claim.owed === 0)) return { escrow: before, turned: false, statements: [] };
  const after = claimed(before, claim);
  const turned = before.state !== after.state && provider?.agent.environment === of.environment;
  const source = provider && {
    ...provider,
    agent: { ...provider.agent, updatedAt: now },
    markets: [],
    escrows: [after],
  };
  return {
    escrow: after,
    turned,
    statements: [
      ...moveClaim(db, before, after, claim),
      wantReserve(db, of),
      ...(turned && source ? recordEscrowChange(db, deps, source, [{ before, after }], true, now) : []),
    ],
  };
}

/** The contract keeps so much back (CHN-23); the queue brings it there. */
export const wantReserve = (
  db: Database,
  { network, providerDid }: Pick<DisputeRow, "network" | "providerDid">,
): Statement => wantAgain(db, { network, kind: "reserve", subject: providerDid }, {}, Date.now());

/** Who gets a new rating in the same batch: that makes the document stale already. */
export type Rated = { readonly provider: boolean; readonly consumer: boolean };
const NOBODY: Rated = { provider: false, consumer: false };

export const countBoth = (
  { db }: Deps,
  { environment, providerDid, consumerDid }: Parties,
  { provider, consumer }: Pick<Effect, "provider" | "consumer">,
  { escrow, turned }: Pick<Applied, "escrow" | "turned">,
  now: number,
  rated: Rated = NOBODY,
): Statement[] => {
  const set = turned && escrow ? { updatedAt: now, ...movedStates([escrow]) } : {};
  return [
    countDisputes(db, providerDid, environment, { ...provider, documented: !rated.provider }, set),
    countDisputes(db, consumerDid, environment, { ...consumer, documented: !rated.consumer }),
  ];
};

/** Of an act that rates nobody. */
export function applyEffect(deps: Deps, of: Parties, found: Found, effect: Effect, now: number): Statement[] {
  const applied = applyClaim(deps, of, found, effect.claim, now);
  return [...applied.statements, ...countBoth(deps, of, effect, applied, now)];
}
