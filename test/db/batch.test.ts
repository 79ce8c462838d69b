// A commit is one batch: all of it or nothing. The state that it was decided on is guarded, and a refusal by a guard or a unique key is a conflict.
import { eq, sql } from "drizzle-orm";
import { beforeEach, describe, expect, it } from "vitest";
import { Conflict } from "../../src/core/retry.ts";
import {
  commit,
  dropAbsentReads,
  gatherFirstReads,
  guard,
  mustChange,
  readAll,
  readBatch,
  readOne,
  toWriteRead,
} from "../../src/db/batch.ts";
import { countEnded, isEnded, selectEndedKeys } from "../../src/db/clock.ts";
import { eachOf, isOneOf, selectFields } from "../../src/db/lists.ts";
import { activityHeads, idempotencyOutcomes } from "../../src/db/tables/journal.ts";
import { createWorld, type World } from "../support/world.ts";

let world: World;
let db: World["deps"]["db"];
beforeEach(async () => {
  world = await createWorld();
  ({ db } = world.deps);
  await db.delete(idempotencyOutcomes);
});

const row = (requestKey: string, expiresAt = 1) => ({
  ...{ platformId: world.platformId, requestKey, expiresAt },
  ...{ bodyHash: "", status: 200, body: "", sealed: false },
});
const insert = (requestKey: string, expiresAt?: number) =>
  db.insert(idempotencyOutcomes).values(row(requestKey, expiresAt));
const update = (requestKey: string) =>
  db.update(idempotencyOutcomes).set({ status: 299 }).where(eq(idempotencyOutcomes.requestKey, requestKey));
const stored = async () =>
  (await db.select().from(idempotencyOutcomes)).map(({ requestKey, status }) => `${requestKey} ${status}`).sort();

describe("a commit", () => {
  it("writes all its statements, or none when one of them is refused", async () => {
    await commit(db, [insert("a"), insert("b")]);
    await expect(commit(db, [update("a"), insert("c"), insert("b")])).rejects.toBeInstanceOf(Conflict);
    expect(await stored()).toEqual(["a 200", "b 200"]);
  });

  it("of no statement makes no trip", async () => {
    world.meter.reset();
    await commit(db, []);
    expect(world.meter.reading.trips).toBe(0);
  });

  it("is a conflict when a statement that must change a row changes none", async () => {
    await commit(db, [insert("a")]);
    await commit(db, mustChange(db, update("a")));
    await expect(commit(db, [insert("b"), ...mustChange(db, update("none"))])).rejects.toBeInstanceOf(Conflict);
    expect(await stored()).toEqual(["a 299"]);
  });

  it("is a conflict when a statement changes more or fewer rows than it must", async () => {
    const updateListed = (keys: readonly string[]) =>
      db.update(idempotencyOutcomes).set({ status: 299 }).where(isOneOf(idempotencyOutcomes.requestKey, keys));
    await commit(db, [insert("a"), insert("b"), insert("c")]);
    for (const rows of [1, 3])
      await expect(commit(db, mustChange(db, updateListed(["a", "b"]), rows))).rejects.toBeInstanceOf(Conflict);
    expect(await stored()).toEqual(["a 200", "b 200", "c 200"]);
    await commit(db, mustChange(db, updateListed(["a", "b"]), 2));
    expect(await stored()).toEqual(["a 299", "b 299", "c 200"]);
  });

  it("is a conflict when a guard's condition does not hold at its place in the batch", async () => {
    const isStored = sql`exists (select 1 from idempotency_outcomes where request_key = 'a')`;
    await expect(commit(db, [guard(db, isStored), insert("a")])).rejects.toBeInstanceOf(Conflict);
    await commit(db, [insert("a"), guard(db, isStored)]);
    expect(await stored()).toEqual(["a 200"]);
  });

  it("that fails for another reason is not a conflict", async () => {
    const broken = db.select({ one: sql`nonsense()` }).from(sql`(select 1)`);
    const failure = await commit(db, [insert("a"), broken]).catch((thrown: unknown) => thrown);
    expect([failure instanceof Error, failure instanceof Conflict]).toEqual([true, false]);
    expect(await stored()).toEqual([]);
  });
});

describe("a batch of reads", () => {
  it("takes one trip, and answers each read with its own rows", async () => {
    await commit(db, [insert("a"), insert("b")]);
    const all = db.select({ key: idempotencyOutcomes.requestKey }).from(idempotencyOutcomes);
    const none = db.select({ seq: activityHeads.seq }).from(activityHeads).where(eq(activityHeads.platformId, "none"));
    world.meter.reset();
    const found = await readBatch(db, {
      all: readAll(all),
      one: readOne(all),
      none: readOne(none),
      done: toWriteRead(update("a")),
    });
    expect(found).toEqual({ all: [{ key: "a" }, { key: "b" }], one: { key: "a" }, none: null, done: null });
    expect(world.meter.reading.trips).toBe(1);
    expect(await stored()).toEqual(["a 299", "b 200"]);
    expect(await readBatch(db, {})).toEqual({});
  });

  it("leaves out the reads that a call does not need", () => {
    const one = readOne(db.select({ seq: activityHeads.seq }).from(activityHeads));
    expect(dropAbsentReads({ one, other: null })).toEqual({ one });
  });
});

describe("readings that start at the same time", () => {
  const all = () => readAll(db.select({ key: idempotencyOutcomes.requestKey }).from(idempotencyOutcomes));
  const broken = () => readAll(db.select({ one: sql<number>`nonsense()`.as("one") }).from(sql`(select 1)`));
  const oneOf = (key: string) =>
    readOne(
      db
        .select({ key: idempotencyOutcomes.requestKey })
        .from(idempotencyOutcomes)
        .where(eq(idempotencyOutcomes.requestKey, key)),
    );

  it("share one trip, and each gets its own rows; later readings take another trip", async () => {
    await commit(db, [insert("a"), insert("b")]);
    const together = gatherFirstReads(db);
    world.meter.reset();
    const found = await Promise.all([
      readBatch(together, { all: all(), a: oneOf("a") }),
      readBatch(together, {}),
      readBatch(together, { b: oneOf("b") }),
    ]);
    expect(found).toEqual([{ all: [{ key: "a" }, { key: "b" }], a: { key: "a" } }, {}, { b: { key: "b" } }]);
    expect(world.meter.reading).toMatchObject({ trips: 1, statements: 3 });
    expect(await readBatch(together, { b: oneOf("b") })).toEqual({ b: { key: "b" } });
    expect(world.meter.reading.trips).toBe(2);
  });

  it("do not fail with each other", async () => {
    await commit(db, [insert("a")]);
    const together = gatherFirstReads(db);
    const [sound, failing] = await Promise.allSettled([
      readBatch(together, { a: oneOf("a") }),
      readBatch(together, { broken: broken() }),
    ]);
    expect(sound).toEqual({ status: "fulfilled", value: { a: { key: "a" } } });
    expect(failing).toMatchObject({ status: "rejected", reason: expect.any(Error) });
  });
});

describe("a list in a statement", () => {
  it("is compared with a column, and a single value is compared without a list", async () => {
    await commit(db, [insert("a"), insert("b"), insert("c")]);
    const find = async (keys: readonly string[]) => {
      world.meter.reset();
      const found = await db
        .select({ key: idempotencyOutcomes.requestKey })
        .from(idempotencyOutcomes)
        .where(isOneOf(idempotencyOutcomes.requestKey, keys));
      return found.map(({ key }) => key).sort();
    };
    expect(await find(["a", "c"])).toEqual(["a", "c"]);
    expect(world.meter.reading.sql.join()).toContain("json_each");
    expect(await find(["b"])).toEqual(["b"]);
    expect(world.meter.reading.sql.join()).not.toContain("json_each");
    expect(await find([])).toEqual([]);
  });

  it("has a row for each value, with its place, also if an expression gives it", async () => {
    const each = (list: Parameters<typeof eachOf>[0]) =>
      db.select({ key: sql<number>`key`, value: sql`value` }).from(eachOf(list));
    const expected = [
      { key: 0, value: "a" },
      { key: 1, value: 2 },
    ];
    expect(await each(["a", 2])).toEqual(expected);
    expect(await each(sql`json_array('a', 2)`)).toEqual(expected);
    expect(await each([])).toEqual([]);
  });

  it("may have rows, whose members are selected by their places", async () => {
    const list = [
      ["a", 1, "x"],
      ["b", 2, "y"],
    ];
    const found = await db.all(sql`select ${selectFields(2)} from ${eachOf(list)}`);
    const last = await db.all(sql`select ${selectFields(1, 2)} from ${eachOf(list)}`);
    const members = (rows: unknown[]) => rows.map((one) => Object.values(one as object));
    expect([members(found), members(last)]).toEqual([
      [
        ["a", 1],
        ["b", 2],
      ],
      [["x"], ["y"]],
    ]);
  });
});

describe("rows that have ended", () => {
  const ending = {
    ...{ table: idempotencyOutcomes, key: idempotencyOutcomes.requestKey, end: idempotencyOutcomes.expiresAt },
  };
  const count = async (by: number, most: number) =>
    (await readBatch(db, { count: countEnded(db, ending, by, most) })).count;
  beforeEach(() => commit(db, [insert("third", 9), insert("first", 5), insert("second", 7)]));

  it("are counted up to a limit, from the instant at which they end, with the earliest end", async () => {
    expect(await count(4, 10)).toEqual({ count: 0, oldest: null });
    expect(await count(5, 10)).toEqual({ count: 1, oldest: 5 });
    expect(await count(9, 2)).toEqual({ count: 2, oldest: 5 });
  });

  it("are found in slices, earliest end first", async () => {
    const named = async (by: number, slice: number) =>
      (
        await db
          .select()
          .from(idempotencyOutcomes)
          .where(sql`request_key in ${selectEndedKeys(ending, by, slice)}`)
      ).map(({ requestKey }) => requestKey);
    expect([await named(6, 10), await named(9, 2)].map((keys) => keys.sort())).toEqual([
      ["first"],
      ["first", "second"],
    ]);
    await commit(db, [db.delete(idempotencyOutcomes).where(isEnded(ending, 7, 10))]);
    expect(await stored()).toEqual(["third 200"]);
  });
});
