// The activity log (EVT-6 to EVT-8). An entry is written in the batch of the change that it reports.
import { decodeId, encodeId, setUuidV7Fields, writeNumber } from "../core/ids.ts";
import { computeShortHash } from "../core/seal.ts";
import type { ActivityAction, Actor } from "../core/vocabulary.ts";
import type { Database, Statement } from "../db/batch.ts";
import type { Owner } from "../db/statement.ts";
import { insertEntries, insertEntry } from "./activity-store.ts";
import type { LastNumber } from "./directory-store.ts";

export type Changes = Record<string, { from: unknown; to: unknown }>;

export const recordActivity = (
  db: Database,
  owner: Owner,
  now: number,
  entry: { action: ActivityAction; actor: Actor; subject: { type: string; id: string }; changes?: Changes },
): Statement =>
  insertEntry(db, {
    platformId: owner.platformId,
    environment: owner.environment,
    occurredAt: now,
    action: entry.action,
    actorType: entry.actor.type,
    actorId: entry.actor.id,
    subjectType: entry.subject.type,
    subjectId: entry.subject.id,
    changes: entry.changes ?? null,
  });

/** Records one entry for each subject. `noted`: the last number, if all subjects are of one platform (directory-store.ts). */
export const recordActivities = (
  db: Database,
  now: number,
  entry: { action: ActivityAction; actor: Actor; subjectType: string },
  each: readonly { owner: Owner; id: string; changes: Changes }[],
  noted?: LastNumber,
): Statement[] =>
  [...Map.groupBy(each, ({ owner }) => owner.platformId)].flatMap(([platformId, own]) =>
    insertEntries(
      db,
      platformId,
      { at: now, ...entry },
      own.map(({ owner, id, changes }) => ({ environment: owner.environment, subjectId: id, changes })),
      noted,
    ),
  );

// ---- Ids -----------------------------------------------------------------------------------------------------------------

const BYTES = 16;
const SEQ_AT = 10;

/**
 * The id of an entry is computed from its instant, platform and number, and back, so that the log needs no index of ids (EVT-11). The random bits of
 * a UUIDv7 hold 26 bits for the platform and 48 bits of the number.
 */
export function toActivityId(platformId: string, seq: number, occurredAt: number): string {
  const bytes = new Uint8Array(BYTES);
  const mark = hashPlatform(platformId);
  bytes.set([mark >> 22, (mark >> 14) & 0xff, (mark >> 8) & 0x3f, mark & 0xff], 6);
  writeNumber(bytes.subarray(SEQ_AT), seq);
  return encodeId("act", setUuidV7Fields(bytes, occurredAt));
}

/** The number of a platform's entry; null if the text is not an id of its log. */
export function parseActivitySeq(platformId: string, id: string): number | null {
  const bytes = decodeId("act", id);
  if (bytes === null) return null;
  const [a = 0, b = 0, c = 0, d = 0] = bytes.subarray(6, SEQ_AT);
  const mark = ((a & 0x0f) << 22) | (b << 14) | ((c & 0x3f) << 8) | d;
  if (a >> 4 !== 7 || c >> 6 !== 2 || mark !== hashPlatform(platformId)) return null;
  const seq = bytes.subarray(SEQ_AT).reduce((sum, byte) => sum * 256 + byte, 0);
  return seq > 0 ? seq : null;
}

const hashPlatform = (platformId: string): number => computeShortHash(platformId) % 2 ** 26;
