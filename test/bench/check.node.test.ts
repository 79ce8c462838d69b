// The deterministic part of the bench's own check: it covers everything, and names what is exceeded or missing.
import { describe, expect, it } from "vitest";
import { BUDGETS } from "../../bench/budgets.ts";
import type { Burst } from "../../bench/busy.ts";
import { nameOf } from "../../bench/case.ts";
import { CASES } from "../../bench/cases.ts";
import {
  checkActs,
  checkBacklog,
  checkBusy,
  checkCosts,
  checkFar,
  checkIdle,
  checkMovements,
  checkScaling,
  checkStatusLists,
  checkSuspensions,
  checkWave,
} from "../../bench/check.ts";
import type { CaseCost } from "../../bench/costs.ts";
import { findUncovered } from "../../bench/coverage.ts";
import { costsDocument, isCurrent } from "../../bench/document.ts";
import { HOPS } from "../../bench/hops.ts";
import { ACTS, IDLE, MOVEMENTS } from "../../bench/scene-budgets.ts";

const NAME = "GET /v1/principals/{principal_id}";

function costOf(change: Partial<CaseCost> = {}): CaseCost {
  const budget = BUDGETS[NAME];
  if (!budget) throw new Error(`no budget of ${NAME}`);
  const counted = {
    statements: 2,
    gzip: 0,
    moreRows: 0,
    filling: false,
    unmetered: 0,
    objectRowsWritten: 0,
    objectFetches: 0,
    elapsedMs: 0,
    each: [],
  };
  return { name: NAME, ...budget, ...counted, ...change };
}

describe("the bench", () => {
  it("has a case and a budget for every operation and every job", () => {
    expect(findUncovered()).toEqual([]);
  });

  it("limits only hops of existing cases", () => {
    const names = new Set(CASES.map(nameOf));
    expect(Object.keys(HOPS).filter((name) => !names.has(name))).toEqual([]);
  });
});

describe("a budget", () => {
  it("holds at its limit", () => {
    expect(checkCosts([{ cost: costOf() }])).toEqual([]);
  });

  it.each(["trips", "rowsRead", "rowsWritten", "objects", "queues", "fetches", "bytes"] as const)(
    "names its case when %s is one more",
    (key) => {
      const cost = costOf();
      expect(checkCosts([{ cost: { ...cost, [key]: cost[key] + 1 } }])).toEqual([expect.stringContaining(NAME)]);
    },
  );

  it("that is missing fails its case", () => {
    expect(checkCosts([{ cost: costOf({ name: "GET /nothing" }) }])).toEqual([
      "GET /nothing: has no budget (bench/budgets.ts)",
    ]);
  });

  it("fails for a case that could not be played, and for statements of unknown cost", () => {
    expect(checkCosts([{ name: NAME, failed: "expected 200, got 500" }])).toEqual([`${NAME}: expected 200, got 500`]);
    expect(checkCosts([{ cost: costOf({ unmetered: 1 }) }])).toHaveLength(1);
  });

  it("allows only the extra rows that depend on stored rows", () => {
    const { rowsRead } = costOf();
    expect(checkCosts([{ cost: costOf({ rowsRead: rowsRead + 7, moreRows: 7 }) }])).toEqual([]);
    expect(checkCosts([{ cost: costOf({ rowsRead: rowsRead + 8, moreRows: 7 }) }])).toHaveLength(1);
  });
});

describe("a longer history", () => {
  const [few, many] = [costOf({ rowsRead: 4 }), (rowsRead: number) => [{ cost: costOf({ rowsRead }) }]];

  it("may cost one neighbour for each statement", () => {
    expect(checkScaling([{ cost: few }], many(6))).toEqual([]);
  });

  it("may not cost more than that", () => {
    expect(checkScaling([{ cost: few }], many(7))).toEqual([expect.stringContaining("from 4 to 7")]);
  });
});

describe("the follower", () => {
  const movements = (first: number, all: number) => {
    const [[one, many]] = MOVEMENTS.cases;
    return [{ cost: costOf({ name: one, rowsWritten: first }) }, { cost: costOf({ name: many, rowsWritten: all }) }];
  };
  const further = (MOVEMENTS.many - 1) * MOVEMENTS.written;

  it("may write a fixed number of rows for each further movement", () => {
    expect(checkMovements(movements(6, 6 + further))).toEqual([]);
    expect(checkMovements(movements(6, 7 + further))).toEqual([expect.stringContaining("4.1 rows written each")]);
    expect(checkMovements([])).toEqual([]);
  });
});

describe("the other checks", () => {
  it("name a case whose caller waits for one hop more", () => {
    const { trips } = costOf();
    const far = (hops: number) => checkFar([{ name: NAME, hops, elapsedMs: 0 }]);
    expect(far(trips)).toEqual([]);
    expect(far(trips + 1)).toEqual([expect.stringContaining(NAME)]);
  });

  it("name a seller whose batches were refused", () => {
    const [calm, refused] = [
      { perSecond: 1, refused: 0, failed: 0 },
      { perSecond: 1, refused: 1, failed: 0 },
    ];
    const faultsOf = (hot: Burst, ratio = 1) => {
      const compared = [{ act: "confirmations", hot, spread: calm, ratio }] as const;
      return checkBusy({ atOnce: 1, sellers: 1, purchases: 1, compared });
    };
    expect(faultsOf(calm)).toEqual([]);
    expect(faultsOf(refused)).toEqual([expect.stringContaining("confirmations with one provider")]);
    expect(faultsOf(calm, 0.79)).toEqual([expect.stringContaining("0.79")]);
  });

  it("name the excess cost of a principal's suspension", () => {
    const kept = {
      kind: "seller",
      agents: 500,
      trips: 2,
      answerMs: 1,
      answer: { read: 1_018, written: 2_012 },
    } as const;
    const all = { read: 2_544, written: 5_018 };
    expect(checkSuspensions([{ ...kept, all }])).toEqual([]);
    for (const more of [
      { trips: 3 },
      { answer: { ...kept.answer, read: 1_019 } },
      { answer: { ...kept.answer, written: 2_013 } },
      { all: { ...all, read: 2_545 } },
      { all: { ...all, written: 5_019 } },
    ])
      expect(checkSuspensions([{ ...kept, all, ...more }])).toHaveLength(1);
    // A consumer has no market and no vault.
    const consumers = { ...kept, kind: "consumer", answer: { ...kept.answer, read: 618 } } as const;
    expect(checkSuspensions([{ ...consumers, all: { ...all, read: 1_544 } }])).toEqual([]);
    expect(checkSuspensions([{ ...consumers, all: { ...all, read: 1_545 } }])).toHaveLength(1);
  });

  it("name a trigger that costs more than its budget while nothing is due", () => {
    const trigger = "every minute";
    const kept = { trigger, ...IDLE[trigger], statements: 1, rowsRead: 1, objects: 1, fetches: 1, cpuMs: null };
    const idle = { trips: 0, rowsWritten: 0, queues: 0, ...kept };
    expect(checkIdle([idle])).toEqual([]);
    for (const key of ["trips", "rowsWritten", "queues"] as const)
      expect(checkIdle([{ ...idle, [key]: idle[key] + 0.1 }])).toEqual([
        expect.stringContaining(`idle, every minute: ${key}`),
      ]);
    expect(checkIdle([{ ...idle, trigger: "every day" }])).toHaveLength(1);
  });

  it("name an act that writes more rows or bytes than its budget, or has none", () => {
    const billed = { requests: 0, rowsRead: 0, objectCalls: 0, queueMessages: 0 };
    const most = ACTS["purchase"] ?? { rows: 0, standing: 0, forEver: 0 };
    const of = (act: string, { rows, ...bytes }: typeof most) =>
      checkActs([
        { act, times: 1, billed, events: 1, bytes, tables: [["events", 20] as const, ["tasks", rows - 20] as const] },
      ]);
    expect(of("purchase", most)).toEqual([]);
    for (const name of ["rows", "standing", "forEver"] as const)
      expect(of("purchase", { ...most, [name]: most[name] + 0.1 })).toEqual([
        expect.stringContaining(`purchase, ${name}: `),
      ]);
    expect(of("a nap", most)).toHaveLength(1);
  });

  it("do not count how often an act polls the chain", () => {
    const billed = { requests: 0, rowsRead: 0, objectCalls: 0, queueMessages: 0 };
    const most = ACTS["market"] ?? { rows: 0, standing: 0, forEver: 0 };
    const tables = [["agents", most.rows] as const, ["chain_operations", 9] as const];
    expect(checkActs([{ act: "market", times: 1, billed, events: 1, bytes: most, tables }])).toEqual([]);
  });

  it("name every cost that grows with the number of certificates", () => {
    const [signed, served] = [
      { trips: 2, read: 13, written: 1, ms: 1, bytes: 1 },
      { trips: 1, read: 1, written: 0, ms: 1, bytes: 1 },
    ];
    const list = { exceptions: 10, signed, served };
    const act = { name: NAME, trips: 2, statements: 3, read: 9, written: 8 };
    const few = { certificates: 100, lists: [list], acts: [act], draws: [1], counted: 100 };
    const many = { ...few, certificates: 1_000_000, acts: [{ ...act, read: 12 }], draws: [33], counted: 65_540 };
    expect(checkStatusLists(few, many)).toEqual([]);
    for (const more of [
      { lists: [{ ...list, exceptions: 9 }] },
      { lists: [{ ...list, signed: { ...signed, trips: 3 } }] },
      { lists: [{ ...list, served: { ...served, read: 2 } }] },
      { acts: [{ ...act, read: 13 }] },
      { acts: [{ ...act, written: 9 }] },
      { draws: [1, 34] },
      { counted: 65_541 },
    ])
      expect(checkStatusLists(few, { ...many, ...more })).toHaveLength(1);
  });

  it("name a wave that takes too long, slows down a call, or leaves an agent unreported", () => {
    const slowed = [{ name: "GET /v1/agents", aloneMs: 10, duringMs: 20 }];
    const kept = { seconds: 600, slowed, agents: 10, once: 10, left: 0 };
    expect(checkWave(kept)).toEqual([]);
    expect(checkWave({ ...kept, seconds: 601 })).toHaveLength(1);
    expect(checkWave({ ...kept, once: 9 })).toHaveLength(1);
    expect(checkWave({ ...kept, left: 1 })).toHaveLength(1);
    expect(checkWave({ ...kept, slowed: [{ name: "GET /v1/agents", aloneMs: 10, duringMs: 21 }] })).toEqual([
      expect.stringContaining("GET /v1/agents is 2.10"),
    ]);
  });

  it("find that docs/costs.md is not current by every count of a call except the rows read", () => {
    const page = (more: Partial<CaseCost>) =>
      costsDocument({ costs: [{ cost: costOf(more) }], far: [], acts: [], suspensions: [] });
    expect(isCurrent(page({ rowsRead: 99 }), page({}))).toBe(true);
    for (const more of [{ trips: 99 }, { rowsWritten: 99 }, { objects: 99 }, { queues: 99 }, { name: "GET /v1/tasks" }])
      expect(isCurrent(page(more), page({}))).toBe(false);
  });

  it("name a backlog that is recorded too slowly or costs too much", () => {
    const kept = { perSecond: 300, cpuMs: 3 };
    expect(checkBacklog(kept)).toEqual([]);
    for (const missed of [{ perSecond: 299 }, { cpuMs: 3.1 }])
      expect(checkBacklog({ ...kept, ...missed })).toHaveLength(1);
  });
});
