// Which statements write what somebody waits to hear of. A commit of one of them tells the outbox's queue, by itself.
import type { Statement } from "./batch.ts";

const announced = new WeakSet<Statement>();

/** The statement writes an event. */
export const announcing = <T extends Statement>(statement: T): T => {
  announced.add(statement);
  return statement;
};

export const isAnnouncing = (statements: readonly Statement[]): boolean =>
  statements.some((statement) => announced.has(statement));
