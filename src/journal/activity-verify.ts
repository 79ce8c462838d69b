// Verifies a part of a platform's log against its running hash and its signed heads (EVT-15). It finds the place of an entry that was edited,
// removed, inserted or moved, and of entries that were cut from the end.
import type { ManagementCall } from "../call.ts";
import type { Deps } from "../context.ts";
import { type FieldError, toFieldError, toValidationError } from "../core/errors.ts";
import { readBatch } from "../db/batch.ts";
import type { ActivityRow, HeadRow } from "../db/tables/journal.ts";
import { verifyActivityHead } from "../protocol/activity-head.ts";
import { computeNextHash, FIRST_HASH } from "../protocol/running-hash.ts";
import { hashNewEntries } from "./activity-chain.ts";
import { parseActivitySeq } from "./activity-id.ts";
import type { Break, VerifyQuery } from "./activity-schema.ts";
import { findHashed } from "./activity-store.ts";
import { toActivityEntryView, toEntryId } from "./activity-views.ts";
import { findHeadsFrom, listHeads } from "./chain-store.ts";
import type { ActivityVerification } from "./responses.ts";
import type { Hashed } from "./running-log.ts";

export const VERIFIED_AT_ONCE = 1_000;

export async function verifyActivity(call: ManagementCall, query: VerifyQuery): Promise<ActivityVerification> {
  const { caller } = await call.read({});
  const { platformId } = caller;
  const range = parseRange(platformId, query);
  const hashed = await hashNewEntries(call.deps, platformId);
  const log = await readLog(call.deps, platformId, range, hashed);
  if (range.from > log.end && range.from > 1) throw toValidationError([toUnknownEntryFault("from")]);
  const judged = await verifyRange(log, range.from, Math.min(range.to, log.end));
  // A later call verifies the entries that are not hashed yet.
  return judged.valid && hashed.more && range.to > log.end ? { ...judged, has_more: true } : judged;
}

type Numbers = { readonly from: number; readonly to: number };

function parseRange(platformId: string, query: VerifyQuery): Numbers {
  const seqOf = (id: string | undefined, otherwise: number) =>
    id === undefined ? otherwise : parseActivitySeq(platformId, id);
  const [from, to] = [seqOf(query.from, 1), seqOf(query.to, Number.MAX_SAFE_INTEGER)];
  const faults: FieldError[] = [
    ...(from === null ? [toUnknownEntryFault("from")] : []),
    ...(to === null ? [toUnknownEntryFault("to")] : []),
  ];
  if (from === null || to === null) throw toValidationError(faults);
  if (to < from) throw toValidationError([toFieldError("to", "invalid_value", "Must not be an entry before `from`.")]);
  return { from, to };
}

const toUnknownEntryFault = (field: string): FieldError =>
  toFieldError(field, "not_found", "Must be the id of an entry of this platform's activity log.");

type Log = {
  /** The entry before the range; undefined if there is none. */
  readonly before: ActivityRow | undefined;
  readonly rows: readonly ActivityRow[];
  /** The hashes that heads state, by number; null if a signature states something else. */
  readonly heads: ReadonlyMap<number, string | null>;
  readonly chain: { readonly seq: number; readonly hash: string };
  /** The last number that the log must contain. */
  readonly end: number;
};

async function readLog(deps: Deps, platformId: string, { from, to }: Numbers, hashed: Hashed): Promise<Log> {
  const { db } = deps;
  const found = await readBatch(db, {
    // A range from the first entry also reads numbers that no entry can have, to find inserted rows.
    rows: findHashed(db, platformId, {
      from: from === 1 ? Number.MIN_SAFE_INTEGER : from - 1,
      to,
      limit: VERIFIED_AT_ONCE + (from === 1 ? 0 : 1),
    }),
    heads: findHeadsFrom(db, platformId, from, VERIFIED_AT_ONCE),
    newest: listHeads(db, platformId, { limit: 0, after: null }),
  });
  const [first] = found.rows;
  const before = from > 1 && first?.seq === from - 1 ? first : undefined;
  const rows = before ? found.rows.slice(1) : found.rows;
  const inRange = found.heads.filter(({ seq }) => seq <= (rows.at(-1)?.seq ?? 0));
  const heads = await Promise.all(inRange.map(async (head) => [head.seq, await readStatedHash(deps, head)] as const));
  const end = Math.max(hashed.seq, hashed.missing ?? 0, found.newest[0]?.seq ?? 0);
  return { before, rows, heads: new Map(heads), chain: hashed, end };
}

/** The hash that a head was signed over; null if its signature states something else. */
async function readStatedHash(deps: Deps, { platformId, seq, hash, jws }: HeadRow): Promise<string | null> {
  const { verification } = await deps.ca();
  const checked = await verifyActivityHead(jws, verification, { issuer: deps.config.issuer });
  // A key that is no longer published, or an address that the service has left, says nothing about the head.
  if (!checked.ok) return checked.reason === "key_unknown" || checked.reason === "issuer_mismatch" ? hash : null;
  const { claims } = checked;
  return claims.sub === platformId && claims.seq === seq && claims.hash === hash ? hash : null;
}

/** Checks the entries `from` to `to`, and stops at the first one that does not follow from the entry before it. */
async function verifyRange(log: Log, from: number, to: number): Promise<ActivityVerification> {
  const { before, rows, heads, chain } = log;
  const right: ActivityRow[] = [];
  const broken = (seq: number, id: string | null, reason: Break) =>
    toVerification(right, { valid: false, has_more: false, broken_at: id, broken_seq: seq, reason });
  const whole = from === 1 || typeof before?.hash === "string";
  if (!whole) return broken(from - 1, before ? toEntryId(before) : null, before ? "hash_mismatch" : "sequence_broken");
  let hash = before?.hash ?? FIRST_HASH;
  for (const row of rows) {
    const seq = from + right.length;
    if (row.seq !== seq && seq <= to) return broken(seq, toEntryId(row), "sequence_broken");
    // Entries that are not hashed yet wait for the next call.
    if (seq > to) break;
    hash = await computeNextHash(hash, toActivityEntryView(row)).catch(() => "");
    if (hash !== row.hash) return broken(seq, toEntryId(row), "hash_mismatch");
    if (heads.has(seq) && heads.get(seq) !== hash) return broken(seq, toEntryId(row), "head_mismatch");
    if (seq === chain.seq && chain.hash !== hash) return broken(seq, toEntryId(row), "hash_mismatch");
    right.push(row);
  }
  const last = from + right.length - 1;
  const more = last < to;
  if (more && rows.length < VERIFIED_AT_ONCE) {
    return broken(last + 1, right.length > 0 ? toEntryId(right.at(-1) as ActivityRow) : null, "sequence_broken");
  }
  return toVerification(right, { valid: true, has_more: more });
}

const toVerification = (
  right: readonly ActivityRow[],
  found: Omit<ActivityVerification, "checked" | "first_id" | "last_id">,
): ActivityVerification => {
  const [first, last] = [right[0], right.at(-1)];
  return {
    ...found,
    checked: right.length,
    first_id: first ? toEntryId(first) : null,
    last_id: last ? toEntryId(last) : null,
  };
};
