// `node bench/wave.ts`: the attestations of 1,000 principals with 10 agents each end at one instant. Measures how long the jobs take to record that
// on their real path, and how long other calls take meanwhile.
//   --check  exits with 1 if the wave takes too long, slows other calls down too much, or does not report an agent exactly once
//   --principals=1000 --agents=10    --every=25  one call every 25 ms    --alone=20  the seconds before and after the wave
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { DAY_MS, MINUTE_MS, SECOND_MS } from "../src/core/limits.ts";
import { type Case, nameOf } from "./case.ts";
import { countUnhashed } from "./cases/activity.ts";
import { CASES } from "./cases.ts";
import { checkWave, type SlowedCall } from "./check.ts";
import { watchOthers } from "./cpu.ts";
import { type Answers, percentile95, sendPaced } from "./paced.ts";
import { type Play, startPlay } from "./play.ts";
import { setStage } from "./stage.ts";
import { arrangeWave, countOpen, countRecorded, endSoon, type Recorded, type Wave } from "./wave-rows.ts";

const { values: options } = parseArgs({
  options: {
    check: { type: "boolean", default: false },
    principals: { type: "string", default: "1000" },
    agents: { type: "string", default: "10" },
    every: { type: "string", default: "25" },
    alone: { type: "string", default: "20" },
  },
});

/** Public reads, a page and a read of the management API, and calls that write. */
const OTHERS = [
  "GET /v1/agents/{did}/aid",
  "GET /v1/agents/{did}/status (in a sandbox)",
  "GET /v1/agents",
  "GET /v1/principals/{principal_id}",
  "POST /v1/principals",
  "POST /v1/payment-intents",
];
const POLL_MS = 500;
const GIVE_UP_SECONDS = 1_200;

const logStep = (step: string) => console.error(`wave: ${step}`);
const others = OTHERS.map((name): Case => {
  const found = CASES.find((known) => nameOf(known) === name);
  if (!found) throw new Error(`${name} is no case`);
  return found;
});

type Found = {
  readonly wave: Wave;
  readonly seconds: number;
  readonly alone: Answers;
  readonly during: Answers;
  readonly recorded: Recorded;
  /** The shares of the machine that other programs used before, during and after the wave. */
  readonly othersShares: readonly (number | null)[];
};

async function run(): Promise<Found> {
  logStep("two chains, the Worker, two platforms");
  const stage = await setStage({ outbox: true });
  try {
    const play = await startPlay(stage);
    const [principals, agents] = [Number(options.principals), Number(options.agents)];
    const arranged = { principals, agents, endsAt: Date.now() + DAY_MS };
    logStep(`${principals} principals with ${agents} agents each`);
    await arrangeWave(play, arranged);
    await callsAlone(play, SECOND_MS);
    logStep("calls alone");
    const aloneMs = Number(options.alone) * SECOND_MS;
    const othersBefore = watchOthers();
    const before = await callsAlone(play, aloneMs);
    const othersShares = [othersBefore()];
    logStep("the wave");
    const othersMeanwhile = watchOthers();
    const { wave, seconds, during } = await recordWave(play, arranged);
    othersShares.push(othersMeanwhile());
    logStep(`recorded in ${seconds.toFixed(1)} s`);
    const hashing = performance.now();
    while ((await countUnhashed(stage)) > 0) await sleep(POLL_MS);
    logStep(`hashed ${((performance.now() - hashing) / SECOND_MS).toFixed(1)} s later`);
    const recorded = await countRecorded(stage, wave);
    logStep("calls alone again");
    const othersBehind = watchOthers();
    const behind = await callsAlone(play, aloneMs);
    othersShares.push(othersBehind());
    const alone = new Map([...before].map(([name, ms]) => [name, [...ms, ...(behind.get(name) ?? [])]]));
    return { wave, seconds, alone, during, recorded, othersShares };
  } finally {
    await stage.close();
  }
}

const callsAlone = (play: Play, ms: number): Promise<Answers> => paced(play, AbortSignal.timeout(ms));
const paced = (play: Play, ended: AbortSignal) => sendPaced(play, others, Number(options.every), ended);

/** Lets the attestations end. The cron starts at once, and then each minute as usual; the queues do the rest. */
async function recordWave(
  { stage, ...play }: Play,
  arranged: Wave,
): Promise<{ wave: Wave; seconds: number; during: Answers }> {
  const wave = await endSoon(stage, arranged);
  await sleep(wave.endsAt - Date.now());
  const started = performance.now();
  const done = new AbortController();
  const answers = paced({ stage, ...play }, done.signal);
  await stage.cron();
  const minutely = setInterval(() => void stage.cron(), MINUTE_MS);
  try {
    while ((await countOpen(stage, wave)) > 0) {
      if (performance.now() - started > GIVE_UP_SECONDS * SECOND_MS) throw new Error("the wave does not end");
      await sleep(POLL_MS);
    }
  } finally {
    clearInterval(minutely);
    done.abort();
  }
  const seconds = (performance.now() - started) / SECOND_MS;
  return { wave, seconds, during: await answers };
}

// ---- The report ------------------------------------------------------------------------------------------------------------

const all = (answers: Answers): number[] => [...answers.values()].flat();

function compareCalls({ alone, during }: Found): SlowedCall[] {
  const slowed = (name: string, before: readonly number[], meanwhile: readonly number[]): SlowedCall => ({
    name,
    aloneMs: percentile95(before),
    duringMs: percentile95(meanwhile),
  });
  const each = [...alone].map(([name, before]) => slowed(name, before, during.get(name) ?? []));
  return [slowed("all of them", all(alone), all(during)), ...each];
}

const found = await run();
const { seconds, recorded, wave } = found;
const agents = wave.principals * wave.agents;
const slowed = compareCalls(found);
const ratio = ({ aloneMs, duringMs }: SlowedCall) => (duringMs / aloneMs).toFixed(2);
console.log(`
${wave.principals} principals with ${wave.agents} agents each ended at one instant: recorded in ${seconds.toFixed(1)} s.
${recorded.once} of ${agents} agents have one entry, one event and one directory record each.
The p95 of a call each ${options.every} ms, in ms, without them and meanwhile:
`);
for (const one of slowed)
  console.log(
    `  ${one.name.padEnd(40)} ${one.aloneMs.toFixed(1).padStart(6)} ${one.duringMs.toFixed(1).padStart(6)}  x ${ratio(one)}`,
  );

const violations = checkWave({
  seconds,
  slowed,
  left: recorded.principals + recorded.agents + recorded.cascades,
  agents,
  once: recorded.once,
});
// The ratio says nothing if other programs take much of the machine, or more at one time than at another.
const shares = found.othersShares.map((share) => (share === null ? "?" : `${(share * 100).toFixed(0)} %`));
console.log(`\n  Other programs used ${shares.join(", ")} of the machine before, meanwhile and behind.\n`);
for (const line of violations) console.log(`  EXCEEDED ${line}`);
if (options.check && violations.length > 0) process.exitCode = 1;
