// Prints the results of a run as tables with aligned columns.
import { type ActRows, rowsOf } from "./acts.ts";
import { BUDGETS, BUNDLE_GZIP_KIB, BUSY_RATIO, LAG_RATIO, RATIO_TARGETS, STARTUP_MEDIAN_MS } from "./budgets.ts";
import type { Bundle } from "./bundle.ts";
import type { Burst, Busy } from "./busy.ts";
import { type CaseCost, type FarOutcome, HOP_MS, type Outcome } from "./costs.ts";
import type { Couriers } from "./couriers.ts";
import { GATES, type Gas, PLAIN } from "./gas.ts";
import { HOPS } from "./hops.ts";
import type { Idle } from "./idle.ts";
import type { Latencies } from "./latency.ts";
import type { Load } from "./load.ts";
import type { PlanFault } from "./plans.ts";
import { median } from "./rounds.ts";
import type { Suspension } from "./suspensions.ts";
import { type ComparedTimes, medianTimes, X402_VERSION } from "./x402.ts";

export type Sized = { readonly rows: number; readonly outcomes: readonly Outcome[] };
export type Findings = {
  readonly costs: readonly Outcome[];
  readonly sized: readonly Sized[];
  readonly far: readonly FarOutcome[];
  readonly busy: Busy | null;
  readonly acts: readonly ActRows[];
  readonly idle: readonly Idle[];
  readonly suspensions: readonly Suspension[];
  readonly plans: readonly PlanFault[];
  readonly latencies: Latencies | null;
  readonly load: Load | null;
  readonly couriers: Couriers | null;
  readonly x402: readonly ComparedTimes[] | null;
  readonly bundle: Bundle | null;
  readonly gas: readonly Gas[];
  readonly violations: readonly string[];
};

export function printFindings(findings: Findings): void {
  const {
    costs,
    sized,
    far,
    busy,
    acts,
    idle,
    suspensions,
    plans,
    latencies,
    load,
    couriers,
    x402,
    bundle,
    gas,
    violations,
  } = findings;
  section("How it was measured", [
    "In workerd on this machine, with real D1, Durable Objects, queues and chains.",
    "The rate limiter is a stub that lets everything pass: on Cloudflare it adds no trip, here it would add one.",
    "Counts repeat exactly. The ms of a call are those of one call, and a budget of few (bench/budgets.ts). Latency, load and the busy seller's throughput are ratios of one run, which this machine's load changes.",
  ]);
  section("What one call costs", costTable(costs));
  if (sized.length > 0) section("Rows read and written, by rows of history in every table", scaleTable(findings));
  if (far.length > 0) section(`Far from the database: each trip and each object call ${HOP_MS} ms away`, farTable(far));
  if (busy) section("A busy seller", busyLines(busy));
  if (acts.length > 0) section("Rows written by an act, with all that follows it", acts.flatMap(actLines));
  if (idle.length > 0) section("While nothing is due, in the mean", idleTable(idle));
  if (suspensions.length > 0) section("Suspension of a principal, by its agents", suspensionTable(suspensions));
  if (plans.length > 0) section("Statements that scan or sort", plans.flatMap(planLines));
  if (latencies) section("Latency, one call at a time", latencyTable(latencies));
  if (load) section("Load, eight calls at a time", loadTable(load));
  if (couriers) section("Webhooks under load", courierLines(couriers));
  if (x402) section(`Facilitate compared with x402's facilitator ${X402_VERSION}`, x402Lines(x402));
  if (bundle) section("Bundle and start", bundleLines(bundle));
  if (gas.length > 0) section("Gas of the settlement contract, in a token like USDC", gasTable(gas));
  section("Budgets", violations.length === 0 ? ["All are kept."] : violations.map((line) => `EXCEEDED ${line}`));
}

/** Prints the statements of a case with their rows, at each size of the history. */
export function printStatements(sizes: readonly (readonly Outcome[])[], wanted: string): void {
  for (const outcome of sizes.flat()) {
    if (!("cost" in outcome) || !outcome.cost.name.includes(wanted)) continue;
    const lines = outcome.cost.each.map(
      ({ sql, rowsRead, rowsWritten }) => `${rowsRead}r ${rowsWritten}w  ${shorten(sql)}`,
    );
    section(`${outcome.cost.name}, statement by statement`, lines);
  }
}

const shorten = (sql: string): string => sql.replace(/^select .*? from (?=")/s, "select … from ").replace(/\s+/g, " ");

function section(title: string, lines: readonly string[]): void {
  console.log(`\n${title}\n`);
  for (const line of lines) console.log(`  ${line}`);
}

const gasTable = (measured: readonly Gas[]): string[] => {
  const plain = measured.find(({ call }) => call === PLAIN)?.gas ?? 1;
  return table([
    ["", "gas", "at most", "of a plain transfer"],
    ...measured.map(({ call, gas }) => [call, String(gas), String(GATES[call] ?? ""), `${(gas / plain).toFixed(2)} x`]),
  ]);
};

const COST_COLUMNS: readonly (readonly [string, (cost: CaseCost) => number | string])[] = [
  ["trips", ({ trips }) => trips],
  ["stmts", ({ statements }) => statements],
  ["read", ({ rowsRead }) => rowsRead],
  ["written", ({ rowsWritten }) => rowsWritten],
  ["objects", ({ objects }) => objects],
  ["queues", ({ queues }) => queues],
  ["fetches", ({ fetches }) => fetches],
  ["in objects", ({ objectRowsWritten, objectFetches }) => `${objectRowsWritten}w ${objectFetches}f`],
  ["bytes", ({ bytes }) => bytes],
  ["gzip", ({ gzip }) => gzip],
  ["ms", ({ elapsedMs }) => elapsedMs],
];

const costTable = (outcomes: readonly Outcome[]): string[] =>
  table([
    ["", ...COST_COLUMNS.map(([title]) => title)],
    ...outcomes.map((outcome) =>
      "cost" in outcome
        ? [outcome.cost.name, ...COST_COLUMNS.map(([, pick]) => String(pick(outcome.cost)))]
        : [outcome.name, "failed"],
    ),
  ]);

function scaleTable({ costs, sized }: Findings): string[] {
  const sizes = [{ rows: 0, outcomes: costs }, ...sized];
  const rowsOf = (outcomes: readonly Outcome[], name: string): string[] => {
    const found = outcomes.find((outcome) => "cost" in outcome && outcome.cost.name === name);
    if (!found || !("cost" in found)) return ["failed", ""];
    return [String(found.cost.rowsRead), String(found.cost.rowsWritten)];
  };
  const names = costs.flatMap((outcome) => ("cost" in outcome && outcome.cost.trips > 0 ? [outcome.cost.name] : []));
  return table([
    ["", ...sizes.flatMap(({ rows }) => [`${rows.toLocaleString("en")} read`, "written"])],
    ...names.map((name) => [name, ...sizes.flatMap(({ outcomes }) => rowsOf(outcomes, name))]),
  ]);
}

const farTable = (far: readonly FarOutcome[]): string[] =>
  table([
    ["", "hops", "at most", "ms"],
    ...far.map((outcome) =>
      "failed" in outcome
        ? [outcome.name, "failed"]
        : [
            outcome.name,
            String(outcome.hops),
            String(HOPS[outcome.name] ?? BUDGETS[outcome.name]?.trips ?? 0),
            outcome.elapsedMs.toFixed(0),
          ],
    ),
  ]);

function busyLines({ atOnce, sellers, purchases, compared }: Busy): string[] {
  const line = (name: string, { perSecond, refused, failed }: Burst) => [
    name,
    perSecond.toFixed(0),
    String(refused),
    String(failed),
  ];
  return compared.flatMap(({ act, hot, spread, ratio }) => [
    `${purchases} ${act} each, ${atOnce} at once`,
    "",
    ...table([
      ["", "per second", "batches refused", "calls failed"],
      line("one provider", hot),
      line(`${sellers} providers`, spread),
    ]),
    "",
    `ratio ${ratio.toFixed(2)}, at least ${BUSY_RATIO}`,
    "",
  ]);
}

const planLines = ({ case: name, step, sql }: PlanFault): string[] => [
  `${name}: ${step}`,
  `    ${shorten(sql).slice(0, 300)}`,
];

function latencyTable({ helloMs, rowMs, ratios }: Latencies): string[] {
  const lines = ratios.map(({ name, p50Ms, toHello, toRow, spreadPercent }) => {
    const target = RATIO_TARGETS[name];
    const measured = target?.base === "hello" ? toHello : toRow;
    const missed = target && measured > target.atMost ? "  MISSED" : "";
    const aim = target ? `<= ${target.atMost} x ${target.base}${missed}` : "";
    return [name, p50Ms.toFixed(2), toHello.toFixed(2), toRow.toFixed(2), spreadPercent.toFixed(0), aim];
  });
  return [
    `bare Hono (hello) ${helloMs.toFixed(2)} ms, one D1 row (row) ${rowMs.toFixed(2)} ms: ${(rowMs / helloMs).toFixed(2)}`,
    "",
    ...table([["", "p50 ms", "/ hello", "/ row", "+- %", "aim"], ...lines]),
  ];
}

function loadTable({ hello, row, ratios }: Load): string[] {
  const micros = (value: number | null) => value?.toFixed(0) ?? "-";
  const lines = ratios.map(({ name, perSecond, toHello, toRow, spreadPercent, cpuMicros }) => {
    const cpuToRow = cpuMicros === null || row.cpuMicros === null ? "-" : (cpuMicros / row.cpuMicros).toFixed(2);
    const rates = [perSecond.toFixed(0), toHello.toFixed(2), toRow.toFixed(2), spreadPercent.toFixed(0)];
    return [name, ...rates, micros(cpuMicros), cpuToRow];
  });
  const base = ({ perSecond, cpuMicros }: Load["row"]) =>
    `${perSecond.toFixed(0)} req/s, ${micros(cpuMicros)} us of CPU`;
  return [
    `bare Hono (hello) ${base(hello)}; one D1 row (row) ${base(row)}`,
    "",
    ...table([["", "req/s", "/ hello", "/ row", "+- %", "CPU us", "/ row"], ...lines]),
  ];
}

function courierLines({ throughput, dead, lags, alone, beside, others }: Couriers): string[] {
  const ms = (value: number) => value.toFixed(0);
  return [
    ...table([
      ["", "events", "events/s", "deliveries/s", "CPU us each"],
      ...throughput.map(({ endpoints, events, eventsPerSecond, deliveriesPerSecond, cpuMicros }) => [
        `${endpoints} endpoint${endpoints === 1 ? "" : "s"}`,
        String(events),
        eventsPerSecond.toFixed(1),
        deliveriesPerSecond.toFixed(0),
        cpuMicros?.toFixed(0) ?? "-",
      ]),
    ]),
    "",
    ...table([
      ["p95 ms of a healthy endpoint, from", "alone", `beside ${dead} dead ones`, "ratio"],
      ...lags.map(({ from, aloneMs, besideMs }) => [
        from,
        ms(aloneMs),
        ms(besideMs),
        `${(besideMs / aloneMs).toFixed(2)} (aim <= ${LAG_RATIO})`,
      ]),
    ]),
    "",
    `of ${alone} events alone and ${beside} beside them; other programs used ${others === null ? "?" : (others * 100).toFixed(0)} % of the machine`,
  ];
}

function x402Lines(rounds: readonly ComparedTimes[]): string[] {
  const { x402: x402Ms, facilitate: facilitateMs, hello: helloMs } = medianTimes(rounds);
  const ratio = (name: string, of: (times: ComparedTimes) => number) => {
    const ratios = rounds.map(of);
    return [name, ...[median(ratios), Math.min(...ratios), Math.max(...ratios)].map((value) => value.toFixed(2))];
  };
  return [
    "The chain mines at once. x402's settle sends the transaction of the payment itself and waits for its receipt, without HTTP and without a store; the transaction that facilitate settles is sent before and not timed.",
    "",
    `verify and settle ${x402Ms.toFixed(2)} ms, facilitate ${facilitateMs.toFixed(2)} ms, bare Hono (hello) ${helloMs.toFixed(2)} ms`,
    "",
    ...table([
      [`ratio in ${rounds.length} rounds`, "median", "lowest", "highest"],
      ratio("facilitate / x402", ({ facilitate, x402 }) => facilitate / x402),
      ratio("(facilitate - hello) / x402", ({ facilitate, hello, x402 }) => (facilitate - hello) / x402),
    ]),
  ];
}

const actLines = (one: ActRows): string[] => [
  `${one.act}: ${rowsOf(one).toFixed(1)} rows, ${one.bytes.standing.toFixed(0)} bytes, ${one.bytes.forEver.toFixed(0)} for ever (${one.times} of them)`,
  ...one.tables.map(([table, rows]) => `  ${table} ${rows.toFixed(2)}`),
];

const idleTable = (idle: readonly Idle[]): string[] =>
  table([
    ["", "trips", "stmts", "read", "written", "queues", "objects", "fetches", "CPU ms"],
    ...idle.map(({ trigger, trips, statements, rowsRead, rowsWritten, queues, objects, fetches, cpuMs }) => [
      trigger,
      ...[trips, statements, rowsRead, rowsWritten, queues, objects, fetches].map((mean) => mean.toFixed(1)),
      cpuMs?.toFixed(0) ?? "-",
    ]),
  ]);

const suspensionTable = (suspensions: readonly Suspension[]): string[] =>
  table([
    ["", "trips", "ms", "read", "written", "in all: read", "written"],
    ...suspensions.map(({ kind, agents, trips, answerMs, answer, all }) =>
      [
        `${agents.toLocaleString("en")} ${kind}s`,
        ...[trips, answerMs, answer.read, answer.written, all.read, all.written],
      ].map(String),
    ),
  ]);

const bundleLines = ({ bytes, gzipKib, parts, startupMs, startupMedianMs }: Bundle): string[] => [
  `${(bytes / 1_024).toFixed(1)} KiB, ${gzipKib.toFixed(1)} KiB gzipped (at most ${BUNDLE_GZIP_KIB})`,
  `start: ${startupMedianMs} ms active, the median of ${startupMs.join(", ")} (at most ${STARTUP_MEDIAN_MS})`,
  `made of: ${parts.map((part) => `${part.name} ${(part.bytes / 1_024).toFixed(0)} KiB`).join(", ")}`,
];

/** Aligns the first column to the left and the others to the right. */
export function table(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, cell.length);
  const pad = (cell: string, i: number) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0));
  return rows.map((row) => row.map(pad).join("  ").trimEnd());
}
