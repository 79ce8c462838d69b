// Random histories of agents' signals and of time (TSK-6 to TSK-15, TSK-17): every row, answer and published number matches a plain recomputation of
// all signals (history-model.ts). A failure prints the seed, the path and the shortest history that fails.
import fc from "fast-check";
import { beforeAll, expect, it } from "vitest";
import { DAY_MS, HOUR_MS } from "../../src/core/limits.ts";
import { moveClock } from "../support/clock.ts";
import { isWhole, runs } from "../support/scale.ts";
import { createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { computed } from "./computed.ts";
import { type Cast, expectRounded, Play } from "./history-play.ts";

const HISTORIES = isWhole() ? 5_000 : 15;
/** Agents that trade with the first one. */
const OTHERS = 5;
const PRINCIPALS = OTHERS + 3;
/** The sandbox of another platform is this far ahead of the first one's. */
const AHEAD_MS = 45 * DAY_MS;

/** Methods other than the one of the rules. The model knows only what is published of each. */
const METHODS = [
  {},
  { half_life_days: 30, kappa: 0.5, mu: 0.7, counterparty_clip: { max_share: 0.4 } },
  { weight: { min: 1, max: 2 }, signals: { provider: { dispute_upheld: { r: 0.1, weight_factor: 20 } } } },
];

let worlds: { readonly world: World; readonly method: Json }[];
let cast: Cast;
beforeAll(async () => {
  worlds = [];
  for (const parameters of METHODS) {
    const world = await createWorld({ RATING_PARAMETERS: JSON.stringify(parameters) });
    worlds.push({ world, method: expectStatus(await world.call("GET", "/v1/rating-method", { key: null }), 200) });
  }
  const [first] = worlds;
  if (!first) throw new Error("unreachable: there are methods");
  const dids: string[] = [];
  const principals: string[] = [];
  for (let n = 0; n < PRINCIPALS; n++) principals.push(await first.world.principal());
  for (const principal_id of principals.slice(0, 1 + OTHERS))
    dids.push((await first.world.consumer({ principal_id })).did);
  const other = await createWorld();
  await moveClock(other, AHEAD_MS);
  cast = { dids, principals, ahead: { id: other.platformId, offsetMs: AHEAD_MS } };
});

// ---- The steps of a history ------------------------------------------------------------------------------------------------

const other = fc.integer({ min: 1, max: OTHERS });
const provides = fc.boolean();
const score = fc.double({ min: 0, max: 1, noNaN: true });
/** From a base unit to a billion whole units; small and large amounts are equally frequent. */
const units = fc.double({ min: 0, max: 15, noNaN: true }).map((digits) => Math.floor(10 ** digits));
/** How long after it fell due something is recorded. */
const late = fc.integer({ min: 0, max: 72 * HOUR_MS });
const which = fc.nat(99);

const verdict = fc.record({ name: fc.constantFrom("upheld", "partially_upheld", "rejected"), score });

const task = fc.record({
  act: fc.constant("task" as const),
  other,
  provides,
  score,
  units,
  late,
  outcome: fc.constantFrom("confirmed", "confirmed", "partial", "rejected", "auto_confirmed"),
  prompt: fc.boolean(),
  silent: fc.boolean(),
  held: fc.option(verdict, { nil: undefined, freq: 3 }),
  ahead: fc.constantFrom(null, null, "provider" as const, "consumer" as const),
});
const step = fc.oneof(
  { weight: 8, arbitrary: task },
  { weight: 1, arbitrary: fc.record({ act: fc.constant("abandoned" as const), other, provides, units, late }) },
  {
    weight: 4,
    arbitrary: fc.record({ act: fc.constant("verdict" as const), which, verdict }),
  },
  { weight: 1, arbitrary: fc.record({ act: fc.constant("takeBack" as const), which }) },
  {
    weight: 2,
    arbitrary: fc.record({ act: fc.constant("clock" as const), ms: fc.integer({ min: 1, max: 400 * DAY_MS }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ act: fc.constant("transfer" as const), agent: fc.nat(OTHERS), to: fc.nat(PRINCIPALS - 1) }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;
const history = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 40, size: "max" }),
  environment: fc.constantFrom("sandbox", "production"),
  method: fc.nat(METHODS.length - 1),
});

const met = { clipped: 0, rated: 0, replaced: 0, takenBack: 0, verdictsTakenBack: 0, silent: 0, held: 0, apart: 0 };

async function take(play: Play, world: World, one: Step): Promise<void> {
  if (one.act === "clock") {
    const from = play.now;
    world.advance(one.ms);
    met.rated += await play.compare(from, from + Math.floor(one.ms / 3), play.now);
    return;
  }
  if (one.act === "transfer") return play.transfer(one.agent, one.to);
  if (one.act === "abandoned") {
    const [consumer, provider] = one.provides ? [one.other, 0] : [0, one.other];
    return play.abandoned(consumer, provider, one.units, play.now - one.late);
  }
  if (one.act === "task") {
    const { outcome, prompt, score, held, ahead } = one;
    const [provider, consumer] = one.provides ? [0, one.other] : [one.other, 0];
    const auto = outcome === "auto_confirmed" && !held;
    const answered = prompt ? "answered_promptly" : "answered";
    const own = {
      provider: { name: outcome, score },
      consumer: { name: auto ? "auto_confirmed" : answered, score: 0 },
    };
    const silent = auto && one.silent;
    met.silent += Number(silent);
    met.held += Number(held !== undefined);
    met.apart += Number(ahead !== null && play.environment === "sandbox");
    const at = play.now - one.late;
    return play.task({ provider, consumer, at, units: one.units, own, silent, ahead, ...(held && { held }) });
  }
  const chosen = play.tasks[one.which % Math.max(1, play.tasks.length)];
  if (!chosen) return;
  if (one.act === "takeBack") {
    met.takenBack += 1;
    met.verdictsTakenBack += Number(chosen.verdict !== null);
    return play.takeBack(chosen);
  }
  met.replaced += Number(chosen.verdict !== null);
  return play.verdict(chosen, one.verdict);
}

it("gives every agent the rating of all its signals, after any history", async () => {
  await fc.assert(
    fc.asyncProperty(history, async ({ steps, environment, method: chosen }) => {
      const { world, method } = worlds[chosen] ?? { world: null, method: null };
      if (!world) throw new Error("unreachable: a method that is none");
      world.offset = 0;
      const play = await Play.begin(world, method, cast, environment);
      for (const one of steps) await take(play, world, one);
      met.rated += await play.compare(play.now);
      const [did = ""] = cast.dids;
      const answer = expectStatus(await world.call("GET", `/v1/agents/${did}/rating`, { key: null }), 200);
      expectRounded(answer.agent_rating, play.model.rating(did, Date.parse(answer.as_of)));
      expect(computed(answer)).toBe(answer.agent_rating);
      met.clipped += answer.heaviest.length;
    }),
    { ...runs(), numRuns: HISTORIES },
  );
  for (const [what, times] of Object.entries(met)) expect([what, times > 0]).toEqual([what, true]);
});
