// Checks the plan of every statement that a file's tests made the service send: none may scan a table that grows, and none may sort.
import { explainStatement, planFaults } from "../../bench/plan-rules.ts";

const AT_ONCE = 50;

/** The work that a file's tests made the service do. */
export type Traffic = {
  /** Every statement that it sent to the database. */
  readonly statements: Set<string>;
  /** The number of answers to callers that only the database knows. Without a statement of such a call, nothing was checked. */
  callersAnswered: number;
  /** The number of calls in progress in each world of the file. */
  readonly serving: { now: number }[];
};

const noTraffic = (): Traffic => ({ statements: new Set(), callersAnswered: 0, serving: [] });

/** The traffic of all worlds of this file. A call that a file leaves in progress counts for that file. */
export let traffic = noTraffic();

export function beginTraffic(): void {
  traffic = noTraffic();
}

/** Throws if a call is still in progress, because it would write into the storage of the next file. */
export function checkNoCallInProgress({ serving }: Traffic): void {
  const inProgress = serving.reduce((sum, { now }) => sum + now, 0);
  if (inProgress > 0) throw new Error(`${inProgress} calls of this file are still in progress`);
}

/** Throws an error with the step and the statement of each fault. */
export async function checkPlans(
  d1: D1Database,
  { statements, callersAnswered }: Omit<Traffic, "serving">,
): Promise<void> {
  if (statements.size === 0 && callersAnswered > 0) {
    throw new Error(`the service answered ${callersAnswered} callers, and none of its statements was seen`);
  }
  const faults: string[] = [];
  const all = [...statements];
  for (let at = 0; at < all.length; at += AT_ONCE) {
    const part = all.slice(at, at + AT_ONCE);
    const asked = part.map(explainStatement).map(({ sql, params }) => d1.prepare(sql).bind(...params));
    const plans = await d1.batch<{ detail: string }>(asked);
    for (const [i, sql] of part.entries()) {
      const steps = plans[i]?.results.map(({ detail }) => detail) ?? [];
      faults.push(...planFaults(sql, steps).map((step) => `${step}: ${sql}`));
    }
  }
  if (faults.length > 0) throw new Error(`statements scan or sort (bench/plan-rules.ts):\n${faults.join("\n")}`);
}
