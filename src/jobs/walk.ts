// Walks: work on many rows, in slices. The batch of a change begins a walk. Each slice commits its own statements with the position after it, so that
// a crash neither skips nor repeats a row; the last slice ends the walk. A queue message continues a walk, and a job continues what a lost message
// leaves. A message that comes twice finds another position, or no walk.
import { commitAll } from "../commit.ts";
import type { Deps } from "../context.ts";
import { BEFORE_FIRST_DUE, type Due } from "../core/clock.ts";
import { retryConflicts } from "../core/retry.ts";
import { readBatch, type Statement } from "../db/batch.ts";
import type { Walk, WalkKind } from "../db/tables/walks.ts";
import type { EachJob, Recorded } from "./job.ts";
import { advanceWalk, findWalks } from "./walk-store.ts";

/** The agents of one slice: each event holds the whole agent, and a value of D1 is at most 2 MB. */
export const SLICE = 200;

export type WalkSlice = {
  readonly statements: readonly Statement[];
  readonly next: Due | null;
  readonly done?: number;
  /** Runs after the commit. */
  readonly notify?: () => Promise<unknown>;
};

export type WalkDefinition<Kind extends WalkKind, Found> = {
  readonly kind: Kind;
  readonly job: string;
  /** How many slices one run takes, because the queries of an invocation are limited (JOB-12). */
  readonly slices: number;
  readonly readSlice: (deps: Deps, subject: string) => Promise<{ readonly walk: Walk<Kind> | null } & Found>;
  /** Builds the next slice; null if the walk has to wait. */
  readonly buildSlice: (deps: Deps, walk: Walk<Kind>, found: Found) => Promise<WalkSlice | null> | WalkSlice | null;
};

export const runNextSlice = <Kind extends WalkKind, Found>(
  deps: Deps,
  { readSlice, buildSlice }: WalkDefinition<Kind, Found>,
  subject: string,
): Promise<WalkSlice | null> =>
  retryConflicts(async () => {
    const found = await readSlice(deps, subject);
    const slice = found.walk && (await buildSlice(deps, found.walk, found));
    if (!slice) return null;
    await commitAll(deps, [...slice.statements, ...advanceWalk(deps.db, found.walk, slice.next)]);
    return slice;
  });

/** Runs some slices. Returns `more` if slices are left, and false if there was none. */
export async function runWalk<Kind extends WalkKind, Found>(
  deps: Deps,
  definition: WalkDefinition<Kind, Found>,
  subject: string,
  slices = definition.slices,
): Promise<Recorded> {
  let recorded = false;
  for (let n = 0; n < slices; n++) {
    const slice = await runNextSlice(deps, definition, subject);
    if (slice === null) return recorded;
    await slice.notify?.();
    recorded = true;
    if (slice.next === null) return true;
  }
  return "more";
}

/** Lets the queue continue a walk. If the message is lost, the minute's job finds the walk. */
export const queueWalk = <Kind extends WalkKind, Found>(
  { env }: Deps,
  { job }: WalkDefinition<Kind, Found>,
  subject: string,
): Promise<unknown> => env.JOB_QUEUE.send({ kind: "record", job, ids: [subject], apart: true });

export const queueWalks = <Kind extends WalkKind, Found>(
  { env }: Deps,
  { job }: WalkDefinition<Kind, Found>,
  startedAt: number,
): Promise<unknown> => env.JOB_QUEUE.send({ kind: "find", job, after: { at: startedAt, id: "" }, apart: true });

export async function runOrQueueWalk<Kind extends WalkKind, Found>(
  deps: Deps,
  definition: WalkDefinition<Kind, Found>,
  subject: string,
  slices?: number,
): Promise<void> {
  if ((await runWalk(deps, definition, subject, slices)) === "more") await queueWalk(deps, definition, subject);
}

export const buildWalkJob = <Kind extends WalkKind, Found>(
  definition: WalkDefinition<Kind, Found>,
  part?: number,
): EachJob => ({
  kind: "each",
  name: definition.job,
  ...(part !== undefined && { part }),
  find: async ({ db }, after, limit) => {
    const { open } = await readBatch(db, { open: findWalks(db, definition.kind, after ?? BEFORE_FIRST_DUE, limit) });
    return open;
  },
  record: (deps, subject) => runWalk(deps, definition, subject),
});
