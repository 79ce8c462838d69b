// The rows that a page of an agent's reports reads (AGT-35, AGT-36): as many for a thousand rows of the agent as for many times more.
import { beforeAll, describe, expect, it } from "vitest";
import { HOUR_MS, MINUTE_MS } from "../../src/core/limits.ts";
import { listNewEvents } from "../../src/jobs/tend.ts";
import { confirm, facilitated, type Pair, pairOf } from "../facilitation/support.ts";
import { stopped } from "../support/clock.ts";
import { copyRow } from "../support/copies.ts";
import { isWhole } from "../support/scale.ts";
import { createWorld, expectStatus, type World } from "../support/world.ts";
import { type Report, report } from "./reports-support.ts";

const SMALL = 1_000;
const LARGE = isWhole() ? 20_000 : 4_000;
const PAGE = 20;
const MOST_ROWS = 45;
type Filled = { readonly world: World; readonly pair: Pair };
let small: Filled;
let large: Filled;

/**
 * One task in ten is partial, one rejected, three confirmed and five unanswered. Their windows end some minutes apart, those of the last 72 hours
 * in the future. Every second event is older than a day.
 */
async function fill(rows: number, minutes: number): Promise<Filled> {
  const world = await createWorld();
  const pair = await pairOf(world);
  const { task, fac } = await facilitated(world, pair);
  expectStatus(await confirm(world, pair.consumer, (await facilitated(world, pair)).task), 200);
  const id = (column: string) => `${column} || '-' || printf('%09d', i)`;
  const [outcome, each] = [
    "case i % 10 when 0 then 'partial' when 1 then 'rejected' else 'confirmed' end",
    minutes * MINUTE_MS,
  ];
  const answered = "i % 10 < 5";
  await copyRow(
    "tasks",
    `task_id = '${task}'`,
    {
      task_id: id("task_id"),
      transaction_id: id("transaction_id"),
      status: `case when ${answered} then 'confirmed' else 'open' end`,
      answer: `case when ${answered} then ${outcome} end`,
      outcome: `case when ${answered} then ${outcome} end`,
      score: `case when ${answered} then 0.5 end`,
      opened_at: `opened_at - i * ${each}`,
      confirm_by: `confirm_by - i * ${each}`,
    },
    { to: rows },
  );
  await copyRow(
    "transactions",
    `transaction_id = '${fac.transaction_id}'`,
    {
      transaction_id: id("transaction_id"),
      task_id: id("task_id"),
      intent_id: id("intent_id"),
      log_index: "log_index + 100 + i",
      settled_at: `settled_at - i * ${each}`,
    },
    { to: rows },
  );
  const about = `platform_id = '${world.platformId}' and type = 'transaction.settled'`;
  await copyRow("events", about, { id: id("id"), occurred_at: "occurred_at - i % 2 * 86400000 - i" }, { to: rows });
  await listNewEvents(world.deps);
  // The clock stands still, so that the same windows stay open however long the filling took.
  return { world: stopped(world), pair };
}

beforeAll(async () => {
  [small, large] = [await fill(SMALL, 10), await fill(LARGE, 2)];
});

const middle = new Date(Date.now() - 30 * HOUR_MS).toISOString();
const PAGES: readonly (readonly [Report, string])[] = [
  ["tasks", ""],
  ["tasks", "status=open"],
  ["tasks", "status=auto_confirmed"],
  ["tasks", "status=confirmed"],
  ["tasks", "outcome=confirmed"],
  ["tasks", "outcome=rejected"],
  ["tasks", "status=confirmed&outcome=partial"],
  ["tasks", `since=${middle}`],
  ["tasks", `status=open&since=${middle}`],
  ["transactions", ""],
  ["events", ""],
];

async function cost({ world }: Filled, did: string, name: Report, query: string) {
  world.meter.reset();
  const page = await report(world, did, name, query);
  const { rowsRead, trips } = world.meter.reading;
  return { page, rowsRead, trips };
}

describe.each(["provider", "consumer"] as const)("of a %s", (side) => {
  it.each(PAGES)(
    "a page of %s with ?%s reads as many rows whatever the length of the history, on the first and on later pages",
    async (...of) => {
      const [name, filter] = of;
      const read: number[] = [];
      for (const filled of [small, large]) {
        const { did } = filled.pair[side];
        let cursor = "";
        for (const _place of ["the first", "the second", "the third"]) {
          const { page, rowsRead, trips } = await cost(filled, did, name, `limit=${PAGE}&${filter}${cursor}`);
          expect([trips, page.data.length, page.has_more]).toEqual([1, PAGE, true]);
          // Each of four ranges of events looks up where the previous page ended.
          expect(rowsRead).toBeLessThanOrEqual(name === "events" ? MOST_ROWS + 1 : MOST_ROWS);
          read.push(rowsRead);
          cursor = `&cursor=${page.next_cursor}`;
        }
      }
      // A range may have a neighbour in one database and none in the other.
      expect(Math.max(...read.slice(3)) - Math.max(...read.slice(0, 3))).toBeLessThanOrEqual(2);
    },
  );

  it("a filter without matches reads nothing of the history", async () => {
    for (const filled of [small, large]) {
      for (const query of ["status=disputed", "status=open&outcome=partial", "since=2999-01-01T00:00:00Z"]) {
        const { page, rowsRead } = await cost(filled, filled.pair[side].did, "tasks", query);
        expect(page.data).toEqual([]);
        // There are ranges per status, and by the agent's own clock and others' clocks: each reads its first row.
        expect(rowsRead).toBeLessThanOrEqual(16);
      }
    }
  });

  it("the overview reads open items up to 1,000, and as many rows for a longer history", async () => {
    const overviews = [];
    for (const filled of [small, large]) {
      overviews.push(await cost(filled, filled.pair[side].did, "overview", ""));
    }
    expect(overviews.map(({ trips, page }) => [trips, page.open.tasks, page.recent_events.length])).toEqual([
      [1, 216, 10],
      [1, 1_000, 10],
    ]);
    const counted = overviews.map(({ rowsRead, page }) => rowsRead - page.open.tasks);
    for (const rows of counted) expect(rows).toBeLessThanOrEqual(MOST_ROWS);
  });
});

it("a page of a hundred reads in proportion", async () => {
  const { rowsRead } = await cost(large, large.pair.provider.did, "tasks", "limit=100");
  expect(rowsRead).toBeLessThanOrEqual(MOST_ROWS + 80);
});
