// Builds the statements by which a dispute changes its provider's escrow and the counts of both agents (DSP-10, DSP-15), and the mails about it
// (DSP-18). The provider's rows are dated on its own platform's clock (ACC-9).
import { type RatedSource, recordEscrowChange } from "../agents/ratings.ts";
import { countDisputes, type DisputeCounts } from "../agents/store.ts";
import { formatTokenUnits, requireNetwork } from "../chain/networks.ts";
import { requestOperation } from "../chain/store.ts";
import type { Deps } from "../context.ts";
import type { Database, Statement } from "../db/batch.ts";
import { computeClockDifference, type WithProviderOffset } from "../db/clock.ts";
import type { MarketRow } from "../db/tables/agents.ts";
import type { DisputeRow } from "../db/tables/disputes.ts";
import type { EscrowRow } from "../db/tables/money.ts";
import { addClaim, type Claim, findEscrowOn, hasStateChanged } from "../escrow/changes.ts";
import { moveClaim, toMovedStates } from "../escrow/store.ts";
import type { Seller } from "../identity/authority-store.ts";
import type { AgentWithPrincipal } from "../identity/store.ts";
import type { NoticeAccount } from "../journal/alert-store.ts";
import { recordNoticeTo } from "../journal/alerts.ts";

type Parties = Pick<DisputeRow, "environment" | "providerDid" | "consumerDid" | "network">;
/** The provider, with its markets and escrows in the dispute's environment. `apart`: how far its clock is ahead of the clock that rules. */
export type FoundSeller = {
  readonly apart: number;
  readonly provider: AgentWithPrincipal | null;
  readonly markets: readonly MarketRow[];
  readonly escrows: readonly EscrowRow[];
};

/** `clockOffsetMs`: the offset of the clock that rules the dispute. */
export const toFoundSeller = (seller: (Seller & WithProviderOffset) | null, clockOffsetMs: number): FoundSeller =>
  seller
    ? {
        apart: computeClockDifference({ ...seller, clockOffsetMs }),
        provider: seller,
        markets: seller.markets,
        escrows: seller.escrows,
      }
    : { apart: 0, provider: null, markets: [], escrows: [] };

export type Effect = {
  readonly provider: DisputeCounts;
  readonly consumer: DisputeCounts;
  readonly claim: Claim;
};

/** Reverses the counts of an end. `open`: 1 if the dispute is open again. */
export const reverseCounts = ({ for: won = 0, against = 0 }: DisputeCounts, open: number): DisputeCounts => ({
  open,
  for: -won,
  against: -against,
});

/** Agents whose rating the same batch writes: that marks their documents stale already. */
export type Rated = { readonly provider: boolean; readonly consumer: boolean };
const NO_RATED_AGENT: Rated = { provider: false, consumer: false };

/** The event of a provider's rating also reports its escrow. */
export function applyEffect(
  deps: Deps,
  of: Parties,
  found: FoundSeller,
  { rated = NO_RATED_AGENT, ...effect }: Effect & { readonly rated?: Rated },
  now: number,
) {
  const { escrows, ...applied } = applyClaim(deps, of, found, effect.claim, now);
  const counted = countBothAgents(deps, of, effect, applied, rated);
  const told = rated.provider ? [] : applied.told;
  return { escrows, turned: applied.turned, statements: [...applied.statements, ...told, ...counted] };
}

/**
 * `escrows`: the escrows after the claim. `told`: the event and the directory record of an escrow that turned, unless the batch reports it with a
 * rating. `at`: the instant on the provider's clock.
 */
export type Applied = {
  readonly escrow: EscrowRow | null;
  readonly escrows: readonly EscrowRow[];
  readonly turned: boolean;
  readonly at: number;
  readonly statements: Statement[];
  readonly told: Statement[];
};

/** Changes nothing if the provider has no escrow on the network any longer. */
export function applyClaim(deps: Deps, of: Parties, found: FoundSeller, claim: Claim, now: number): Applied {
  const { db } = deps;
  const { provider, escrows } = found;
  const before = findEscrowOn(escrows, of);
  const at = now + found.apart;
  if (!before || (claim.disputed === 0 && claim.owed === 0))
    return { escrow: before, escrows, turned: false, at, statements: [], told: [] };
  const after = addClaim(before, claim);
  const turned = hasStateChanged({ before, after }) && provider?.agent.environment === of.environment;
  const left = escrows.map((row) => (row === before ? after : row));
  return {
    escrow: after,
    escrows: left,
    turned,
    at,
    statements: [...moveClaim(db, before, after, claim), requestReserve(db, of)],
    told: turned && provider ? recordEscrowTurn(deps, { ...provider, markets: found.markets, escrows: left }, at) : [],
  };
}

const recordEscrowTurn = (deps: Deps, { agent, ...source }: Omit<RatedSource, "turned">, now: number): Statement[] =>
  recordEscrowChange(
    deps,
    { ...source, agent: { ...agent, updatedAt: Math.max(agent.updatedAt, now) } },
    true,
    {},
    now,
  );

/** Requests the contract's reserve (CHN-23); the queue sets it. */
export const requestReserve = (
  db: Database,
  { network, providerDid }: Pick<DisputeRow, "network" | "providerDid">,
): Statement => requestOperation(db, { network, kind: "reserve", subject: providerDid }, {}, Date.now());

export const countBothAgents = (
  { db }: Deps,
  { environment, providerDid, consumerDid }: Parties,
  { provider, consumer }: Pick<Effect, "provider" | "consumer">,
  { escrow, turned, at }: Pick<Applied, "escrow" | "turned" | "at">,
  rated: Rated,
): Statement[] => {
  const set = turned && escrow ? { updatedAt: at, ...toMovedStates([escrow]) } : {};
  return [
    countDisputes(db, providerDid, environment, { ...provider, documented: !rated.provider }, set),
    countDisputes(db, consumerDid, environment, { ...consumer, documented: !rated.consumer }),
  ];
};

// ---- Mails -----------------------------------------------------------------------------------------------------------------

/** A mail quotes neither the parties nor the arbiter. */
const pickDisputeData = ({ environment, disputeId, providerDid, consumerDid, currency }: DisputeRow) => ({
  ...{ environment, disputeId, providerDid, consumerDid, currency },
});

const formatDisputeAmount = ({ config }: Deps, { network }: DisputeRow, units: number): string =>
  formatTokenUnits(requireNetwork(config.networks, network), units);

/** Mails the provider's account. */
export const recordFilingNotice = (deps: Deps, account: NoticeAccount | null, dispute: DisputeRow): Statement[] =>
  // Mails are dated in real time, whichever clock rules the dispute.
  recordNoticeTo(deps.db, account, deps.clock.now(), {
    kind: "customer.dispute_filed",
    data: {
      ...pickDisputeData(dispute),
      reason: dispute.reason,
      amount: formatDisputeAmount(deps, dispute, dispute.disputed),
      answersUntil: dispute.answersUntil,
    },
  });

/** Mails both accounts. An account that has both agents gets one mail. */
export function recordDecisionNotices(
  deps: Deps,
  accounts: { readonly sellersAccount: NoticeAccount | null; readonly buyersAccount: NoticeAccount | null },
  dispute: DisputeRow,
): Statement[] {
  const { sellersAccount, buyersAccount } = accounts;
  const { resolution } = dispute;
  if (resolution === null) throw new Error("unreachable: it is decided");
  const data = { ...pickDisputeData(dispute), resolution, refund: formatDisputeAmount(deps, dispute, dispute.refund) };
  const isOne = sellersAccount?.platformId === buyersAccount?.platformId;
  const sides = isOne ? [sellersAccount] : [sellersAccount, buyersAccount];
  return sides.flatMap((account) =>
    recordNoticeTo(deps.db, account, deps.clock.now(), { kind: "customer.dispute_decided", data }),
  );
}
