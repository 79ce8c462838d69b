// The activity log as CSV (EVT-14, HTTP-37): chosen by Accept, streamed in slices, at most 31 days, with formulas defused.
import { describe, expect, it } from "vitest";
import { answerCsv } from "../../src/http/answer.ts";
import { DAY } from "../consequences/plays/stage.ts";
import { createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { LOG, readLog, write } from "./activity-support.ts";

const csv = async (world: World, query = "", accept = "text/csv"): Promise<Json> =>
  expectStatus(await world.call("GET", `${LOG}${query}`, { headers: { Accept: accept } }), 200);
const linesOf = (text: string) => text.split("\r\n").slice(1, -1);

describe("the log as CSV", () => {
  it("has a line for each entry, newest first, after a line of names", async () => {
    const world = await createWorld();
    await world.agent("CONSUMER");
    await write(world, 1);
    const reply = await world.call("GET", LOG, { headers: { Accept: "text/csv" } });
    expect([reply.headers.get("content-type"), reply.headers.get("vary")]).toEqual([
      "text/csv; charset=utf-8; header=present",
      "Accept",
    ]);
    expect(reply.headers.get("cache-control")).toBe("no-store");
    const [names, ...lines] = reply.text.split("\r\n");
    expect(names).toBe("id,seq,occurred_at,environment,action,actor_type,actor,subject_type,subject_id,changes");
    const { data } = await readLog(world);
    expect(lines.pop()).toBe("");
    expect(lines.map((line) => line.split(",").slice(0, 5))).toEqual(
      data.map(({ id, seq, occurred_at, environment, action }: Json) => [
        id,
        String(seq),
        occurred_at,
        environment,
        action,
      ]),
    );
    expect(lines[0]).toContain('agt_1,"{""dispute_window_days"":{""from"":0,""to"":1}}"');
    expect(lines[1]?.endsWith(",")).toBe(true);
  });

  it("is the answer if the client prefers it; the answer is JSON otherwise", async () => {
    const world = await createWorld();
    await write(world, 1);
    expect(await csv(world, "", "text/csv, application/json;q=0.5")).toContain("id,seq,");
    for (const accept of ["*/*", "application/json", "application/json, text/csv;q=0.9"]) {
      expect((await csv(world, "", accept)).data).toHaveLength(1);
    }
  });

  it("reads a long log slice by slice, with the filters, and shows each entry once", async () => {
    const world = await createWorld();
    const row = `insert into activity_entries
      with recursive n (n) as (select 1 union all select n + 1 from n where n < 3000)
      select ?, n, case when n % 3 = 0 then 'production' else 'sandbox' end, ? + n, 'agent.suspended', 'system', 'job',
        'agent', 'agt_' || n, null, null from n`;
    await world.deps.env.DB.prepare(row)
      .bind(world.platformId, world.now() - DAY)
      .run();
    const seqsOf = (text: string) => linesOf(text).map((line) => Number(line.split(",")[1]));
    const all = Array.from({ length: 3_000 }, (_, i) => 3_000 - i);
    expect(seqsOf(await csv(world))).toEqual(all);
    expect(seqsOf(await csv(world, "?environment=production"))).toEqual(all.filter((seq) => seq % 3 === 0));
    expect(seqsOf(await csv(world, "?subject_id=agt_7"))).toEqual([7]);
  });

  it("covers 31 days: the last ones, those after an instant, or those before one", async () => {
    const world = await createWorld();
    const begun = world.now();
    for (let n = 0; n < 3; n++) {
      await write(world, 1);
      world.advance(20 * DAY);
    }
    const at = (days: number) => new Date(begun + days * DAY - 1_000).toISOString();
    const seqs = async (query: string) => linesOf(await csv(world, query)).map((line) => Number(line.split(",")[1]));
    expect(await seqs("")).toEqual([3]);
    expect(await seqs(`?occurred_after=${at(35)}`)).toEqual([3]);
    expect(await seqs(`?occurred_before=${at(30)}`)).toEqual([2, 1]);
    expect(await seqs(`?occurred_after=${at(15)}&occurred_before=${at(45)}`)).toEqual([3, 2]);
  });

  it.each([
    [
      "a range of more than 31 days",
      "occurred_after=2026-01-01T00:00:00Z&occurred_before=2026-02-01T00:00:01Z",
      "occurred_after",
    ],
    ["a start more than 31 days ago, without an end", "occurred_after=2026-01-01T00:00:00Z", "occurred_after"],
    ["a cursor", "cursor=", "cursor"],
  ])("refuses %s", async (_what, query, field) => {
    const world = await createWorld();
    await write(world, 2);
    const { next_cursor } = await readLog(world, "?limit=1");
    const asked = query === "cursor=" ? `cursor=${encodeURIComponent(next_cursor)}` : query;
    const { status, body } = await world.call("GET", `${LOG}?${asked}`, { headers: { Accept: "text/csv" } });
    expect([status, body.code, body.field_errors[0].field]).toEqual([422, "validation_failed", field]);
    expect((await world.call("GET", `${LOG}?${asked}`)).status).toBe(200);
  });

  it("is for its platform only", async () => {
    const world = await createWorld();
    const { status, body } = await world.call("GET", LOG, { key: null, headers: { Accept: "text/csv" } });
    expect([status, body.code]).toEqual([401, "invalid_credentials"]);
  });
});

describe("a CSV of any listing", () => {
  const written = async (...cells: (string | number | null)[]): Promise<string> => {
    const slices = (async function* () {
      yield [cells];
    })();
    const columns = cells.map((_, i) => [`c${i}`, (row: typeof cells) => row[i] ?? null] as const);
    const { body } = answerCsv("cells", columns, slices);
    return linesOf(await new Response(body).text()).join("\r\n");
  };

  it.each([
    ["=1+1", `"'=1+1"`],
    ["+49 30", `"'+49 30"`],
    ["-2", `"'-2"`],
    ["@SUM(A1)", `"'@SUM(A1)"`],
    ["\tx", `"'\tx"`],
    ["\rx", '"\'\rx"'],
    ["＝1", `"'＝1"`],
    ["－2", `"'－2"`],
    ["＠SUM(A1)", `"'＠SUM(A1)"`],
    ["a;－2", `"a;'－2"`],
    ["a,＠b", `"a,'＠b"`],
    ["a\r=1", `"a\r'=1"`],
    ["a;\t=1", `"a;'\t'=1"`],
    ["fine;=1+1", `"fine;'=1+1"`],
    ["fine,＋1", `"fine,'＋1"`],
    ["a\t=1", `"a\t'=1"`],
    ["a\n@b", `"a\n'@b"`],
    ["a; \"'-1", `"a;' ""'-1"`],
    ["  =1", `"'  =1"`],
    ["a;;=1", `"a;;'=1"`],
    ['=HYPERLINK("x","y")', '"\'=HYPERLINK(""x"",""y"")"'],
  ])("defuses the cell %j", async (cell, line) => {
    expect(await written(cell)).toBe(line);
  });

  it("leaves other cells as they are, and quotes them as RFC 4180 requires", async () => {
    expect(await written("a=b", "ü", -2, null, "", 'say "no"', "a,b", "two\r\nlines")).toBe(
      'a=b,ü,-2,,,"say ""no""","a,b","two\r\nlines"',
    );
  });

  it("is read at the client's pace, and ends its slices when the client leaves", async () => {
    let made = 0;
    let ended = false;
    const slices = (async function* () {
      try {
        for (;;) yield [[++made]];
      } finally {
        ended = true;
      }
    })();
    const { body } = answerCsv("n", [["n", ([n]: number[]) => n ?? null]], slices);
    const reader = (body as ReadableStream<Uint8Array>).getReader();
    for (let read = 0; read < 3; read++) await reader.read();
    await reader.cancel();
    expect(made).toBeLessThan(6);
    expect(ended).toBe(true);
  });
});
