// Latency as ratios (performance design 4.2): each case between the two baselines of the same process, base/case interleaved,
// so that whatever slows the machine down slows all of them. Printed, never a gate.
import { type Case, nameOf } from "./cases.ts";
import type { Play } from "./play.ts";
import { type Ask, send } from "./wire.ts";

export type Ratio = {
  readonly name: string;
  readonly p50Ms: number;
  readonly toHello: number;
  readonly toRow: number;
  /** How far the rounds lay apart: half the distance of the outer ones to the median, in percent. */
  readonly spreadPercent: number;
};
export type Latencies = { readonly helloMs: number; readonly rowMs: number; readonly ratios: readonly Ratio[] };
export type Pace = { readonly rounds: number; readonly sliceMs: number };

/** Each call of an `effect` case is arranged beforehand, so a slice of it is a count. */
const EFFECTS_PER_SLICE = 8;
const WARMING = 20;

type Round = { hello: number; row: number; own: number };

export async function measureLatencies(play: Play, cases: readonly Case[], pace: Pace): Promise<Latencies> {
  const timed = cases.filter((known) => known.timed !== undefined);
  const hello = () => ({ method: "GET", path: "/__bench/hello" });
  const row = () => ({ method: "GET", path: `/__bench/row?key=${play.stage.keyHash}` });
  const time = (ask: () => Ask | Promise<Ask>, limit: Limit) => slice(play, ask, limit);
  const baseline = { ms: pace.sliceMs };
  await warm(play, [hello, row]);
  const rounds = new Map<string, Round[]>(timed.map((known) => [nameOf(known), []]));
  for (let round = 0; round < pace.rounds; round++) {
    for (const known of timed) {
      const limit = known.timed === "effect" ? { calls: EFFECTS_PER_SLICE } : baseline;
      const before = { hello: await time(hello, baseline), row: await time(row, baseline) };
      rounds.get(nameOf(known))?.push({ ...before, own: await time(() => known.ask(play), limit) });
    }
  }
  const all = [...rounds.values()].flat();
  return {
    helloMs: median(all.map((round) => round.hello)),
    rowMs: median(all.map((round) => round.row)),
    ratios: [...rounds].map(([name, own]) => ratioOf(name, own)),
  };
}

async function warm(play: Play, asks: readonly (() => Ask)[]): Promise<void> {
  for (const ask of asks) for (let i = 0; i < WARMING; i++) await send(play.stage.origin, ask());
}

type Limit = { ms: number } | { calls: number };

/** The median of one slice, one call at a time; what arranges a call is outside its time. */
async function slice(play: Play, ask: () => Ask | Promise<Ask>, limit: Limit): Promise<number> {
  const times: number[] = [];
  const until = performance.now() + ("ms" in limit ? limit.ms : Number.POSITIVE_INFINITY);
  const calls = "calls" in limit ? limit.calls : Number.POSITIVE_INFINITY;
  while (times.length < calls && performance.now() < until) {
    const asked = await ask();
    const start = performance.now();
    const { status } = await send(play.stage.origin, asked);
    times.push(performance.now() - start);
    if (status >= 500) throw new Error(`${asked.method} ${asked.path}: ${status} while it was timed`);
  }
  return median(times);
}

function ratioOf(name: string, rounds: readonly Round[]): Ratio {
  const toRow = rounds.map(({ own, row }) => own / row);
  const middle = median(toRow);
  return {
    name,
    p50Ms: median(rounds.map(({ own }) => own)),
    toHello: median(rounds.map(({ own, hello }) => own / hello)),
    toRow: middle,
    spreadPercent: ((Math.max(...toRow) - Math.min(...toRow)) / 2 / middle) * 100,
  };
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
