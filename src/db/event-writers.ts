// Marks the statements that write an event. A commit that holds such a statement notifies the outbox queue (EVT-4).
import type { Statement } from "./batch.ts";

const eventWriters = new WeakSet<Statement>();

export const markEventWriter = <T extends Statement>(statement: T): T => {
  eventWriters.add(statement);
  return statement;
};

export const writesEvents = (statements: readonly Statement[]): boolean =>
  statements.some((statement) => eventWriters.has(statement));
