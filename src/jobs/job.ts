// The kinds of jobs. An `each` job finds due rows through an index and records each by its id; a `bulk` job changes many rows at once,
// slice by slice. A job may run late, twice or in parallel: each row is decided again on what is stored (JOB-2).
import type { Deps } from "../context.ts";
import type { Due } from "../core/clock.ts";

/** `more`: the row was recorded in part; a queue message continues it. */
export type Recorded = boolean | "more";

/** The trigger itself records the rows that it finds, or the first slice, because few statements do (JOB-12). */
type RunsHere = true;

export type EachJob = {
  readonly kind: "each";
  readonly name: string;
  /** Rows in one message, if each sends so many statements that fewer than usual fit into an invocation (JOB-12). */
  readonly part?: number;
  /** Spreads the messages of one reading over so many seconds, so that the work does not slow down other calls (JOB-14). */
  readonly spreadSeconds?: number;
  readonly here?: RunsHere;
  /** Finds the rows that are due, after the position `after`, oldest first. */
  readonly find: (deps: Deps, after: Due | null, limit: number) => Promise<readonly Due[]>;
  /** Returns false when nothing was left to do. */
  readonly record: (deps: Deps, id: string) => Promise<Recorded>;
  /** Records the rows of a part in one batch, all or none. If it throws, each row is recorded by itself. */
  readonly recordSet?: (deps: Deps, ids: readonly string[]) => Promise<SetResult>;
};

/** `alone`: rows that each need a batch of their own. */
export type SetResult = { readonly done: number; readonly alone: readonly string[] };

export type RowFailure = { readonly id: string; readonly thrown: unknown };

export type SliceResult = {
  readonly done: number;
  readonly failed: readonly RowFailure[];
  /** The position after which the next slice begins; null after the last one. */
  readonly next: Due | null;
};

export type Slice = { readonly oldestDueAt: number | null; readonly run: () => Promise<SliceResult> };

export type BulkJob = {
  readonly kind: "bulk";
  readonly name: string;
  readonly here?: RunsHere;
  /** How many slices one message runs (JOB-12). */
  readonly slices: number;
  readonly find: (deps: Deps, after: Due) => Promise<Slice | null>;
};

export type Job = EachJob | BulkJob;
