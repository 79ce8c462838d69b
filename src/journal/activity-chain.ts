// The running hash of a platform's activity log (EVT-12). Hashed entries count in the volume of the account (EVT-35).
import type { Deps } from "../context.ts";
import type { ActivityRow } from "../db/tables/journal.ts";
import { findUnhashed, setHashes } from "./activity-store.ts";
import { toActivityEntryView } from "./activity-views.ts";
import { beginChain, findChain, moveChain } from "./chain-store.ts";
import { type Hashed, hashLog, type RunningLog } from "./running-log.ts";
import { type Counted, countVolumes } from "./volume.ts";
import { type FoundVolume, findVolumes } from "./volume-store.ts";

export const toActivityLog = (deps: Deps, platformId: string): RunningLog<ActivityRow, FoundVolume[]> => ({
  reached: (db) => findChain(db, platformId),
  unhashed: (db, limit) => findUnhashed(db, platformId, limit),
  view: toActivityEntryView,
  also: (db) => findVolumes(db, [platformId]),
  store: (db, { begins, from, to }, hashed, volumes = []) => [
    ...(begins ? [beginChain(db, platformId, deps.clock.now())] : []),
    ...moveChain(db, platformId, from, to),
    setHashes(
      db,
      platformId,
      from,
      hashed.map(({ hash }) => hash),
    ),
    ...countVolumes(
      deps,
      volumes,
      hashed.map(({ row }) => countEntryBytes(row)),
    ),
  ],
});

const countEntryBytes = (row: ActivityRow): Counted => {
  const { platformId, environment } = row;
  const bytes = new TextEncoder().encode(JSON.stringify(toActivityEntryView(row))).length;
  return { platformId, environment, events: 0, deliveries: 0, bytes };
};

export const hashNewEntries = (deps: Deps, platformId: string): Promise<Hashed> =>
  hashLog(deps, toActivityLog(deps, platformId));
