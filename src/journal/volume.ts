// Counts an account's volume of a day, and marks the account once it has used up a quota (EVT-35). The counts are committed with the mark of the job
// that counts, so that each event and delivery counts once.
import type { Deps } from "../context.ts";
import { toIso } from "../core/clock.ts";
import { ENVIRONMENTS, type Environment } from "../core/vocabulary.ts";
import {
  computeVolumeDayEnd,
  findVolumeMark,
  toVolumeDay,
  VOLUME_QUOTAS,
  type Volume,
  type VolumeQuota,
} from "../core/volume.ts";
import type { Statement } from "../db/batch.ts";
import { type Alert, raiseAlert } from "./alerts.ts";
import { addVolumes, type FoundVolume, markVolume } from "./volume-store.ts";

/** Events of an account in an environment, and their deliveries. `bytes` counts both, and entries of the activity log. */
export type Counted = {
  readonly platformId: string;
  readonly environment: Environment;
  readonly events: number;
  readonly deliveries: number;
  readonly bytes: number;
};

const WARNED_AT = 0.8;

/** `found`: the volumes of all accounts in `counted`, as they were read. */
export function countVolumes(deps: Deps, found: readonly FoundVolume[], counted: readonly Counted[]): Statement[] {
  const now = deps.clock.now();
  const of = Map.groupBy(counted, ({ platformId }) => platformId);
  const owners = found.filter(({ platformId }) => of.has(platformId));
  const added = owners.map((owner) => ({ owner, counts: toCounts(of.get(owner.platformId) ?? []) }));
  return [
    ...addVolumes(
      deps.db,
      added.map(({ owner, counts }) => ({ platformId: owner.platformId, ...counts })),
      now,
    ),
    ...added.flatMap(({ owner, counts }) =>
      ENVIRONMENTS.flatMap((environment) => judgeQuota(deps, owner, environment, counts, now)),
    ),
  ];
}

const sumCounted = <K extends "events" | "deliveries" | "bytes">(of: readonly Counted[], key: K): number =>
  of.reduce((sum, one) => sum + one[key], 0);

function toCounts(counted: readonly Counted[]) {
  const [sandbox, production] = ENVIRONMENTS.map((name) => counted.filter(({ environment }) => environment === name));
  return {
    sandboxEvents: sumCounted(sandbox ?? [], "events"),
    sandboxDeliveries: sumCounted(sandbox ?? [], "deliveries"),
    sandboxBytes: sumCounted(sandbox ?? [], "bytes"),
    productionEvents: sumCounted(production ?? [], "events"),
    productionDeliveries: sumCounted(production ?? [], "deliveries"),
    productionBytes: sumCounted(production ?? [], "bytes"),
  };
}

type Counts = ReturnType<typeof toCounts>;

const toVolume = (counts: Counts, environment: Environment): Volume => ({
  events: counts[`${environment}Events`] + counts[`${environment}Deliveries`],
  event_bytes: counts[`${environment}Bytes`],
});

const NO_VOLUME: Volume = { events: 0, event_bytes: 0 };
export const toVolumeOfDay = (row: FoundVolume["volume"], environment: Environment, now: number): Volume =>
  row?.day === toVolumeDay(now) ? toVolume(row, environment) : NO_VOLUME;

/** Marks an account that has reached a quota, or raises an alert that it is near one. If another job adds meanwhile, the next count decides. */
function judgeQuota(
  deps: Deps,
  owner: FoundVolume,
  environment: Environment,
  counts: Counts,
  now: number,
): Statement[] {
  const { db, config } = deps;
  const limits = config.volume[environment];
  const [before, added] = [toVolumeOfDay(owner.volume, environment, now), toVolume(counts, environment)];
  const reaches = (quota: VolumeQuota, share: number): boolean => before[quota] + added[quota] >= share * limits[quota];
  if (added.events + added.event_bytes === 0 || findVolumeMark(owner.marks, environment, now) !== null) return [];
  const full = VOLUME_QUOTAS.find((quota) => reaches(quota, 1));
  if (full !== undefined) {
    const mark = { quota: full, until: computeVolumeDayEnd(now) };
    return [
      markVolume(db, owner.platformId, environment, mark),
      raiseAlert(db, toUsedUpAlert(owner, environment, full, mark.until), now),
    ];
  }
  const near = VOLUME_QUOTAS.find((quota) => reaches(quota, WARNED_AT) && before[quota] < WARNED_AT * limits[quota]);
  return near === undefined ? [] : [raiseAlert(db, toNearlyUsedUpAlert(owner, environment, near), now)];
}

const toUsedUpAlert = (
  { platformId }: FoundVolume,
  environment: Environment,
  quota: VolumeQuota,
  until: number,
): Alert => ({
  kind: "volume",
  subject: `${platformId} ${environment}`,
  message: `The account has used up its ${quota} of the day in the ${environment}: calls that create or change something are refused until ${toIso(until)}.`,
});

const toNearlyUsedUpAlert = ({ platformId }: FoundVolume, environment: Environment, quota: VolumeQuota): Alert => ({
  kind: "volume",
  subject: `${platformId} ${environment} 80 %`,
  message: `The account has used 80 % of its ${quota} of the day in the ${environment}.`,
});
