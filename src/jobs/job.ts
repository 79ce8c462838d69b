// The kinds of jobs. An `each` job finds due rows through an index and records each by its id; a `bulk` job changes many rows at once,
// slice by slice. A job may run late, twice or beside itself: each row is decided again on what is stored (JOB-2).
import type { Deps } from "../context.ts";
import type { Due } from "../core/due.ts";

export type EachJob = {
  readonly kind: "each";
  readonly name: string;
  /** The rows that are due now, after the position `after`, longest due first. */
  readonly find: (deps: Deps, after: Due | null, limit: number) => Promise<readonly Due[]>;
  /** Returns false when nothing was left to do. */
  readonly record: (deps: Deps, id: string) => Promise<boolean>;
};

export type BulkJob = {
  readonly kind: "bulk";
  readonly name: string;
  /** Runs one slice. `more` when another may follow at once. */
  readonly run: (deps: Deps) => Promise<{ readonly done: number; readonly more: boolean }>;
};

export type Job = EachJob | BulkJob;
