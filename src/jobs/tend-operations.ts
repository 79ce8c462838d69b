// Makes the job of a kind of chain operation: it finds those that are due, and hands each to the queue or does what is due.
import { findDueOperations } from "../chain/store.ts";
import type { Deps } from "../context.ts";
import { BEFORE_FIRST_DUE } from "../core/due.ts";
import type { OperationKind } from "../core/vocabulary.ts";
import { readBatch } from "../db/batch.ts";
import type { EachJob } from "./job.ts";

/** `tend` returns false if nothing was left to do. */
export const tendOperations = (
  name: string,
  kind: OperationKind,
  tend: (deps: Deps, network: string, subject: string) => Promise<unknown>,
): EachJob => ({
  kind: "each",
  name,
  find: async ({ db }, after, limit) => {
    const { due } = await readBatch(db, {
      due: findDueOperations(db, kind, Date.now(), after ?? BEFORE_FIRST_DUE, limit),
    });
    return due;
  },
  record: async (deps, id) => {
    const [network = "", subject = ""] = id.split(" ");
    return (await tend(deps, network, subject)) !== false;
  },
});
