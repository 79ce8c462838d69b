// Lists the exceeded budgets, one line each, with the measured value and the limit.
import { type ActRows, rowsOf } from "./acts.ts";
import type { Budget } from "./budget.ts";
import { BUDGETS, BUNDLE_GZIP_KIB, BUSY_RATIO, STARTUP_MEDIAN_MS } from "./budgets.ts";
import type { Bundle } from "./bundle.ts";
import type { Busy } from "./busy.ts";
import type { CaseCost, FarOutcome, Outcome } from "./costs.ts";
import { HOPS } from "./hops.ts";
import type { Idle } from "./idle.ts";
import { ACTS, BACKLOG, FLOOD, IDLE, MOVEMENTS, STATUS_LISTS, SUSPENSION, WAVE } from "./scene-budgets.ts";
import type { Measured } from "./status-list-costs.ts";
import type { Suspension } from "./suspensions.ts";

const LIMITS = [
  ["trips", "D1 trips"],
  ["rowsRead", "rows read"],
  ["rowsWritten", "rows written"],
  ["objects", "Durable Object calls"],
  ["queues", "queue sends"],
  ["fetches", "outbound fetches"],
  ["bytes", "response bytes"],
] as const satisfies readonly (readonly [keyof Budget & keyof CaseCost, string])[];

export function checkCosts(outcomes: readonly Outcome[]): string[] {
  return outcomes.flatMap((outcome) => {
    if (!("cost" in outcome)) return [`${outcome.name}: ${outcome.failed}`];
    const { cost } = outcome;
    const budget = BUDGETS[cost.name];
    if (!budget) return [`${cost.name}: has no budget (bench/budgets.ts)`];
    const most = (key: (typeof LIMITS)[number][0]) => budget[key] + (key === "rowsRead" ? cost.moreRows : 0);
    const over = LIMITS.filter(([key]) => cost[key] > most(key));
    const unmetered =
      cost.unmetered > 0 ? [`${cost.name}: ${cost.unmetered} statements outside a batch, of unknown cost`] : [];
    const late =
      budget.ms !== undefined && cost.elapsedMs > budget.ms
        ? [`${cost.name}: ${cost.elapsedMs.toFixed(0)} ms, at most ${budget.ms}`]
        : [];
    return [
      ...over.map(([key, what]) => `${cost.name}: ${what} ${cost[key]}, at most ${most(key)}`),
      ...unmetered,
      ...late,
    ];
  });
}

/**
 * Rows must be O(1) or O(page): a hundred times the history may not cost more. But a range reads one row beyond its end if there is one, so each
 * statement may read one more row with new neighbours.
 */
export function checkScaling(small: readonly Outcome[], large: readonly Outcome[]): string[] {
  const before = new Map(small.flatMap((outcome) => ("cost" in outcome ? [[outcome.cost.name, outcome.cost]] : [])));
  return large.flatMap((outcome) => {
    if (!("cost" in outcome)) return [`${outcome.name} with a long history: ${outcome.failed}`];
    const { name, rowsRead, moreRows, statements, filling } = outcome.cost;
    const less = before.get(name);
    if (!less || filling || rowsRead - moreRows <= less.rowsRead - less.moreRows + statements) return [];
    return [`${name}: rows read grow with the history, from ${less.rowsRead} to ${rowsRead}`];
  });
}

/** Limits the rows that the follower writes for each further movement of a vault, whatever the vault's history. */
export function checkMovements(outcomes: readonly Outcome[]): string[] {
  const written = new Map(outcomes.flatMap((one) => ("cost" in one ? [[one.cost.name, one.cost.rowsWritten]] : [])));
  return MOVEMENTS.cases.flatMap(([first, many]) => {
    const [few, all] = [written.get(first), written.get(many)];
    if (few === undefined || all === undefined) return [];
    const each = (all - few) / (MOVEMENTS.many - 1);
    return each > MOVEMENTS.written
      ? [`${many}: ${each.toFixed(1)} rows written each, at most ${MOVEMENTS.written}`]
      : [];
  });
}

export const checkBundle = ({ gzipKib, startupMedianMs }: Bundle): string[] => [
  ...(gzipKib > BUNDLE_GZIP_KIB ? [`bundle: ${gzipKib.toFixed(1)} KiB gzipped, at most ${BUNDLE_GZIP_KIB}`] : []),
  ...(startupMedianMs > STARTUP_MEDIAN_MS ? [`startup: ${startupMedianMs} ms, at most ${STARTUP_MEDIAN_MS}`] : []),
];

/** Limits hops, because a caller far from the database waits for each of them. */
export function checkFar(outcomes: readonly FarOutcome[]): string[] {
  return outcomes.flatMap((outcome) => {
    if ("failed" in outcome) return [`${outcome.name}: ${outcome.failed}`];
    const most = HOPS[outcome.name] ?? BUDGETS[outcome.name]?.trips ?? 0;
    return outcome.hops > most ? [`${outcome.name}: ${outcome.hops} hops one after the other, at most ${most}`] : [];
  });
}

/** Concurrent calls of one provider do not refuse each other (FAC-16, AGT-28), and hardly wait for each other. */
export const checkBusy = ({ compared }: Busy): string[] =>
  compared.flatMap(({ act, hot, spread, ratio }) => [
    ...Object.entries({ "one provider": hot, "many providers": spread }).flatMap(([sellers, { refused, failed }]) =>
      refused + failed > 0 ? [`${act} with ${sellers}: ${refused} batches refused, ${failed} calls failed`] : [],
    ),
    ...(ratio < BUSY_RATIO
      ? [`${act} with one provider: ${ratio.toFixed(2)} of the throughput with many, at least ${BUSY_RATIO}`]
      : []),
  ]);

/** The number of times that the chain is polled depends on the node's speed. */
const pollingRowsOf = ({ tables }: ActRows): number => new Map(tables).get("chain_operations") ?? 0;

/** Limits the rows of an act, including those of its deletion, and its bytes. */
export const checkActs = (measured: readonly ActRows[]): string[] =>
  measured.flatMap((one) => {
    const most = ACTS[one.act];
    if (most === undefined) return [`${one.act}: has no budget (bench/scene-budgets.ts)`];
    const { standing, forEver } = one.bytes;
    return Object.entries({ rows: rowsOf(one) - pollingRowsOf(one), standing, forEver }).flatMap(([name, is]) =>
      is > most[name as keyof typeof most]
        ? [`${one.act}, ${name}: ${is.toFixed(1)}, at most ${most[name as keyof typeof most]}`]
        : [],
    );
  });

/** A run with nothing due must cost next to nothing. */
export const checkIdle = (measured: readonly Idle[]): string[] =>
  measured.flatMap((idle) => {
    const most = IDLE[idle.trigger];
    if (!most) return [`idle, ${idle.trigger}: has no budget (bench/scene-budgets.ts)`];
    return (["trips", "rowsWritten", "queues"] as const).flatMap((key) =>
      idle[key] > most[key] ? [`idle, ${idle.trigger}: ${key} ${idle[key].toFixed(1)}, at most ${most[key]}`] : [],
    );
  });

/** The answer writes the first slice and waits for no other. Over all slices, each agent costs the same. */
export const checkSuspensions = (measured: readonly Suspension[]): string[] =>
  measured.flatMap(({ kind, agents, trips, answer, all }) => {
    const first = Math.min(agents, SUSPENSION.slice);
    const further = Math.floor(agents / SUSPENSION.slice);
    const limits = [
      ["trips of the answer", trips, SUSPENSION.trips],
      ["rows read by the answer", answer.read, SUSPENSION.read(kind, first, 0)],
      ["rows written by the answer", answer.written, SUSPENSION.written(first, 0)],
      ["rows read in all", all.read, SUSPENSION.read(kind, agents, further)],
      ["rows written in all", all.written, SUSPENSION.written(agents, further)],
    ] as const;
    return limits.flatMap(([what, value, most]) =>
      value > most ? [`suspension of ${agents} ${kind}s: ${what} ${value}, at most ${most}`] : [],
    );
  });

/** The p95 of a call without a wave, and in it. */
export type SlowedCall = { readonly name: string; readonly aloneMs: number; readonly duringMs: number };
type WaveResult = {
  readonly seconds: number;
  readonly slowed: readonly SlowedCall[];
  readonly agents: number;
  /** The number of agents that are reported exactly once. */
  readonly once: number;
  /** The number of principals, agents and cascades that are not recorded. */
  readonly left: number;
};

/** Many ends at one instant must be recorded in time, each agent once, and other calls must come between. */
export const checkWave = ({ seconds, slowed, agents, once, left }: WaveResult): string[] => [
  ...(seconds > WAVE.seconds ? [`the wave: recorded in ${seconds.toFixed(0)} s, at most ${WAVE.seconds}`] : []),
  ...slowed.flatMap(({ name, aloneMs, duringMs }) =>
    duringMs > WAVE.ratio * aloneMs
      ? [`the wave: the p95 of ${name} is ${(duringMs / aloneMs).toFixed(2)} times as long, at most ${WAVE.ratio}`]
      : [],
  ),
  ...(once < agents || left > 0 ? [`the wave: ${once} of ${agents} agents reported once, ${left} rows left`] : []),
];

/** The CPU time of one task, and the median of a read with and without the tasks. */
export type Backlog = {
  readonly tasks: number;
  readonly perSecond: number;
  readonly cpuMs: number;
  readonly aloneMs: number;
  readonly duringMs: number;
};

/** Tasks that are auto-confirmed at one instant must be recorded fast. */
export const checkBacklog = ({ perSecond, cpuMs }: Pick<Backlog, "perSecond" | "cpuMs">): string[] => [
  ...(perSecond < BACKLOG.perSecond
    ? [`the backlog: ${perSecond.toFixed(0)} tasks a second, at least ${BACKLOG.perSecond}`]
    : []),
  ...(cpuMs > BACKLOG.cpuMs ? [`the backlog: ${cpuMs.toFixed(2)} ms of CPU each, at most ${BACKLOG.cpuMs}`] : []),
];

/** `logIns`: the share of other users' log-ins that are answered with 201. */
export type FloodResult = { readonly calmMs: number; readonly floodedMs: number; readonly logIns: number };

/** A flood from one address must not make other callers wait. */
export function checkFlood({ calmMs, floodedMs, logIns }: FloodResult): string[] {
  const most = FLOOD.ratio * calmMs + FLOOD.plusMs;
  return [
    ...(floodedMs > most
      ? [`the flood: the median of a reading is ${floodedMs.toFixed(1)} ms, at most ${most.toFixed(1)}`]
      : []),
    ...(logIns < FLOOD.logIns
      ? [`the flood: ${(logIns * 100).toFixed(0)} % of others' log-ins succeed, at least ${FLOOD.logIns * 100} %`]
      : []),
  ];
}

/** A list must cost only its own exceptions, and nothing may cost more because there are more certificates. */
export const checkStatusLists = (few: Measured, many: Measured): string[] => {
  const { signed, served, drawn, counted } = STATUS_LISTS;
  const over = (what: string, value: number, most: number) =>
    value > most ? [`${what} ${value}, at most ${most}`] : [];
  return [few, many].flatMap(({ certificates, lists, acts, draws, counted: rows }) => {
    const name = `${certificates} certificates`;
    return [
      ...lists.flatMap((list) => [
        ...over(`${name}: trips to sign a list`, list.signed.trips, signed.trips),
        ...over(`${name}: rows read to sign a list`, list.signed.read, signed.read(list.exceptions)),
        ...over(`${name}: rows written to sign a list`, list.signed.written, signed.written),
        ...over(`${name}: trips to serve a list`, list.served.trips, served.trips),
        ...over(`${name}: rows read to serve a list`, list.served.read, served.read),
        ...over(`${name}: rows written to serve a list`, list.served.written, 0),
      ]),
      ...acts.flatMap((act) => {
        const less = few.acts.find((known) => known.name === act.name) ?? act;
        return [
          ...over(`${name}: trips of ${act.name}`, act.trips, less.trips),
          // A statement may read one new neighbour.
          ...over(`${name}: rows read by ${act.name}`, act.read, less.read + less.statements),
          ...over(`${name}: rows written by ${act.name}`, act.written, less.written),
        ];
      }),
      ...over(`${name}: rows read by the draw of a place`, Math.max(0, ...draws), drawn),
      ...over(`${name}: rows read by the count of the newest list`, rows, counted),
    ];
  });
};
