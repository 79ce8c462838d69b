// Tables of intents, settlements, tasks and escrows. Amounts are token base units, instants epoch milliseconds.
import { sql } from "drizzle-orm";
import { customType, index, integer, primaryKey, real, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import type {
  Environment,
  EscrowState,
  IntentStatus,
  LedgerKind,
  TaskOutcome,
  TaskStatus,
  Verdict,
} from "../../core/vocabulary.ts";
import { packJws, unpackJws } from "../../protocol/jws.ts";
import { RECEIPT_TYPE } from "../../protocol/receipt.ts";

/** One row for each provider, environment and network: the vault as it was last seen on-chain (MKT-15). */
export const escrows = sqliteTable(
  "escrows",
  {
    did: text().notNull(),
    environment: text().$type<Environment>().notNull(),
    network: text().notNull(),
    platformId: text().notNull(),
    currency: text().notNull(),
    vault: text().notNull(),
    /** The edition of the contract whose vault it is; empty in older rows, which belong to the present edition. */
    contract: text().notNull().default(""),
    operationalWallet: text().notNull(),
    /** JSON: the earlier wallets, `[{wallet, until}]`, as long as a payment to them may still be facilitated (FAC-7). */
    formerWallets: text().notNull().default("[]"),
    /** Deposits and this environment's facilitated settlements, less releases and payouts (MKT-23). Negative if more was taken out than counts. */
    balance: integer().notNull().default(0),
    contributed: integer().notNull().default(0),
    /** 0 for a provider that has left (MKT-30). */
    baseThreshold: integer().notNull(),
    threshold: integer().notNull(),
    /** The threshold of the other environment on the same vault; 0 if it has none (MKT-20). */
    otherThreshold: integer().notNull().default(0),
    /** The threshold on the contract. It follows the higher of the two within a minute or two, once they differ by 5 % of the base (MKT-20). */
    chainThreshold: integer().notNull(),
    /** Real time since when they differ by so much; meaningless while they do not (JOB-6). */
    behindSince: integer().notNull().default(0),
    state: text().$type<EscrowState>().notNull(),
    /** The contract keeps the sum of both back. */
    disputed: integer().notNull().default(0),
    owed: integer().notNull().default(0),
    /**
     * When the last dispute window of a settlement into the vault closes, on the service's own clock; later moves of a test clock do not change it.
     */
    windowsCloseAt: integer().notNull().default(0),
    updatedAt: integer().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.did, t.environment, t.network] }),
    index("escrows_behind")
      .on(t.behindSince, t.did, t.environment, t.network)
      .where(
        sql`abs(max(threshold, other_threshold) - chain_threshold) * 20 - base_threshold >= 0 and base_threshold > 0`,
      ),
    index("escrows_holding").on(t.platformId).where(sql`environment = 'production' and balance > 0`),
  ],
);
export type EscrowRow = typeof escrows.$inferSelect;

/** Wallets that a provider's own wallet named on-chain. Payments to them count (FAC-17). */
export const namedWallets = sqliteTable(
  "named_wallets",
  {
    did: text().notNull(),
    network: text().notNull(),
    wallet: text().notNull(),
    /** Epoch milliseconds of the block that named it first. */
    since: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.did, t.network, t.wallet] })],
);
export type NamedWallet = typeof namedWallets.$inferSelect;

/**
 * Every movement of a vault, append-only: one line for each event of the contract, by its place on-chain, and one for each amount that arrived
 * without an event. The lines of a vault add up to its balance at the last booked block.
 */
export const ledgerLines = sqliteTable(
  "ledger_lines",
  {
    network: text().notNull(),
    txHash: text().notNull(),
    /** Counted from the transaction's first log; -1 for an amount that arrived without an event and was noticed at the event of this transaction. */
    logIndex: integer().notNull(),
    did: text().notNull(),
    contract: text().notNull(),
    kind: text().$type<LedgerKind>().notNull(),
    /** Negative if it left the vault. */
    amount: integer().notNull(),
    held: integer().notNull(),
    /** All deposits so far, less releases and payouts: they count whichever environment facilitates. */
    deposited: integer().notNull(),
    blockNumber: integer().notNull(),
    blockHash: text().notNull(),
    minedAt: integer().notNull(),
    /** Its place among all lines of the vault. A settlement that put nothing into the vault has a negative number, from its block. */
    number: integer().notNull(),
    reversed: integer({ mode: "boolean" }).notNull().default(false),
    settlementKey: text(),
    /** For a settlement: a digest of all its parts (src/chain/digests.ts), which a facilitated settlement has to equal. */
    parts: text(),
  },
  (t) => [
    primaryKey({ columns: [t.network, t.txHash, t.logIndex] }),
    index("ledger_lines_paid_out").on(t.settlementKey, t.network, t.contract).where(sql`kind = 'payout'`),
    uniqueIndex("ledger_lines_by_vault").on(t.did, t.network, t.contract, t.number).where(sql`reversed = 0`),
  ],
);
export type LedgerLine = typeof ledgerLines.$inferSelect;

export const paymentIntents = sqliteTable(
  "payment_intents",
  {
    intentId: text().primaryKey(),
    /** In base64url. */
    intentHash: text().notNull().default(""),
    environment: text().$type<Environment>().notNull(),
    consumerDid: text().notNull(),
    providerDid: text().notNull(),
    consumerPlatformId: text().notNull(),
    providerPlatformId: text().notNull(),
    consumerPrincipalId: text().notNull().default(""),
    providerPrincipalId: text().notNull().default(""),
    openedBy: text().notNull(),
    network: text().notNull(),
    market: text().notNull(),
    currency: text().notNull(),
    amount: integer().notNull(),
    /** The provider's wallet on the network when it was opened, which a payer can fix. */
    operationalWallet: text().notNull().default(""),
    /** The one address that may pay it, in lower case; null if any may. */
    payer: text(),
    status: text().$type<IntentStatus>().notNull(),
    /** The consumer and its delegators, whose windows this intent counts in. */
    spenders: text({ mode: "json" }).$type<string[]>().notNull(),
    /** A hash of parties, network and amount, by which a payment that names no intent finds this one. Empty once no such payment can be for it. */
    terms: text().notNull().default(""),
    /**
     * The payment that the follower bound to it, by its place on-chain, and the instant of its block on the intent's clock; null until one is seen.
     */
    paymentTx: text(),
    paymentLog: integer(),
    paymentBlock: integer(),
    paidAt: integer(),
    /** A payment in time that a reorg removed: if it is mined again, it pays the intent again (FAC-18). */
    lostTx: text(),
    lostLog: integer(),
    /** Until when such a payment keeps the hold, on the intent's clock; null if none does. */
    lostUntil: integer(),
    /** The sender and nonce of the last bound payment's transaction; null while no node has reported them. */
    sentBy: text(),
    sentNonce: integer(),
    /** When a payment that was never facilitated was counted as spent. */
    spentAt: integer(),
    abandonRated: integer({ mode: "boolean" }).notNull().default(false),
    transactionId: text(),
    taskId: text(),
    cancelledAt: integer(),
    createdAt: integer().notNull(),
    expiresAt: integer().notNull(),
  },
  (t) => [
    index("payment_intents_unrated")
      .on(t.expiresAt)
      .where(sql`status = 'ABANDONED' and abandon_rated = 0 and opened_by = consumer_did`),
    // A payment that names no intent pays the newest open intent of its terms (FAC-8).
    index("payment_intents_by_terms")
      .on(t.terms, t.createdAt)
      // With a condition on the status, SQLite would rewrite the index when an intent ends.
      .where(sql`transaction_id is null`),
    // Counts the open intents that a provider opened itself for one consumer (PAY-6), and finds all intents of a provider that ends (AGT-31).
    index("payment_intents_by_provider")
      .on(t.providerDid, t.consumerDid, t.openedBy, t.expiresAt)
      .where(sql`status in ('OPEN', 'PAID') and spent_at is null`),
    uniqueIndex("payment_intents_by_hash").on(t.intentHash),
    index("payment_intents_due").on(t.expiresAt).where(sql`status = 'OPEN'`),
    index("payment_intents_paid").on(t.network, t.paidAt).where(sql`status = 'PAID' and spent_at is null`),
    uniqueIndex("payment_intents_by_payment")
      .on(t.paymentTx, t.paymentLog, t.network)
      .where(sql`payment_tx is not null`),
    index("payment_intents_lost").on(t.lostTx).where(sql`lost_tx is not null`),
    index("payment_intents_waiting").on(t.network).where(sql`lost_until is not null and status = 'OPEN'`),
    // The lists of a side. They leave out the status, because SQLite would rewrite them at each change of it.
    index("payment_intents_sold").on(t.providerDid, t.environment, t.createdAt, t.intentId),
    index("payment_intents_bought").on(t.consumerDid, t.environment, t.createdAt, t.intentId),
  ],
);
export type IntentRow = typeof paymentIntents.$inferSelect;

/** A facilitated settlement; `transaction_id` and `facilitation_id` are one id. */
export const transactions = sqliteTable(
  "transactions",
  {
    transactionId: text().primaryKey(),
    environment: text().$type<Environment>().notNull(),
    intentId: text().notNull(),
    taskId: text(),
    consumerDid: text().notNull(),
    providerDid: text().notNull(),
    consumerPlatformId: text().notNull(),
    providerPlatformId: text().notNull(),
    network: text().notNull(),
    currency: text().notNull(),
    txHash: text().notNull(),
    /** The place of the `Settled` event, counted from the transaction's first log: a reorg does not move it (FAC-9). */
    logIndex: integer().notNull(),
    contract: text().notNull().default(""),
    settlementKey: text().notNull().default(""),
    /** Where its payouts and refunds go; empty if to the payer. */
    refundTo: text().notNull().default(""),
    payer: text().notNull(),
    operationalWallet: text().notNull(),
    gross: integer().notNull(),
    fee: integer().notNull(),
    escrow: integer().notNull(),
    /** The part that does not count yet, because the vault did not hold so much, until its line is compared (FAC-18). */
    uncounted: integer().notNull().default(0),
    operational: integer().notNull(),
    escrowState: text().$type<EscrowState>().notNull(),
    escrowBalance: integer().notNull(),
    /** The last booked block whose movements that balance counts; 0 before the first. */
    escrowAsOfBlock: integer().notNull().default(0),
    disputeWindowDays: integer().notNull(),
    disputeWindowClosesAt: integer(),
    providerAidVersion: integer().notNull(),
    /** True when the consumer opened the intent or its proof came with the facilitation (TSK-12). */
    consumerWilled: integer({ mode: "boolean" }).notNull(),
    blockNumber: integer().notNull(),
    blockHash: text().notNull(),
    settledAt: integer().notNull(),
    /** When its block was found to be no longer part of the chain (FAC-18). */
    reversedAt: integer(),
  },
  (t) => [
    uniqueIndex("transactions_by_settlement").on(t.network, t.txHash, t.logIndex).where(sql`reversed_at is null`),
    index("transactions_by_provider").on(t.providerDid, t.environment, t.settledAt, t.transactionId),
    index("transactions_by_consumer").on(t.consumerDid, t.environment, t.settledAt, t.transactionId),
    // The lists of an account (db/parts.ts): a settlement has one place in the list of each of its platforms.
    index("transactions_sold")
      .on(t.providerPlatformId, t.environment, t.settledAt, t.transactionId)
      .where(sql`provider_platform_id <> consumer_platform_id`),
    index("transactions_bought")
      .on(t.consumerPlatformId, t.environment, t.settledAt, t.transactionId)
      .where(sql`provider_platform_id <> consumer_platform_id`),
    index("transactions_within")
      .on(t.providerPlatformId, t.environment, t.settledAt, t.transactionId)
      .where(sql`provider_platform_id = consumer_platform_id`),
    index("transactions_reversed_sold").on(t.providerPlatformId, t.settledAt).where(sql`reversed_at is not null`),
    index("transactions_reversed_bought").on(t.consumerPlatformId, t.settledAt).where(sql`reversed_at is not null`),
  ],
);
export type TransactionRow = typeof transactions.$inferSelect;

const packedReceipt = customType<{ data: string; driverData: string }>({
  dataType: () => "text",
  toDriver: (receipt) => packJws(receipt, RECEIPT_TYPE),
  // Older receipts are stored as they were signed.
  fromDriver: (stored) => (stored.includes("{") ? unpackJws(stored, RECEIPT_TYPE) : stored),
});

/**
 * The signed receipt of a transaction, stored separately because it is long, packed, and found by block. Receipts are never deleted, so their rowids
 * number them in the order in which they were recorded (FAC-18).
 */
export const receipts = sqliteTable(
  "receipts",
  {
    network: text().notNull(),
    blockNumber: integer().notNull(),
    transactionId: text().notNull(),
    receipt: packedReceipt().notNull(),
  },
  (t) => [primaryKey({ columns: [t.network, t.blockNumber, t.transactionId] })],
);

export const tasks = sqliteTable(
  "tasks",
  {
    taskId: text().primaryKey(),
    transactionId: text().notNull(),
    environment: text().$type<Environment>().notNull(),
    consumerDid: text().notNull(),
    providerDid: text().notNull(),
    /** The consumer's platform, whose sandbox clock rules the task, if the provider belongs to another platform; else null. */
    ruledBy: text(),
    // The transaction's members that a task shows, so that a page of tasks reads no other table.
    intentId: text().notNull().default(""),
    network: text().notNull().default(""),
    currency: text().notNull().default(""),
    gross: integer().notNull().default(0),
    status: text().$type<TaskStatus>().notNull(),
    /**
     * The consumer's answer, or `void`; null for neither, also once the window has ended, so that the end moves no place in the lists. `early`: the
     * window ended on a sandbox's clock before it did in real time, so that a range by any other clock can tell the others apart.
     */
    answer: text().$type<TaskOutcome | "void" | "early">(),
    outcome: text().$type<TaskOutcome>(),
    score: real(),
    note: text(),
    openedAt: integer().notNull(),
    confirmBy: integer().notNull(),
    closedAt: integer(),
    /** The principals of the two sides at the settlement: both are rated under these, whatever becomes of the agents (FAC-14). */
    providerPrincipalId: text().notNull().default(""),
    consumerPrincipalId: text().notNull().default(""),
    /** The principal of the other side, once the end has rated the provider or the consumer. */
    providerRatedBy: text(),
    consumerRatedBy: text(),
    /** The instant from which the provider's signal decays, if its own sandbox has another clock than the task (TSK-18); else null. */
    providerRatedAt: integer(),
    /** How long disputes have held it: that time does not count. */
    heldMs: integer().notNull().default(0),
    verdict: text().$type<Verdict>(),
    verdictScore: real(),
  },
  (t) => [
    index("tasks_due").on(t.confirmBy).where(sql`status = 'open'`),
    index("tasks_held_sold").on(t.providerDid, t.environment, t.confirmBy, t.taskId).where(sql`status = 'disputed'`),
    index("tasks_held_bought").on(t.consumerDid, t.environment, t.confirmBy, t.taskId).where(sql`status = 'disputed'`),
    index("tasks_by_provider").on(t.providerDid, t.environment, t.answer, t.confirmBy, t.taskId),
    index("tasks_by_consumer").on(t.consumerDid, t.environment, t.answer, t.confirmBy, t.taskId),
  ],
);
export type TaskRow = typeof tasks.$inferSelect;
