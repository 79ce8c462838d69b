// Marks the statements that write activity entries with the platforms that they belong to. A commit that holds one has their running hashes
// computed (EVT-12).
import type { Statement } from "./batch.ts";

const activityWriters = new WeakMap<Statement, readonly string[]>();

/** Marks a statement that writes entries of the platforms. */
export const markActivityWriter = <T extends Statement>(statement: T, platformIds: readonly string[]): T => {
  activityWriters.set(statement, platformIds);
  return statement;
};

/** The platforms whose entries the statements write, each once. */
export const platformsOfActivity = (statements: readonly Statement[]): string[] => [
  ...new Set(statements.flatMap((statement) => activityWriters.get(statement) ?? [])),
];
