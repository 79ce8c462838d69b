// `npm run bench`: what every call on the path costs, whether it grows, how it compares, and what is deployed.
//   --check  exits with 1 when a budget is exceeded; leaves out latency and load, which are no budgets
//   --show=status  also every statement, with its rows, of the cases whose name has this in it
//   --json   prints the findings for machines    --quick  costs alone    --rounds=5 --slice=300  the pace of both, in ms
import { parseArgs } from "node:util";
import { type Bundle, measureBundle } from "./bundle.ts";
import type { Case } from "./cases.ts";
import { checkBundle, checkCosts, checkScaling } from "./check.ts";
import { type CaseCost, casesOf, measureCosts, type Outcome } from "./costs.ts";
import { measureLatencies } from "./latency.ts";
import { measureLoad } from "./load.ts";
import { findPlanFaults, type PlanFault } from "./plans.ts";
import { type Play, startPlay } from "./play.ts";
import { type Findings, printFindings, printStatements, type Sized } from "./report.ts";
import { fillTo, SIZES } from "./scale.ts";
import { setStage } from "./stage.ts";

const { values: options } = parseArgs({
  options: {
    check: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    quick: { type: "boolean", default: false },
    rounds: { type: "string", default: "5" },
    show: { type: "string" },
    slice: { type: "string", default: "300" },
  },
});

const say = (step: string) => console.error(`bench: ${step}`);

async function run(): Promise<Findings> {
  const bundle = wanted("bundle and start", !options.quick) ? measureBundle() : null;
  say("two chains, the Worker, a platform");
  const stage = await setStage();
  try {
    const play = await startPlay(stage);
    const { present, missing } = await casesOf(play);
    say(`${present.length} cases`);
    // Once before: what only a first call does (a rating's first row, an object's first start) is not what a call costs.
    await measureCosts(play, present);
    const costs = await measureCosts(play, present);
    const pace = { rounds: Number(options.rounds), sliceMs: Number(options.slice) };
    const timed = !options.quick && !options.check;
    const latencies = wanted("latency", timed) ? await measureLatencies(play, present, pace) : null;
    const load = wanted("load", timed) ? await measureLoad(play, present, pace) : null;
    const sized = options.quick ? [] : await measureSizes(play, present);
    const plans = await findPlanFaults(stage, costs.flatMap(costOf));
    const violations = violationsOf(costs, sized, plans, bundle);
    return { missing, costs, sized, plans, latencies, load, bundle, violations };
  } finally {
    await stage.close();
  }
}

function wanted(step: string, yes: boolean): boolean {
  if (yes) say(step);
  return yes;
}

async function measureSizes(play: Play, cases: readonly Case[]): Promise<Sized[]> {
  const sized: Sized[] = [];
  for (const [i, rows] of SIZES.entries()) {
    say(`${rows} rows of history`);
    await fillTo(play, SIZES[i - 1] ?? 0, rows);
    sized.push({ rows, outcomes: await measureCosts(play, cases) });
  }
  return sized;
}

function violationsOf(
  costs: readonly Outcome[],
  sized: readonly Sized[],
  plans: readonly PlanFault[],
  bundle: Bundle | null,
): string[] {
  const [small, large] = sized;
  const rows = (large?.rows ?? 0).toLocaleString("en");
  return [
    ...checkCosts(costs),
    ...(large ? checkCosts(large.outcomes).map((line) => `${line} (with ${rows} rows of history)`) : []),
    ...(small && large ? checkScaling(small.outcomes, large.outcomes) : []),
    ...plans.map(({ case: name, step }) => `${name}: ${step}`),
    ...(bundle ? checkBundle(bundle) : []),
  ];
}

const costOf = (outcome: Outcome): CaseCost[] => ("cost" in outcome ? [outcome.cost] : []);

const findings = await run();
if (options.json) console.log(JSON.stringify(findings, null, 2));
else printFindings(findings);
if (options.show !== undefined)
  printStatements([findings.costs, ...findings.sized.map(({ outcomes }) => outcomes)], options.show);
if (options.check && findings.violations.length > 0) process.exitCode = 1;
