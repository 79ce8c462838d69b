// The running hash of a platform's activity log (EVT-12).
import type { Deps } from "../context.ts";
import type { ActivityRow } from "../db/tables/journal.ts";
import { findUnhashed, setHashes } from "./activity-store.ts";
import { toEntryView } from "./activity-views.ts";
import { beginChain, findChain, moveChain } from "./chain-store.ts";
import { type Hashed, hashLog, type RunningLog } from "./running-log.ts";

export const activityLogOf = (deps: Deps, platformId: string): RunningLog<ActivityRow> => ({
  reached: (db) => findChain(db, platformId),
  unhashed: (db, limit) => findUnhashed(db, platformId, limit),
  view: toEntryView,
  store: (db, { begins, from, to }, hashed) => [
    ...(begins ? [beginChain(db, platformId, deps.clock.now())] : []),
    ...moveChain(db, platformId, from, to),
    setHashes(
      db,
      platformId,
      from,
      hashed.map(({ hash }) => hash),
    ),
  ],
});

export const hashNewEntries = (deps: Deps, platformId: string): Promise<Hashed> =>
  hashLog(deps, activityLogOf(deps, platformId));
