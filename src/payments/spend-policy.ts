// Judges the spend policies of the consumer and every delegator live (PAY-8, PAY-9). Pure. Each check names the narrowest bound among them.
import { floorAmount, formatAmount } from "../core/text.ts";
import { rankTier, type Tier } from "../core/vocabulary.ts";

export const POLICY_CHECKS = [
  "max_transaction_value",
  "spending_limit",
  "minimum_counterparty_cert_tier",
  "minimum_counterparty_ar",
] as const;
export type PolicyCheck = (typeof POLICY_CHECKS)[number];

/** An agent whose policy and window count at this instant: the consumer first, then its delegators. */
export type Spender = {
  readonly did: string;
  readonly maxTransactionValue: string | null;
  readonly spendingLimit: { readonly amount: string; readonly currency: string; readonly window_days: number } | null;
  readonly minimumCounterpartyCertTier: Tier | null;
  readonly minimumCounterpartyAr: number | null;
  readonly spend: SpendSums;
};

/** Base units. `settledBefore`: the running total when the window began. `expired`: the amount that ended intents still hold. */
export type SpendSums = {
  readonly settled: number;
  readonly settledBefore: number;
  readonly open: number;
  readonly expired: number;
};

export type Payment = { readonly units: number; readonly currency: string; readonly decimals: number };
export type Counterparty = { readonly certTier: Tier; readonly rating: number | null };

export type CheckOutcome = {
  readonly check: PolicyCheck;
  readonly passed: boolean;
  readonly limit: string | number;
  readonly attempted: string | number | null;
  readonly remaining?: string;
  /** The limit's currency, if it differs from the payment's and therefore refuses the payment (PAY-9). */
  readonly currency?: string;
  /** The delegator whose bound this is; absent for the consumer's own bound. */
  readonly delegator?: string;
};

/** The amount that counts in the window: settled in it, or held by open intents (PAY-10). */
export const sumWindow = ({ settled, settledBefore, open, expired }: SpendSums): number =>
  settled - settledBefore + open - expired;

/** The checks that at least one spender's policy makes, in the order of PAY-8. */
export function judgePolicy(spenders: readonly Spender[], provider: Counterparty, payment: Payment): CheckOutcome[] {
  const outcomes = [
    judgeCeiling(spenders, payment),
    judgeWindow(spenders, payment),
    judgeTier(spenders, provider),
    judgeRating(spenders, provider),
  ];
  return outcomes.filter((outcome) => outcome !== null);
}

function judgeCeiling(spenders: readonly Spender[], { units, decimals }: Payment): CheckOutcome | null {
  const ceilings = spenders.flatMap(({ did, maxTransactionValue }) =>
    maxTransactionValue === null ? [] : [{ did, bound: floorAmount(maxTransactionValue, decimals) }],
  );
  const narrowest = findLowestBound(ceilings);
  if (!narrowest) return null;
  const format = (value: number) => formatAmount(value, decimals);
  return {
    check: "max_transaction_value",
    passed: units <= narrowest.bound,
    limit: format(narrowest.bound),
    attempted: format(units),
    ...pickDelegator(spenders, narrowest.did),
  };
}

/** A limit in another currency allows no amount, and is shown as it was set, because its token may have other decimals (PAY-9). */
type JudgedWindow = {
  readonly did: string;
  readonly bound: number;
  readonly limit: string;
  readonly currency?: string;
};

function judgeWindow(spenders: readonly Spender[], payment: Payment): CheckOutcome | null {
  const format = (value: number) => formatAmount(value, payment.decimals);
  const windows = spenders.flatMap(({ did, spendingLimit, spend }): JudgedWindow[] => {
    if (spendingLimit === null) return [];
    const foreign = spendingLimit.currency !== payment.currency;
    if (foreign) return [{ did, bound: 0, limit: spendingLimit.amount, currency: spendingLimit.currency }];
    const limit = floorAmount(spendingLimit.amount, payment.decimals);
    return [{ did, bound: Math.max(0, limit - sumWindow(spend)), limit: format(limit) }];
  });
  const narrowest = findLowestBound(windows);
  if (!narrowest) return null;
  const { did, bound, limit, currency } = narrowest;
  return {
    check: "spending_limit",
    passed: payment.units <= bound,
    limit,
    attempted: format(payment.units),
    remaining: format(bound),
    ...(currency !== undefined && { currency }),
    ...pickDelegator(spenders, did),
  };
}

function judgeTier(spenders: readonly Spender[], provider: Counterparty): CheckOutcome | null {
  const floors = spenders.flatMap(({ did, minimumCounterpartyCertTier: tier }) =>
    tier === null ? [] : [{ did, tier, bound: -rankTier(tier) }],
  );
  const narrowest = findLowestBound(floors);
  if (!narrowest) return null;
  return {
    check: "minimum_counterparty_cert_tier",
    passed: rankTier(provider.certTier) >= rankTier(narrowest.tier),
    limit: narrowest.tier,
    attempted: provider.certTier,
    ...pickDelegator(spenders, narrowest.did),
  };
}

function judgeRating(spenders: readonly Spender[], provider: Counterparty): CheckOutcome | null {
  const floors = spenders.flatMap(({ did, minimumCounterpartyAr: floor }) =>
    floor === null ? [] : [{ did, floor, bound: -floor }],
  );
  const narrowest = findLowestBound(floors);
  if (!narrowest) return null;
  return {
    check: "minimum_counterparty_ar",
    // An unrated counterparty does not meet a floor, not even one of zero.
    passed: provider.rating !== null && provider.rating >= narrowest.floor,
    limit: narrowest.floor,
    attempted: provider.rating,
    ...pickDelegator(spenders, narrowest.did),
  };
}

/** The lowest bound; among equal ones, the bound of the agent nearest to the consumer. */
const findLowestBound = <T extends { readonly bound: number }>(bounds: readonly T[]): T | undefined =>
  bounds.reduce<T | undefined>(
    (least, one) => (least === undefined || one.bound < least.bound ? one : least),
    undefined,
  );

const pickDelegator = (spenders: readonly Spender[], did: string): { delegator?: string } =>
  did === spenders[0]?.did ? {} : { delegator: did };
