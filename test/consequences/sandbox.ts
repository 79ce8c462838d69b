// What the clock of a sandbox changes as it is moved, and each minute's sweep of the moved ones (ACC-28): its own row, and what fell due as the
// jobs of the minute record it.
import { AGENT_JOBS } from "./agents.ts";
import { DISPUTE_JOBS } from "./disputes.ts";
import { PURCHASE_JOBS } from "./purchases.ts";
import type { Case, Cases } from "./words.ts";

/** The case of a job, with the move of the clock before it. */
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
    moved(PURCHASE_JOBS["auto_confirm_tasks"], "the consumer has shown its will", "a task's window ended"),
    moved(DISPUTE_JOBS["end_dispute_days"], "the parties' days are over", "the parties' days of a dispute were over"),
    moved(PURCHASE_JOBS["abandon_intents"], "nobody paid in time", "an intent ended"),
    moved(AGENT_JOBS["end_attestations"], "agents run", "an attestation ended"),
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
