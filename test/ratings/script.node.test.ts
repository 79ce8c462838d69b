// The Python script that docs/ratings.md prints computes the published number from an answer of the service (TSK-17).
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { DAY_MS } from "../../src/core/limits.ts";
import { DEFAULT_PARAMETERS, RATING_ORIGIN, type RatingMethod } from "../../src/ratings/method.ts";
import { computeRating, forwardScale, pickClippable, type Sums } from "../../src/ratings/rating.ts";
import { toUsedMethod } from "../../src/ratings/signals.ts";

const page = readFileSync(join(import.meta.dirname, "../../docs/ratings.md"), "utf8");
const script = /```python\n([\s\S]*?)```/.exec(page)?.[1] ?? "";
const isThere = spawnSync("python3", ["--version"]).status === 0;
const NOW = Date.UTC(2026, 10, 25, 20, 41, 7, 80);

/** `held`: the decayed weight of each counterparty at `at`, and its value. */
type Case = {
  readonly held: readonly (readonly [weight: number, r: number])[];
  readonly interactions?: number;
  readonly at?: number;
  readonly by?: Partial<RatingMethod>;
};

/** An answer of GET …/rating, and the number in it. */
function answerOf({ held, interactions = held.length, at = NOW, by = {} }: Case) {
  const method: RatingMethod = { ...DEFAULT_PARAMETERS, minimum: { interactions: 1, counterparties: 1 }, ...by };
  const scale = forwardScale(method, at);
  const all: Sums[] = held.map(([weight, r]) => ({ weight: weight * scale, weighted: weight * scale * r }));
  const total = (name: keyof Sums) => all.reduce((sum, one) => sum + one[name], 0);
  const own = { weight: total("weight"), weighted: total("weighted"), interactions, counterparties: held.length };
  const heaviest = pickClippable(
    own,
    all.toSorted((one, other) => other.weight - one.weight),
  );
  const agent_rating = computeRating(own, heaviest, method, at);
  return {
    ...{ agent_rating, interactions, counterparties: held.length, as_of: new Date(at).toISOString() },
    sums: { weight: own.weight, weighted: own.weighted },
    heaviest: heaviest.map((one, n) => ({ position: n + 1, ...one })),
    method: toUsedMethod(method),
  };
}

function printed(answer: unknown): string {
  const { status, stdout, stderr } = spawnSync("python3", ["-c", script], {
    input: JSON.stringify(answer),
    encoding: "utf8",
  });
  expect([status, stderr]).toEqual([0, ""]);
  return stdout.trim();
}

const spread = (weights: readonly number[], r: number): Case["held"] => weights.map((weight) => [weight, r] as const);
const ALONE = spread([2.5], 0.8);
const CASES: Record<string, [Case, number | null]> = {
  "one counterparty": [{ held: ALONE }, 0.67],
  "no counterparty yet": [{ held: [] }, null],
  "fewer interactions than the minimum": [
    { held: ALONE, by: { minimum: { interactions: 2, counterparties: 1 } } },
    null,
  ],
  "fewer counterparties than the minimum": [
    { held: ALONE, interactions: 9, by: { minimum: { interactions: 2, counterparties: 2 } } },
    null,
  ],
  "one of five that holds more than its share": [
    {
      held: [
        [40, 0],
        [1, 1],
        [1, 1],
        [1, 1],
        [1, 1],
      ],
    },
    0.29,
  ],
  "three that do": [
    {
      held: [
        [90, 1],
        [80, 0],
        [70, 0.4],
        [1, 1],
        [1, 0],
      ],
    },
    0.47,
  ],
  "a larger share": [
    {
      held: [
        [40, 0],
        [1, 1],
        [1, 1],
      ],
      by: { clip: 0.5, kappa: 0.5, mu: 0.7 },
    },
    0.1,
  ],
  "before the origin of the scale": [
    {
      held: [
        [2, 0.9],
        [3, 0.1],
      ],
      at: RATING_ORIGIN - 40 * DAY_MS,
    },
    0.47,
  ],
  "a tie, to the even digit below": [{ held: [[2, 0.75]], at: RATING_ORIGIN }, 0.62],
  "a tie, to the even digit above": [{ held: [[198, 7 / 11]], at: RATING_ORIGIN }, 0.64],
  "a tie within the noise of floats": [{ held: spread([2, 2, 2], 0.68), at: NOW + 30 * DAY_MS }, 0.64],
};

describe.skipIf(!isThere)("the script", () => {
  it.each(Object.entries(CASES))("computes the published number: %s", (_name, [one, expected]) => {
    const answer = answerOf(one);
    expect(answer.agent_rating).toBe(expected);
    expect(printed(answer)).toBe(expected === null ? "None" : String(expected));
  });
});
