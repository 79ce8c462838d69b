// Stored outcomes of Idempotency-Keys (IDM-2, IDM-3): one for each key, for 24 hours to the millisecond, deleted slice by slice.
import { beforeEach, describe, expect, it } from "vitest";
import { Conflict } from "../../src/core/retry.ts";
import { commit, readBatch } from "../../src/db/batch.ts";
import { countOutcomes, findOutcome, insertOutcome, pruneOutcomes } from "../../src/db/outcomes.ts";
import { idempotencyOutcomes } from "../../src/db/tables/journal.ts";
import { createWorld, type World } from "../support/world.ts";

const END = 1_000;
let world: World;
beforeEach(async () => {
  world = await createWorld();
  await world.deps.db.delete(idempotencyOutcomes);
});

const outcome = (requestKey: string, expiresAt = END, body = "first") => ({
  ...{ platformId: world.platformId, requestKey, expiresAt },
  ...{ bodyHash: "hash", status: 201, body, sealed: false },
});
const store = (now: number, ...row: Parameters<typeof outcome>) =>
  commit(world.deps.db, insertOutcome(world.deps.db, outcome(...row), now));
async function find(requestKey: string, now: number, platformId = world.platformId) {
  const { db } = world.deps;
  return (await readBatch(db, { found: findOutcome(db, platformId, requestKey, now) })).found;
}

describe("a stored outcome", () => {
  it("is found only under its key and platform, until the instant at which it ends", async () => {
    await store(0, "key");
    const expected = { bodyHash: "hash", status: 201, body: "first", sealed: false };
    expect(await find("key", END - 1)).toEqual(expected);
    expect(await find("key", END)).toBeNull();
    expect(await find("other", 0)).toBeNull();
    expect(await find("key", 0, "plt_other")).toBeNull();
  });

  it("refuses the batch of another effect under its key until it ends, and is then replaced", async () => {
    await store(0, "key");
    await expect(store(END - 1, "key", 2 * END, "second")).rejects.toBeInstanceOf(Conflict);
    expect(await find("key", 0)).toMatchObject({ body: "first" });
    await store(END, "key", 2 * END, "second");
    expect(await find("key", END)).toMatchObject({ body: "second" });
  });
});

describe("outcomes that have ended", () => {
  it("are counted up to a limit, with the earliest end", async () => {
    for (const [key, end] of [
      ["a", 7],
      ["b", 5],
      ["c", 9],
    ] as const)
      await store(0, key, end);
    const count = async (now: number, most: number) =>
      (await readBatch(world.deps.db, { count: countOutcomes(world.deps.db, now, most) })).count;
    expect(await count(4, 10)).toBeNull();
    expect(await count(7, 10)).toEqual({ count: 2, oldest: 5 });
    expect(await count(9, 2)).toMatchObject({ count: 2 });
  });

  it("are deleted in slices, without any other outcome", async () => {
    for (const [key, end] of [
      ["a", 7],
      ["b", 5],
      ["c", 9],
    ] as const)
      await store(0, key, end);
    const keysLeft = async () =>
      (await world.deps.db.select().from(idempotencyOutcomes)).map(({ requestKey }) => requestKey).sort();
    await commit(world.deps.db, [pruneOutcomes(world.deps.db, 7, 1)]);
    expect(await keysLeft()).toHaveLength(2);
    await commit(world.deps.db, [pruneOutcomes(world.deps.db, 7, 5)]);
    expect(await keysLeft()).toEqual(["c"]);
  });
});
