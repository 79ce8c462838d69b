// Serves the status lists that certificates name, signed at most once a minute (IDN-14).
import type { PublicCall } from "../call.ts";
import { ServiceError } from "../core/errors.ts";
import { MINUTE_MS, STATUS_LIST_TTL_SECONDS } from "../core/limits.ts";
import { commit, readBatch } from "../db/batch.ts";
import { CERTIFICATE_STATUS, signStatusList, statusName } from "../protocol/status-list.ts";
import { statusListUri } from "./certificate.ts";
import { findExceptions, findStatusList, keepSigned } from "./status-list-store.ts";

export async function getStatusList(call: PublicCall, name: string): Promise<string> {
  const listId = /^[1-9]\d{0,8}$/.test(name) ? Number(name) : null;
  if (listId === null) throw new ServiceError("not_found");
  const { db, deps } = call;
  const { list } = await call.read({ list: findStatusList(db, listId) });
  if (!list) throw new ServiceError("not_found");
  // Real time, because an offline reader has no other clock.
  const now = Date.now();
  if (list.signed !== null && list.signedAt !== null && now < list.signedAt + MINUTE_MS) return list.signed;
  const { exceptions } = await readBatch(db, { exceptions: findExceptions(db, listId, now) });
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
  return signed;
}
