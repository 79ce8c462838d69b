// Serves the status lists that certificates name, signed at most once a minute (IDN-14).
import type { PublicCall } from "../call.ts";
import type { Deps } from "../context.ts";
import { ServiceError } from "../core/errors.ts";
import { MINUTE_MS, SECOND_MS, STATUS_LIST_TTL_SECONDS } from "../core/limits.ts";
import { commit, readBatch } from "../db/batch.ts";
import type { StatusListRow } from "../db/tables/agents.ts";
import { CERTIFICATE_STATUS, signStatusList, statusName } from "../protocol/status-list.ts";
import { statusListUri } from "./certificate.ts";
import { type Exception, findListToSign, findStatusList, keepSigned } from "./certificate-store.ts";

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

export async function getStatusList(call: PublicCall, name: string): Promise<ServedList> {
  const listId = /^[1-9]\d{0,8}$/.test(name) ? Number(name) : null;
  if (listId === null) throw new ServiceError("not_found");
  // Real time, because an offline reader has no other clock.
  const now = Date.now();
  const since = { staleFrom: now - MINUTE_MS, now };
  const { db, deps } = call;
  if (db !== deps.db) {
    const { copy } = await call.read({ copy: findStatusList(db, listId) });
    if (!copy) throw new ServiceError("not_found");
    if (isCurrent(copy, since.staleFrom)) return served(copy.signed, copy.signedAt, now);
  }
  // From the primary: a list that is signed anew has every exception that was committed.
  const { found } = await readBatch(deps.db, { found: findListToSign(deps.db, listId, since) });
  if (!found) throw new ServiceError("not_found");
  const { list, exceptions } = found;
  if (isCurrent(list, since.staleFrom)) return served(list.signed, list.signedAt, now);
  return signList(deps, list, exceptions, now);
}

const isCurrent = (
  list: StatusListRow,
  staleFrom: number,
): list is StatusListRow & { signed: string; signedAt: number } =>
  list.signed !== null && list.signedAt !== null && list.signedAt > staleFrom;

async function signList(
  deps: Deps,
  list: StatusListRow,
  exceptions: readonly Exception[],
  now: number,
): Promise<ServedList> {
  const { db } = deps;
  const { issuer } = deps.config;
  const { listId, size } = list;
  const signed = await signStatusList(
    exceptions.flatMap(({ idx, listedStatus, replacedAt }) => {
      const replaced = replacedAt !== null && replacedAt <= now;
      const status = replaced ? CERTIFICATE_STATUS.invalid : listedStatus;
      return status === CERTIFICATE_STATUS.valid ? [] : [{ idx, status: statusName(status) }];
    }),
    { uri: statusListUri(issuer, listId), issuer, size, now, ttlSeconds: STATUS_LIST_TTL_SECONDS },
    (await deps.ca()).signing,
  );
  await commit(db, [keepSigned(db, listId, list.signedAt, { signedAt: now, signed })]);
  return served(signed, now, now);
}
