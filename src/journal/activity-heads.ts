// Signs the heads of activity logs, once a day if entries were added, and lists them (EVT-13).
import { type ManagementCall, readPage } from "../call.ts";
import type { Deps } from "../context.ts";
import { toIso } from "../core/clock.ts";
import { SECOND_MS } from "../core/limits.ts";
import { hashListing, type Page, toPage } from "../core/page.ts";
import { commit, readBatch } from "../db/batch.ts";
import type { HeadRow } from "../db/tables/journal.ts";
import { signActivityHead } from "../protocol/activity-head.ts";
import { hashNewEntries } from "./activity-chain.ts";
import type { HeadQuery } from "./activity-schema.ts";
import { findChain, insertHead, listHeads, recordChecked } from "./chain-store.ts";
import type { ActivityHead } from "./responses.ts";
import type { Hashed } from "./running-log.ts";

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
