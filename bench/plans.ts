// Checks the query plan of every statement that the cases sent.
import type { CaseCost } from "./costs.ts";
import { explainStatement, planFaults } from "./plan-rules.ts";
import type { Stage } from "./stage.ts";

export type PlanFault = { readonly case: string; readonly step: string; readonly sql: string };

export async function findPlanFaults(stage: Stage, costs: readonly CaseCost[]): Promise<PlanFault[]> {
  const seen = new Map<string, string>();
  for (const { name, each } of costs) for (const { sql } of each) if (!seen.has(sql)) seen.set(sql, name);
  const faults: PlanFault[] = [];
  for (const [sql, name] of seen) {
    const [steps = []] = await stage.sql([explainStatement(sql)]);
    const details = steps.map(({ detail }) => String(detail));
    faults.push(...planFaults(sql, details).map((step) => ({ case: name, step, sql })));
  }
  return faults;
}
