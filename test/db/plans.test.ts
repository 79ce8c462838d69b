// The check of plans finds the faults that it exists for: without this test, a rule that allows everything would pass.
import { describe, expect, inject, it } from "vitest";
import { openMeter } from "../../bench/meter.ts";
import { checkNoCallInProgress, checkPlans, traffic } from "../support/plans.ts";
import { createWorld, env, type Reply } from "../support/world.ts";

const faultOf = async (sql: string): Promise<string> => {
  await createWorld();
  return faultIn({ statements: new Set([sql]), callersAnswered: 1 });
};

const faultIn = (traffic: Parameters<typeof checkPlans>[1]): Promise<string> =>
  checkPlans(env.DB, traffic).then(
    () => "",
    (thrown: Error) => thrown.message,
  );

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
    [
      "a search by a value that half the rows have",
      "select sum(amount) from ledger_lines where network = ?",
      "SEARCH ledger_lines",
    ],
    [
      "a search under another name",
      "select count(*) from agents a where a.platform_id = ? and a.environment = ?",
      "SEARCH a USING",
    ],
    [
      "a search that only a limit of another select bounds",
      "select sum(l.amount) from ledger_lines l where l.network = ? and exists (select 1 from agents a where a.did = l.did limit 1)",
      "SEARCH l USING",
    ],
    ["a group without an order", "select status from agents where principal_id = ? group by status", "USE TEMP B-TREE"],
  ])("reports %s and its statement", async (_what, sql, step) => {
    const fault = await faultOf(sql);
    expect(fault).toContain(step);
    expect(fault).toContain(sql);
  });

  it.each([
    "select * from agents where did = ?",
    "select * from agents where did in (select value from json_each(?))",
    "select * from agents where principal_id = ? order by created_at, did limit ?",
    "select p.email from agents a join platforms p on p.platform_id = a.platform_id where a.did = ?",
    "select * from activity_entries where platform_id = ? order by seq desc limit ?",
  ])("passes %s", async (sql) => {
    expect(await faultOf(sql)).toBe("");
  });

  it("sees the statements that the service sends, but not those that a test runs itself", async () => {
    const world = await createWorld();
    const seen: string[] = [];
    const meter = openMeter(env.DB, (sql) => seen.push(sql));
    await meter.d1.batch([meter.d1.prepare("select 1")]);
    meter.reset();
    await meter.d1.prepare("select 2").first();
    expect(seen).toEqual(["select 1", "select 2"]);
    world.meter.reset();
    const before = new Set(traffic.statements);
    await world.call("GET", "/v1/platform");
    const { sql } = world.meter.reading;
    expect(sql.length).toBeGreaterThan(0);
    expect([...traffic.statements].sort()).toEqual([...new Set([...before, ...sql])].sort());
    await world.deps.db.run("select 3");
    expect(traffic.statements).not.toContain("select 3");
  });

  it("fails if callers were answered but no statement was seen, because it then sees nothing", async () => {
    expect(await faultIn({ statements: new Set(), callersAnswered: 2 })).toBe(
      "the service answered 2 callers, and none of its statements was seen",
    );
    expect(await faultIn({ statements: new Set(), callersAnswered: 0 })).toBe("");
  });

  it("fails a file that ends while a call is in progress", async () => {
    const world = await createWorld();
    const call = world.call("GET", "/v1/platform");
    expect(() => checkNoCallInProgress(traffic)).toThrow("1 calls of this file are still in progress");
    await call;
    expect(() => checkNoCallInProgress(traffic)).not.toThrow();
  });

  it("counts the answered callers, but neither public reads nor refusals", async () => {
    const world = await createWorld();
    const agent = await world.consumer();
    const counted = async (act: () => Promise<Reply>) => {
      const before = traffic.callersAnswered;
      const { status } = await act();
      return [status, traffic.callersAnswered - before];
    };
    const operator = { key: null, headers: { Authorization: `Bearer ${inject("operatorKey")}` } };
    expect([
      await counted(() => world.call("GET", "/v1/platform")),
      await counted(() => world.as(agent, "GET", "/v1/payment-address?market=DE-USDC&network=base-sepolia")),
      await counted(() => world.call("GET", "/v1/operator/jobs", operator)),
      await counted(() => world.call("GET", "/v1/markets")),
      await counted(() => world.call("GET", "/v1/platform", { key: null })),
    ]).toEqual([
      [200, 1],
      [200, 1],
      [200, 1],
      [200, 0],
      [401, 0],
    ]);
  });
});
