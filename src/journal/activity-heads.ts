// Makes a platform's activity log verifiable: hashes its entries into a running hash (EVT-12), signs the heads once a day if entries were added, and
// lists them (EVT-13), and verifies a part of the log against both (EVT-15).
import { type ManagementCall, readPage } from "../call.ts";
import type { Deps } from "../context.ts";
import { toIso } from "../core/clock.ts";
import { type FieldError, toFieldError, toValidationError } from "../core/errors.ts";
import { SECOND_MS } from "../core/limits.ts";
import { hashListing, type Page, toPage } from "../core/page.ts";
import { commit, readBatch } from "../db/batch.ts";
import type { ActivityRow, HeadRow } from "../db/tables/journal.ts";
import { signActivityHead, verifyActivityHead } from "../protocol/activity-head.ts";
import { computeNextHash, FIRST_HASH } from "../protocol/running-hash.ts";
import { parseActivitySeq } from "./activity.ts";
import { toActivityEntryView, toEntryId } from "./activity-read.ts";
import { findHashed, findUnhashed, setHashes } from "./activity-store.ts";
import type { ActivityHead, ActivityVerification } from "./responses.ts";
import { type Hashed, hashLog, type RunningLog } from "./running-log.ts";
import type { Break, HeadQuery, VerifyQuery } from "./schema.ts";
import { type Counted, countVolumes } from "./volume.ts";
import {
  beginChain,
  type FoundVolume,
  findChain,
  findHeadsFrom,
  findVolumes,
  insertHead,
  listHeads,
  moveChain,
  recordChecked,
} from "./volume-store.ts";

// ---- The running hash (EVT-12) -------------------------------------------------------------------------------------------

export const hashNewEntries = (deps: Deps, platformId: string): Promise<Hashed> =>
  hashLog(deps, toActivityLog(deps, platformId));

/** Hashed entries count in the volume of the account (EVT-35). */
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

// ---- Heads (EVT-13) ------------------------------------------------------------------------------------------------------

/**
 * Hashes entries that have no hash, and signs a head if entries were added since the last one. Returns false if nothing was due, and "more" while
 * entries wait. Throws if the log has a gap, after it has noted the check.
 */
export async function checkChain(deps: Deps, platformId: string): Promise<boolean | "more"> {
  const { db, clock } = deps;
  // Taken before the entries are read, because a head covers everything that was committed by its instant (activity-store.ts).
  const now = clock.now();
  const { chain } = await readBatch(db, { chain: findChain(db, platformId) });
  if (!chain || chain.checkAt > now) return false;
  const hashed = await hashNewEntries(deps, platformId);
  if (hashed.more) return "more";
  const head = hashed.seq > chain.headSeq ? await signHead(deps, platformId, hashed, now) : null;
  await commit(db, [
    ...recordChecked(db, chain, now, head?.seq ?? chain.headSeq),
    ...(head === null ? [] : [insertHead(db, head)]),
  ]);
  if (hashed.missing !== null) throw new Error(`entry ${hashed.missing} of the activity log is missing`);
  return true;
}

async function signHead(deps: Deps, platformId: string, { seq, hash }: Hashed, now: number): Promise<HeadRow> {
  const { signing } = await deps.ca();
  const iat = Math.floor(now / SECOND_MS);
  const jws = await signActivityHead({ iss: deps.config.issuer, sub: platformId, seq, hash, iat }, signing);
  return { platformId, seq, hash, signedAt: now, jws };
}

export async function getHeads(call: ManagementCall, query: HeadQuery): Promise<Page<ActivityHead>> {
  const page = await readPage(call, query, hashListing("activity heads", [], {}));
  const { rows } = await call.read({ rows: listHeads(call.db, call.tenant.platformId, page) });
  return toPage(rows, page, ({ seq }) => ({ at: seq, id: "" }), toHeadView);
}

const toHeadView = ({ seq, hash, signedAt, jws }: HeadRow): ActivityHead => ({
  seq,
  hash,
  signed_at: toIso(signedAt),
  jws,
});

// ---- Verification (EVT-15) -----------------------------------------------------------------------------------------------

export const VERIFIED_AT_ONCE = 1_000;

/** Finds the place of an entry that was edited, removed, inserted or moved, and of entries that were cut from the end. */
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
  readonly before: ActivityRow | undefined;
  readonly rows: readonly ActivityRow[];
  /** The hashes that heads state, by number (`readStatedHash`). */
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
