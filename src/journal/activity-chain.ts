// Computes the running hash of a platform's log (EVT-12), after the commits and beside them: no mutation reads or waits for it.
import type { Deps } from "../context.ts";
import { Conflict, retryConflicts } from "../core/retry.ts";
import { commit, readBatch } from "../db/batch.ts";
import type { ActivityRow, ChainRow } from "../db/tables/journal.ts";
import { FIRST_HASH, nextHash } from "../protocol/running-hash.ts";
import { findUnhashed, setHashes } from "./activity-store.ts";
import { toEntryView } from "./activity-views.ts";
import { beginChain, findChain, moveChain } from "./chain-store.ts";

/** The entries of one batch, and the batches of one run. */
const SLICE = 250;
const SLICES = 8;

/** How far a log is hashed. */
export type Hashed = {
  readonly seq: number;
  readonly hash: string;
  /** More entries wait than one run takes. */
  readonly more: boolean;
  /** The number of an entry that is missing: nothing is hashed beyond it. */
  readonly missing: number | null;
};

/** Hashes the entries that have no hash, in slices; of two runs at once each slice is written by one. */
export async function hashNewEntries(deps: Deps, platformId: string): Promise<Hashed> {
  for (let slice = 1; ; slice++) {
    const hashed = await retryConflicts(() => hashSlice(deps, platformId));
    if (!hashed.more || slice === SLICES) return hashed;
  }
}

/** As the queue runs it: where others are always faster, they hash the entries. */
export async function hashUnlessOthersDo(deps: Deps, platformId: string): Promise<void> {
  await hashNewEntries(deps, platformId).catch((thrown) => {
    if (!(thrown instanceof Conflict)) throw thrown;
  });
}

async function hashSlice({ db, clock }: Deps, platformId: string): Promise<Hashed> {
  const { chain, rows } = await readBatch(db, {
    chain: findChain(db, platformId),
    rows: findUnhashed(db, platformId, SLICE),
  });
  const from = { seq: chain?.seq ?? 0, hash: chain?.hash ?? FIRST_HASH };
  const hashes = await hashesOf(rows, from);
  const missing = hashes.length < rows.length ? from.seq + hashes.length + 1 : null;
  const to = { seq: from.seq + hashes.length, hash: hashes.at(-1) ?? from.hash };
  if (hashes.length > 0) {
    await commit(db, [
      ...(chain ? [] : [beginChain(db, platformId, clock.now())]),
      ...moveChain(db, platformId, from.seq, to),
      setHashes(db, platformId, from.seq, hashes),
    ]);
  }
  return { ...to, missing, more: rows.length === SLICE && missing === null };
}

/** The hashes of the entries that follow without a gap. */
async function hashesOf(rows: readonly ActivityRow[], from: Pick<ChainRow, "seq" | "hash">): Promise<string[]> {
  const hashes: string[] = [];
  let { hash } = from;
  for (const row of rows) {
    if (row.seq !== from.seq + hashes.length + 1) break;
    hash = await nextHash(hash, toEntryView(row));
    hashes.push(hash);
  }
  return hashes;
}
