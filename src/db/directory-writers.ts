// Marks the statements that write records of the directory's feeds with their environments. A commit that holds one has their running hashes and
// the terms of their entries written after it (DIR-9, DIR-13).
import type { Environment } from "../core/vocabulary.ts";
import type { Statement } from "./batch.ts";

const directoryWriters = new WeakMap<Statement, Environment>();

/** Marks a statement that writes records of an environment. */
export const markDirectoryWriter = <T extends Statement>(statement: T, environment: Environment): T => {
  directoryWriters.set(statement, environment);
  return statement;
};

/** The environments whose records the statements write, each once. */
export const environmentsListed = (statements: readonly Statement[]): Environment[] => [
  ...new Set(statements.flatMap((statement) => directoryWriters.get(statement) ?? [])),
];
