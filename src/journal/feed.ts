// The directory's change feed (DIR-1). A record is written in the batch of the change that it reports.
import type { Environment } from "../core/vocabulary.ts";
import type { Database, Statement } from "../db/batch.ts";
import { insertChange, insertChanges, type NotedChanges } from "./store.ts";

export type ChangeType = "registered" | "updated" | "status_changed" | "revoked";

export const recordDirectoryChange = (
  db: Database,
  environment: Environment,
  did: string,
  changeType: ChangeType,
  now: number,
): Statement => insertChange(db, { environment, did }, { at: now, changeType });

/** One record for each agent, in their order, as `recordDirectoryChange`. `noted`: the last numbers (last-numbers.ts). */
export const recordDirectoryChanges = (
  db: Database,
  changeType: ChangeType,
  now: number,
  each: readonly { environment: Environment; did: string }[],
  noted?: NotedChanges,
): Statement[] => insertChanges(db, each, { at: now, changeType }, noted);
