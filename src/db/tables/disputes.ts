// Tables of disputes, their messages and evidence, and the signed awards. Amounts are token base units; instants are on the clock of the consumer's
// platform, which rules a dispute (ACC-9).
import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import type {
  DisputeReason,
  DisputeStatus,
  Environment,
  RefundStatus,
  Resolution,
  Side,
} from "../../core/vocabulary.ts";

export const disputes = sqliteTable(
  "disputes",
  {
    disputeId: text().primaryKey(),
    transactionId: text().notNull(),
    taskId: text().notNull(),
    /** 1, or 2 if the first dispute was withdrawn. */
    attempt: integer().notNull(),
    environment: text().$type<Environment>().notNull(),
    consumerDid: text().notNull(),
    providerDid: text().notNull(),
    consumerPlatformId: text().notNull(),
    providerPlatformId: text().notNull(),
    network: text().notNull(),
    currency: text().notNull(),
    gross: integer().notNull(),
    contract: text().notNull(),
    settlementKey: text().notNull(),
    status: text().$type<DisputeStatus>().notNull(),
    reason: text().$type<DisputeReason>().notNull(),
    description: text(),
    resolutionSought: text(),
    disputed: integer().notNull(),
    bounty: integer().notNull(),
    filedAt: integer().notNull(),
    /** The end of the parties' own days; during arbitration, the arbiter's later deadline counts from its start. */
    answersUntil: integer().notNull(),
    respondedAt: integer(),
    offer: integer(),
    messages: integer().notNull().default(0),
    evidence: integer().notNull().default(0),
    consumerEvidence: integer().notNull().default(0),
    arbitrationAt: integer(),
    dueAt: integer(),
    resolution: text().$type<Resolution>(),
    resolvedAt: integer(),
    /** `reversal`: a reorg removed its settlement. */
    endedBy: text().$type<Side | "arbiter" | "reversal">(),
    finding: text(),
    /** The consumer's refund and its source: paid from the vault by the arbiter, or by the provider itself. */
    refund: integer().notNull().default(0),
    refundFrom: text().$type<"vault" | "provider">(),
    refundStatus: text().$type<RefundStatus>().notNull().default("none"),
    /** The amount that the vault keeps back after the end: the unpaid award, or the whole disputed amount until the provider has refunded. */
    owed: integer().notNull().default(0),
    paidOut: integer().notNull().default(0),
    bountyPaid: integer().notNull().default(0),
    /** The amount that wallets had refunded before the dispute was filed, which does not count towards its refund. */
    refundedBefore: integer().notNull().default(0),
    /** How often a part of the award was remade with a smaller amount, because wallets had refunded meanwhile. */
    partsRemade: integer().notNull().default(0),
    bountyBy: text().$type<Side>(),
    /** The rest of the task's window when the dispute held it; null if the task had already closed. */
    heldMs: integer(),
  },
  (t) => [
    // One dispute at a time, and a second one only after the first was withdrawn.
    uniqueIndex("disputes_by_transaction").on(t.transactionId, t.attempt),
    index("disputes_due").on(t.dueAt, t.disputeId).where(sql`due_at is not null`),
    index("disputes_due_in_sandbox")
      .on(t.consumerPlatformId, t.dueAt)
      .where(sql`due_at is not null and environment = 'sandbox'`),
    index("disputes_against")
      .on(t.providerPlatformId, t.environment, t.filedAt, t.disputeId)
      .where(sql`provider_platform_id <> consumer_platform_id`),
    index("disputes_filed")
      .on(t.consumerPlatformId, t.environment, t.filedAt, t.disputeId)
      .where(sql`provider_platform_id <> consumer_platform_id`),
    index("disputes_within")
      .on(t.providerPlatformId, t.environment, t.filedAt, t.disputeId)
      .where(sql`provider_platform_id = consumer_platform_id`),
    index("disputes_by_provider").on(t.providerDid, t.environment, t.filedAt, t.disputeId),
    index("disputes_refunded").on(t.settlementKey, t.network).where(sql`refund_from = 'provider'`),
    index("disputes_by_consumer").on(t.consumerDid, t.environment, t.filedAt, t.disputeId),
  ],
);
export type DisputeRow = typeof disputes.$inferSelect;

export const disputeMessages = sqliteTable(
  "dispute_messages",
  {
    disputeId: text().notNull(),
    number: integer().notNull(),
    message: text().notNull(),
    offer: integer(),
    sentAt: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.disputeId, t.number] })],
);
export type DisputeMessageRow = typeof disputeMessages.$inferSelect;

/** Links and digests, which the service never fetches. */
export const disputeEvidence = sqliteTable(
  "dispute_evidence",
  {
    disputeId: text().notNull(),
    number: integer().notNull(),
    submittedBy: text().$type<Side>().notNull(),
    description: text().notNull(),
    uri: text(),
    sha256: text(),
    mediaType: text(),
    submittedAt: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.disputeId, t.number] })],
);
export type DisputeEvidenceRow = typeof disputeEvidence.$inferSelect;

/** The arbiter's award as a compact JWS, stored separately because it is long. */
export const disputeAwards = sqliteTable("dispute_awards", {
  disputeId: text().primaryKey(),
  award: text().notNull(),
});

/**
 * Refunds that providers paid from their own wallets, by the contract's `Refunded`, once it is booked; base units. `settlement_key` names the
 * settlement in the edition `contract`, even one that was never facilitated: two editions may both have a settlement of the same key.
 */
export const refunds = sqliteTable(
  "refunds",
  {
    network: text().notNull(),
    blockNumber: integer().notNull(),
    txHash: text().notNull(),
    logIndex: integer().notNull(),
    contract: text().notNull().default(""),
    settlementKey: text().notNull(),
    payer: text().notNull(),
    amount: integer().notNull(),
    minedAt: integer().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.network, t.blockNumber, t.txHash, t.logIndex] }),
    // Holds every column that a sum reads: otherwise SQLite would read all refunds of the network by the primary key.
    index("refunds_by_settlement").on(t.network, t.settlementKey, t.contract, t.minedAt, t.blockNumber, t.amount),
  ],
);
export type RefundRow = typeof refunds.$inferSelect;

/**
 * Addresses to which the refunds and payouts of a settlement were redirected, by the contract's `RefundToSet`, once it is booked: the last one
 * counts.
 */
export const refundAddresses = sqliteTable(
  "refund_addresses",
  {
    network: text().notNull(),
    blockNumber: integer().notNull(),
    txHash: text().notNull(),
    logIndex: integer().notNull(),
    contract: text().notNull(),
    settlementKey: text().notNull(),
    refundTo: text().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.network, t.blockNumber, t.txHash, t.logIndex] }),
    index("refund_addresses_by_settlement").on(t.network, t.settlementKey, t.contract, t.blockNumber),
  ],
);
export type RefundAddressRow = typeof refundAddresses.$inferSelect;
