// `npm run bench` measures the cost of every operation and every job, its growth with the history, its latency and throughput, the bytes that it adds
// to the database, and the size of the bundle.
//   --check  exits with 1 if a budget is missing or exceeded, or docs/costs.md is not current; leaves out times, and the growth
//   --write  writes docs/costs.md
//   --scale  with --check: also the growth with the history, and a busy seller
//   --show=status  also prints every statement, with its rows, of the cases whose name contains this
//   --only=facilitate,busy  only the costs of the cases whose name contains one of these; `busy`, `gas`, `couriers`, `acts`, `idle`,
//                      `suspensions` and `x402` are separate measurements; `latency` times the cases, and `load` measures their CPU time too
//   --sizes  with --only: also with each size of the history    --history=1000000  the rows of the larger one
//   --json   prints the findings for machines    --quick  only costs    --rounds=5 --slice=300  the pace of both, in ms
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { measureActs } from "./acts.ts";
import { measureBundle } from "./bundle.ts";
import { measureBusy } from "./busy.ts";
import { type Case, nameOf } from "./case.ts";
import { isSweep } from "./cases/sweeps.ts";
import { CASES } from "./cases.ts";
import {
  checkActs,
  checkBundle,
  checkBusy,
  checkCosts,
  checkFar,
  checkIdle,
  checkMovements,
  checkScaling,
  checkSuspensions,
} from "./check.ts";
import { type CaseCost, measureCosts, measureFar, type Outcome } from "./costs.ts";
import { measureCouriers } from "./couriers.ts";
import { findUncovered } from "./coverage.ts";
import { COSTS_PATH, costsDocument, isCurrent } from "./document.ts";
import { checkGas, measureGas } from "./gas.ts";
import { measureIdle } from "./idle.ts";
import { measureLatencies } from "./latency.ts";
import { measureLoad } from "./load.ts";
import { findPlanFaults } from "./plans.ts";
import { follow, type Play, startPlay } from "./play.ts";
import { type Findings, printFindings, printStatements, type Sized } from "./report.ts";
import { FEW, fillTo, NEIGHBOURS } from "./scale.ts";
import { type Stage, setStage } from "./stage.ts";
import { measureSuspensions } from "./suspensions.ts";
import { measureX402 } from "./x402.ts";

const { values: options } = parseArgs({
  options: {
    check: { type: "boolean", default: false },
    history: { type: "string", default: "100000" },
    write: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    only: { type: "string" },
    quick: { type: "boolean", default: false },
    rounds: { type: "string", default: "5" },
    scale: { type: "boolean", default: false },
    show: { type: "string" },
    sizes: { type: "boolean", default: false },
    slice: { type: "string", default: "300" },
  },
});
const only = options.only?.split(",");
const quick = options.quick || only !== undefined;
const isChecked = options.check || options.write;
const sizes = options.sizes || (!quick && (options.scale || !isChecked));
const cases = CASES.filter((known) => only === undefined || only.some((part) => nameOf(known).includes(part)));
/** True if a separate measurement is wanted. Runs for costs only leave it out, and quick checks of budgets leave it out if `isLong`. */
const isMeasurementWanted = (name: string, isLong = false): boolean =>
  only ? only.includes(name) : !options.quick && (!isLong || options.scale || !isChecked);

const logStep = (step: string) => console.error(`bench: ${step}`);

async function measureCases(stage: Stage): Promise<Omit<Findings, "violations" | "bundle" | (typeof APART)[number]>> {
  const play = await startPlay(stage);
  logStep(`${cases.length} cases`);
  // Each case runs once before its costs are counted, and that run counts its hops: a first call costs more (a rating's first row, an object's first
  // start). The history is copied from the rows that all of them leave.
  const first = sizes ? CASES : cases;
  const far = await measureFar(
    play,
    first.filter((known) => !isSweep(known)),
  );
  await measureCosts(play, first.filter(isSweep));
  if (only === undefined || sizes) await fillTo(play, 0, NEIGHBOURS);
  const costs = await measureCosts(play, cases);
  const pace = { rounds: Number(options.rounds), sliceMs: Number(options.slice) };
  const timed = !quick && !isChecked;
  const busy = logIfWanted("a busy seller", isMeasurementWanted("busy", true)) ? await measureBusy(play) : null;
  const latencies = logIfWanted("latency", timed || (only?.includes("latency") ?? false))
    ? await measureLatencies(play, cases, pace)
    : null;
  const load = logIfWanted("load", timed || (only?.includes("load") ?? false))
    ? await measureLoad(play, cases, pace)
    : null;
  const couriers = logIfWanted("webhooks under load", timed || (only?.includes("couriers") ?? false))
    ? await measureCouriers(play)
    : null;
  // Only on request, because it installs packages.
  const x402 = logIfWanted("x402's facilitator", !isChecked && (only?.includes("x402") ?? false))
    ? await measureX402(play, pace)
    : null;
  // Books the payments made meanwhile, or the first case that reads the chain would read them.
  await follow(play);
  const sized = sizes ? await measureSizes(play, cases) : [];
  const plans = await findPlanFaults(stage, costs.flatMap(costOf));
  const gas = logIfWanted("gas", isMeasurementWanted("gas")) ? await measureGas() : [];
  return { costs, sized, far, plans, latencies, load, couriers, x402, gas, busy };
}

const APART = ["idle", "suspensions", "acts"] as const;

/** Measures on a separate stage what the rows of the cases would change: due rows, endpoints, an old log. */
async function measureApart(stage: Stage | null): Promise<Pick<Findings, (typeof APART)[number]>> {
  if (!stage) return { idle: [], suspensions: [], acts: [] };
  const play = await startPlay(stage);
  const idle = logIfWanted("an idle quarter of an hour", isMeasurementWanted("idle")) ? await measureIdle(play) : [];
  // Runs before the suspensions, because the order of their many rows would change the bytes.
  const acts = logIfWanted("purchases with all that follows", isMeasurementWanted("acts"))
    ? await measureActs(play)
    : [];
  const suspensions = logIfWanted("suspensions", isMeasurementWanted("suspensions"))
    ? await measureSuspensions(play)
    : [];
  return { idle, suspensions, acts };
}

function logIfWanted(step: string, yes: boolean): boolean {
  if (yes) logStep(step);
  return yes;
}

async function measureSizes(play: Play, known: readonly Case[]): Promise<Sized[]> {
  const sized: Sized[] = [];
  let filled = NEIGHBOURS;
  for (const rows of [FEW, Number(options.history)]) {
    logStep(`${rows.toLocaleString("en")} rows of history`);
    await fillTo(play, filled, rows);
    filled = rows;
    // The last use of a key is written at most once a minute, after an answer.
    await measureCosts(play, CASES.slice(0, 1));
    sized.push({ rows, outcomes: await measureCosts(play, known) });
  }
  return sized;
}

function violationsOf(measured: Omit<Findings, "violations">): string[] {
  const { costs, sized, far, busy, acts, idle, suspensions, plans, bundle, gas } = measured;
  const [small, large] = sized;
  const withHistory = ({ rows, outcomes }: Sized) =>
    checkCosts(outcomes).map((line) => `${line} (with ${rows.toLocaleString("en")} rows of history)`);
  return [
    ...(only === undefined ? findUncovered() : []),
    ...checkCosts(costs),
    ...sized.flatMap(withHistory),
    ...[costs, ...sized.map(({ outcomes }) => outcomes)].flatMap(checkMovements),
    ...(small && large ? checkScaling(small.outcomes, large.outcomes) : []),
    ...checkFar(far),
    ...(busy ? checkBusy(busy) : []),
    ...checkActs(acts),
    ...checkIdle(idle),
    ...checkSuspensions(suspensions),
    ...plans.map(({ case: name, step }) => `${name}: ${step}`),
    ...(bundle ? checkBundle(bundle) : []),
    ...(gas.length > 0 ? checkGas(gas) : []),
  ];
}

const costOf = (outcome: Outcome): CaseCost[] => ("cost" in outcome ? [outcome.cost] : []);

const bundle = logIfWanted("bundle and start", !quick) ? measureBundle() : null;
logStep("two chains, the Worker, two platforms, on each stage");
const stage = await setStage();
const another = APART.some((name) => isMeasurementWanted(name)) ? await setStage() : null;
// Both stages are closed when both measurements are done, because they share connections.
const [played, apart] = await Promise.all([measureCases(stage), measureApart(another)]).finally(async () => {
  await another?.close();
  await stage.close();
});
const measured = { bundle, ...played, ...apart };
const findings: Findings = { ...measured, violations: violationsOf(measured) };
if (options.json) console.log(JSON.stringify(findings, null, 2));
else printFindings(findings);
if (options.show !== undefined)
  printStatements([findings.costs, ...findings.sized.map(({ outcomes }) => outcomes)], options.show);
if (!quick && (options.check || options.write)) {
  const text = costsDocument(findings);
  if (options.write) writeFileSync(COSTS_PATH, text);
  else if (!isCurrent(readFileSync(COSTS_PATH, "utf8"), text)) {
    console.log(`\n${COSTS_PATH} is not current: npm run bench -- --write`);
    process.exitCode = 1;
  }
}
if (options.check && findings.violations.length > 0) process.exitCode = 1;
