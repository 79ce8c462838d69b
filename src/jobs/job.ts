// Work that falls due by itself. A job finds what is due through an index and records each by its id; one that changes many rows at once
// runs slice by slice. Every job may run late, twice, or beside itself: what it records is decided again on what is stored.
import type { Deps } from "../context.ts";
import type { Due } from "../core/due.ts";

export type EachJob = {
  readonly kind: "each";
  readonly name: string;
  /** What is due now and comes after `after`, longest due first. */
  readonly find: (deps: Deps, after: Due | null, limit: number) => Promise<readonly Due[]>;
  /** False when nothing was left to do. */
  readonly record: (deps: Deps, id: string) => Promise<boolean>;
};

export type BulkJob = {
  readonly kind: "bulk";
  readonly name: string;
  /** One slice. `more` when another may follow at once. */
  readonly run: (deps: Deps) => Promise<{ readonly done: number; readonly more: boolean }>;
};

export type Job = EachJob | BulkJob;
