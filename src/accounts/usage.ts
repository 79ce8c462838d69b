// Reads the usage of an account for operators (EVT-36). It reads a few rows, however much the account has.
import type { OperatorCall } from "../call.ts";
import { toIso } from "../core/clock.ts";
import { DAY_MS } from "../core/limits.ts";
import type { Environment } from "../core/vocabulary.ts";
import { computeVolumeDayEnd, findVolumeMark, toVolumeDay } from "../core/volume.ts";
import { countEntries } from "../journal/activity-store.ts";
import { type FoundVolume, findVolume } from "../journal/volume-store.ts";
import { countEndpoints } from "../webhooks/store.ts";
import { countLinks } from "./link-store.ts";
import type { AccountUsage } from "./responses.ts";

export const findNamedUsage = ({ db }: OperatorCall, { platform_id }: { platform_id: string }) =>
  findVolume(db, platform_id);

export async function getUsage(call: OperatorCall<FoundVolume>, platformId: string): Promise<AccountUsage> {
  const { db, deps } = call;
  const now = deps.clock.now();
  const {
    object: account,
    rows,
    links,
    ...endpoints
  } = await call.read({
    rows: countEntries(db, platformId),
    links: countLinks(db, platformId, toVolumeDay(now) * DAY_MS),
    sandbox: countEndpoints(db, { platformId, environment: "sandbox" }),
    production: countEndpoints(db, { platformId, environment: "production" }),
  });
  const today = account.volume?.day === toVolumeDay(now) ? account.volume : null;
  const of = (environment: Environment): AccountUsage["sandbox"] => ({
    events: today?.[`${environment}Events`] ?? 0,
    deliveries: today?.[`${environment}Deliveries`] ?? 0,
    event_bytes: today?.[`${environment}Bytes`] ?? 0,
    endpoints: endpoints[environment],
    limits: deps.config.volume[environment],
    used_up: findVolumeMark(account.marks, environment, now)?.quota ?? null,
  });
  return {
    platform_id: platformId,
    since: toIso(toVolumeDay(now) * DAY_MS),
    resets_at: toIso(computeVolumeDayEnd(now)),
    sandbox: of("sandbox"),
    production: of("production"),
    rows,
    mails: (today?.mails ?? 0) + links,
  };
}
