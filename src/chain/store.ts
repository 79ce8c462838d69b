// Store of chain operations: one row for each subject of a kind on a network, with the state that is wanted now.
import { and, asc, eq, lte, sql } from "drizzle-orm";
import type { Due } from "../core/due.ts";
import type { OperationKind } from "../core/vocabulary.ts";
import { type Database, type Read, readAll, readOne, type Statement } from "../db/batch.ts";
import { chainOperations, type OperationRow } from "../db/tables/chain.ts";

export type OperationKey = Pick<OperationRow, "network" | "kind" | "subject">;

const keyed = ({ network, kind, subject }: OperationKey) =>
  and(eq(chainOperations.network, network), eq(chainOperations.kind, kind), eq(chainOperations.subject, subject));

export const findOperation = (db: Database, key: OperationKey): Read<OperationRow | null> =>
  readOne(db.select().from(chainOperations).where(keyed(key)));

type Outcome = Pick<OperationRow, "wanted" | "status" | "reason" | "txHash" | "nextCheckAt">;

/**
 * Writes the wanted state and the progress. A transaction of an earlier outcome stays where this one names none. Until the operation is
 * done, a check that was due earlier stays due then: attempts that repeat each minute would put it off for ever.
 */
export const putOperation = (db: Database, key: OperationKey, outcome: Outcome, now: number): Statement => {
  const set = { ...outcome, updatedAt: now, checks: 0 };
  const { txHash, nextCheckAt, network, kind, subject } = chainOperations;
  const soonest = sql`min(coalesce(${nextCheckAt}, ${outcome.nextCheckAt}), ${outcome.nextCheckAt})`;
  return db
    .insert(chainOperations)
    .values({ ...key, ...set, createdAt: now })
    .onConflictDoUpdate({
      target: [network, kind, subject],
      set: {
        ...set,
        txHash: outcome.txHash ?? sql`${txHash}`,
        ...(outcome.status !== "done" && { nextCheckAt: soonest }),
      },
    });
};

/** Another state is wanted of an operation that is done. One that is not is left to its check. */
export const changeWanted = (
  db: Database,
  key: OperationKey,
  { wanted, txHash, nextCheckAt }: Pick<Outcome, "wanted" | "txHash" | "nextCheckAt">,
  now: number,
): Statement =>
  db
    .update(chainOperations)
    .set({ wanted, ...(txHash !== null && { txHash }), nextCheckAt, checks: 0, updatedAt: now })
    .where(and(keyed(key), eq(chainOperations.status, "done")));

/** The contract may have, or get, a state that is not wanted any more: it is looked at now. */
export const doubtOperation = (db: Database, key: OperationKey, now: number): Statement =>
  db
    .update(chainOperations)
    .set({ status: "waiting", reason: null, nextCheckAt: now, updatedAt: now })
    .where(keyed(key));

/** Operations that are due for another check. */
export const findUnchecked = (
  db: Database,
  kind: OperationKind,
  now: number,
  after: Due,
  limit: number,
): Read<Due[]> => {
  const { nextCheckAt, network, subject } = chainOperations;
  const [afterNetwork = "", afterSubject = ""] = after.id.split(" ");
  return readAll(
    db
      .select({ at: sql<number>`${nextCheckAt}`.as("at"), id: sql<string>`${network} || ' ' || ${subject}`.as("id") })
      .from(chainOperations)
      .where(
        and(
          sql`next_check_at is not null`,
          lte(nextCheckAt, now),
          // The index gives the order: with the unary plus SQLite does not take the kind for a constant, which would need a sort.
          sql`+${chainOperations.kind} = ${kind}`,
          sql`(${nextCheckAt}, ${network}, ${chainOperations.kind}, ${subject}) > (${after.at}, ${afterNetwork}, ${kind}, ${afterSubject})`,
        ),
      )
      .orderBy(asc(nextCheckAt), asc(network), asc(chainOperations.kind), asc(subject))
      .limit(limit),
  );
};

/** Records a check. Writes only onto the operation that was read. */
export const noteCheck = (db: Database, read: OperationRow, checks: number, nextCheckAt: number | null): Statement =>
  db
    .update(chainOperations)
    .set({ checks, nextCheckAt })
    .where(and(keyed(read), eq(chainOperations.updatedAt, read.updatedAt), eq(chainOperations.status, read.status)));
