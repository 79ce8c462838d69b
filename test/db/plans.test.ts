// The check of plans finds what it is for: without this, a rule that allows everything would pass.
import { describe, expect, it } from "vitest";
import { openMeter } from "../../bench/meter.ts";
import { checkPlans } from "../support/plans.ts";
import { createWorld, env } from "../support/world.ts";

const faultOf = async (sql: string): Promise<string> => {
  await createWorld();
  return checkPlans(env.DB, new Set([sql])).then(
    () => "",
    (thrown: Error) => thrown.message,
  );
};

describe("the check of plans", () => {
  it.each([
    ["a scan", "select * from agents where description = ?", "SCAN agents"],
    ["a scan of an index", "select count(*) from agents where created_at > ?", "SCAN agents USING COVERING INDEX"],
    [
      "a scan under another name",
      "select p.email from platforms p where p.country = p.country and p.email = ?",
      "SCAN p",
    ],
    ["a sort", "select * from agents where principal_id = ? order by display_name", "USE TEMP B-TREE FOR ORDER BY"],
    ["a group without an order", "select status from agents where principal_id = ? group by status", "USE TEMP B-TREE"],
  ])("names %s and its statement", async (_what, sql, step) => {
    const fault = await faultOf(sql);
    expect(fault).toContain(step);
    expect(fault).toContain(sql);
  });

  it.each([
    "select * from agents where did = ?",
    "select * from agents where did in (select value from json_each(?))",
    "select * from agents where principal_id = ? order by created_at, did limit ?",
  ])("passes %s", async (sql) => {
    expect(await faultOf(sql)).toBe("");
  });

  it("is told what the service sends, and nothing that a test looks up by itself", async () => {
    const world = await createWorld();
    const seen: string[] = [];
    const meter = openMeter(env.DB, (sql) => seen.push(sql));
    await meter.d1.batch([meter.d1.prepare("select 1")]);
    meter.reset();
    await meter.d1.prepare("select 2").first();
    expect(seen).toEqual(["select 1", "select 2"]);
    world.meter.reset();
    await world.call("GET", "/v1/platform");
    expect(world.meter.reading.sql.length).toBeGreaterThan(0);
  });
});
