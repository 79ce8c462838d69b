// `node bench/backlog.ts`: the windows of 10,000 tasks end at one instant. Measures how many tasks a second the jobs record on their real path, the
// CPU time of each, and how long a read of an identity document takes meanwhile.
//   --check  exits with 1 if a budget is exceeded    --tasks=10000 --pairs=20    --every=25  one read every 25 ms
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { SECOND_MS } from "../src/core/limits.ts";
import { nameOf } from "./case.ts";
import { CASES } from "./cases.ts";
import { type Backlog, checkBacklog } from "./check.ts";
import { copyRows } from "./copies.ts";
import { watchOthers, workerdCpu } from "./cpu.ts";
import { sendPaced } from "./paced.ts";
import { buyAndFacilitate, openPair, type Play, startPlay } from "./play.ts";
import { BACKLOG } from "./scene-budgets.ts";
import { setStage } from "./stage.ts";

const { values: options } = parseArgs({
  options: {
    check: { type: "boolean", default: false },
    tasks: { type: "string", default: "10000" },
    pairs: { type: "string", default: "20" },
    every: { type: "string", default: "25" },
  },
});
const [TASKS, PAIRS] = [Number(options.tasks), Number(options.pairs)];

const READING = "GET /v1/agents/{did}/aid";
const readings = CASES.filter((known) => nameOf(known) === READING);
const ALONE_MS = 10 * SECOND_MS;
const POLL_MS = 100;
const GIVE_UP_MS = 600 * SECOND_MS;

const logStep = (step: string) => console.error(`backlog: ${step}`);

/** Copies the settlement and the task of each pair. Their windows end far in the future. */
async function arrange(play: Play): Promise<void> {
  for (let pair = 0; pair < PAIRS; pair++) {
    const { taskId } = await buyAndFacilitate(play, await openPair(play));
    const where = `task_id = '${taskId}'`;
    const [task_id, transaction_id] = ["task_id || '-' || n", "transaction_id || '-' || n"];
    const range = { from: 0, to: Math.ceil(TASKS / PAIRS) };
    const vary = { task_id, transaction_id, intent_id: "intent_id || '-' || n", log_index: "log_index + n" };
    await copyRows(play.stage, { table: "transactions", where, vary }, range);
    await copyRows(play.stage, { table: "tasks", where, vary: { task_id, transaction_id } }, range);
  }
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

/** Reads documents until the signal, and measures the Worker's CPU time in microseconds. */
async function readUntil(play: Play, ended: AbortSignal) {
  const cpu = workerdCpu();
  const before = cpu?.() ?? Number.NaN;
  const answers = await sendPaced(play, readings, Number(options.every), ended);
  const ms = [...answers.values()].flat();
  return { medianMs: median(ms), count: ms.length, cpuMicros: (cpu?.() ?? Number.NaN) - before };
}

async function run(): Promise<Backlog & { readonly others: number | null }> {
  logStep("two chains, the Worker, two platforms");
  const stage = await setStage({ outbox: true });
  try {
    const play = await startPlay(stage);
    logStep(`${TASKS} tasks of ${PAIRS} pairs`);
    await arrange(play);
    const open = "select count(*) as open from tasks where status = 'open' and confirm_by <= ?";
    await readUntil(play, AbortSignal.timeout(SECOND_MS));
    logStep("readings alone");
    const others = watchOthers();
    const alone = await readUntil(play, AbortSignal.timeout(ALONE_MS));
    logStep("the backlog");
    const endedAt = Date.now();
    await stage.sql([{ sql: "update tasks set confirm_by = ? where status = 'open'", params: [endedAt] }]);
    const [[first] = []] = await stage.sql([{ sql: open, params: [endedAt] }]);
    const started = performance.now();
    const done = new AbortController();
    const during = readUntil(play, done.signal);
    await stage.cron();
    for (let left = 1; left > 0; await sleep(POLL_MS)) {
      if (performance.now() - started > GIVE_UP_MS) throw new Error("the backlog does not end");
      const [[row] = []] = await stage.sql([{ sql: open, params: [endedAt] }]);
      left = Number(row?.["open"]);
    }
    const seconds = (performance.now() - started) / SECOND_MS;
    done.abort();
    const read = await during;
    const tasks = Number(first?.["open"]);
    const cpuMicros = read.cpuMicros - (alone.cpuMicros / alone.count) * read.count;
    return {
      tasks,
      perSecond: tasks / seconds,
      cpuMs: cpuMicros / tasks / 1_000,
      aloneMs: alone.medianMs,
      duringMs: read.medianMs,
      others: others(),
    };
  } finally {
    await stage.close();
  }
}

const found = await run();
const { tasks, perSecond, cpuMs, aloneMs, duringMs, others } = found;
const violations = checkBacklog(found);
console.log(`
${tasks} tasks confirmed themselves: ${perSecond.toFixed(0)} a second, ${cpuMs.toFixed(2)} ms of CPU each, with the outbox that follows.
The median of ${READING}: ${aloneMs.toFixed(2)} ms alone, ${duringMs.toFixed(2)} ms meanwhile, x ${(duringMs / aloneMs).toFixed(2)} (aim <= ${BACKLOG.ratio}).
Other programs used ${others === null ? "?" : (others * 100).toFixed(0)} % of the machine.
`);
for (const line of violations) console.log(`  EXCEEDED ${line}`);
if (options.check && violations.length > 0) process.exitCode = 1;
