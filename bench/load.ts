// Measures throughput as ratios, with eight calls at a time, and the CPU time of a call. D1 and the objects run in the same workerd, so that time
// includes their work, and a busy machine changes it less. Printed, never a gate.
import type { Case } from "./case.ts";
import { workerdCpu } from "./cpu.ts";
import type { Play } from "./play.ts";
import { type Course, interleave, median, type Pace, type Round, sendTimed, spreadPercent } from "./rounds.ts";

export type LoadRatio = {
  readonly name: string;
  readonly perSecond: number;
  readonly toHello: number;
  readonly toRow: number;
  readonly spreadPercent: number;
  /** Null if the system does not report it. */
  readonly cpuMicros: number | null;
};
export type Load = { readonly hello: Rate; readonly row: Rate; readonly ratios: readonly LoadRatio[] };
type Rate = { readonly perSecond: number; readonly cpuMicros: number | null };
type Slice = { readonly calls: number; readonly seconds: number; readonly cpuMicros: number | null };

const AT_ONCE = 8;
const EFFECTS_PER_SLICE = 32;

export async function measureLoad(play: Play, cases: readonly Case[], pace: Pace): Promise<Load> {
  const cpu = workerdCpu();
  const rounds = await interleave(play, cases, { ...pace, effectsPerSlice: EFFECTS_PER_SLICE }, (course) =>
    slice(play, cpu, course),
  );
  const all = [...rounds.values()].flat();
  return {
    hello: rateOf(all.map(({ hello }) => hello)),
    row: rateOf(all.map(({ row }) => row)),
    ratios: [...rounds].map(([name, own]) => ratioOf(name, own)),
  };
}

async function slice(play: Play, cpu: (() => number) | null, { ask, status, limit }: Course): Promise<Slice> {
  const arranged = "calls" in limit ? await arrange(ask, limit.calls) : null;
  const cpuBefore = cpu?.() ?? 0;
  const start = performance.now();
  const until = start + ("ms" in limit ? limit.ms : 0);
  const next = () => (arranged ? arranged.pop() : performance.now() < until ? ask() : undefined);
  let calls = 0;
  const lane = async () => {
    for (let asked = await next(); asked !== undefined; asked = await next()) {
      await sendTimed(play.stage.origin, asked, status);
      calls += 1;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  return { calls, seconds: (performance.now() - start) / 1_000, cpuMicros: cpu && cpu() - cpuBefore };
}

async function arrange(ask: Course["ask"], count: number) {
  const asks = [];
  for (let i = 0; i < count; i++) asks.push(await ask());
  return asks;
}

function ratioOf(name: string, rounds: readonly Round<Slice>[]): LoadRatio {
  const toRow = rounds.map(({ own, row }) => perSecond(own) / perSecond(row));
  return {
    name,
    ...rateOf(rounds.map(({ own }) => own)),
    toHello: median(rounds.map(({ own, hello }) => perSecond(own) / perSecond(hello))),
    toRow: median(toRow),
    spreadPercent: spreadPercent(toRow),
  };
}

/** The kernel counts in steps of 10 ms, so a call's CPU time is averaged over all slices. */
function rateOf(slices: readonly Slice[]): Rate {
  const total = (pick: (slice: Slice) => number) => slices.reduce((sum, one) => sum + pick(one), 0);
  const measured = slices.every(({ cpuMicros }) => cpuMicros !== null);
  return {
    perSecond: median(slices.map(perSecond)),
    cpuMicros: measured ? total(({ cpuMicros }) => cpuMicros ?? 0) / total(({ calls }) => calls) : null,
  };
}

const perSecond = ({ calls, seconds }: Slice): number => calls / seconds;
