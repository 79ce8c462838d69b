// Serves the status lists that certificates name; each is signed at most once a minute (IDN-14).
import type { PublicCall } from "../call.ts";
import type { Deps } from "../context.ts";
import { ServiceError } from "../core/errors.ts";
import { MINUTE_MS, SECOND_MS, STATUS_LIST_TTL_SECONDS } from "../core/limits.ts";
import { memoizeBy } from "../core/memo.ts";
import { commit, readBatch } from "../db/batch.ts";
import type { StatusListRow } from "../db/tables/agents.ts";
import { CERTIFICATE_STATUS, nameStatus, signStatusList } from "../protocol/status-list.ts";
import { toStatusListUri } from "./certificate.ts";
import { type Exception, findListToSign, findStatusList, storeSignedList } from "./certificate-store.ts";

export type ServedList = {
  readonly list: string;
  /** Seconds until the end of the list's own `ttl`. */
  readonly maxAgeSeconds: number;
  /** Seconds until the next list may be signed: a shared cache asks again then. */
  readonly currentSeconds: number;
};

const toServedList = (list: string, signedAt: number, now: number): ServedList => ({
  list,
  maxAgeSeconds: STATUS_LIST_TTL_SECONDS - Math.ceil((now - signedAt) / SECOND_MS),
  currentSeconds: Math.ceil((signedAt + MINUTE_MS - now) / SECOND_MS),
});

export async function getStatusList(call: PublicCall, name: string): Promise<ServedList> {
  const listId = /^[1-9]\d{0,8}$/.test(name) ? Number(name) : null;
  if (listId === null) throw new ServiceError("not_found");
  const { db, deps } = call;
  if (db !== deps.db) {
    const { copy } = await call.read({ copy: findStatusList(db, listId) });
    if (!copy) throw new ServiceError("not_found");
    const now = Date.now();
    if (isCurrent(copy, now - MINUTE_MS)) return toServedList(copy.signed, copy.signedAt, now);
  }
  const endTurn = await takeTurn(deps, listId);
  let list: SignedList | null = null;
  try {
    list = await findOrSignList(deps, listId);
  } finally {
    endTurn(list?.signedAt ?? null);
  }
  if (!list) throw new ServiceError("not_found");
  return toServedList(list.signed, list.signedAt, Date.now());
}

type SignedList = { readonly signed: string; readonly signedAt: number };

const isCurrent = (list: StatusListRow, staleFrom: number): list is StatusListRow & SignedList =>
  list.signed !== null && list.signedAt !== null && list.signedAt > staleFrom;

/** Reads the primary, so that a newly signed list has every exception that was committed. */
async function findOrSignList(deps: Deps, listId: number): Promise<SignedList | null> {
  // Real time, because an offline reader has no other clock.
  const now = Date.now();
  const since = { staleFrom: now - MINUTE_MS, now };
  const { found } = await readBatch(deps.db, { found: findListToSign(deps.db, listId, since) });
  if (!found) return null;
  const { list, exceptions } = found;
  return isCurrent(list, since.staleFrom) ? list : signList(deps, list, exceptions, now);
}

async function signList(
  deps: Deps,
  list: StatusListRow,
  exceptions: readonly Exception[],
  now: number,
): Promise<SignedList> {
  const { db } = deps;
  const { issuer } = deps.config;
  const { listId, size } = list;
  const signed = await signStatusList(
    exceptions.flatMap(({ idx, listedStatus, replacedAt }) => {
      const replaced = replacedAt !== null && replacedAt <= now;
      const status = replaced ? CERTIFICATE_STATUS.invalid : listedStatus;
      return status === CERTIFICATE_STATUS.valid ? [] : [{ idx, status: nameStatus(status) }];
    }),
    { uri: toStatusListUri(issuer, listId), issuer, size, now, ttlSeconds: STATUS_LIST_TTL_SECONDS },
    (await deps.ca()).signing,
  );
  await commit(db, [storeSignedList(db, listId, list.signedAt, { signedAt: now, signed })]);
  return { signed, signedAt: now };
}

// ---- Turns ---------------------------------------------------------------------------------------------------------------

/** Ends a turn with the instant at which the list was signed; null if that is unknown. */
type EndTurn = (signedAt: number | null) => void;
/** When a list was signed, as far as this isolate knows, and until when one of its calls has its turn. */
type KnownList = { readonly signedAt: number; readonly busyUntil: number };

const TURN_MS = 2 * SECOND_MS;
const POLL_MS = 10;
const knownLists = memoizeBy((_kept: Deps["sharedCache"]) => new Map<number, KnownList>());

/**
 * Reading a list that is not current reads all of its exceptions, so the calls of one isolate take turns: the first one signs, and the next ones
 * find its text. Among several isolates, the first stored text wins.
 */
async function takeTurn({ sharedCache }: Deps, listId: number): Promise<EndTurn> {
  const lists = knownLists(sharedCache);
  for (;;) {
    const now = Date.now();
    const known = lists.get(listId);
    if (known && known.signedAt > now - MINUTE_MS) return () => undefined;
    if (!known || known.busyUntil <= now) {
      lists.set(listId, { signedAt: 0, busyUntil: now + TURN_MS });
      // Requests for lists that do not exist must not fill the memory.
      return (signedAt) => (signedAt === null ? lists.delete(listId) : lists.set(listId, { signedAt, busyUntil: 0 }));
    }
    await scheduler.wait(POLL_MS);
  }
}
