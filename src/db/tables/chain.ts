// Tables of chain operations (CHN-14). The bytes that were sent, and their nonces, are stored by the signer.
import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { Environment, OperationKind, OperationStatus } from "../../core/vocabulary.ts";

export const chainOperations = sqliteTable(
  "chain_operations",
  {
    network: text().notNull(),
    kind: text().$type<OperationKind>().notNull(),
    /** The subject of the wanted state: a provider's DID, of a refund the key of its settlement. */
    subject: text().notNull(),
    /** The state that the contract should have; base units are a string. */
    wanted: text({ mode: "json" }).$type<Record<string, string | null>>().notNull(),
    status: text().$type<OperationStatus>().notNull(),
    /** Why it waits or has failed. */
    reason: text(),
    /** The newest transaction. */
    txHash: text(),
    createdAt: integer().notNull(),
    updatedAt: integer().notNull(),
    /**
     * When the contract is read again, because a reorganisation may have undone the operation; null when no check is left (CHN-19). Of a refund that
     * is awaited: until when.
     */
    nextCheckAt: integer(),
    checks: integer().notNull().default(0),
    /** When it was asked for in the last day, of what may be asked for so often alone (MKT-29). */
    asks: text({ mode: "json" }).$type<readonly number[]>(),
  },
  (t) => [
    primaryKey({ columns: [t.network, t.kind, t.subject] }),
    index("chain_operations_checks").on(t.kind, t.nextCheckAt).where(sql`next_check_at is not null`),
  ],
);
export type OperationRow = typeof chainOperations.$inferSelect;

/** The edition of the contract to which all providers of a network have been taken, or are on their way (MKT-22). */
export const registeredEditions = sqliteTable("registered_editions", {
  network: text().primaryKey(),
  contract: text().notNull(),
  plannedAt: integer().notNull(),
  /** How often all of its providers were looked through. */
  plans: integer().notNull(),
});
export type EditionRow = typeof registeredEditions.$inferSelect;

/** Providers that are on their way to another edition. */
export const editionMoves = sqliteTable(
  "edition_moves",
  {
    did: text().notNull(),
    environment: text().$type<Environment>().notNull(),
    network: text().notNull(),
    plannedAt: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.did, t.environment, t.network] })],
);
export type EditionMove = typeof editionMoves.$inferSelect;

/** How far the contract's events of a network have been read (CHN-24). */
export const followers = sqliteTable("followers", {
  network: text().primaryKey(),
  /** The last block whose movements are booked, with its hash; the next reading begins behind it. */
  bookedBlock: integer().notNull(),
  bookedHash: text().notNull(),
  /** The instant of that block. Epoch milliseconds. */
  bookedAt: integer().notNull().default(0),
  /** The head of the last reading that came to it, and the instant up to which it had seen every payment. Epoch milliseconds. */
  headBlock: integer().notNull(),
  readThrough: integer().notNull(),
  /** Real time at which that reading began. */
  readAt: integer().notNull(),
  /** The provider whose vault was compared last with its lines; empty before the first one and after the last one. */
  checkedDid: text().notNull().default(""),
  /** Whether the contract took no payments at that head (PAY-24). */
  paused: integer({ mode: "boolean" }).notNull().default(false),
  /** The receipt up to which each facilitated settlement was compared with its block (FAC-18). */
  checkedReceipt: integer().notNull().default(0),
  /** Up to where it was read once behind the booked block, and what that reading found: what a second one finds too is booked (CHN-24). */
  seen: text({ mode: "json" }).$type<SeenRange>(),
  /** The transaction for which blocks were read anew last, because a node has its settlement and the ledger does not (FAC-18). */
  rereadFor: text(),
  /** The intents whose bound payments stand behind the booked block, where a reorganisation may still take them away (PAY-21). */
  bound: text({ mode: "json" }).$type<readonly string[]>().notNull().default([]),
  /** Providers whose escrow changed its state, and whose events no batch had room for yet. */
  turned: text({ mode: "json" }).$type<readonly string[]>().notNull().default([]),
  /** The head at the first reading: what keys did up to it is older than the service, its deployment first of all (CHN-33). */
  beganBlock: integer().notNull().default(0),
});
export type FollowerRow = typeof followers.$inferSelect;

/** `digest`: of all events between the booked block and this one. */
export type SeenRange = {
  readonly number: number;
  readonly hash: string;
  /** Epoch milliseconds. */
  readonly time: number;
  readonly digest: string;
};
/**
 * Acts of keys that the service did not request, until they are booked, and the calls that wait in an authority, until their end is final
 * (CHN-33).
 */
export const keyActs = sqliteTable(
  "key_acts",
  {
    network: text().notNull(),
    txHash: text().notNull(),
    logIndex: integer().notNull(),
    blockNumber: integer().notNull(),
    /** Epoch milliseconds of its block. */
    minedAt: integer().notNull(),
    authority: text().notNull(),
    /** Of a scheduled call alone, like all that follows. `nonce`: how often just this call was scheduled. */
    operationId: text(),
    nonce: integer(),
    caller: text(),
    target: text(),
    /** Null where it is longer than one of the contract's. */
    data: text(),
    /** Epoch milliseconds. */
    readyAt: integer(),
    /** Whether the service or a configured person made it. */
    asked: integer({ mode: "boolean" }).notNull(),
    /** The booked block in which it was executed or cancelled. */
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

/** What closes a network to new intents, beside what its follower has read (PAY-24). Real time, in epoch milliseconds. */
export const networkStandings = sqliteTable("network_standings", {
  network: text().primaryKey(),
  /** When somebody who found the follower behind sent it off last; 0: never. */
  sentAt: integer().notNull().default(0),
  /** When it was first found behind, since it was level last. */
  behindSince: integer(),
  /** Until when a key of the service counts as short of gas: longer each time that it is found so. */
  lowGasUntil: integer().notNull().default(0),
});

/**
 * Booked blocks, to find how deep a reorganisation goes. The follower notes the block of each run that read an event or booked a line, and
 * otherwise about one block in fifty.
 */
export const bookedBlocks = sqliteTable(
  "booked_blocks",
  {
    network: text().notNull(),
    number: integer().notNull(),
    hash: text().notNull(),
    /** The vaults that have lines, or got another wallet, between the note before it and this block. */
    vaults: text({ mode: "json" }).$type<readonly VaultRef[]>().notNull().default([]),
  },
  (t) => [primaryKey({ columns: [t.network, t.number] })],
);
export type BookedBlock = typeof bookedBlocks.$inferSelect;
/** A provider's vault in an edition of the contract. `wallet`: its provider got another wallet there. */
export type VaultRef = { readonly did: string; readonly contract: string; readonly wallet?: true };

/** Where a vault held less than its lines say: for the operator, never repaired (MKT-23). The same two numbers are found once. */
export const ledgerDifferences = sqliteTable(
  "ledger_differences",
  {
    network: text().notNull(),
    did: text().notNull(),
    contract: text().notNull(),
    /** What the vault held, and what it should have held by its lines. Base units. */
    held: integer().notNull(),
    expected: integer().notNull(),
    /** The block at which it was found. */
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
