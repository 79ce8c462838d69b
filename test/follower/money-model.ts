// A plain model of money (PAY-10 to PAY-16, PAY-21, PAY-23, FAC-6 to FAC-8, FAC-13, FAC-18, FAC-21): the chain as a list of blocks, intents and
// payments as lists that are searched each time, and each answer in a few lines. It shares nothing with the service. Instants are epoch milliseconds,
// amounts base units.

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
export const DAY = 1_440 * MINUTE;
const [LIFE, LATE, SKEW] = [5 * MINUTE, DAY, 30 * SECOND];
const [PAID_FOR, LOST_FOR] = [30 * DAY, 60 * MINUTE];
const SHARE = 3;
export const CONFIRMATIONS = 2;

export type Buyer = {
  readonly did: string;
  readonly delegator: Buyer | null;
  readonly limit: { readonly units: number; readonly days: number };
};
export type Seller = { readonly did: string };
export type Terms = { readonly buyer: Buyer; readonly seller: Seller; readonly units: number };

/** A payment on-chain. `names`: the intent that it names. */
export type Payment = Terms & {
  readonly hash: string;
  readonly nonce: number;
  readonly names: Intent | null;
  block: Block | null;
  /** The block in which it was mined again and reverted, because its intent was paid meanwhile. */
  reverted: Block | null;
};
export type Block = { readonly number: number; readonly at: number };

export type Intent = Terms & {
  readonly id: string;
  readonly by: "buyer" | "seller";
  readonly createdAt: number;
  /** A cancellation moves it. */
  endsAt: number;
  state: "OPEN" | "PAID" | "SETTLED" | "ABANDONED";
  /** The payment that the follower has bound to it, and the block and the instant at which it came. */
  paid: { readonly payment: Payment; readonly at: number; readonly block: number } | null;
  /** `block`: the payment's block when it was facilitated. */
  settled: { readonly payment: Payment; readonly at: number; readonly block: Block | null } | null;
  /** The payment that a reorg has taken from the intent. */
  lost: Payment | null;
  /** Until when the lost payment keeps the hold. `bound`: the payment whose nonce shows whether it can still come back. */
  lostUntil: number | null;
  bound: Payment | null;
  cancelled: boolean;
  /** When an intent that was paid and never facilitated was counted as spent. */
  spentAt: number | null;
};

export type Answer = "ok" | string;

export class MoneyModel {
  now: number;
  head: Block;
  /** The last booked block, each block at which the follower has ended, and the instant up to which it has seen every payment. */
  booked: number;
  readonly notes: number[];
  readThrough = 0;
  /** Settlements that were reversed, and payments that came back to their intent. */
  reversals = 0;
  returns = 0;
  readonly buyers: Buyer[] = [];
  readonly intents: Intent[] = [];
  readonly payments: Payment[] = [];

  constructor(now: number, head: Block, booked: number) {
    this.now = now;
    this.head = head;
    this.booked = booked;
    this.notes = [booked];
    this.readThrough = head.at;
  }

  // ---- The chain -----------------------------------------------------------------------------------------------------------

  mined(block: Block): void {
    this.head = block;
  }

  /** A lost payment that is sent again unchanged is the same transaction. */
  paid(payment: Omit<Payment, "block" | "reverted">): void {
    const known = this.payments.find(({ hash }) => hash === payment.hash);
    if (known) known.block = this.head;
    else this.payments.push({ ...payment, block: this.head, reverted: null });
  }

  /** Removes the blocks after this one, with their transactions. */
  rolledBack(to: Block): void {
    this.head = to;
    for (const payment of this.payments) {
      if (payment.block && payment.block.number > to.number) payment.block = null;
      if (payment.reverted && payment.reverted.number > to.number) payment.reverted = null;
    }
  }

  // ---- The follower --------------------------------------------------------------------------------------------------------

  /** `kept`: the last block that rollbacks since the follower's last run have kept. `nonce`: how many transactions the payer has sent. */
  follow(kept: number | null, nonce: number): void {
    if (kept !== null && kept < this.booked) {
      // The follower starts again at the newest remaining block at which it has ended before.
      while ((this.notes.at(-1) ?? kept) > kept) this.notes.pop();
      this.booked = this.notes.at(-1) ?? kept;
    }
    this.#bind();
    const booked = Math.max(this.booked, this.head.number - CONFIRMATIONS + 1);
    if (booked > this.booked) this.notes.push(booked);
    this.booked = booked;
    this.readThrough = Math.max(this.readThrough, this.head.at);
    const gone = this.intents.filter(({ settled }) => settled !== null && settled.payment.block !== settled.block);
    for (const intent of gone) this.#reverse(intent);
    if (gone.length > 0) this.#bind();
    for (const intent of this.intents)
      if (intent.state === "OPEN" && intent.bound && nonce > intent.bound.nonce) intent.lostUntil = null;
  }

  /** Binds the payments after the booked block. */
  #bind(): void {
    for (const intent of this.intents) this.#moveBound(intent);
    const seen = this.payments
      .filter(({ block }) => block !== null && block.number > this.booked)
      .sort((one, other) => (one.block?.number ?? 0) - (other.block?.number ?? 0));
    const taken = new Set<Intent>();
    for (const payment of seen) {
      if (this.#isUsed(payment)) continue;
      const before = this.newestFirst().find((one) => !taken.has(one) && this.#comesBack(one, payment));
      const intent = before ?? this.#payable(payment, taken);
      if (!intent) continue;
      taken.add(intent);
      this.#pay(intent, payment);
    }
  }

  #pay(intent: Intent, payment: Payment): void {
    if (intent.lost === payment) this.returns += 1;
    intent.state = "PAID";
    intent.paid = { payment, at: payment.block?.at ?? 0, block: payment.block?.number ?? 0 };
    intent.bound = payment;
  }

  /** It may come at any time, because it was in time once. */
  #comesBack = (intent: Intent, payment: Payment): boolean =>
    intent.lost === payment && (intent.state === "OPEN" || intent.state === "ABANDONED");

  /** Reverses a facilitated payment that has left its block. The intent waits for the payment, which may be in another block. */
  #reverse(intent: Intent): void {
    const { settled } = intent;
    if (!settled) return;
    this.reversals += 1;
    // The follower does not know the sender of a payment that it never saw.
    if (intent.paid?.payment !== settled.payment) intent.bound = null;
    this.#lose(intent, settled.payment);
    intent.settled = null;
    if (this.#unmined(settled.payment) !== null) return;
    this.#pay(intent, settled.payment);
    intent.bound = null;
  }

  #lose(intent: Intent, payment: Payment): void {
    intent.state = "OPEN";
    intent.paid = null;
    intent.lost = payment;
    intent.lostUntil = this.now + LOST_FOR;
  }

  /** A payment that is gone lets the intent's hold end again. Intents that are settled or counted as spent stay. */
  #moveBound(intent: Intent): void {
    if (intent.state !== "PAID" || intent.paid === null || intent.spentAt !== null) return;
    const { payment, block } = intent.paid;
    if (payment.block === null) this.#lose(intent, payment);
    // A payment that returns at the same height keeps its instant: blocks of one height are seconds apart.
    else if (payment.block.number !== block) {
      intent.paid = { payment, at: payment.block.at, block: payment.block.number };
      intent.bound = payment;
    }
  }

  #isUsed = (payment: Payment): boolean =>
    this.intents.some(({ paid, settled }) => paid?.payment === payment || settled?.payment === payment);

  #payable(payment: Payment, taken: ReadonlySet<Intent>): Intent | undefined {
    const at = payment.block?.at ?? 0;
    const fits = (intent: Intent): boolean =>
      !taken.has(intent) &&
      (intent.state === "OPEN" || intent.state === "ABANDONED") &&
      sameTerms(intent, payment) &&
      at >= intent.createdAt - SKEW &&
      at < intent.endsAt + SKEW;
    if (payment.names) return fits(payment.names) ? payment.names : undefined;
    return this.newestFirst().find(fits);
  }

  newestFirst(): Intent[] {
    return this.intents.toReversed();
  }

  // ---- Windows -------------------------------------------------------------------------------------------------------------

  isOver = ({ state, endsAt }: Intent): boolean => state === "OPEN" && endsAt <= this.now;

  shown(intent: Intent): Intent["state"] {
    return this.isOver(intent) ? "ABANDONED" : intent.state;
  }

  /** Whether no payment can have come in time. */
  isFree = ({ endsAt, lostUntil }: Intent): boolean => Math.max(endsAt, lostUntil ?? 0) <= this.readThrough - SKEW;

  /** The amount that counts in a spender's window. */
  spent(spender: Buyer): number {
    const begins = this.now - spender.limit.days * DAY;
    return this.intents
      .filter(({ buyer }) => chainOf(buyer).includes(spender))
      .filter((intent) => {
        const counted = intent.settled?.at ?? intent.spentAt;
        if (counted !== null && counted !== undefined) return counted > begins;
        if (intent.state === "PAID") return true;
        return intent.state === "OPEN" && !this.isFree(intent);
      })
      .reduce((sum, { units }) => sum + units, 0);
  }

  /** The rest of the narrowest window of a buyer and its delegators. */
  remaining(buyer: Buyer): number {
    return Math.min(...chainOf(buyer).map((one) => Math.max(0, one.limit.units - this.spent(one))));
  }

  // ---- The acts ------------------------------------------------------------------------------------------------------------

  open(terms: Terms, by: Intent["by"], id: string | null): Answer {
    const open = this.intents.filter(
      (one) =>
        one.by === "seller" &&
        one.buyer === terms.buyer &&
        one.seller === terms.seller &&
        one.state === "OPEN" &&
        one.endsAt > this.now - (one.cancelled ? SKEW : 0),
    );
    if (by === "seller" && open.length >= SHARE) return "invalid_status";
    if (terms.units > this.remaining(terms.buyer)) return "spend_policy_violation";
    const none = {
      paid: null,
      settled: null,
      lost: null,
      lostUntil: null,
      bound: null,
      cancelled: false,
      spentAt: null,
    };
    const times = { createdAt: this.now, endsAt: this.now + LIFE };
    this.intents.push({ ...terms, ...times, ...none, id: id ?? "", by, state: "OPEN" });
    return "ok";
  }

  /** The follower has just read to the head. A stalled node is no answer. */
  cancel(intent: Intent, looked: boolean): Answer {
    if (looked && this.now > this.readThrough + SKEW) return "chain_unavailable";
    if (this.shown(intent) !== "OPEN") return "invalid_status";
    intent.endsAt = this.now;
    intent.cancelled = true;
    return "ok";
  }

  /** Settles by the intent and a transaction. */
  settleIntent(intent: Intent, payment: Payment): Answer {
    if (intent.settled) return intent.settled.payment === payment ? "ok" : "settlement_verification_failed";
    return this.#unmined(payment) ?? this.#settle(intent, payment);
  }

  /** Settles by the payment alone. */
  settlePayment(payment: Payment): Answer {
    const known = this.intents.find(({ settled }) => settled?.payment === payment);
    if (known) return "ok";
    const bound = this.newestFirst().find((one) => this.#waitsFor(one) === payment);
    const unmined = this.#unmined(payment);
    if (unmined) return unmined;
    const intent = bound ?? payment.names ?? this.newestFirst().find((one) => this.#mayBe(one, payment));
    return intent ? this.#settle(intent, payment) : "settlement_verification_failed";
  }

  #mayBe(intent: Intent, payment: Payment): boolean {
    const at = payment.block?.at ?? 0;
    return (
      sameTerms(intent, payment) &&
      intent.settled === null &&
      intent.state !== "PAID" &&
      intent.createdAt <= at + SKEW &&
      intent.endsAt > this.now - LATE &&
      intent.endsAt + SKEW > at
    );
  }

  /** The payment that settles this intent and no other one. */
  #waitsFor({ state, paid, lost }: Intent): Payment | null {
    if (paid) return paid.payment;
    return state === "SETTLED" ? null : lost;
  }

  #unmined({ block, reverted }: Payment): Answer | null {
    const number = (block ?? reverted)?.number;
    const confirmations = number === undefined ? 0 : this.head.number - number + 1;
    if (confirmations < CONFIRMATIONS) return "payment_not_found";
    return block === null ? "settlement_verification_failed" : null;
  }

  #settle(intent: Intent, payment: Payment): Answer {
    const failed = "settlement_verification_failed";
    const mined = payment.block?.at ?? 0;
    const came = intent.paid === null && intent.lost === payment ? Math.min(mined, intent.endsAt - 1) : mined;
    const at = intent.paid?.payment === payment ? intent.paid.at : came;
    if (payment.buyer !== intent.buyer || payment.seller !== intent.seller) return failed;
    if (payment.names !== null && payment.names !== intent) return failed;
    if (this.intents.some(({ settled }) => settled?.payment === payment)) return failed;
    if (payment.units !== intent.units) return "amount_mismatch";
    if (at < intent.createdAt - SKEW) return failed;
    if (this.intents.some((one) => one !== intent && this.#waitsFor(one) === payment)) return failed;
    if (intent.paid !== null && intent.paid.payment !== payment) return failed;
    if (intent.settled) return failed;
    if (intent.state === "PAID") {
      if (this.now >= at + PAID_FOR) return "intent_expired";
    } else if (this.shown(intent) === "ABANDONED") {
      const inTime = at < intent.endsAt + SKEW && this.now < intent.endsAt + LATE;
      if (!inTime) return "intent_expired";
    }
    intent.state = "SETTLED";
    intent.settled = { payment, at: this.now, block: payment.block };
    return "ok";
  }

  /** Runs the jobs that record what has ended. */
  jobs(): void {
    for (const intent of this.intents) {
      if (this.isOver(intent) && this.isFree(intent)) intent.state = "ABANDONED";
      if (intent.state === "PAID" && intent.paid && intent.spentAt === null && intent.paid.at <= this.now - PAID_FOR)
        intent.spentAt = this.now;
    }
  }
}

const sameTerms = (one: Terms, other: Terms): boolean =>
  one.buyer === other.buyer && one.seller === other.seller && one.units === other.units;

/** The buyer, its delegator, and so on. */
export function chainOf(buyer: Buyer): Buyer[] {
  const chain: Buyer[] = [];
  for (let one: Buyer | null = buyer; one !== null; one = one.delegator) chain.push(one);
  return chain;
}
