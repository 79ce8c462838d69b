// Tables of chain operations (CHN-14). The signer stores the sent bytes and their nonces.
import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { OperationKind, OperationStatus } from "../../core/vocabulary.ts";

export const chainOperations = sqliteTable(
  "chain_operations",
  {
    network: text().notNull(),
    kind: text().$type<OperationKind>().notNull(),
    /** The subject of the wanted state: a provider's DID, or the settlement's key for a refund. */
    subject: text().notNull(),
    /** The state that the contract should have; base units are a string. */
    wanted: text({ mode: "json" }).$type<Record<string, string | null>>().notNull(),
    status: text().$type<OperationStatus>().notNull(),
    reason: text(),
    txHash: text(),
    createdAt: integer().notNull(),
    updatedAt: integer().notNull(),
    /**
     * When the contract is read again, because a reorg may have undone the operation; null when no check is left (CHN-19). For a pending refund: the
     * deadline.
     */
    nextCheckAt: integer(),
    checks: integer().notNull().default(0),
    /** When it was requested in the last day; only for operations that are limited by number (MKT-29). */
    asks: text({ mode: "json" }).$type<readonly number[]>(),
  },
  (t) => [
    primaryKey({ columns: [t.network, t.kind, t.subject] }),
    index("chain_operations_checks").on(t.kind, t.nextCheckAt).where(sql`next_check_at is not null`),
  ],
);
export type OperationRow = typeof chainOperations.$inferSelect;

/** The edition of the contract to which all providers of a network have moved or are moving (MKT-22). */
export const registeredEditions = sqliteTable("registered_editions", {
  network: text().primaryKey(),
  contract: text().notNull(),
  plannedAt: integer().notNull(),
  plans: integer().notNull(),
});
export type EditionRow = typeof registeredEditions.$inferSelect;

/** How far the contract's events of a network have been read (CHN-24). `paused`: whether the contract took no payments at the head (PAY-24). */
export const followers = sqliteTable("followers", {
  network: text().primaryKey(),
  /** The last block whose movements are booked, with its hash; the next reading begins after it. */
  bookedBlock: integer().notNull(),
  bookedHash: text().notNull(),
  bookedAt: integer().notNull().default(0),
  /** The head of the last reading that reached it, and the instant up to which it had seen every payment, in epoch milliseconds. */
  headBlock: integer().notNull(),
  readThrough: integer().notNull(),
  readAt: integer().notNull(),
  /** The provider whose vault was last compared with its lines; empty before the first and after the last. */
  checkedDid: text().notNull().default(""),
  paused: integer({ mode: "boolean" }).notNull().default(false),
  /** The receipt up to which each facilitated settlement was compared with its block (FAC-18). */
  checkedReceipt: integer().notNull().default(0),
  /** The range after the booked block that was read once, and a digest of its events: events that a second reading finds too are booked (CHN-24). */
  seen: text({ mode: "json" }).$type<SeenRange>(),
  /** The settlement or ledger line for which blocks were last read again, because a node and the ledger disagree (FAC-18). */
  rereadFor: text(),
  /** The intents whose bound payments lie after the booked block, where a reorg may still remove them (PAY-21). */
  bound: text({ mode: "json" }).$type<readonly string[]>().notNull().default([]),
  /** Providers whose escrow changed its state, but whose events did not fit into a batch yet. */
  turned: text({ mode: "json" }).$type<readonly string[]>().notNull().default([]),
  /** The head at the first reading: acts of keys up to it, such as the deployment, are older than the service (CHN-33). */
  beganBlock: integer().notNull().default(0),
});
export type FollowerRow = typeof followers.$inferSelect;

/** `digest`: of all events between the booked block and this one. */
export type SeenRange = {
  readonly number: number;
  readonly hash: string;
  readonly time: number;
  readonly digest: string;
};
/**
 * Acts of keys that the service did not request, until they are booked, and the calls that wait in an authority, until their end is final (CHN-33).
 */
export const keyActs = sqliteTable(
  "key_acts",
  {
    network: text().notNull(),
    txHash: text().notNull(),
    logIndex: integer().notNull(),
    blockNumber: integer().notNull(),
    minedAt: integer().notNull(),
    authority: text().notNull(),
    /** This and the following columns are set only for a scheduled call. `nonce`: how often this same call was scheduled. */
    operationId: text(),
    nonce: integer(),
    caller: text(),
    target: text(),
    /** Null if it is too long to be a call of the contract. */
    data: text(),
    readyAt: integer(),
    asked: integer({ mode: "boolean" }).notNull(),
    endedBlock: integer(),
  },
  (t) => [
    primaryKey({ columns: [t.network, t.txHash, t.logIndex] }),
    index("key_acts_waiting")
      .on(t.network, t.asked, t.readyAt, t.txHash, t.logIndex)
      .where(sql`operation_id is not null and ended_block is null`),
  ],
);
export type KeyActRow = typeof keyActs.$inferSelect;

/** The reasons that close a network to new intents, besides what its follower has read (PAY-24). Real time, in epoch milliseconds. */
export const networkAvailability = sqliteTable("network_standings", {
  network: text().primaryKey(),
  /** When a caller that found the follower late last started it; 0: never. */
  sentAt: integer().notNull().default(0),
  behindSince: integer(),
  lowGasUntil: integer().notNull().default(0),
});

/**
 * Booked blocks, which show how deep a reorg goes. The follower notes the block of each run that read an event or booked a line, and otherwise about
 * one block in fifty.
 */
export const bookedBlocks = sqliteTable(
  "booked_blocks",
  {
    network: text().notNull(),
    number: integer().notNull(),
    hash: text().notNull(),
    /** The vaults that have lines, or got another wallet, after the previous noted block and up to this one. */
    vaults: text({ mode: "json" }).$type<readonly VaultRef[]>().notNull().default([]),
  },
  (t) => [primaryKey({ columns: [t.network, t.number] })],
);
export type BookedBlock = typeof bookedBlocks.$inferSelect;
/** A provider's vault in an edition of the contract. `wallet`: its provider got another wallet there. */
export type VaultRef = { readonly did: string; readonly contract: string; readonly wallet?: true };

/** Vaults that held less than their lines say: reported to the operator, never repaired (MKT-23). A pair of equal numbers is recorded once. */
export const ledgerDifferences = sqliteTable(
  "ledger_differences",
  {
    network: text().notNull(),
    did: text().notNull(),
    contract: text().notNull(),
    held: integer().notNull(),
    expected: integer().notNull(),
    blockNumber: integer().notNull(),
    foundAt: integer().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.network, t.did, t.contract, t.held, t.expected] }),
    index("ledger_differences_newest").on(t.foundAt, t.network, t.did, t.contract, t.held, t.expected),
    index("ledger_differences_by_did").on(t.did, t.foundAt, t.network, t.contract, t.held, t.expected),
  ],
);
export type LedgerDifference = typeof ledgerDifferences.$inferSelect;
