// Which budgets are exceeded: one line each, naming what it is and what it may be.
import { BUDGETS, BUNDLE_GZIP_KIB, type Budget, STARTUP_MEDIAN_MS } from "./budgets.ts";
import type { Bundle } from "./bundle.ts";
import type { CaseCost, Outcome } from "./costs.ts";

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
    const over = LIMITS.filter(([key]) => cost[key] > budget[key]);
    const unmetered =
      cost.unmetered > 0 ? [`${cost.name}: ${cost.unmetered} statements outside a batch, of unknown cost`] : [];
    return [...over.map(([key, what]) => `${cost.name}: ${what} ${cost[key]}, at most ${budget[key]}`), ...unmetered];
  });
}

/**
 * O(1) or O(page): twenty times the history may not cost more rows. But a range reads one row beyond its end where there is
 * one, so a statement may read one more beside new neighbours.
 */
export function checkScaling(small: readonly Outcome[], large: readonly Outcome[]): string[] {
  const before = new Map(small.flatMap((outcome) => ("cost" in outcome ? [[outcome.cost.name, outcome.cost]] : [])));
  return large.flatMap((outcome) => {
    if (!("cost" in outcome)) return [`${outcome.name} with a long history: ${outcome.failed}`];
    const { name, rowsRead, statements } = outcome.cost;
    const less = before.get(name);
    if (!less || rowsRead <= less.rowsRead + statements) return [];
    return [`${name}: rows read grow with the history, from ${less.rowsRead} to ${rowsRead}`];
  });
}

export const checkBundle = ({ gzipKib, startupMedianMs }: Bundle): string[] => [
  ...(gzipKib > BUNDLE_GZIP_KIB ? [`bundle: ${gzipKib.toFixed(1)} KiB gzipped, at most ${BUNDLE_GZIP_KIB}`] : []),
  ...(startupMedianMs > STARTUP_MEDIAN_MS ? [`startup: ${startupMedianMs} ms, at most ${STARTUP_MEDIAN_MS}`] : []),
];
