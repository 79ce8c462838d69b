// Marks the statements that write activity entries with their platforms. A commit that holds such a statement triggers the computation of their
// running hashes (EVT-12).
import type { Statement } from "./batch.ts";

const activityWriters = new WeakMap<Statement, readonly string[]>();

export const markActivityWriter = <T extends Statement>(statement: T, platformIds: readonly string[]): T => {
  activityWriters.set(statement, platformIds);
  return statement;
};

export const listActivityPlatforms = (statements: readonly Statement[]): string[] => [
  ...new Set(statements.flatMap((statement) => activityWriters.get(statement) ?? [])),
];
