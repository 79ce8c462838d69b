// Measures latency as ratios: one call at a time. Printed, never a gate.
import type { Case } from "./case.ts";
import type { Play } from "./play.ts";
import { type Course, interleave, median, type Pace, type Round, sendTimed, spreadPercent } from "./rounds.ts";

export type Ratio = {
  readonly name: string;
  readonly p50Ms: number;
  readonly toHello: number;
  readonly toRow: number;
  readonly spreadPercent: number;
};
export type Latencies = { readonly helloMs: number; readonly rowMs: number; readonly ratios: readonly Ratio[] };

export const EFFECTS_PER_SLICE = 8;

export async function measureLatencies(play: Play, cases: readonly Case[], pace: Pace): Promise<Latencies> {
  const rounds = await interleave(play, cases, { ...pace, effectsPerSlice: EFFECTS_PER_SLICE }, (course) =>
    measureSlice(play, course),
  );
  const all = [...rounds.values()].flat();
  return {
    helloMs: median(all.map(({ hello }) => hello)),
    rowMs: median(all.map(({ row }) => row)),
    ratios: [...rounds].map(([name, own]) => ratioOf(name, own)),
  };
}

/** The median of one slice, without the time to prepare a call. */
export async function measureSlice(play: Play, { ask, status, limit }: Course): Promise<number> {
  const times: number[] = [];
  const until = performance.now() + ("ms" in limit ? limit.ms : Number.POSITIVE_INFINITY);
  const calls = "calls" in limit ? limit.calls : Number.POSITIVE_INFINITY;
  while (times.length < calls && performance.now() < until) {
    const asked = await ask();
    const start = performance.now();
    await sendTimed(play.stage.origin, asked, status);
    times.push(performance.now() - start);
  }
  return median(times);
}

function ratioOf(name: string, rounds: readonly Round<number>[]): Ratio {
  const toRow = rounds.map(({ own, row }) => own / row);
  return {
    name,
    p50Ms: median(rounds.map(({ own }) => own)),
    toHello: median(rounds.map(({ own, hello }) => own / hello)),
    toRow: median(toRow),
    spreadPercent: spreadPercent(toRow),
  };
}
