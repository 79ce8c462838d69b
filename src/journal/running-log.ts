// Computes the running hash of a log (EVT-12, DIR-13) after the commits, so that no mutation reads it or waits for it.
import type { Deps } from "../context.ts";
import { Conflict, retryConflicts } from "../core/retry.ts";
import { commit, type Database, type Read, readBatch, type Statement } from "../db/batch.ts";
import { computeNextHash, FIRST_HASH } from "../protocol/running-hash.ts";

/** The entries of one batch, and the batches of one run. */
const HASHED_AT_ONCE = 250;
const SLICES = 8;

type Link = { readonly seq: number; readonly hash: string };
type Numbered = { readonly seq: number };

export type RunningLog<Row extends Numbered, Also = null> = {
  /** How far the log is hashed; null if nothing is hashed yet. */
  readonly reached: (db: Database) => Read<Link | null>;
  readonly unhashed: (db: Database, limit: number) => Read<Row[]>;
  /** An entry exactly as the API returns it. */
  readonly view: (row: Row) => object;
  /** Also read in the same trip, for `store`. */
  readonly also?: (db: Database) => Read<Also>;
  /** Statements that move the chain on and store the hashes; they are refused if another run has moved it. `begins`: nothing was hashed yet. */
  readonly store: (
    db: Database,
    moved: { readonly begins: boolean; readonly from: number; readonly to: Link },
    hashed: readonly { readonly row: Row; readonly hash: string }[],
    also: Also | undefined,
  ) => Statement[];
};

export type Hashed = Link & {
  /** More entries wait than one run takes. */
  readonly more: boolean;
  /** The number of a missing entry: nothing is hashed beyond it. */
  readonly missing: number | null;
};

/** Hashes the entries that have no hash yet, in slices. If two runs overlap, each slice is written by one of them. */
export async function hashLog<Row extends Numbered, Also>(deps: Deps, log: RunningLog<Row, Also>): Promise<Hashed> {
  for (let slice = 1; ; slice++) {
    const hashed = await retryConflicts(() => hashSlice(deps, log));
    if (!hashed.more || slice === SLICES) return hashed;
  }
}

/** For the queue: if other runs are always faster, they hash the entries. */
export async function hashLogOrYield<Row extends Numbered, Also>(
  deps: Deps,
  log: RunningLog<Row, Also>,
): Promise<void> {
  await hashLog(deps, log).catch((thrown) => {
    if (!(thrown instanceof Conflict)) throw thrown;
  });
}

async function hashSlice<Row extends Numbered, Also>({ db }: Deps, log: RunningLog<Row, Also>): Promise<Hashed> {
  const { reached, rows, also } = await readBatch(db, {
    reached: log.reached(db),
    rows: log.unhashed(db, HASHED_AT_ONCE),
    ...(log.also && { also: log.also(db) }),
  });
  const from = { seq: reached?.seq ?? 0, hash: reached?.hash ?? FIRST_HASH };
  const hashed = await hashRows(log, rows, from);
  const missing = hashed.length < rows.length ? from.seq + hashed.length + 1 : null;
  const to = { seq: from.seq + hashed.length, hash: hashed.at(-1)?.hash ?? from.hash };
  const moved = { begins: reached === null, from: from.seq, to };
  if (hashed.length > 0) await commit(db, log.store(db, moved, hashed, also));
  return { ...to, missing, more: rows.length === HASHED_AT_ONCE && missing === null };
}

async function hashRows<Row extends Numbered>(
  { view }: Pick<RunningLog<Row>, "view">,
  rows: readonly Row[],
  from: Link,
) {
  const hashed: { row: Row; hash: string }[] = [];
  let { hash } = from;
  for (const row of rows) {
    if (row.seq !== from.seq + hashed.length + 1) break;
    hash = await computeNextHash(hash, view(row));
    hashed.push({ row, hash });
  }
  return hashed;
}
