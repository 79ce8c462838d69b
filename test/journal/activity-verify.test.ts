// The verification of a log finds changes that were made to the table itself (EVT-15).
import { describe, expect, it } from "vitest";
import { signActivityHeads } from "../../src/jobs/tend.ts";
import { toActivityId } from "../../src/journal/activity.ts";
import { FIRST_HASH } from "../../src/protocol/running-hash.ts";
import { createWorld, type Json } from "../support/world.ts";
import { LOG, logOf, readLog, rowsOf, tamper, verify, write } from "./activity-support.ts";

describe("the verification", () => {
  it("accepts a log as it was written, whole or in part, also with entries that are not hashed yet", async () => {
    const { world, ids } = await logOf(5);
    await write(world, 1);
    const whole = await verify(world);
    const newest = (await readLog(world, "?limit=1")).data[0].id;
    expect(whole).toEqual({ valid: true, checked: 6, first_id: ids[0], last_id: newest, has_more: false });
    const part = await verify(world, `?from=${ids[1]}&to=${ids[3]}`);
    expect(part).toEqual({ valid: true, checked: 3, first_id: ids[1], last_id: ids[3], has_more: false });
    const empty = await verify(await createWorld());
    expect(empty).toEqual({ valid: true, checked: 0, first_id: null, last_id: null, has_more: false });
  });

  it("reports where an entry was edited", async () => {
    const { world, ids } = await logOf(5);
    await tamper(world, "update activity_entries set actor_id = 'somebody' where platform_id = $P and seq = 3");
    expect(await verify(world)).toEqual({
      valid: false,
      checked: 2,
      first_id: ids[0],
      last_id: ids[1],
      has_more: false,
      broken_at: ids[2],
      broken_seq: 3,
      reason: "hash_mismatch",
    });
    expect(await verify(world, `?from=${ids[3]}`)).toMatchObject({ valid: true, checked: 2 });
  });

  it.each([
    "environment = 'production'",
    "occurred_at = occurred_at + 1",
    "action = 'agent.revoked'",
    "actor_type = 'system'",
    "subject_type = 'principal'",
    "subject_id = 'agt_2'",
    "changes = '{}'",
    "changes = null",
    "hash = null",
    `hash = '${FIRST_HASH}'`,
  ])("reports where an entry was edited by %s", async (edit) => {
    const { world } = await logOf(3);
    await tamper(world, `update activity_entries set ${edit} where platform_id = $P and seq = 2`);
    expect(await verify(world)).toMatchObject({ valid: false, checked: 1, broken_seq: 2, reason: "hash_mismatch" });
  });

  it("reports where an entry was removed", async () => {
    const { world, ids } = await logOf(5);
    await tamper(world, "delete from activity_entries where platform_id = $P and seq = 3");
    const found = { valid: false, broken_at: ids[3], broken_seq: 3, reason: "sequence_broken" };
    expect(await verify(world)).toMatchObject({ ...found, checked: 2 });
    expect(await verify(world, `?from=${ids[2]}`)).toMatchObject({ ...found, checked: 0, first_id: null });
    expect(await verify(world, `?from=${ids[3]}`)).toMatchObject({ valid: false, broken_seq: 3, broken_at: null });
  });

  it("reports where an entry was removed and those after it were moved up", async () => {
    const { world } = await logOf(5);
    await tamper(world, "delete from activity_entries where platform_id = $P and seq = 3");
    await tamper(world, "update activity_entries set seq = seq - 1 where platform_id = $P and seq > 3");
    expect(await verify(world)).toMatchObject({ valid: false, checked: 2, broken_seq: 3, reason: "hash_mismatch" });
  });

  const COPY = `insert into activity_entries select platform_id, ?, environment, occurred_at, action, actor_type, actor_id,
    subject_type, subject_id, changes, hash from activity_entries where platform_id = $P and seq = 2`;

  it("reports where an entry was inserted and those after it were moved down", async () => {
    const { world } = await logOf(5);
    await tamper(world, "update activity_entries set seq = -seq - 1 where platform_id = $P and seq > 2");
    await tamper(world, "update activity_entries set seq = -seq where platform_id = $P and seq < 0");
    await tamper(world, COPY, 3);
    expect(await verify(world)).toMatchObject({ valid: false, checked: 2, broken_seq: 3, reason: "hash_mismatch" });
  });

  it.each([
    [2.5, 3, 2],
    [0, 1, 0],
    [-7, 1, 0],
  ])("reports where an entry was inserted between others, numbered %d", async (seq, broken_seq, checked) => {
    const { world } = await logOf(5);
    await tamper(world, COPY, seq);
    expect(await verify(world)).toMatchObject({ valid: false, checked, broken_seq, reason: "sequence_broken" });
  });

  it("reports where two entries were swapped, with their hashes or without", async () => {
    const { world, ids } = await logOf(5);
    const swap = async (column: string) => {
      await tamper(
        world,
        `update activity_entries set ${column} = -${column} where platform_id = $P and seq in (2, 4)`,
      );
      await tamper(world, `update activity_entries set seq = 6 + seq where platform_id = $P and seq < 0`);
    };
    await swap("seq");
    expect(await verify(world)).toMatchObject({ valid: false, checked: 1, broken_seq: 2, reason: "hash_mismatch" });
    await swap("seq");
    expect(await verify(world)).toMatchObject({ valid: true, checked: 5, last_id: ids[4] });
  });

  it("reports where entries were cut from the end, also if the log continued since", async () => {
    const { world, ids } = await logOf(5);
    await tamper(world, "delete from activity_entries where platform_id = $P and seq > 3");
    const found = { valid: false, checked: 3, broken_seq: 4 };
    expect(await verify(world)).toMatchObject({ ...found, broken_at: ids[2], reason: "sequence_broken" });
    await write(world, 1);
    expect(await verify(world)).toMatchObject({ ...found, reason: "hash_mismatch" });
  });

  it("finds by a head that entries were cut although the chain was set back, even if all were cut", async () => {
    const { world, ids } = await logOf(5);
    await world.run(signActivityHeads);
    const [, , third] = await rowsOf(world);
    await tamper(world, "delete from activity_entries where platform_id = $P and seq > 3");
    await tamper(world, "update activity_chains set seq = 3, hash = ? where platform_id = $P", third?.hash);
    expect(await verify(world)).toMatchObject({ valid: false, checked: 3, broken_at: ids[2], broken_seq: 4 });
    await tamper(world, "delete from activity_entries where platform_id = $P");
    expect(await verify(world)).toMatchObject({ valid: false, checked: 0, broken_at: null, broken_seq: 1 });
  });

  it("finds by a head that everything was hashed again after an edit, even if the row of the head was changed too", async () => {
    const { world } = await logOf(4);
    await world.run(signActivityHeads);
    await write(world, 2);
    await tamper(
      world,
      "update activity_entries set subject_id = 'agt_2', hash = null where platform_id = $P and seq = 2",
    );
    await tamper(world, "update activity_chains set seq = 0, hash = ? where platform_id = $P", FIRST_HASH);
    const found = { valid: false, checked: 3, broken_seq: 4, reason: "head_mismatch" };
    expect(await verify(world)).toMatchObject(found);
    const [, , , fourth] = await rowsOf(world);
    await tamper(world, "update activity_heads set hash = ? where platform_id = $P", fourth?.hash);
    expect(await verify(world)).toMatchObject(found);
  });

  it("continues from the last entry that a call has verified", async () => {
    const world = await createWorld();
    await tamper(
      world,
      `insert into activity_entries with recursive n (n) as (select 1 union all select n + 1 from n where n < 2400)
        select $P, n, 'sandbox', 1795234800000 + n, 'agent.suspended', 'system', 'job', 'agent', 'agt_' || n, null, null from n`,
    );
    const seen: [number, boolean][] = [];
    for (let query = ""; ; ) {
      const { valid, checked, last_id, has_more } = await verify(world, query);
      expect(valid).toBe(true);
      seen.push([checked, has_more]);
      if (!has_more) break;
      query = `?from=${last_id}`;
    }
    expect(seen).toEqual([
      [1_000, true],
      [1_000, true],
      [402, false],
    ]);
    await tamper(world, "update activity_entries set subject_id = 'x' where platform_id = $P and seq = 1500");
    const first = await verify(world);
    expect(first).toMatchObject({ valid: true, checked: 1_000, has_more: true });
    expect(await verify(world, `?from=${first.last_id}`)).toMatchObject({ valid: false, broken_seq: 1_500 });
  });

  it("refuses an id that is no entry of the platform, and a range that ends before it begins", async () => {
    const { world, ids } = await logOf(3);
    const stranger = await createWorld();
    const refused = async (query: string) => {
      const { status, body } = await world.call("GET", `${LOG}/verify?${query}`);
      return [status, body.code, body.field_errors.map(({ field }: Json) => field)];
    };
    const foreign = toActivityId(stranger.platformId, 1, world.now());
    const later = toActivityId(world.platformId, 9, world.now());
    expect(await refused(`from=${foreign}`)).toEqual([422, "validation_failed", ["from"]]);
    expect(await refused(`from=act_1&to=${foreign}`)).toEqual([422, "validation_failed", ["from", "to"]]);
    expect(await refused(`from=${later}`)).toEqual([422, "validation_failed", ["from"]]);
    expect(await refused(`from=${ids[2]}&to=${ids[0]}`)).toEqual([422, "validation_failed", ["to"]]);
  });
});
