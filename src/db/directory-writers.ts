// Marks the statements that write directory records with their environments. A commit that holds such a statement triggers the writing of their
// running hashes and of their entries' terms (DIR-9, DIR-13).
import type { Environment } from "../core/vocabulary.ts";
import type { Statement } from "./batch.ts";

const directoryWriters = new WeakMap<Statement, Environment>();

export const markDirectoryWriter = <T extends Statement>(statement: T, environment: Environment): T => {
  directoryWriters.set(statement, environment);
  return statement;
};

export const listDirectoryEnvironments = (statements: readonly Statement[]): Environment[] => [
  ...new Set(statements.flatMap((statement) => directoryWriters.get(statement) ?? [])),
];
