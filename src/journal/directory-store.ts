// Store of the directory's change records and entries: one at a time, or many at once as JSON. In a batch a record precedes the update of its entry,
// because the entry takes the record's instant (DIR-6).
import { and, asc, eq, gt, lte, type Placeholder, type SQL, sql } from "drizzle-orm";
import {
  type AgentStatus,
  type ChangeType,
  type DirectoryStatus,
  ENVIRONMENTS,
  type Environment,
} from "../core/vocabulary.ts";
import { type Database, mustChange, type Read, readAll, type Statement } from "../db/batch.ts";
import { compileGiven, compileWrite } from "../db/compiled.ts";
import { splitIntoParts } from "../db/parts.ts";
import { directoryChanges, directoryEntries, type EntryRow } from "../db/tables/directory.ts";
import { lastNumbers } from "../db/tables/journal.ts";
import { selectLastEntry } from "./activity-store.ts";

type Change = Pick<typeof directoryChanges.$inferInsert, "environment" | "did">;

// ---- Records -------------------------------------------------------------------------------------------------------------

/** Real time by the database's own clock, because sandbox clocks do not move the directory. */
const NOW = sql`cast(unixepoch('subsec') * 1000 as integer)`;

/** D1 runs one batch at a time, so the numbers follow the order of the commits. Pruning never resets them. */
export const selectLastChangeNumber = (environment: Environment | Placeholder): SQL =>
  sql`coalesce((select max(seq) from directory_changes where environment = ${environment}),
    (select pruned_to from directory_feeds where environment = ${environment}), 0)`;

export const selectLastChangeInstant = (environment: Environment | Placeholder): SQL =>
  sql`coalesce((select occurred_at from directory_changes where environment = ${environment} order by seq desc limit 1), 0)`;

const compiledChangeInsert = compileWrite((db) => {
  const environment = sql.placeholder("environment");
  return db.insert(directoryChanges).values({
    environment,
    seq: sql`${selectLastChangeNumber(environment)} + 1`,
    did: sql.placeholder("did"),
    changeType: sql.placeholder("changeType"),
    occurredAt: sql`max(${NOW}, ${selectLastChangeInstant(environment)} + 1)`,
  });
});

export const insertChange = (db: Database, { environment, did }: Change, changeType: ChangeType): Statement => ({
  statement: compiledChangeInsert(db, { environment, did, changeType }),
  notifies: { listedIn: environment },
});

/** The number and the instant before a batch's records, as the batch has noted them. */
type NotedChange = { readonly seq: SQL; readonly at: SQL };
export type NotedChanges = Readonly<Record<Environment, NotedChange>>;

type Part = { readonly environment: Environment; readonly dids: readonly string[]; readonly insert: Statement };

/** Inserts records in order, separately for each environment, in parts. */
const insertChanges = (db: Database, each: readonly Change[], changeType: ChangeType, noted?: NotedChanges): Part[] =>
  ENVIRONMENTS.flatMap((environment) => {
    const dids = each.filter((one) => one.environment === environment).map(({ did }) => did);
    const [only] = dids;
    if (only === undefined) return [];
    if (dids.length === 1)
      return [{ environment, dids, insert: insertChange(db, { environment, did: only }, changeType) }];
    const { seq, at } = noted?.[environment] ?? {
      seq: selectLastChangeNumber(environment),
      at: selectLastChangeInstant(environment),
    };
    const parts = splitIntoParts(dids.map((did) => [did]));
    return parts.map(({ rows, before }, n) => ({
      environment,
      dids: dids.slice(before, parts[n + 1]?.before),
      insert: {
        statement: db.insert(directoryChanges).select(
          sql`select ${environment}, key + 1 + ${before} + ${seq}, value ->> 0, ${changeType},
            key + ${before} + max(${NOW}, ${at} + 1) from ${rows}`,
        ),
        notifies: { listedIn: environment },
      },
    }));
  });

export const deleteChanges = (db: Database, environment: Environment, upTo: number): Statement =>
  db
    .delete(directoryChanges)
    .where(and(eq(directoryChanges.environment, environment), lte(directoryChanges.seq, upTo)));

// ---- Entries -------------------------------------------------------------------------------------------------------------

/** FUNDING is listed as suspended (DIR-7). */
const LISTED_AS: Readonly<Record<AgentStatus, DirectoryStatus>> = {
  DRAFT: "suspended",
  FUNDING: "suspended",
  ACTIVE: "active",
  SUSPENDED: "suspended",
  REVOKED: "revoked",
  TERMINATED: "revoked",
};
const toListedStatus = (status: SQL): SQL =>
  sql`case ${status} when 'ACTIVE' then 'active' when 'REVOKED' then 'revoked' when 'TERMINATED' then 'revoked' else 'suspended' end`;

const ENTRY_COLUMNS = sql`select did, environment, principal_id, status, ${toListedStatus(sql`status`)}, economic_role, cert_tier, catalog_url, capabilities`;

/** Writes the whole entry from the agent's row as the batch leaves it. `markets`: the codes of its ACTIVE markets. */
export const putEntry = (db: Database, { environment, did }: Change, markets: readonly string[]): Statement =>
  db
    .insert(directoryEntries)
    .select(
      sql`${ENTRY_COLUMNS}, ${JSON.stringify(markets)}, agent_rating, ${selectLastChangeInstant(environment)}, 1, '[]' from agents where did = ${did}`,
    )
    .onConflictDoUpdate({
      target: directoryEntries.did,
      set: {
        environment: sql`excluded.environment`,
        principalId: sql`excluded.principal_id`,
        status: sql`excluded.status`,
        listedAs: sql`excluded.listed_as`,
        catalogUrl: sql`excluded.catalog_url`,
        capabilities: sql`excluded.capabilities`,
        markets: sql`excluded.markets`,
        agentRating: sql`excluded.agent_rating`,
        updatedAt: sql`excluded.updated_at`,
        unindexed: sql`directory_entries.unindexed or (directory_entries.environment, directory_entries.capabilities, directory_entries.markets)
          <> (excluded.environment, excluded.capabilities, excluded.markets)`,
      },
    });

/** Dates an entry after a change that affects neither its identity, scope, markets nor status, and writes a new rating if one is given. */
export const dateEntry = (
  db: Database,
  { environment, did }: Change,
  rating: { readonly agentRating?: number | null },
): Statement => compiledEntryDating(db, { environment, did, ...rating });
const compiledEntryDating = compileGiven<Change & { readonly agentRating?: number | null }>(
  (db, { environment, did, ...rating }) =>
    db
      .update(directoryEntries)
      .set({ ...rating, updatedAt: selectLastChangeInstant(environment) })
      .where(eq(directoryEntries.did, did)),
);

const toStatusColumns = (status: AgentStatus | null) => status !== null && { status, listedAs: LISTED_AS[status] };

/** Sets entries to a status, or keeps it if null, with the instants of the records that the statement before has inserted. */
function moveEntries(db: Database, { environment, dids }: Part, status: AgentStatus | null): Statement[] {
  const [did, ...others] = dids;
  const inEnvironment = eq(directoryEntries.environment, environment);
  // Without a list, one entry reads two rows less.
  if (did !== undefined && others.length === 0)
    return [
      db
        .update(directoryEntries)
        .set({ ...toStatusColumns(status), updatedAt: selectLastChangeInstant(environment) })
        .where(and(eq(directoryEntries.did, did), inEnvironment)),
    ];
  return splitIntoParts(dids.map((one) => [one])).map(({ rows, before }) =>
    db
      .update(directoryEntries)
      .set({
        ...toStatusColumns(status),
        updatedAt: sql`${selectLastChangeInstant(environment)} + cast(${before - dids.length + 1} as integer) + part.key`,
      })
      .from(sql`${rows} part`)
      .where(and(sql`${directoryEntries.did} = part.value ->> 0`, inEnvironment)),
  );
}

export const recordAndMoveEntries = (
  db: Database,
  each: readonly Change[],
  { changeType, status }: { readonly changeType: ChangeType; readonly status: AgentStatus | null },
  noted?: NotedChanges,
): Statement[] =>
  insertChanges(db, each, changeType, noted).flatMap((part) => [part.insert, ...moveEntries(db, part, status)]);

// ---- Terms ---------------------------------------------------------------------------------------------------------------

/** Entries whose search terms are out of date, in the order of their DIDs. */
export const findUnindexed = (db: Database, environment: Environment, after: string, limit: number): Read<EntryRow[]> =>
  readAll(
    db
      .select()
      .from(directoryEntries)
      // Literal text, so that SQLite uses the partial index.
      .where(and(sql`unindexed = 1`, eq(directoryEntries.environment, environment), gt(directoryEntries.did, after)))
      .orderBy(asc(directoryEntries.did))
      .limit(limit),
  );

/** Fails (Conflict) if the entry changed since it was read. */
export const markIndexed = (db: Database, { did, updatedAt }: EntryRow, terms: readonly string[]): Statement[] =>
  mustChange(
    db,
    db
      .update(directoryEntries)
      .set({ unindexed: false, terms: [...terms] })
      .where(
        and(
          eq(directoryEntries.did, did),
          eq(directoryEntries.updatedAt, updatedAt),
          eq(directoryEntries.unindexed, true),
        ),
      ),
  );

// ---- Last numbers --------------------------------------------------------------------------------------------------------

const NOTE = "noted";

/**
 * Notes the last numbers of the activity log and of the directory's feeds before a batch adds many rows (EVT-11): a statement that reads the table that
 * it writes buffers its rows and reads each again. The next statement in the batch that adds an entry of the platform, or a change, must use the note.
 */
export const recordLastNumbers = (
  db: Database,
  platformId: string,
  environments: ReadonlySet<Environment>,
): Statement =>
  db
    .insert(lastNumbers)
    .values({
      name: NOTE,
      activity: selectLastEntry(platformId),
      sandbox: environments.has("sandbox") ? selectLastChangeNumber("sandbox") : 0,
      production: environments.has("production") ? selectLastChangeNumber("production") : 0,
      sandboxAt: environments.has("sandbox") ? selectLastChangeInstant("sandbox") : 0,
      productionAt: environments.has("production") ? selectLastChangeInstant("production") : 0,
    })
    .onConflictDoUpdate({
      target: lastNumbers.name,
      set: {
        activity: sql`excluded.activity`,
        sandbox: sql`excluded.sandbox`,
        production: sql`excluded.production`,
        sandboxAt: sql`excluded.sandbox_at`,
        productionAt: sql`excluded.production_at`,
      },
    });

export type LastNumber = SQL;

const selectNotedNumber = (
  column: "activity" | "sandbox" | "production" | "sandbox_at" | "production_at",
): LastNumber => sql`(select ${sql.raw(column)} from last_numbers where name = ${NOTE})`;

export const LAST_NUMBERS = {
  activity: selectNotedNumber("activity"),
  directory: {
    sandbox: { seq: selectNotedNumber("sandbox"), at: selectNotedNumber("sandbox_at") },
    production: { seq: selectNotedNumber("production"), at: selectNotedNumber("production_at") },
  },
} as const;
