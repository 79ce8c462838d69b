// How SQLite will find the rows of every statement that the cases sent (performance design 4.1, item 3): a scan of a table that
// grows, or a sort that no index spares, is found here before it is slow.
import type { CaseCost } from "./costs.ts";
import type { Stage } from "./stage.ts";

export type PlanFault = { readonly case: string; readonly step: string; readonly sql: string };

/** Of one row, or of a list that came as a parameter: these may be scanned. */
const SMALL = /^SCAN (chain|json_each|k|CONSTANT ROW|\d+-ROW VALUES|\(subquery-\d+\)|released)\b/i;
const BAD = /^SCAN |USE TEMP B-TREE/;
/** A delegation chain has at most ten links, so sorting it costs nothing that grows. */
const SHORT = /with recursive chain/;

export async function findPlanFaults(stage: Stage, costs: readonly CaseCost[]): Promise<PlanFault[]> {
  const seen = new Map<string, string>();
  for (const { name, each } of costs) for (const { sql } of each) if (!seen.has(sql)) seen.set(sql, name);
  const faults: PlanFault[] = [];
  for (const [sql, name] of seen) {
    if (SHORT.test(sql)) continue;
    const params = Array.from({ length: sql.split("?").length - 1 }, () => null);
    const [steps = []] = await stage.sql([{ sql: `explain query plan ${sql}`, params }]);
    for (const { detail } of steps) {
      const step = String(detail);
      if (BAD.test(step) && !SMALL.test(step)) faults.push({ case: name, step, sql });
    }
  }
  return faults;
}
