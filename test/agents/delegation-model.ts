// A plain model of delegation (AGT-24 to AGT-26, AGT-34) and of its decisions about an intent (PAY-3, PAY-6, PAY-8 to PAY-11): agents know their
// delegator, spendings are a list that is summed each time, and each answer is a few lines. It shares no code with the service.

export const MINUTE = 60_000;
export const DAY = 1_440 * MINUTE;
const INTENT_LIFE = 5 * MINUTE;
const DEPTH = 5;
const SHARE = 3;
const TIERS = ["TIER_1", "TIER_2", "TIER_3"];

/** Formats an amount without an exponent, with at least two decimals. */
function formatPlain(amount: string): string {
  const [whole, fraction = ""] = String(Number(amount)).split(".");
  return `${whole}.${fraction.padEnd(2, "0")}`;
}

export type Environment = "sandbox" | "production";
export type Scope = {
  readonly authorized_actions: readonly string[];
  readonly capabilities: readonly string[];
  readonly max_transaction_value: string | null;
  readonly spending_limit: { readonly amount: string; readonly currency: string; readonly window_days: number } | null;
  readonly minimum_counterparty_cert_tier: string | null;
  readonly minimum_counterparty_ar: number | null;
  readonly intents_from: "anyone" | "self";
};
type Party<Kind> = {
  readonly did: string;
  readonly delegator: Kind | null;
  status: "ACTIVE" | "SUSPENDED" | "REVOKED" | "TERMINATED";
  environment: Environment;
};
export interface Consumer extends Party<Consumer> {
  scope: Scope;
}
export interface Seller extends Party<Seller> {
  readonly tier: string;
  readonly rating: number | null;
}

export type Order = {
  readonly consumer: Consumer;
  readonly seller: Seller;
  readonly by: "consumer" | "seller";
  readonly units: bigint;
};
/** An opened intent, and the amount that it counts in its spenders' windows in its environment. */
export type Spending = Order & {
  readonly spenders: readonly Consumer[];
  readonly environment: Environment;
  readonly endsAt: number;
  /** True once its payment is no longer awaited. */
  abandoned: boolean;
  settledAt: number | null;
};

/** The answer to a call: a status and, for a refusal, its code and its detail or faults. */
export type Answer = readonly [status: number, code?: string, told?: unknown];
const INVALID: Answer = [409, "invalid_status"];
const refusedFields = (faults: readonly (readonly [string, string])[]): Answer => [
  422,
  "validation_failed",
  [...faults].sort(),
];

/** The agent, its delegator, and so on. */
export function chainOf<Kind extends Party<Kind>>(agent: Kind): Kind[] {
  const chain: Kind[] = [];
  for (let one: Kind | null = agent; one !== null; one = one.delegator) chain.push(one);
  return chain;
}

const hasEnded = ({ status }: { status: string }): boolean => status === "REVOKED" || status === "TERMINATED";

// ---- Amounts: scopes are compared to the last digit, payments in millionths -------------------------------------------------

const exact = (text: string): bigint => BigInt(Math.round(Number(text) * 1e9));
export const unitsOf = (text: string): bigint => exact(text) / 1_000n;
export const money = (units: bigint): string => {
  const [whole, fraction = ""] = (Number(units) / 1e6).toFixed(6).split(".");
  return `${whole}.${fraction.replace(/0{1,4}$/, "")}`;
};

// ---- Scopes (AGT-25) ---------------------------------------------------------------------------------------------------------

/** The fields in which one scope is wider than the other. */
export function widerFields(mine: Scope, bound: Scope): string[] {
  const [limit, most] = [mine.spending_limit, bound.spending_limit];
  const [tier, leastTier] = [mine.minimum_counterparty_cert_tier, bound.minimum_counterparty_cert_tier];
  const [rating, leastRating] = [mine.minimum_counterparty_ar, bound.minimum_counterparty_ar];
  const [value, ceiling] = [mine.max_transaction_value, bound.max_transaction_value];
  const wider = {
    authorized_actions: mine.authorized_actions.some((one) => !bound.authorized_actions.includes(one)),
    capabilities: mine.capabilities.some((one) => !bound.capabilities.includes(one)),
    max_transaction_value: ceiling !== null && (value === null || exact(value) > exact(ceiling)),
    spending_limit:
      most !== null &&
      (limit === null ||
        limit.currency !== most.currency ||
        exact(limit.amount) > exact(most.amount) ||
        limit.window_days > most.window_days),
    minimum_counterparty_cert_tier:
      leastTier !== null && (tier === null || TIERS.indexOf(tier) < TIERS.indexOf(leastTier)),
    minimum_counterparty_ar: leastRating !== null && (rating === null || rating < leastRating),
  };
  return Object.entries(wider).flatMap(([field, is]) => (is ? [field] : []));
}

const sameScope = (one: Scope, other: Scope): boolean =>
  widerFields(one, other).length === 0 &&
  widerFields(other, one).length === 0 &&
  one.intents_from === other.intents_from;

// ---- The agents, their spendings, and time -------------------------------------------------------------------------------------

export class Model {
  now: number;
  readonly consumers: Consumer[] = [];
  readonly spendings: Spending[] = [];

  constructor(now: number) {
    this.now = now;
  }

  register(delegator: Consumer, scope: Scope): Answer {
    const faults: [string, string][] = [];
    if (delegator.status !== "ACTIVE") faults.push(["delegated_by", "invalid_value"]);
    if (chainOf(delegator).length > DEPTH) faults.push(["delegated_by", "invalid_value"]);
    for (const field of widerFields(scope, delegator.scope)) faults.push([`scope.${field}`, "scope_exceeds_delegator"]);
    return faults.length > 0 ? refusedFields(faults) : [201];
  }

  /** Compares a patch with the nearest delegator only: bounds further up count at each call. */
  patch(agent: Consumer, change: Partial<Scope>): Answer {
    const scope = { ...agent.scope, ...change };
    const wider = agent.delegator ? widerFields(scope, agent.delegator.scope) : [];
    if (wider.length > 0) return refusedFields(wider.map((field) => [field, "scope_exceeds_delegator"]));
    if (hasEnded(agent)) return [409, "agent_status_not_mutable"];
    if (sameScope(scope, agent.scope)) return [400, "no_changes_requested"];
    agent.scope = scope;
    return [200];
  }

  suspend(agent: Consumer | Seller): Answer {
    if (agent.status !== "ACTIVE") return INVALID;
    agent.status = "SUSPENDED";
    return [200];
  }

  reinstate(agent: Consumer | Seller): Answer {
    if (agent.status !== "SUSPENDED") return INVALID;
    agent.status = "ACTIVE";
    return [200];
  }

  end(agent: Consumer, status: "REVOKED" | "TERMINATED"): Answer {
    if (hasEnded(agent)) return INVALID;
    agent.status = status;
    for (const spending of this.spendings) if (spending.consumer === agent) spending.abandoned = true;
    return [200];
  }

  promote(agent: Consumer): Answer {
    const open = this.spendings.some((one) => one.consumer === agent && this.isOpen(one));
    const alone = agent.delegator?.environment === "sandbox";
    if (agent.environment === "production" || agent.status !== "ACTIVE" || open || alone) return INVALID;
    agent.environment = "production";
    return [200];
  }

  // ---- Intents -----------------------------------------------------------------------------------------------------------------

  isOpen({ endsAt, settledAt, abandoned }: Spending): boolean {
    return settledAt === null && endsAt > this.now && !abandoned;
  }

  open(order: Order): Answer {
    const refusal = this.#refuseCaller(order) ?? this.#refuseStopped(order) ?? this.#refuseByPolicy(order);
    if (refusal) return refusal;
    const { environment } = order.consumer;
    const spenders = chainOf(order.consumer);
    const endsAt = this.now + INTENT_LIFE;
    this.spendings.push({ ...order, spenders, environment, endsAt, abandoned: false, settledAt: null });
    return [201];
  }

  settle(spending: Spending): void {
    spending.settledAt = this.now;
  }

  /** The amount that counts in the agent's window: settled payments in it, and holds of unpaid intents. */
  #spent(agent: Consumer, days: number): bigint {
    const counts = ({ settledAt, endsAt }: Spending): boolean =>
      settledAt === null ? endsAt > this.now : settledAt > this.now - days * DAY;
    return this.spendings
      .filter(({ spenders, environment }) => spenders.includes(agent) && environment === agent.environment)
      .filter(counts)
      .reduce((sum, { units }) => sum + units, 0n);
  }

  /** The rest of the agent's own window; null without a limit. */
  #remains(agent: Consumer): bigint | null {
    const limit = agent.scope.spending_limit;
    if (limit === null) return null;
    if (limit.currency !== "USDC") return 0n;
    const left = unitsOf(limit.amount) - this.#spent(agent, limit.window_days);
    return left > 0n ? left : 0n;
  }

  /** The most that the consumer can spend at this instant; null if nothing limits it. */
  room(consumer: Consumer): bigint | null {
    const chain = chainOf(consumer);
    const bounds = chain.flatMap((one) => [ceilingOf(one), this.#remains(one)]).filter((bound) => bound !== null);
    return bounds.sort((one, other) => Number(one - other))[0] ?? null;
  }

  /** Consumers whose whole chain runs; delegates come first. */
  running(): Consumer[] {
    const running = this.consumers.filter((agent) =>
      chainOf(agent).every(({ status, environment }) => status === "ACTIVE" && environment === agent.environment),
    );
    const below = running.filter((agent) => chainOf(agent).length > 2);
    return below.length > 0 ? below : running;
  }

  /** The future instants at which the spent amount changes. */
  edges(): number[] {
    const days = new Set(this.consumers.map(({ scope }) => scope.spending_limit?.window_days ?? 1));
    const edges = this.spendings.flatMap(({ settledAt, endsAt }) =>
      settledAt === null ? [endsAt] : [...days].map((count) => settledAt + count * DAY),
    );
    return [...new Set(edges)].filter((edge) => edge > this.now).sort((a, b) => a - b);
  }

  /** An ended caller is not authenticated, a suspended one may not call. Sellers open intents if the consumer allows it, and only a few (PAY-6). */
  #refuseCaller({ by, consumer, seller }: Order): Answer | null {
    const { did, status } = by === "consumer" ? consumer : seller;
    if (hasEnded({ status })) return [401, "aeap_verification_failed"];
    if (status !== "ACTIVE") return [409, "agent_not_active", { did, status }];
    if (by === "consumer") return null;
    if (chainOf(consumer).some(({ scope }) => scope.intents_from === "self"))
      return [403, "forbidden", { intents_from: "self" }];
    const open = this.spendings.filter(
      (one) => one.by === "seller" && one.seller === seller && one.consumer === consumer && this.isOpen(one),
    ).length;
    return open >= SHARE ? [409, "invalid_status", { open, limit: SHARE }] : null;
  }

  #refuseStopped({ consumer, seller }: Order): Answer | null {
    if (consumer.environment !== seller.environment) {
      return [409, "environment_mismatch", { consumer: consumer.environment, provider: seller.environment }];
    }
    const [, ...above] = chainOf(consumer);
    const [, ...aboveSeller] = chainOf(seller);
    const stopped = [consumer, seller, ...above, ...aboveSeller].find(({ status }) => status !== "ACTIVE");
    if (stopped) return [409, "agent_not_active", { did: stopped.did, status: stopped.status }];
    const gone = above.find(({ environment }) => environment !== consumer.environment);
    return gone ? [409, "agent_not_active", { did: gone.did, environment: gone.environment }] : null;
  }

  /** The first check that the narrowest bound of the chain fails; of equal bounds, the nearest agent's. */
  #refuseByPolicy({ consumer, seller, units }: Order): Answer | null {
    const chain = chainOf(consumer);
    const violated = (failed_check: string, { did }: Consumer, detail: object): Answer => {
      const delegator = did === consumer.did ? {} : { delegator: did };
      return [403, "spend_policy_violation", { failed_check, ...detail, ...delegator }];
    };
    const ceiling = narrowest(chain, ceilingOf);
    if (ceiling && units > ceiling.bound) {
      const detail = { limit: money(ceiling.bound), attempted: money(units) };
      return violated("max_transaction_value", ceiling.agent, detail);
    }
    const window = narrowest(chain, (agent) => this.#remains(agent));
    const limit = window?.agent.scope.spending_limit;
    if (window && limit && units > window.bound) {
      // A limit in another currency is shown as it was set.
      const [bound, currency] =
        limit.currency === "USDC"
          ? [money(unitsOf(limit.amount)), {}]
          : [formatPlain(limit.amount), { currency: limit.currency }];
      const shown = { limit: bound, attempted: money(units), remaining: money(window.bound) };
      return violated("spending_limit", window.agent, { ...shown, ...currency });
    }
    const tier = narrowest(chain, ({ scope: { minimum_counterparty_cert_tier: floor } }) =>
      floor === null ? null : -TIERS.indexOf(floor),
    );
    if (tier && TIERS.indexOf(seller.tier) < -tier.bound) {
      const detail = { limit: TIERS[-tier.bound], attempted: seller.tier };
      return violated("minimum_counterparty_cert_tier", tier.agent, detail);
    }
    const floor = narrowest(chain, ({ scope: { minimum_counterparty_ar: rating } }) =>
      rating === null ? null : -rating,
    );
    if (floor && (seller.rating === null || seller.rating < -floor.bound)) {
      const detail = { limit: Math.abs(floor.bound), attempted: seller.rating };
      return violated("minimum_counterparty_ar", floor.agent, detail);
    }
    return null;
  }
}

const ceilingOf = ({ scope: { max_transaction_value: value } }: Consumer): bigint | null =>
  value === null ? null : unitsOf(value);

type Bounded<Bound> = { readonly agent: Consumer; readonly bound: Bound };

function narrowest<Bound extends bigint | number>(
  chain: readonly Consumer[],
  boundOf: (agent: Consumer) => Bound | null,
): Bounded<Bound> | null {
  let least: Bounded<Bound> | null = null;
  for (const agent of chain) {
    const bound = boundOf(agent);
    if (bound !== null && (least === null || bound < least.bound)) least = { agent, bound };
  }
  return least;
}
