// Sends calls of several cases in turn at a steady pace, without waiting for answers: a slow answer does not delay later calls, so that it is not
// hidden.
import { setTimeout as sleep } from "node:timers/promises";
import { type Case, nameOf } from "./case.ts";
import type { Play } from "./play.ts";
import { sendTimed } from "./rounds.ts";

/** The milliseconds of each answer, by the name of the case. */
export type Answers = ReadonlyMap<string, readonly number[]>;

/** Sends calls until the signal. Throws the error of the first call that failed. */
export async function sendPaced(
  play: Play,
  cases: readonly Case[],
  everyMs: number,
  ended: AbortSignal,
): Promise<Answers> {
  const answers = new Map<string, number[]>(cases.map((known) => [nameOf(known), []]));
  const sent: Promise<void>[] = [];
  const started = performance.now();
  for (let n = 0; !ended.aborted; n++) {
    const known = cases[n % cases.length];
    if (known) sent.push(timeCall(play, known).then((ms) => void answers.get(nameOf(known))?.push(ms)));
    await sleep(Math.max(0, started + (n + 1) * everyMs - performance.now()));
  }
  await Promise.all(sent);
  return answers;
}

/** Leaves out the time to prepare a call, such as its signature. */
async function timeCall(play: Play, { ask, status }: Case): Promise<number> {
  const asked = await ask(play);
  const start = performance.now();
  await sendTimed(play.stage.origin, asked, status);
  return performance.now() - start;
}

/** The value that 95 of 100 do not exceed. */
export function percentile95(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.ceil(sorted.length * 0.95) - 1] ?? Number.NaN;
}
