// Store of the writes of agents: statements for a commit.
import { and, eq, inArray, type SQL, sql } from "drizzle-orm";
import type { Due } from "../core/clock.ts";
import type { AgentStatus, Environment } from "../core/vocabulary.ts";
import { type Database, guard, mustChange, type Statement } from "../db/batch.ts";
import { compileGiven, compileInsert } from "../db/compiled.ts";
import { eachOf, isOneOf } from "../db/lists.ts";
import { type AgentRow, agents, type WalletSince } from "../db/tables/agents.ts";
import type { PrincipalRow } from "../db/tables/principals.ts";
import type { MovedStates } from "../escrow/store.ts";
import { isPrincipalUnchanged } from "../principals/store.ts";
import type { AddedSums } from "../ratings/store.ts";
import { addWallets, mayReactivateWithPrincipal } from "./find-store.ts";
import {
  isUnchangedRating,
  mayStoreRating,
  type RatingSet,
  toRatingColumns,
  toRatingValues,
  toRepublishColumns,
} from "./rating-store.ts";

export const insertAgent = compileInsert((db) => db.insert(agents));

/**
 * Writes only if the agent still has the version and status on which the change was decided (AGT-28). Only changed columns are written, and the
 * revision is incremented in SQL, because settlements and ratings change it (and the sums) at the same time.
 */
export const updateAgent = (
  db: Database,
  before: AgentRow,
  set: AgentColumns,
  options: { readonly documented: boolean; readonly owner: PrincipalRow; readonly also?: SQL | undefined },
): Statement[] =>
  mustChange(
    db,
    db
      .update(agents)
      .set({ ...pickChangedColumns(before, set), ...(options.documented && { revision: sql`${agents.revision} + 1` }) })
      .where(
        and(
          eq(agents.did, before.did),
          eq(agents.status, before.status),
          eq(agents.version, before.version),
          // The signed document states the owner's name, and a tenant principal's name may change.
          options.owner.tenant ? isPrincipalUnchanged(options.owner) : undefined,
          options.also,
        ),
      ),
  );

type AgentColumns = Partial<Omit<AgentRow, "escrowStates">> & (MovedStates | Pick<AgentRow, "escrowStates">);

const pickChangedColumns = (before: AgentRow, set: AgentColumns): AgentColumns =>
  Object.fromEntries(Object.entries(set).filter(([name, value]) => value !== before[name as keyof AgentRow]));

/** Records when the agent asked for other wallets (MKT-24). No document shows it, so the version stays. */
export const noteWalletAsks = (db: Database, did: string, walletAsks: readonly number[]): Statement =>
  db.update(agents).set({ walletAsks }).where(eq(agents.did, did));

/** Adds the wallets that the agent does not have yet (FAC-22). */
export const noteWallets = (db: Database, did: string, wallets: readonly WalletSince[]): Statement => {
  const { all, isAny } = addWallets(wallets);
  return db
    .update(agents)
    .set({ wallets: all })
    .where(and(eq(agents.did, did), isAny));
};

/**
 * Writes the rating if sums and rating are as they were read (AGT-28). With `added`, adds to the stored sums instead if that results in the
 * same rating: other signals may have been added since the row was read.
 */
export const updateRating = (db: Database, before: AgentRow, set: RatingSet, added: AddedSums | null): Statement[] => [
  ...mustChange(db, writeRating(db, toRatingValues(before, set, added))),
  ...(added && set.agentRating !== null ? [rescheduleDecay(db, before, set, added)] : []),
];

const writeRating = compileGiven<ReturnType<typeof toRatingValues>>((db, values) =>
  db
    .update(agents)
    .set({ ...keepLatestDate(toRatingColumns(values)), revision: sql`${agents.revision} + 1` })
    .where(and(eq(agents.did, values.did), mayStoreRating(values))),
);

/** If other signals were added since the row was read, the next decay was computed from old sums: a job computes it again. */
const rescheduleDecay = (db: Database, { did }: AgentRow, set: RatingSet, { now }: AddedSums): Statement =>
  scheduleDecayEarlier(db, { did, now, weight: set.ratingWeight, weighted: set.ratingWeighted });
const scheduleDecayEarlier = compileGiven<{ did: string; now: number; weight: number; weighted: number }>(
  (db, { did, now, weight, weighted }) =>
    db
      .update(agents)
      .set({ ...toRepublishColumns(null), republishAt: sql`min(coalesce(${agents.republishAt}, ${now}), ${now})` })
      .where(
        and(eq(agents.did, did), sql`(${agents.ratingWeight}, ${agents.ratingWeighted}) <> (${weight}, ${weighted})`),
      ),
);

/** Schedules the next look at a rating that decay has not moved yet; null for never. */
export const scheduleRating = (db: Database, before: AgentRow, next: number | null): Statement[] =>
  mustChange(
    db,
    db
      .update(agents)
      .set(toRepublishColumns(next))
      .where(and(eq(agents.did, before.did), isUnchangedRating(before))),
  );

/** Dates the ratings of a sandbox by its own clock once that is first moved. */
export const dateRatings = (db: Database, platformId: string): Statement =>
  db
    .update(agents)
    .set({ republishBy: platformId })
    .where(
      and(
        eq(agents.platformId, platformId),
        eq(agents.environment, "sandbox"),
        eq(agents.republishBy, ""),
        sql`republish_at is not null`,
      ),
    );

/**
 * Marks an agent's document stale after a change that its platform did not make (IDN-18). Refused if the platform has made another version
 * meanwhile.
 */
export const markDocumentStale = (
  db: Database,
  { did, version }: Pick<AgentRow, "did" | "version">,
  set: MovedStates & { readonly updatedAt?: number } = {},
): Statement[] =>
  mustChange(
    db,
    db
      .update(agents)
      .set({ ...keepLatestDate(set), revision: sql`${agents.revision} + 1` })
      .where(and(eq(agents.did, did), eq(agents.version, version))),
  );

/** The changes of an agent's dispute counts, in the environment in which the dispute was filed. */
export type DisputeCounts = { readonly open: number; readonly for?: number; readonly against?: number };

/**
 * Adds to the counts in SQL. `documented`: also marks the document stale (IDN-18), unless another statement of the batch does so. A promoted
 * agent is not counted for its sandbox disputes.
 */
export const countDisputes = (
  db: Database,
  did: string,
  environment: Environment,
  { open, for: won = 0, against: lost = 0, documented }: DisputeCounts & { readonly documented: boolean },
  set: MovedStates & { readonly updatedAt?: number } = {},
): Statement =>
  db
    .update(agents)
    .set({
      ...keepLatestDate(set),
      disputesOpen: sql`${agents.disputesOpen} + ${open}`,
      disputesResolvedFor: sql`${agents.disputesResolvedFor} + ${won}`,
      disputesResolvedAgainst: sql`${agents.disputesResolvedAgainst} + ${lost}`,
      ...(documented && { revision: sql`${agents.revision} + 1` }),
    })
    .where(and(eq(agents.did, did), eq(agents.environment, environment)));

// ---- Many agents at once ----------------------------------------------------------------------------------------------------

/** A statement takes 100 parameters: these, and those of the rest of the statement. */
const DIDS_PER_STATEMENT = 80;

/** Splits agents into parts that one statement can name, each with its condition. */
function splitByDid<T extends Pick<AgentRow, "did">>(
  each: readonly T[],
): { readonly where: SQL; readonly part: readonly T[] }[] {
  const parts = Array.from({ length: Math.ceil(each.length / DIDS_PER_STATEMENT) }, (_, n) =>
    each.slice(n * DIDS_PER_STATEMENT, (n + 1) * DIDS_PER_STATEMENT),
  );
  return parts.map((part) => ({
    where: inArray(
      agents.did,
      part.map(({ did }) => did),
    ),
    part,
  }));
}

type AsRead = Pick<AgentRow, "did" | "status" | "certificateJti">;

/** Part of a principal's agents in their order: those after a position, up to another one or, if null, to the end. */
export type Stretch = { readonly principalId: string; readonly after: Due; readonly upTo: Due | null };

export type BulkMove = {
  readonly from: readonly AgentStatus[];
  readonly to: AgentStatus;
  readonly set: Pick<AgentRow, "suspensionReason" | "updatedAt">;
  readonly also?: SQL | undefined;
};

/** The last call on a moved sandbox clock may have been later than the job's time: `updated_at` never goes back. */
const selectUpdateInstant = (now: number): SQL => sql`max(${agents.updatedAt}, ${now})`;
const keepLatestDate = <T extends { readonly updatedAt?: number }>({ updatedAt, ...set }: T) =>
  updatedAt === undefined ? set : { ...set, updatedAt: selectUpdateInstant(updatedAt) };

/**
 * Moves all of the agents or none: each must have the status and the certificate that were read. In a stretch, no other agent may be in one of
 * the statuses: one that began to run after the read makes the caller read again. A stretch reads each row once; a list of DIDs reads it twice.
 */
export const moveAgents = (
  db: Database,
  each: readonly AsRead[],
  stretch: Stretch | null,
  { from, to, set, also }: BulkMove,
): Statement[] => {
  const sources = stretch ? [{ where: isWithin(stretch), part: each }] : splitByDid(each);
  return sources.flatMap(({ where, part }) =>
    mustChange(
      db,
      db
        .update(agents)
        .set({
          ...keepLatestDate(set),
          // Malformed JSON fails the whole batch.
          status: sql`case when ${isUnchanged(part)} then ${to} else json('unread') end`,
          suspendedFrom: to === "SUSPENDED" ? sql`${agents.status}` : null,
          statusNote: null,
        })
        .where(and(where, inArray(agents.status, [...from]), also)),
      part.length,
    ),
  );
};

/**
 * Selects agents after a position. The space sorts before anything that may follow in a DID: SQLite starts a range of pairs at the equal pair,
 * and would read the agent at the position once more.
 */
const isAfterAgentPosition = ({ at, id }: Due): SQL => sql`(${agents.createdAt}, ${agents.did}) > (${at}, ${`${id} `})`;

const isWithin = ({ principalId, after, upTo }: Stretch): SQL | undefined =>
  and(
    eq(agents.principalId, principalId),
    isAfterAgentPosition(after),
    upTo === null ? undefined : sql`(created_at, did) <= (${upTo.at}, ${upTo.id})`,
  );

const isUnchanged = (each: readonly AsRead[]): SQL => {
  const known = each.map(({ did, status, certificateJti }) => [did, `${status} ${certificateJti ?? ""}`]);
  return sql`${JSON.stringify(Object.fromEntries(known))} ->> did = status || ' ' || coalesce(certificate_jti, '')`;
};

/** Refuses if the principal's number of agents up to a position (null: all) has changed: one may have been added after the read. */
export const refuseOtherAgentCount = (
  db: Database,
  principalId: string,
  upTo: Due | null,
  count: number,
): Statement => {
  const within = upTo === null ? undefined : sql`(created_at, did) <= (${upTo.at}, ${upTo.id})`;
  const where = and(sql`principal_id = ${principalId}`, within);
  return guard(db, sql`(select count(*) from agents where ${where}) = ${sql.raw(String(count))}`);
};

type Ending = Pick<AgentRow, "principalId" | "endsAt">;

/** Leaves out agents that were transferred meanwhile. The `+` makes it an expression, so that SQLite searches by DID. */
const isOfPrincipal = (principalId: string): SQL => sql`+principal_id = ${principalId}`;

/** Marks documents stale, like `markDocumentStale`: they show another attestation, which ends at another instant. */
export const markDocumentsStale = (db: Database, dids: readonly string[], { principalId, endsAt }: Ending): Statement =>
  db
    .update(agents)
    .set({ endsAt, revision: sql`${agents.revision} + 1` })
    .where(and(isOneOf(sql`did`, dids), isOfPrincipal(principalId)));

export const writeAttestationEnds = (
  db: Database,
  dids: readonly string[],
  { principalId, endsAt }: Ending,
): Statement =>
  db
    .update(agents)
    .set({ endsAt })
    .where(and(isOneOf(sql`did`, dids), isOfPrincipal(principalId)));

/** Increments the version of all of the agents or none: each must be at the version on which the new one was decided. */
export const advanceVersions = (
  db: Database,
  before: readonly Pick<AgentRow, "did" | "version">[],
  now: number,
): Statement[] => {
  const known = before.map(({ did, version }) => [did, version]);
  return mustChange(
    db,
    db
      .update(agents)
      .set({
        version: sql`${agents.version} + 1`,
        revision: sql`${agents.revision} + 1`,
        updatedAt: selectUpdateInstant(now),
      })
      .from(sql`${eachOf(known)} as known`)
      .where(sql`${agents.did} = known.value ->> 0 and ${agents.version} = known.value ->> 1`),
    before.length,
  );
};

/** Reactivates all agents that were suspended with their principal, or none: each must be at the version that was read (AGT-28). */
export const reactivateAgentRows = (
  db: Database,
  each: readonly { readonly before: AgentRow; readonly after: AgentRow }[],
  now: number,
): Statement[] => {
  const known = each.map(({ before, after }) => [
    before.did,
    before.version,
    after.status,
    after.version,
    after.certificateJti,
    after.certificateExpiresAt,
    after.endsAt,
  ]);
  const recertified = sql`(${agents.version} < known.value ->> 3)`;
  return mustChange(
    db,
    db
      .update(agents)
      .set({
        status: sql`known.value ->> 2`,
        suspensionReason: null,
        suspendedFrom: null,
        statusNote: null,
        certificateJti: sql`known.value ->> 4`,
        certificateExpiresAt: sql`known.value ->> 5`,
        endsAt: sql`known.value ->> 6`,
        recertified: sql`${recertified} or ${agents.recertified}`,
        // A key is valid no longer than its certificates (AGT-32).
        earlierKey: sql`case when ${recertified} then null else ${agents.earlierKey} end`,
        version: sql`known.value ->> 3`,
        revision: sql`${agents.revision} + ${recertified}`,
        updatedAt: selectUpdateInstant(now),
      })
      .from(sql`${eachOf(known)} as known`)
      .where(
        sql`${agents.did} = known.value ->> 0 and ${agents.version} = known.value ->> 1
            and ${agents.status} = 'SUSPENDED' and ${mayReactivateWithPrincipal(now)}`,
      ),
    each.length,
  );
};

/** Changes the reason of agents that were suspended with their account: something else still stops them when the account is reinstated. */
export const replaceSuspensionReason = (
  db: Database,
  each: readonly AsRead[],
  set: Pick<AgentRow, "suspensionReason" | "updatedAt">,
): Statement[] =>
  splitByDid(each).flatMap(({ where, part }) =>
    mustChange(
      db,
      db.update(agents).set(keepLatestDate(set)).where(and(where, sql`suspension_reason = 'operator'`)),
      part.length,
    ),
  );
