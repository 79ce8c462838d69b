// The rows of moving the clock of a sandbox, and of the minute's sweep of moved sandboxes (ACC-28): each has its own row, and records what fell due
// like the jobs of the minute.
import { AGENT_JOBS } from "./agents.ts";
import { DISPUTE_JOBS } from "./disputes.ts";
import { PURCHASE_JOBS } from "./purchases.ts";
import type { Case, Cases } from "./words.ts";

/** The case of a job, together with the move of the clock that leads to it. */
function moved(cases: Cases | undefined, when: string, named: string): Case {
  const found = cases?.find((one) => one.when === when);
  if (!found?.activity) throw new Error(`no case is named ${when}`);
  const activity = "none" in found.activity ? [] : found.activity;
  return {
    ...found,
    when: named,
    tables: [...new Set(["platforms" as const, ...(found.tables ?? [])])],
    activity: [...activity, "sandbox.clock_advanced"],
  };
}

export const SANDBOX_OPERATIONS: Readonly<Record<string, Cases>> = {
  advanceSandboxClock: [
    {
      when: "nothing fell due",
      tables: ["platforms"],
      activity: ["sandbox.clock_advanced"],
    },
    moved(PURCHASE_JOBS["auto_confirm_tasks"], "the consumer opened the intent", "a task's window ended"),
    moved(DISPUTE_JOBS["end_dispute_days"], "the parties' days are over", "the parties' days of a dispute were over"),
    moved(PURCHASE_JOBS["abandon_intents"], "it was not paid in time", "an intent ended"),
    moved(AGENT_JOBS["end_attestations"], "it has active agents", "an attestation ended"),
  ],
};

export const SANDBOX_JOBS: Readonly<Record<string, Cases>> = {
  sweep_sandboxes: [
    { when: "nothing fell due" },
    ...(PURCHASE_JOBS["auto_confirm_tasks"] ?? [])
      .slice(0, 1)
      .map((one) => ({ ...one, when: "a task's window ended" })),
  ],
};
