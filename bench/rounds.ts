// Alternates baselines and case: a slice of each of the two baselines in the same process, then a slice of the case, so that a slow machine slows all
// of them.
import { type Case, nameOf } from "./case.ts";
import type { Play } from "./play.ts";
import { type Ask, send } from "./wire.ts";

export type Pace = { readonly rounds: number; readonly sliceMs: number };
/** Each call of an `effect` case is prepared before its slice, so a slice is a number of calls. */
export type Limit = { ms: number } | { calls: number };
/** A slice repeats one call, made again each time. */
export type Course = { readonly ask: () => Ask | Promise<Ask>; readonly status: number; readonly limit: Limit };
export type Round<T> = { readonly hello: T; readonly row: T; readonly own: T };

const WARMING = 20;

export const askHello = (): Ask => ({ method: "GET", path: "/__bench/hello" });

/** The results of `slice` in each round, by the case's name. */
export async function interleave<T>(
  play: Play,
  cases: readonly Case[],
  pace: Pace & { readonly effectsPerSlice: number },
  slice: (course: Course) => Promise<T>,
): Promise<Map<string, Round<T>[]>> {
  const timed = cases.filter((known) => known.timed !== undefined);
  const row = () => ({ method: "GET", path: `/__bench/row?key=${play.stage.platform.keyHash}` });
  for (const ask of [askHello, row]) for (let i = 0; i < WARMING; i++) await send(play.stage.origin, ask());
  const full = { status: 200, limit: { ms: pace.sliceMs } };
  const rounds = new Map<string, Round<T>[]>(timed.map((known) => [nameOf(known), []]));
  for (let round = 0; round < pace.rounds; round++) {
    for (const known of timed) {
      const before = { hello: await slice({ ask: askHello, ...full }), row: await slice({ ask: row, ...full }) };
      const limit = known.timed === "effect" ? { calls: pace.effectsPerSlice } : full.limit;
      const own = await slice({ ask: () => known.ask(play), status: known.status, limit });
      rounds.get(nameOf(known))?.push({ ...before, own });
    }
  }
  return rounds;
}

/** Sends a timed call. Throws for an unexpected status, because its time would be that of another act. */
export async function sendTimed(origin: URL, asked: Ask, expected: number): Promise<void> {
  const { status } = await send(origin, asked);
  if (status !== expected) throw new Error(`${asked.method} ${asked.path}: ${status} while it was timed`);
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** The spread of the rounds: half the distance between the outer ones, in percent of the median. */
export const spreadPercent = (values: readonly number[]): number =>
  ((Math.max(...values) - Math.min(...values)) / 2 / median(values)) * 100;
