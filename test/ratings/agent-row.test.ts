// A rating is read from the agent's row alone (TSK-15, TSK-17): at each instant and by any method it equals the one that the rows of all
// counterparties give.
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { DAY_MS } from "../../src/core/limits.ts";
import { openDatabase } from "../../src/db/batch.ts";
import type { CounterpartyRow } from "../../src/db/tables/agents.ts";
import { DEFAULT_PARAMETERS, pickRatingMethod, type RatingMethod } from "../../src/ratings/method.ts";
import { computeRating, type Signal, type Sums, toContribution } from "../../src/ratings/rating.ts";
import { addSignal, computeRatingFromRow } from "../../src/ratings/signals.ts";
import type { RatedAgent } from "../../src/ratings/store.ts";
import { confirm, facilitated, stateOf } from "../facilitation/support.ts";
import { strayAgents } from "../support/agent-rows.ts";
import { runs } from "../support/scale.ts";
import { createWorld, env, expectStatus, type World } from "../support/world.ts";

const NOW = Date.UTC(2026, 10, 21);
const YEARS_MS = 1_500 * DAY_MS;
const METHOD: RatingMethod = { ...DEFAULT_PARAMETERS, minimum: { interactions: 1, counterparties: 1 } };

type Given = { readonly signal: Signal; readonly at: number };
/** A signal of a counterparty. `replaces`: the number of an earlier signal of the same counterparty that it replaces. */
type Step = Given & { readonly counterparty: string; readonly replaces: number };
type Played = { readonly row: RatedAgent; readonly others: readonly CounterpartyRow[] };

const heaviestOf = (others: readonly CounterpartyRow[]) => others.toSorted((a, b) => b.weight - a.weight).slice(0, 4);

/** Plays the signals on an agent's row, as their batches do: each reads the four heaviest counterparties. */
function play(steps: readonly Step[]): Played {
  const db = openDatabase(env.DB);
  const others = new Map<string, CounterpartyRow>();
  const given = new Map<string, Given[]>();
  const columns = { ratingWeight: 0, ratingWeighted: 0, ratingInteractions: 0, ratingCounterparties: 0 };
  const none = { ...columns, ratingHeaviest: [], agentRating: null };
  let row: RatedAgent = { did: "did:aeap:rated", environment: "sandbox", ...none };
  for (const { counterparty, signal, at, replaces } of steps) {
    const earlier = given.get(counterparty) ?? [];
    const replaced = earlier[replaces];
    const counterpartyPrincipalId = counterparty;
    const known = others.get(counterparty) ?? null;
    const heaviest = heaviestOf([...others.values()]);
    const change = { add: signal, at, by: METHOD, now: NOW, ...(replaced && { replaces: replaced }) };
    row = {
      ...row,
      ...addSignal(db, row, { ...change, counterpartyPrincipalId, counterparty: known, heaviest }).columns,
    };
    const sums = moved(known ?? { weight: 0, weighted: 0 }, { signal, at }, replaced);
    others.set(counterparty, { did: row.did, environment: row.environment, counterpartyPrincipalId, ...sums });
    given.set(counterparty, [...earlier.filter((one) => one !== replaced), { signal, at }]);
  }
  // As the database returns it.
  return { row: JSON.parse(JSON.stringify(row)), others: [...others.values()] };
}

function moved(sums: Sums, { signal, at }: Given, replaced: Given | undefined): Sums {
  const added = toContribution(METHOD, signal, at);
  const taken = replaced ? toContribution(METHOD, replaced.signal, replaced.at) : { weight: 0, weighted: 0 };
  return {
    weight: Math.max(0, sums.weight - taken.weight + added.weight),
    weighted: Math.max(0, sums.weighted - taken.weighted + added.weighted),
  };
}

/** The whole computation, from the agent's sums and the rows of its counterparties. */
const wholly = ({ row, others }: Played, by: RatingMethod, now: number): number | null =>
  computeRating(
    {
      weight: row.ratingWeight,
      weighted: row.ratingWeighted,
      interactions: row.ratingInteractions,
      counterparties: row.ratingCounterparties,
    },
    heaviestOf(others),
    by,
    now,
  );

/** The millisecond at which decay moves the rating within the interval; null if it does not. */
function moveWithin(rate: (at: number) => number | null, from: number, to: number): number | null {
  let [low, high] = [from, to];
  if (rate(low) === rate(high)) return null;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (rate(middle) === rate(low)) low = middle;
    else high = middle;
  }
  return high;
}

const step: fc.Arbitrary<Step> = fc.record({
  signal: fc.record({
    r: fc.double({ min: 0, max: 1, noNaN: true }),
    weight: fc.double({ min: 0.15, max: 12, noNaN: true }),
  }),
  at: fc.integer({ min: NOW - 400 * DAY_MS, max: NOW }),
  counterparty: fc.constantFrom("a", "b", "c", "d", "e", "f", "g"),
  replaces: fc.integer({ min: 0, max: 9 }),
});
const methods: fc.Arbitrary<RatingMethod> = fc
  .record({
    clip: fc.constantFrom(0.25, 0.3, 0.5, 1),
    mu: fc.constantFrom(0.5, 0.7),
    kappa: fc.constantFrom(2, 0.5),
  })
  .map((parts) => ({ ...METHOD, ...parts }));

describe("a rating from the agent's row", () => {
  it("equals the whole computation at each instant, to the millisecond at which decay moves it", () => {
    let moves = 0;
    let clipped = 0;
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 25 }), methods, fc.nat(YEARS_MS), (steps, by, later) => {
        const played = play(steps);
        const rate = (at: number) => wholly(played, by, at);
        const grid = Array.from({ length: 9 }, (_, n) => NOW - 30 * DAY_MS + (n * YEARS_MS) / 8);
        const boundaries = grid.flatMap((from, n) => moveWithin(rate, from, grid[n + 1] ?? from) ?? []);
        for (const at of [...grid, NOW + later, ...boundaries.flatMap((at) => [at - 1, at, at + 1])])
          expect(computeRatingFromRow(played.row, by, at)).toBe(rate(at));
        moves += boundaries.length;
        clipped += played.row.ratingHeaviest.length;
      }),
      runs(),
    );
    expect([moves > 0, clipped > 0]).toEqual([true, true]);
  });

  it("includes a counterparty that becomes heavy because others fall", () => {
    const signal = (counterparty: string, weight: number, r: number): Step => ({
      counterparty,
      signal: { r, weight },
      at: NOW,
      replaces: 0,
    });
    const first = ["a", "b", "c", "d"].map((name) => signal(name, 10, 1));
    // The fifth is not among the four heaviest until two of them fall.
    const played = play([...first, signal("e", 9, 0), signal("a", 0.15, 1), signal("b", 0.15, 1)]);
    expect(played.row.ratingHeaviest).toHaveLength(3);
    expect(computeRatingFromRow(played.row, METHOD, NOW)).toBe(wholly(played, METHOD, NOW));
  });

  it("keeps at most three counterparties, and none if the weight is spread", () => {
    const of = (names: string) => play([...names].map((counterparty, n) => ({ ...one(1 + n / 100), counterparty })));
    const one = (weight: number): Omit<Step, "counterparty"> => ({ signal: { r: 1, weight }, at: NOW, replaces: 9 });
    expect([..."abcdefg"].map((_, n) => of("abcdefg".slice(0, n + 1)).row.ratingHeaviest.length)).toEqual([
      0, 1, 1, 2, 0, 0, 0,
    ]);
  });
});

describe("the routes", () => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld();
  });

  it("return the rating that the rows of all counterparties give at the named instant, and read only the agent's rows", async () => {
    const provider = await world.provider();
    const outcomes = [{ outcome: "confirmed" }, { outcome: "rejected" }, { outcome: "partial", score: 0.3 }];
    for (const [n, outcome] of outcomes.entries()) {
      const consumer = await world.consumer({ principal_id: await world.principal() });
      const { task } = await facilitated(world, { consumer, provider }, `${5 ** (n + 1)}.00`);
      expectStatus(await confirm(world, consumer, task, outcome), 200);
    }
    const { agents, sums } = await stateOf(world, provider.did);
    const [row] = agents;
    if (!row) throw new Error("no agent");
    expect(row.ratingHeaviest.length).toBeGreaterThan(0);
    expect(await strayAgents(world)).toEqual([]);
    const method = pickRatingMethod(world.deps.env, "sandbox");
    const path = `/v1/agents/${provider.did}`;
    const seen = new Set<number>();
    for (let days = 0; days < 400; days += 40) {
      for (const [route, most] of [
        [`${path}/status`, 6],
        [`${path}/rating`, 6],
      ] as const) {
        world.meter.reset();
        const body = expectStatus(await world.call("GET", route, { key: null }), 200);
        const { trips, rowsRead } = world.meter.reading;
        expect([trips, rowsRead <= most]).toEqual([1, true]);
        expect(body.agent_rating).toBe(wholly({ row, others: sums }, method, Date.parse(body.as_of)));
        seen.add(body.agent_rating);
      }
      world.advance(40 * DAY_MS);
    }
    expect(seen.size).toBeGreaterThan(2);
  });
});
