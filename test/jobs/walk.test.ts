// Walks: each slice commits its rows with the position after it, so that each row is recorded once, whatever interrupts or repeats a run.
import { eq, like, sql } from "drizzle-orm";
import { beforeEach, describe, expect, it } from "vitest";
import type { Deps } from "../../src/context.ts";
import { commit, readBatch } from "../../src/db/batch.ts";
import { outbox } from "../../src/db/tables/journal.ts";
import { walks } from "../../src/db/tables/walks.ts";
import { buildWalkJob, queueWalk, runOrQueueWalk, runWalk, type WalkDefinition } from "../../src/jobs/walk.ts";
import { beginWalk, findWalk, RESTARTED, WALK_KEY } from "../../src/jobs/walk-store.ts";
import { failingBatches, withDatabase } from "../support/variants.ts";
import { env } from "../support/world.ts";
import { drain, setJobStage, stage } from "./support.ts";

setJobStage();

const ROWS = 7;
const SUBJECT = "ann_walk";

/** Records the rows 1 to 7, two in a slice. `beforeCommit` runs between the reading and the commit of each slice. */
const walkOf = (
  beforeCommit: () => Promise<unknown> = async () => undefined,
): WalkDefinition<"announcement", object> => ({
  kind: "announcement",
  job: "walk_rows",
  slices: 2,
  readSlice: ({ db }, subject) => readBatch(db, { walk: findWalk(db, "announcement", subject) }),
  buildSlice: async ({ db }, { afterAt }) => {
    await beforeCommit();
    const first = Math.max(afterAt, 0) + 1;
    const rows = [first, first + 1].filter((row) => row <= ROWS);
    return {
      statements: rows.map((row) =>
        db
          .insert(outbox)
          .values({ name: `row ${row}`, seq: 1 })
          .onConflictDoUpdate({ target: outbox.name, set: { seq: sql`seq + 1` } }),
      ),
      next: first + 1 < ROWS ? { at: first + 1, id: "" } : null,
    };
  },
});

/** A walk that already runs starts again with the first row. */
const begin = ({ db }: Deps = stage.deps) =>
  commit(db, [
    beginWalk(db, "announcement", SUBJECT, { startedAt: 1, payload: { kind: "maintenance" } }).onConflictDoUpdate({
      target: WALK_KEY,
      set: RESTARTED,
    }),
  ]);

const isRow = like(outbox.name, "row %");
/** How often each row was recorded, in the order of the rows. */
const recorded = async () =>
  (await stage.deps.db.select().from(outbox).where(isRow).orderBy(outbox.name)).map(({ seq }) => seq);
const left = () => stage.deps.db.select().from(walks).where(eq(walks.subject, SUBJECT));
const ONCE = Array.from({ length: ROWS }, () => 1);

beforeEach(async () => {
  const { db } = stage.deps;
  await db.delete(walks);
  await db.delete(outbox).where(isRow);
});

describe("a walk", () => {
  it("is continued by the queue until its last slice, which ends it", async () => {
    await begin();
    await runOrQueueWalk(stage.deps, walkOf(), SUBJECT);
    expect(await recorded()).toEqual([1, 1, 1, 1]);
    expect(stage.sent).toEqual([{ kind: "record", job: "walk_rows", ids: [SUBJECT], apart: true }]);
    await drain(buildWalkJob(walkOf()));
    expect(await recorded()).toEqual(ONCE);
    expect(await left()).toEqual([]);
  });

  it("has nothing left for a message that comes again", async () => {
    await begin();
    for (let times = 0; times < 3; times++) await queueWalk(stage.deps, walkOf(), SUBJECT);
    await drain(buildWalkJob(walkOf()));
    expect(await recorded()).toEqual(ONCE);
    expect(await runWalk(stage.deps, walkOf(), SUBJECT)).toBe(false);
  });

  it("that begins again refuses a slice that was read before, and starts with the first row", async () => {
    await begin();
    let builds = 0;
    const again = walkOf(async () => {
      if (++builds === 2) await begin();
    });
    expect(await runWalk(stage.deps, again, SUBJECT, 2)).toBe("more");
    // The second slice was refused as a whole, and decided again from the first row.
    expect(builds).toBe(3);
    expect(await recorded()).toEqual([2, 2]);
    expect(await left()).toMatchObject([{ startedAt: 2, afterAt: 2 }]);
  });

  it("records each row once if another run commits the slice first", async () => {
    await begin();
    let builds = 0;
    const overtaken = walkOf(async () => {
      if (++builds === 1) await runWalk(stage.deps, walkOf(), SUBJECT, 1);
    });
    expect(await runWalk(stage.deps, overtaken, SUBJECT, 4)).toBe(true);
    expect(await recorded()).toEqual(ONCE);
    expect(await left()).toEqual([]);
  });

  it.each(["before", "after"] as const)("is resumed by its job if a run is cut %s a commit", async (moment) => {
    await begin();
    // The batches: a slice read, a slice written, a slice read, a slice written.
    const cut = failingBatches(env.DB, (batch) => (batch === 4 ? moment : "never"));
    const { deps } = withDatabase(stage.world, cut);
    await expect(runWalk(deps, walkOf(), SUBJECT, 4)).rejects.toThrow(/not reachable|connection lost/);
    expect(await recorded()).toEqual(moment === "before" ? [1, 1] : [1, 1, 1, 1]);
    await stage.world.run(buildWalkJob(walkOf()));
    expect(await recorded()).toEqual(ONCE);
    expect(await left()).toEqual([]);
  });

  it("keeps its position while it has to wait", async () => {
    await begin();
    const waiting = { ...walkOf(), buildSlice: () => null };
    expect(await runWalk(stage.deps, waiting, SUBJECT)).toBe(false);
    expect(await left()).toHaveLength(1);
  });
});
