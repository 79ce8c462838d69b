// Removes files without a row, each hour (ACC-20): an upload that died between its file and its row leaves one. Only files that are an hour old
// count, because the row of a younger file may still be written.
import { HOUR_MS, STRAY_FILE_HOURS } from "../core/limits.ts";
import { type Database, readBatch } from "../db/batch.ts";
import type { BulkJob } from "../jobs/job.ts";
import { deleteFiles, listFiles, type StoredFile } from "./document-file.ts";
import { findStrayIds } from "./document-store.ts";

const SLICE = 500;

async function findStrayFiles(db: Database, files: readonly StoredFile[]): Promise<StoredFile[]> {
  if (files.length === 0) return [];
  const { stray } = await readBatch(db, {
    stray: findStrayIds(
      db,
      files.map(({ documentId }) => documentId),
    ),
  });
  const ids = new Set(stray);
  return files.filter(({ documentId }) => ids.has(documentId));
}

export const sweepDocuments: BulkJob = {
  kind: "bulk",
  name: "sweep_documents",
  slices: 10,
  // The position is the key of the last file of a slice.
  find: async ({ db, env, clock, slices }, after) => {
    const { files, more } = await listFiles(env, { after: after.id }, slices?.files ?? SLICE);
    const before = clock.now() - STRAY_FILE_HOURS * HOUR_MS;
    const strays = await findStrayFiles(
      db,
      files.filter(({ storedAt }) => storedAt < before),
    );
    if (strays.length === 0 && !more) return null;
    return {
      // Files do not record since when they have no row.
      oldestDueAt: null,
      run: async () => {
        await deleteFiles(env, strays);
        const last = files.at(-1);
        return { done: strays.length, failed: [], next: more && last ? { at: 0, id: last.key } : null };
      },
    };
  },
};
