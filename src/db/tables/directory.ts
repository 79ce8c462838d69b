// Tables of the directory: an entry for each member, the terms by which entries are found, and the change feed with its running hash and heads.
import { sql } from "drizzle-orm";
import { index, integer, primaryKey, real, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type {
  AgentStatus,
  ChangeType,
  DirectoryStatus,
  EconomicRole,
  Environment,
  Tier,
} from "../../core/vocabulary.ts";

/** The directory's view of an agent with a certificate, written in the batch that changes it (DIR-5). */
export const directoryEntries = sqliteTable(
  "directory_entries",
  {
    did: text().primaryKey(),
    environment: text().$type<Environment>().notNull(),
    principalId: text().notNull(),
    status: text().$type<AgentStatus>().notNull(),
    listedAs: text().$type<DirectoryStatus>().notNull(),
    economicRole: text().$type<EconomicRole>().notNull(),
    certTier: text().$type<Tier>().notNull(),
    catalogUrl: text(),
    capabilities: text({ mode: "json" }).$type<string[]>().notNull(),
    markets: text({ mode: "json" }).$type<string[]>().notNull(),
    agentRating: real(),
    /** The instant of its last change record: unique within an environment, and later for a later commit (DIR-6). */
    updatedAt: integer().notNull(),
    /** True until a job has written its current terms (DIR-9). */
    unindexed: integer({ mode: "boolean" }).notNull(),
    terms: text({ mode: "json" }).$type<string[]>().notNull(),
  },
  (t) => [
    index("directory_entries_listed").on(t.environment, t.listedAs, t.updatedAt, t.did),
    index("directory_entries_unindexed").on(t.environment, t.did).where(sql`unindexed = 1`),
  ],
);
export type EntryRow = typeof directoryEntries.$inferSelect;

/** The entries that have a term: a capability, a market, a role or a tier, each with its environment (DIR-9). */
export const directoryTerms = sqliteTable("directory_terms", { term: text().notNull(), did: text().notNull() }, (t) => [
  primaryKey({ columns: [t.term, t.did] }),
]);

/** How many entries have a term, so that a search begins with the rarest. */
export const directoryTermCounts = sqliteTable("directory_term_counts", {
  term: text().primaryKey(),
  entries: integer().notNull(),
});

/** Append-only (DIR-2). `seq` and the instant are drawn inside the batch, so their order is the order of commits. */
export const directoryChanges = sqliteTable(
  "directory_changes",
  {
    environment: text().$type<Environment>().notNull(),
    seq: integer().notNull(),
    did: text().notNull(),
    changeType: text().$type<ChangeType>().notNull(),
    occurredAt: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.environment, t.seq] })],
);
export type ChangeRow = typeof directoryChanges.$inferSelect;

/**
 * The hash and the instant of every sixteenth record, which a job keeps for ever (DIR-13). A reader that resumes from an instant begins at one of
 * them.
 */
export const directoryHashes = sqliteTable(
  "directory_hashes",
  {
    environment: text().$type<Environment>().notNull(),
    occurredAt: integer().notNull(),
    seq: integer().notNull(),
    hash: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.environment, t.occurredAt] })],
);

/** How far each feed is hashed, signed and pruned. Mutations never write it. */
export const directoryFeeds = sqliteTable("directory_feeds", {
  environment: text().$type<Environment>().primaryKey(),
  seq: integer().notNull(),
  hash: text().notNull(),
  headSeq: integer().notNull(),
  /** The last pruned record: numbering continues after it, even if no record is left. */
  prunedTo: integer().notNull(),
});
export type FeedRow = typeof directoryFeeds.$inferSelect;

export const directoryHeads = sqliteTable(
  "directory_heads",
  {
    environment: text().$type<Environment>().notNull(),
    seq: integer().notNull(),
    hash: text().notNull(),
    signedAt: integer().notNull(),
    jws: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.environment, t.seq] })],
);
export type DirectoryHeadRow = typeof directoryHeads.$inferSelect;
