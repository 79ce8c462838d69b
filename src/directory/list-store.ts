// Store of the listing (DIR-7, DIR-8). Its order is that of an index per environment and status. A filter by terms starts with the rarest term,
// unless even that one is common: then a scan of the listing skips only few entries.
import { and, type SQL, sql } from "drizzle-orm";
import type { AskedRows, FoundRows } from "../core/page.ts";
import {
  DIRECTORY_STATUSES,
  type DirectoryStatus,
  type Environment,
  type PrincipalStatus,
} from "../core/vocabulary.ts";
import { type Database, type Read, read, readOne } from "../db/batch.ts";
import { compileOnce } from "../db/compiled.ts";
import {
  fitsOrEndsScan,
  IS_SCAN_END,
  limitWhile,
  type Ranges,
  selectBareColumns,
  selectPage,
  selectScan,
  toFoundRows,
} from "../db/pages.ts";
import { directoryEntries, type EntryRow } from "../db/tables/directory.ts";
import { selectLastChangeNumber } from "../journal/directory-store.ts";
import type { StoredStatus } from "../principals/effective-status.ts";
import { listTerms, type Sought } from "./terms.ts";

export type Filter = Sought & {
  readonly status: DirectoryStatus | "all";
  readonly minRating?: number | undefined;
  readonly updatedSince?: number | undefined;
};

/** The state on which a listing depends: while this is unchanged, so is the listing (DIR-10). */
export type ListingState = {
  readonly seq: number;
  /** The latest end of an attestation that has passed but is not recorded, in epoch milliseconds; 0 if there is none. */
  readonly ended: number;
  /** True while a cascade still has to suspend entries: until then their principals are read with them. */
  readonly moving: boolean;
  /** True while running agents still have to be listed again (DIR-15). */
  readonly relisting: boolean;
};

const { unindexed: _unindexed, terms: _terms, ...shown } = selectBareColumns(directoryEntries, "listed");
type ShownEntry = Omit<EntryRow, "unindexed" | "terms">;

/** The columns of an entry's principal; nulls if the entry already follows its principal. */
const selectPrincipalColumns = (principal: SQL | null) => ({
  principalStatus: sql<PrincipalStatus | null>`${principal ? sql`${principal}.status` : sql`null`}`.as(
    "principal_status",
  ),
  attestationExpiresAt: sql<number | null>`${principal ? sql`${principal}.attestation_expires_at` : sql`null`}`.as(
    "principal_end",
  ),
  accountStopped: sql<StoredStatus["accountStopped"]>`${principal ? sql`${principal}.account_stopped` : sql`null`}`.as(
    "account_stopped",
  ),
});
type PrincipalColumns = {
  readonly principalStatus: PrincipalStatus | null;
  readonly attestationExpiresAt: number | null;
  readonly accountStopped: StoredStatus["accountStopped"];
};
/** An entry, with its principal while entries may not follow theirs yet. */
export type ListedEntry = ShownEntry & PrincipalColumns;

// ---- The state of the listing --------------------------------------------------------------------------------------------

/** Only ends of principals with certified agents in the environment show. Literal text, so that SQLite uses the partial index. */
const selectLatestPassedEnd = (environment: Environment, now: number): SQL =>
  sql`(select p.attestation_expires_at from principals p where p.status = 'ACTIVE' and p.attestation_expires_at <= ${now}
    and exists (select 1 from agents a where a.principal_id = p.principal_id and a.environment = ${environment} and a.certificate_jti is not null)
    order by p.attestation_expires_at desc limit 1)`;

/** Looks at this many cascades for one that suspends agents; if there are more, it assumes one. The equality reads nothing if there are none. */
const LOOKED_AT = 20;
const cascadesLookedAt = sql.raw(`(select "trigger" as cause from walks where kind = 'cascade' limit ${LOOKED_AT})`);
const SOME_STOPPING = sql`(exists (select 1 from ${cascadesLookedAt} where cause in ('principal_stops', 'principal_closes'))
  or (select count(*) from ${cascadesLookedAt}) = ${sql.raw(String(LOOKED_AT))})`;

export const findListingState = (db: Database, environment: Environment, now: number): Read<ListingState> =>
  read(
    db
      .select({
        seq: sql<number>`${selectLastChangeNumber(environment)}`.as("seq"),
        ended: sql<number>`coalesce(${selectLatestPassedEnd(environment, now)}, 0)`.as("ended"),
        moving: sql<number>`${SOME_STOPPING}`.as("moving"),
        relisting: sql<number>`exists (select 1 from walks where relisting = 1)`.as("relisting"),
      })
      .from(sql`(select 1)`),
    ([row]) => ({
      seq: row?.seq ?? 0,
      ended: row?.ended ?? 0,
      moving: row?.moving === 1,
      relisting: row?.relisting === 1,
    }),
  );

// ---- A page --------------------------------------------------------------------------------------------------------------

const ORDER = sql`updated_at, did`;
/** Sorts after every DID. */
const LAST_DID = "~";

const isAfterPlace = (environment: Environment, { updatedSince }: Filter, { after }: AskedRows): SQL | undefined => {
  const from = after ?? (updatedSince === undefined ? null : { at: updatedSince, id: LAST_DID });
  return and(
    sql`environment = ${environment}`,
    // The space sorts before anything that may follow in a DID: SQLite starts a range of pairs at the equal pair, and would read that one too.
    from === null ? undefined : sql`(updated_at, did) > (${from.at}, ${`${from.id} `})`,
  );
};

/** The entries of some statuses in the order of the listing: one page, or a scan of limited length. */
const selectInOrder = (
  statuses: readonly DirectoryStatus[],
  own: SQL | undefined,
  all: boolean,
  limit: number,
): SQL => {
  const from = statuses.map((one) => sql`directory_entries where ${and(own, sql`listed_as = ${one}`)}`);
  const ranges: Ranges = { columns: shown, order: ORDER, from };
  return all ? selectPage(ranges, limit) : selectScan(ranges);
};

const selectBeyond = (all: boolean) => (all ? sql<number>`0`.as("beyond") : IS_SCAN_END);

type Judged = ListedEntry & { readonly beyond: number };

/**
 * The reads of a page, of which one returns rows: `plain` reads the entries in the order of the listing, `sought` those of the rarest term. Every
 * entry must already follow its principal.
 */
export function buildPageReads(
  db: Database,
  environment: Environment,
  filter: Filter,
  place: AskedRows,
): { readonly plain: Read<FoundRows<ListedEntry>>; readonly sought?: Read<ListedEntry[]> } {
  const { limit } = place;
  const { status } = filter;
  const own = isAfterPlace(environment, filter, place);
  const wanted = DIRECTORY_STATUSES.filter((one) => status === "all" || status === one);
  const fits = matchEntryFilter(filter);
  const terms = listTerms(environment, filter);
  const rare = terms.length === 0 ? undefined : isRare(environment, terms);
  const all = fits === undefined;
  const given = bindWords(filter, terms);
  const plain = db
    .select({ given, ...shown, ...selectPrincipalColumns(null), beyond: selectBeyond(all) })
    .from(selectInOrder(wanted, own, all, limit))
    .where(fits && fitsOrEndsScan(fits))
    .limit(limitWhile(rare && sql`not ${rare}`, limit + 1));
  if (!rare) return { plain: read(plain, toFoundRows<Judged>) };
  const sought = db
    .select({ given, ...shown, ...selectPrincipalColumns(null) })
    .from(selectByRarestTerm(environment, terms, own))
    .where(and(fits, status === "all" ? undefined : sql`listed.listed_as = ${status}`))
    .limit(limitWhile(rare, RARE + UNINDEXED));
  // Sorted here, because the database reads rows that it sorts once more.
  const first = (found: ListedEntry[]) => found.sort(compareByPlace).slice(0, limit + 1);
  return { plain: read(plain, toFoundRows<Judged>), sought: read(sought, first) };
}

const compareByPlace = (a: ListedEntry, b: ListedEntry): number =>
  a.updatedAt - b.updatedAt || (a.did < b.did ? -1 : 1);

/** The statuses under which an entry may be listed, by its effective status: a principal can only make it worse. */
const LISTED_AS: Readonly<Record<DirectoryStatus | "all", readonly DirectoryStatus[]>> = {
  active: ["active"],
  suspended: ["active", "suspended"],
  revoked: DIRECTORY_STATUSES,
  all: DIRECTORY_STATUSES,
};

/**
 * Like `buildPageReads`, while some entries do not follow their principals yet: the principals are read with them. `now` is real time: an end on a
 * moved sandbox clock shows once it is recorded.
 */
export function findPageWithPrincipals(
  db: Database,
  environment: Environment,
  filter: Filter,
  now: number,
  place: AskedRows,
): Read<FoundRows<ListedEntry>> {
  const { status } = filter;
  const fits = and(
    matchEntryFilter(filter),
    status === "all" ? undefined : sql`${selectEffectiveListing(now)} = ${status}`,
  );
  const all = fits === undefined;
  const source = selectInOrder(LISTED_AS[status], isAfterPlace(environment, filter, place), all, place.limit);
  const rows = db
    .select({ given: bindWords(filter), ...shown, ...selectPrincipalColumns(sql`p`), beyond: selectBeyond(all) })
    // Joined one by one: `cross join` makes SQLite keep the order.
    .from(sql`${source} cross join principals p on p.principal_id = listed.principal_id`)
    .where(fits && fitsOrEndsScan(fits))
    .limit(place.limit + 1);
  return read(rows, toFoundRows<Judged>);
}

/** The effective status at an instant, as in `toEffectiveAgentStatus`. */
const selectEffectiveListing = (now: number): SQL => sql`case
  when listed.listed_as = 'revoked' then 'revoked'
  when p.status = 'CLOSED' or p.account_stopped = 'CLOSED' then 'revoked'
  when listed.listed_as = 'suspended' or p.status <> 'ACTIVE' or p.account_stopped is not null or p.attestation_expires_at <= ${now} then 'suspended'
  else 'active' end`;

// The words of a search are one parameter, because a statement has at most 100. It comes first in the text of the statement.
type WordList = "capabilities" | "markets" | "terms";

/** The first column of a statement that names words: it binds them, and its value is not used. */
function bindWords({ capabilities, markets }: Filter, terms: readonly string[] = []): SQL.Aliased<number> {
  // A list is stored as JSON, and no word in it has a comma.
  const sought = (words: readonly string[]) => words.map((word) => `,${JSON.stringify(word)}`);
  const words: Record<WordList, readonly string[]> = {
    capabilities: sought(capabilities),
    markets: sought(markets),
    terms,
  };
  return sql<number>`${JSON.stringify(words)} is null`.as("given");
}
const selectWord = (list: WordList, place: number): SQL => sql.raw(`(?1 ->> '$.${list}[${place}]')`);

const hasWord = (list: "capabilities" | "markets", place: number): SQL =>
  sql`instr(',' || substr(${sql.raw(`listed.${list}`)}, 2), ${selectWord(list, place)}) > 0`;

/** Nests conditions as a tree of few levels, because SQLite limits the depth of an expression. */
function joinConditions(conditions: readonly SQL[]): SQL | undefined {
  if (conditions.length < 3) return and(...conditions);
  const middle = conditions.length >> 1;
  return sql`(${joinConditions(conditions.slice(0, middle))}) and (${joinConditions(conditions.slice(middle))})`;
}

const matchEntryFilter = ({ capabilities, markets, economicRole, certTier, minRating }: Filter): SQL | undefined =>
  and(
    joinConditions([
      ...capabilities.map((_word, place) => hasWord("capabilities", place)),
      ...markets.map((_word, place) => hasWord("markets", place)),
    ]),
    economicRole === undefined ? undefined : sql`listed.economic_role = ${economicRole}`,
    certTier === undefined ? undefined : sql`listed.cert_tier = ${certTier}`,
    minRating === undefined ? undefined : sql`listed.agent_rating >= ${minRating}`,
  );

// ---- By terms ------------------------------------------------------------------------------------------------------------

/** Up to this many entries of the rarest term are all read. With more, the listing is scanned, at most a bounded number of entries per page. */
const RARE = 1_000;
/** While more entries than this wait for their terms, no search starts with a term. */
const UNINDEXED = 200;

/** Environments are constants of the code, so they need no parameter. */
const isUnindexedIn = (environment: Environment): SQL => sql.raw(`environment = '${environment}' and unindexed = 1`);

/**
 * The rarest of the terms, which SQLite takes from the row of the minimum, and its number of entries, which may be 0. Literal values do not count
 * as rows read.
 */
const countRarestTerm = (terms: readonly string[]): SQL => {
  const each = terms.map((_term, place) => sql`(${selectWord("terms", place)})`);
  return sql`(select w.column1 as term, min(coalesce((select entries from directory_term_counts c where c.term = w.column1), 0)) as entries
    from (values ${sql.join(each, sql`, `)}) w)`;
};

const isRare = (environment: Environment, terms: readonly string[]): SQL =>
  sql`((select entries from ${countRarestTerm(terms)}) <= ${sql.raw(`${RARE}`)} and
    (select count(*) from (select 1 from directory_entries where ${isUnindexedIn(environment)} limit ${sql.raw(`${UNINDEXED + 1}`)})) <= ${sql.raw(`${UNINDEXED}`)})`;

/** The entries of the rarest term, and those whose terms are not written yet. */
const selectByRarestTerm = (environment: Environment, terms: readonly string[], own: SQL | undefined): SQL =>
  sql`(select * from (select e.* from ${countRarestTerm(terms)} r cross join directory_terms t on t.term = r.term
      cross join directory_entries e on e.did = t.did and e.unindexed = 0) where ${own}
    union all
    select * from directory_entries indexed by directory_entries_unindexed where ${isUnindexedIn(environment)} and ${own}) listed`;

// ---- One entry -----------------------------------------------------------------------------------------------------------

const entryByDid = compileOnce((db) =>
  db
    .select({ ...shown, ...selectPrincipalColumns(sql`p`) })
    .from(sql`directory_entries listed cross join principals p on p.principal_id = listed.principal_id`)
    .where(sql`listed.did = ${sql.placeholder("did")} and listed.environment = ${sql.placeholder("environment")}`),
);

export const findEntry = (db: Database, environment: Environment, did: string): Read<ListedEntry | null> =>
  readOne(entryByDid(db, { did, environment }));
