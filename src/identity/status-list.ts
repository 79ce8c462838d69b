// Serves the status lists that certificates name, signed at most once a minute (IDN-14).
import type { PublicCall } from "../call.ts";
import type { Deps } from "../context.ts";
import { ServiceError } from "../core/errors.ts";
import { MINUTE_MS, SECOND_MS, STATUS_LIST_TTL_SECONDS } from "../core/limits.ts";
import { commit, readBatch } from "../db/batch.ts";
import { CERTIFICATE_STATUS, signStatusList, statusName } from "../protocol/status-list.ts";
import { statusListUri } from "./certificate.ts";
import { findExceptions, findStatusList, keepSigned } from "./certificate-store.ts";

export type ServedList = {
  readonly list: string;
  /** Until the end of its own `ttl`. */
  readonly maxAgeSeconds: number;
  /** Until the next one may be signed: who keeps it for others asks again then. */
  readonly currentSeconds: number;
};

const served = (list: string, signedAt: number, now: number): ServedList => ({
  list,
  maxAgeSeconds: STATUS_LIST_TTL_SECONDS - Math.ceil((now - signedAt) / SECOND_MS),
  currentSeconds: Math.ceil((signedAt + MINUTE_MS - now) / SECOND_MS),
});

const isCurrent = <L extends { signed: string | null; signedAt: number | null }>(
  list: L,
  now: number,
): list is L & { signed: string; signedAt: number } =>
  list.signed !== null && list.signedAt !== null && now < list.signedAt + MINUTE_MS;

export async function getStatusList(call: PublicCall, name: string): Promise<ServedList> {
  const listId = /^[1-9]\d{0,8}$/.test(name) ? Number(name) : null;
  if (listId === null) throw new ServiceError("not_found");
  const { found } = await call.read({ found: findStatusList(call.db, listId) });
  if (!found) throw new ServiceError("not_found");
  // Real time, because an offline reader has no other clock.
  const now = Date.now();
  if (isCurrent(found, now)) return served(found.signed, found.signedAt, now);
  return signList(call.deps, listId, now);
}

/** From the primary, wherever the call reads; another reader may have signed meanwhile. */
async function signList(deps: Deps, listId: number, now: number): Promise<ServedList> {
  const { db } = deps;
  const { list, exceptions } = await readBatch(db, {
    list: findStatusList(db, listId),
    exceptions: findExceptions(db, listId, now),
  });
  if (!list) throw new ServiceError("not_found");
  if (isCurrent(list, now)) return served(list.signed, list.signedAt, now);
  const { issuer } = deps.config;
  const signed = await signStatusList(
    exceptions.flatMap(({ idx, listedStatus, replacedAt }) => {
      const replaced = replacedAt !== null && replacedAt <= now;
      const status = replaced ? CERTIFICATE_STATUS.invalid : listedStatus;
      return status === CERTIFICATE_STATUS.valid ? [] : [{ idx, status: statusName(status) }];
    }),
    { uri: statusListUri(issuer, listId), issuer, size: list.size, now, ttlSeconds: STATUS_LIST_TTL_SECONDS },
    (await deps.ca()).signing,
  );
  await commit(db, [keepSigned(db, listId, list.signedAt, { signedAt: now, signed })]);
  return served(signed, now, now);
}
