// Binds payments that the follower sees at the head of the chain to their intents (PAY-21): such an intent is PAID, and its hold no longer ends. If a
// reorg removes the payment, the hold ends again, so that another payment in the same batch can pay the intent. A payment that has moved to another
// block stays bound.
import type { EventAt } from "../chain/gateway.ts";
import { encodeStoredHash, hashDid, hashTerms } from "../chain/hashes.ts";
import type { Network } from "../chain/networks.ts";
import type { Deps } from "../context.ts";
import { measureAhead } from "../core/clock.ts";
import { SECOND_MS } from "../core/limits.ts";
import type { ReadResults, Statement } from "../db/batch.ts";
import type { Timed } from "../db/clock.ts";
import { takeFitting } from "../db/parts.ts";
import type { FollowerRow } from "../db/tables/chain.ts";
import type { IntentRow } from "../db/tables/money.ts";
import { findOwnPayments } from "../escrow/wallet-store.ts";
import { findFacilitatedAmong } from "../facilitation/store.ts";
import {
  findBoundIntents,
  findIntentsAwaitingLostPayment,
  findIntentsByHash,
  findIntentsOfTerms,
  findIntentsWithLostPayments,
  type UnnamedPayment,
} from "../intents/find-store.ts";
import { isInTime, LOST_PAYMENT_MS, mayPay } from "../intents/states.ts";
import {
  bindPayment,
  endLostHold,
  endSpoiltIntent,
  movePayment,
  type Payment,
  toUnpaidIntent,
  unbindPayment,
} from "../intents/store.ts";
import { recordEventForParties } from "../journal/events.ts";
import { moveHolds, releaseHolds, removeHoldEnd } from "../payments/hold-store.ts";
import { toIntentView } from "../payments/read.ts";
import type { BoundChange } from "./store.ts";

export type PaymentAt = Extract<EventAt, { kind: "settled" }>;

/** Intents that are considered for one payment which names none. */
const INTENTS_OF_TERMS = 20;

export const buildPaymentReads = (
  { db, clock, config }: Deps,
  { network }: Network,
  payments: readonly PaymentAt[],
) => ({
  named: findIntentsByHash(
    db,
    payments.flatMap(({ intentHash }) => (intentHash === null ? [] : [encodeStoredHash(intentHash)])),
  ),
  ofTerms: findIntentsOfTerms(db, toUnnamedPayments(network, payments, measureAhead(clock)), {
    life: config.intentLifeSeconds * SECOND_MS,
    most: INTENTS_OF_TERMS,
  }),
  used: findFacilitatedAmong(db, network, payments),
  lost: findIntentsWithLostPayments(db, network, payments),
  bound: findBoundIntents(db, network),
  own: findOwnPayments(db, network, payments),
  waiting: findIntentsAwaitingLostPayment(db, network),
});
export type FoundPayments = ReadResults<ReturnType<typeof buildPaymentReads>>;
type FoundRows = FoundPayments;

/** Each payment is looked up twice: among the intents that name its payer, and among those that name none. Equal lookups are made once. */
function toUnnamedPayments(network: string, payments: readonly PaymentAt[], ahead: number): UnnamedPayment[] {
  const wanted = payments
    .filter(({ intentHash }) => intentHash === null)
    .flatMap((one) =>
      [one.payer, null].map((payer) => ({ terms: hashPaidTerms(network, one), payer, minedAt: one.minedAt + ahead })),
    );
  return [...new Map(wanted.map((one) => [JSON.stringify(one), one])).values()];
}

/** `through`: the last block that was read. `after`: the follower as the same batch leaves it. */
type SeenPayments = {
  readonly before: FollowerRow | null;
  readonly after: FollowerRow;
  readonly payments: readonly PaymentAt[];
  readonly through: number;
};

/** Bounds the statements about intents in one batch (JOB-12). */
const STATEMENTS_OF_BATCH = 150;

/** `still`: all bound intents. `bound`: those that this reading can judge. `gone`: those whose payment is missing or has other terms. */
function judgeBoundIntents(network: Network, { before, payments, through }: SeenPayments, found: FoundRows) {
  const still = found.bound.filter(isBoundUnspent);
  const placed = new Map(payments.map((one) => [formatPaymentPlace(one.txHash, one.logIndex), one]));
  const booked = before?.bookedBlock ?? 0;
  const unconfirmed = still.filter(({ paymentBlock: block }) => (block ?? 0) > booked && (block ?? 0) <= through);
  const bound = [...unconfirmed, ...findReplacedIntents(network, payments, through, found)];
  const stands = (intent: IntentRow): boolean => {
    const payment = placed.get(formatPaymentPlace(intent.paymentTx, intent.paymentLog));
    return payment !== undefined && isOfTerms(network.network, intent, payment) && isNamedBy(intent, payment);
  };
  const gone = bound.filter((intent) => !stands(intent));
  return { still, placed, bound, gone };
}

/** Finds the intents whose payment is lost after this reading, if its sender is known. */
export const findLostIntents = (network: Network, seen: SeenPayments, found: FoundRows): Timed<IntentRow>[] =>
  [...judgeBoundIntents(network, seen, found).gone, ...found.waiting].filter(({ sentBy }) => sentBy !== null);

/**
 * `complete`: whether the batch binds all payments; if not, it books no block, and the next step reads the same blocks. `change`: which payments are
 * now after the booked block. `replacedBy`: intents whose lost payments can never return, because another transaction has the nonce.
 */
export function bindPayments(
  deps: Deps,
  network: Network,
  seen: SeenPayments,
  found: FoundRows,
  replacedBy: ReadonlySet<string>,
): { readonly complete: boolean; readonly change: BoundChange; readonly statements: Statement[] } {
  const { before, after, payments } = seen;
  const { still, placed, bound, gone: allGone } = judgeBoundIntents(network, seen, found);
  const lost = new Map(allGone.map((intent) => [intent.intentId, removePayment(deps, intent, replacedBy)]));
  const moved = takeFitting(
    bound,
    (intent) => updateBoundIntent(deps, intent, lost.get(intent.intentId), placed),
    STATEMENTS_OF_BATCH,
  );
  const gone = allGone.filter((intent) => moved.taken.includes(intent));
  const left = new Map(gone.map(({ intentId }) => [intentId, lost.get(intentId) as Timed<IntentRow>]));
  const { paid, more } = matchNewPayments(deps, network, payments, { ...found, bound: still }, left);
  const room = STATEMENTS_OF_BATCH - moved.statements.length;
  const bind = takeFitting(paid, (one) => recordPaidIntent(deps, one), room);
  const { taken } = bind;
  // Only booked blocks count: what one reading has found at the head may be a lie, and a reorg may remove it.
  const isBooked = ({ blockNumber }: PaymentAt): boolean => blockNumber <= after.bookedBlock;
  const spoil = takeFitting(
    findSpoiltIntents(network, payments.filter(isBooked), found, paid),
    (one) => endSpoilt(deps, one),
    room - bind.statements.length,
  );
  const touched = new Set([
    ...paid.map(({ intent }) => intent.intentId),
    ...spoil.taken.map(({ intentId }) => intentId),
  ]);
  const hopeless = takeFitting(
    found.waiting.filter(({ intentId }) => replacedBy.has(intentId) && !touched.has(intentId)),
    (one) => [...endLostHold(deps.db, one), ...moveHolds(deps.db, one, { ...one, lostUntil: null })],
    room - bind.statements.length - spoil.statements.length,
  );
  const complete = !more && ![moved, bind, spoil, hopeless].some(({ rest }) => rest);
  const bookedBlock = complete || before === null ? after.bookedBlock : before.bookedBlock;
  const behind = new Map<string, number>([
    ...still.map((intent) => [intent.intentId, pickPaymentBlock(intent, placed)] as const),
    ...gone.map(({ intentId }) => [intentId, 0] as const),
    ...taken.map(({ intent, payment }) => [intent.intentId, payment.blockNumber] as const),
  ]);
  const stays = [...behind].filter(([, block]) => block > bookedBlock).map(([intentId]) => intentId);
  return {
    complete,
    change: { added: stays, ended: found.bound.map(({ intentId }) => intentId).filter((id) => !stays.includes(id)) },
    statements: [moved, bind, spoil, hopeless].flatMap(({ statements }) => statements),
  };
}

/** Returns the intent without its payment. It waits for the lost payment until `lostUntil`, unless that can never return. */
const removePayment = ({ clock }: Deps, intent: Timed<IntentRow>, replacedBy: ReadonlySet<string>): Timed<IntentRow> =>
  toUnpaidIntent(intent, replacedBy.has(intent.intentId) ? null : clock.now() + intent.clockOffsetMs + LOST_PAYMENT_MS);

/** A bound intent is paid, but neither facilitated nor counted as spent. */
const isBoundUnspent = ({ status, spentAt }: IntentRow): boolean => status === "PAID" && spentAt === null;

/** The block of the intent's payment in this reading, or as it is stored. */
const pickPaymentBlock = (
  { paymentTx, paymentLog, paymentBlock }: IntentRow,
  placed: ReadonlyMap<string, PaymentAt>,
): number => placed.get(formatPaymentPlace(paymentTx, paymentLog))?.blockNumber ?? paymentBlock ?? 0;

const formatPaymentPlace = (txHash: string | null, logIndex: number | null): string => `${txHash} ${logIndex}`;

/** Converts the block's time to the intent's clock. */
const toPaidAt = ({ clock }: Deps, intent: Timed<IntentRow>, { minedAt }: PaymentAt): number =>
  minedAt + intent.clockOffsetMs + measureAhead(clock);

const toStoredPayment = (deps: Deps, intent: Timed<IntentRow>, payment: PaymentAt): Payment => ({
  paymentTx: payment.txHash,
  paymentLog: payment.logIndex,
  paymentBlock: payment.blockNumber,
  paidAt: toPaidAt(deps, intent, payment),
  sentBy: payment.sentBy?.from ?? null,
  sentNonce: payment.sentBy?.nonce ?? null,
});

/**
 * Finds intents that are bound to a payment after the blocks that were read, although another payment in these blocks names them. The contract takes
 * only one of the two (CHN-2), so the chain has become shorter.
 */
function findReplacedIntents(
  { network }: Network,
  payments: readonly PaymentAt[],
  through: number,
  { named, own }: FoundRows,
): Timed<IntentRow>[] {
  return named
    .filter((intent) => isBoundUnspent(intent) && (intent.paymentBlock ?? 0) > through)
    .filter((intent) =>
      payments.some(
        (one) =>
          one.intentHash !== null &&
          isNamedBy(intent, one) &&
          isForIntent(network, toUnpaidIntent(intent, null), one, own.has(one)),
      ),
    );
}

/** Updates an intent that was bound before: its payment may be gone, or in another block. */
function updateBoundIntent(
  deps: Deps,
  intent: Timed<IntentRow>,
  left: Timed<IntentRow> | undefined,
  placed: ReadonlyMap<string, PaymentAt>,
): Statement[] {
  const { db } = deps;
  const payment = placed.get(formatPaymentPlace(intent.paymentTx, intent.paymentLog));
  if (left) return [...unbindPayment(db, intent, left), ...moveHolds(db, intent, left)];
  if (!payment) return [];
  return payment.blockNumber === intent.paymentBlock
    ? []
    : movePayment(db, intent, toStoredPayment(deps, intent, payment));
}

type MatchedPayment = { readonly intent: Timed<IntentRow>; readonly payment: PaymentAt };

/**
 * Matches each payment that is neither facilitated nor bound with its intent, in the order of the chain. A payment that a reorg removed was in time
 * once, so it pays the same intent again. `left`: intents that lose their payment in this batch and take another one. `more`: a payment has found as
 * many intents as are considered, and others of this batch have taken all of them.
 */
function matchNewPayments(
  deps: Deps,
  { network }: Network,
  payments: readonly PaymentAt[],
  { named: allNamed, ofTerms, used, lost, bound, own }: FoundRows,
  left: ReadonlyMap<string, Timed<IntentRow>>,
): { readonly paid: MatchedPayment[]; readonly more: boolean } {
  const asLeft = (intent: Timed<IntentRow>): Timed<IntentRow> => left.get(intent.intentId) ?? intent;
  const settled = new Set(used.map(({ txHash, logIndex }) => formatPaymentPlace(txHash, logIndex)));
  for (const { paymentTx, paymentLog } of bound) settled.add(formatPaymentPlace(paymentTx, paymentLog));
  const byHash = new Map(allNamed.map((intent) => [intent.intentHash, asLeft(intent)]));
  const newestFirst = [...ofTerms, ...left.values()].toSorted((one, other) => other.createdAt - one.createdAt);
  const byTerms = Map.groupBy(newestFirst, ({ terms }) => terms);
  const losers = lost.map(asLeft).toSorted((one, other) => other.createdAt - one.createdAt);
  const taken = new Set<string>();
  let more = false;
  const paid = payments.flatMap((payment) => {
    if (settled.has(formatPaymentPlace(payment.txHash, payment.logIndex))) return [];
    const { intentHash } = payment;
    const isOwn = own.has(payment);
    const named = intentHash === null ? undefined : byHash.get(encodeStoredHash(intentHash));
    const ofIts = intentHash === null ? (byTerms.get(hashPaidTerms(network, payment)) ?? []) : named ? [named] : [];
    const fitting = ofIts
      .filter((one) => isInTime(one, toPaidAt(deps, one, payment)))
      .filter((one) =>
        one === named ? isForIntent(network, one, payment, isOwn) : mayTakePayment(one, payment, isOwn),
      );
    const newest = fitting.find(({ intentId }) => !taken.has(intentId));
    const had = (one: IntentRow): boolean => one.lostTx === payment.txHash && one.lostLog === payment.logIndex;
    const before = losers.find(
      (one) => !taken.has(one.intentId) && had(one) && isForIntent(network, one, payment, isOwn),
    );
    const intent = before ?? newest;
    if (!intent) {
      more ||= fitting.length >= INTENTS_OF_TERMS;
      return [];
    }
    taken.add(intent.intentId);
    return [{ intent, payment }];
  });
  return { paid, more };
}

/** Whether a payment has the terms of an intent that is not paid now. `own`: a wallet of the provider pays it. */
export const isForIntent = (network: string, intent: IntentRow, payment: PaymentAt, own: boolean): boolean =>
  mayTakePayment(intent, payment, own) && isOfTerms(network, intent, payment);

const mayTakePayment = (intent: IntentRow, { payer }: PaymentAt, own: boolean): boolean =>
  mayPay(intent, payer, own) && (intent.status === "OPEN" || intent.status === "ABANDONED");

/** Also true if the payment names no intent. */
const isNamedBy = ({ intentHash }: IntentRow, payment: PaymentAt): boolean =>
  payment.intentHash === null || encodeStoredHash(payment.intentHash) === intentHash;

/** Whether the payment is of the intent's terms. If it names the intent too, it uses up the intent's key in the contract (CHN-2). */
function isOfTerms(network: string, intent: IntentRow, payment: PaymentAt): boolean {
  return (
    intent.network === network &&
    BigInt(intent.amount) === payment.gross &&
    hashDid(intent.providerDid) === payment.providerDidHash &&
    hashDid(intent.consumerDid) === payment.consumerDidHash
  );
}

const hashPaidTerms = (network: string, { providerDidHash, consumerDidHash, gross }: PaymentAt): string =>
  hashTerms(network, providerDidHash, consumerDidHash, gross);

export function recordPaidIntent(deps: Deps, { intent, payment: at }: MatchedPayment): Statement[] {
  const { db, config, clock } = deps;
  const payment = toStoredPayment(deps, intent, at);
  const now = clock.now();
  const { clockOffsetMs: _ruling, ...row } = intent;
  const paid = { ...row, status: "PAID", ...payment } as const;
  return [
    ...bindPayment(db, intent, payment),
    ...removeHoldEnd(db, intent),
    ...recordEventForParties(db, intent, now, { type: "intent.paid", object: toIntentView(config, paid, now) }),
  ];
}

/**
 * Finds open intents whose key in the contract was used up by a payment that settles nothing, because a wallet of the provider paid it (FAC-22). A
 * payment through an earlier edition uses up no key of the present one.
 */
function findSpoiltIntents(
  { network, settlement_contract }: Network,
  payments: readonly PaymentAt[],
  { named, own }: Pick<FoundRows, "named" | "own">,
  paid: readonly MatchedPayment[],
): Timed<IntentRow>[] {
  const present = settlement_contract.toLowerCase();
  const taken = new Set(paid.map(({ intent }) => intent.intentId));
  const byHash = new Map(named.map((intent) => [intent.intentHash, intent]));
  const spoilt = payments
    .filter(({ contract }) => contract === present)
    .flatMap((payment) => {
      const intent = payment.intentHash === null ? undefined : byHash.get(encodeStoredHash(payment.intentHash));
      if (intent?.status !== "OPEN" || taken.has(intent.intentId) || !isOfTerms(network, intent, payment)) return [];
      return mayPay(intent, payment.payer, own.has(payment)) ? [] : [intent];
    });
  return [...new Set(spoilt)];
}

function endSpoilt({ db, config, clock }: Deps, { clockOffsetMs, ...intent }: Timed<IntentRow>): Statement[] {
  const now = clock.now() + clockOffsetMs;
  const ended = { ...intent, status: "ABANDONED", expiresAt: Math.min(intent.expiresAt, now) } as const;
  // A cancelled intent's end already has its event.
  const told = intent.cancelledAt !== null;
  return [
    ...endSpoiltIntent(db, intent, ended),
    ...releaseHolds(db, [intent]),
    ...(told
      ? []
      : recordEventForParties(db, intent, now, {
          type: "intent.abandoned",
          object: toIntentView(config, ended, now, { released: true }),
        })),
  ];
}
