// The kinds of jobs. An `each` job finds due rows through an index and records each by its id; a `bulk` job changes many rows at once,
// slice by slice. A job may run late, twice or beside itself: each row is decided again on what is stored (JOB-2).
import type { Deps } from "../context.ts";
import type { Due } from "../core/due.ts";

/** `more`: the row was recorded in part, and the queue goes on with it. */
export type Recorded = boolean | "more";

/** The trigger itself records the rows that it finds, or the first slice: work of few statements (JOB-12), which mostly is all that is due. */
type Here = true;

export type EachJob = {
  readonly kind: "each";
  readonly name: string;
  /** The rows of one message, where one row sends so many statements that fewer than usual fit into an invocation (JOB-12). */
  readonly part?: number;
  /** Over how many seconds the messages of one reading are spread, where its work would hold up other calls and nobody waits for it (JOB-14). */
  readonly spreadSeconds?: number;
  readonly here?: Here;
  /** The rows that are due now, after the position `after`, longest due first. */
  readonly find: (deps: Deps, after: Due | null, limit: number) => Promise<readonly Due[]>;
  /** Returns false when nothing was left to do. */
  readonly record: (deps: Deps, id: string) => Promise<Recorded>;
};

/** A row of a slice that could not be recorded. */
export type RowFailure = { readonly id: string; readonly thrown: unknown };

export type Ran = {
  readonly done: number;
  readonly failed: readonly RowFailure[];
  /** The position after which the next slice begins; null after the last one. */
  readonly next: Due | null;
};

/** Due rows as they were found, and their work. */
export type Slice = { readonly oldestDueAt: number | null; readonly run: () => Promise<Ran> };

export type BulkJob = {
  readonly kind: "bulk";
  readonly name: string;
  readonly here?: Here;
  /** How many slices one message runs (JOB-12). */
  readonly slices: number;
  /** The next slice after a position; null when nothing is due. */
  readonly find: (deps: Deps, after: Due) => Promise<Slice | null>;
};

export type Job = EachJob | BulkJob;
