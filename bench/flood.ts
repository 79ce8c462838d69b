// `node bench/flood.ts`: sign-ups ten times a second from one address, with the bucket of derivations as it is deployed (CRED-20). Measures the time
// of other callers' reads, and the share of their log-ins that succeed, in alternating calm and flooded phases.
//   --check  exits with 1 if the flood slows reads down too much, or too many log-ins are refused
//   --rounds=2 --seconds=15  the pace of calm and flooded    --bucket=off  without the bucket, for comparison
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { SECOND_MS } from "../src/core/limits.ts";
import { checkFlood, type FloodResult } from "./check.ts";
import { watchOthers } from "./cpu.ts";
import { type Account, openAccount, PASSWORD } from "./persons.ts";
import { anyone, manage, type Play, startPlay } from "./play.ts";
import { median } from "./rounds.ts";
import { setStage } from "./stage.ts";
import { type Ask, send } from "./wire.ts";

const { values: options } = parseArgs({
  options: {
    check: { type: "boolean", default: false },
    rounds: { type: "string", default: "2" },
    seconds: { type: "string", default: "15" },
    bucket: { type: "string", default: "on" },
  },
});

/** The values of [env.production]. */
const BUCKET = { PASSWORDS_AT_ONCE: "10", PASSWORDS_EVERY_SECONDS: "2" };
const [READ_EVERY_MS, LOG_IN_EVERY_MS, SIGN_UP_EVERY_MS] = [50, 3 * SECOND_MS, 100];

type Answer = { readonly status: number; readonly ms: number };
type Phase = { readonly reads: Answer[]; readonly logIns: Answer[]; readonly signUps: Answer[] };

const logStep = (step: string) => console.error(`flood: ${step}`);
const from = (address: string) => ({ "CF-Connecting-IP": address });

async function run(): Promise<{ calm: Phase; flooded: Phase; others: number | null }> {
  logStep("two chains, the Worker, two platforms");
  const stage = await setStage({ vars: options.bucket === "on" ? BUCKET : {} });
  try {
    const play = await startPlay(stage);
    const persons = await Promise.all(Array.from({ length: 8 }, () => openAccount(play)));
    const phases = { calm: emptyPhase(), flooded: emptyPhase() };
    // A first log-in and a first read cost more than later ones.
    await runPhase(play, persons, emptyPhase(), false, LOG_IN_EVERY_MS);
    const others = watchOthers();
    for (let round = 1; round <= Number(options.rounds); round++)
      for (const isFlooded of [false, true]) {
        logStep(`round ${round}, ${isFlooded ? "flooded" : "calm"}`);
        const into = isFlooded ? phases.flooded : phases.calm;
        await runPhase(play, persons, into, isFlooded, Number(options.seconds) * SECOND_MS);
      }
    return { ...phases, others: others() };
  } finally {
    await stage.close();
  }
}

const emptyPhase = (): Phase => ({ reads: [], logIns: [], signUps: [] });

/** Sends all calls of a phase and waits for the last answer, so that none of them reaches into the next phase. */
async function runPhase(
  play: Play,
  persons: readonly Account[],
  into: Phase,
  isFlooded: boolean,
  ms: number,
): Promise<void> {
  const { stage, next } = play;
  const every = (pause: number, to: Answer[], ask: (n: number) => Ask) => sendSteadily(play, pause, ms, to, ask);
  await Promise.all([
    every(READ_EVERY_MS, into.reads, () => manage(stage, "GET", "/v1/platform")),
    // Each log-in comes from a network of its own.
    every(LOG_IN_EVERY_MS, into.logIns, (n) => {
      const email = persons[n % persons.length]?.email;
      return anyone(
        "POST",
        "/v1/platform/sessions",
        { email, password: PASSWORD },
        from(`198.18.${n % persons.length}.9`),
      );
    }),
    ...(isFlooded
      ? [
          every(SIGN_UP_EVERY_MS, into.signUps, () => {
            const email = `flood-${next()}@bench.example`;
            return anyone("POST", "/v1/platform/register", { email, password: PASSWORD }, from("203.0.113.7"));
          }),
        ]
      : []),
  ]);
}

/** Sends at a steady pace: a slow answer does not delay later calls, so that it is not hidden. */
async function sendSteadily(
  { stage }: Play,
  pause: number,
  ms: number,
  to: Answer[],
  ask: (n: number) => Ask,
): Promise<void> {
  const started = performance.now();
  const sent: Promise<unknown>[] = [];
  for (let n = 0; performance.now() < started + ms; n++) {
    const at = performance.now();
    sent.push(send(stage.origin, ask(n)).then(({ status }) => to.push({ status, ms: performance.now() - at })));
    await sleep(Math.max(0, started + (n + 1) * pause - performance.now()));
  }
  await Promise.all(sent);
}

// ---- The report ------------------------------------------------------------------------------------------------------------

const medianMs = ({ reads }: Phase): number => median(reads.map(({ ms }) => ms));
const share = (answers: readonly Answer[], status: number): number =>
  answers.filter((answer) => answer.status === status).length / answers.length;

const { calm, flooded, others } = await run();
const found: FloodResult = {
  calmMs: medianMs(calm),
  floodedMs: medianMs(flooded),
  logIns: share(flooded.logIns, 201),
};
const percent = (value: number): string => `${(value * 100).toFixed(0)} %`;
console.log(`
Median of GET /v1/platform: ${found.calmMs.toFixed(1)} ms calm, ${found.floodedMs.toFixed(1)} ms flooded (${calm.reads.length} and ${flooded.reads.length} calls).
Others' log-ins that are 201: ${percent(share(calm.logIns, 201))} calm, ${percent(found.logIns)} flooded (${calm.logIns.length} and ${flooded.logIns.length}).
Of ${flooded.signUps.length} sign-ups ${percent(share(flooded.signUps, 201))} are 201 and ${percent(share(flooded.signUps, 429))} are 429.
Other programs used ${others === null ? "?" : percent(others)} of the machine.
`);
const violations = checkFlood(found);
for (const line of violations) console.log(`  EXCEEDED ${line}`);
if (options.check && violations.length > 0) process.exitCode = 1;
