// The kinds of rows that fall due on a sandbox clock, and how each is recorded (ACC-28): as the minute's jobs record it, each row decided again by
// the stored data and the clock that rules it.
import { notifyExpiring } from "../accounts/notify-expiring.ts";
import { findDecayedAgents } from "../agents/find-store.ts";
import { publishRatings } from "../agents/publish-ratings.ts";
import { finishCascades } from "../cascades/cascades.ts";
import { endAttestation } from "../cascades/expire.ts";
import type { Deps } from "../context.ts";
import { BEFORE_FIRST_DUE, type Due } from "../core/due.ts";
import { type Database, type Read, readBatch } from "../db/batch.ts";
import { findClockOffset } from "../db/clock.ts";
import { endDisputeDays } from "../disputes/deadlines.ts";
import type { Recorded } from "../jobs/job.ts";
import type { Recorder } from "../jobs/run.ts";
import { abandonIntent, spendPaidIntents } from "../payments/abandon.ts";
import { rateAbandonedIntents } from "../payments/rate-abandoned.ts";
import { selectPrincipalPlatform } from "../principals/due-store.ts";
import { autoConfirmTasks } from "../tasks/auto-confirm.ts";
import {
  findDueDisputesOf,
  findDueIntentsOf,
  findDueNoticesOf,
  findDueTasksOf,
  findEndedAttestationsOf,
  findUnratedIntentsOf,
  findUnspentIntentsOf,
  type Sandbox,
} from "./due-store.ts";

export type DueKind = {
  readonly recorder: Recorder;
  /** Rows per part: an invocation's queries are limited (JOB-12). */
  readonly part: number;
  /** Set for rows that change the same sums, such as an agent's rating: recorded at once, they would conflict. */
  readonly inOrder?: true;
  readonly find: (db: Database, sandbox: Sandbox, limit: number) => Read<Due[]>;
};

const PART = 20;

/** Ends the principal's attestation, then suspends its agents: a part is one principal and a slice of its agents. */
async function endAttestationAndAgents(deps: Deps, principalId: string): Promise<Recorded> {
  const { offset } = await readBatch(deps.db, {
    offset: findClockOffset(deps.db, selectPrincipalPlatform(principalId)),
  });
  const ended = await endAttestation(deps, principalId, deps.clock.now() + offset);
  const agents = await finishCascades.record(deps, principalId);
  return agents === "more" ? "more" : ended || agents;
}

const findDecayedRatings: DueKind["find"] = (db, { platformId, now }, limit) =>
  findDecayedAgents(db, platformId, now, BEFORE_FIRST_DUE, limit);

/** The order matters: an intent's consumer is rated for it only after it was abandoned. */
export const DUE_KINDS: readonly DueKind[] = [
  { recorder: autoConfirmTasks, part: PART, inOrder: true, find: findDueTasksOf },
  { recorder: endDisputeDays, part: PART / 2, inOrder: true, find: findDueDisputesOf },
  { recorder: { name: "end_attestations", record: endAttestationAndAgents }, part: 1, find: findEndedAttestationsOf },
  { recorder: { name: "abandon_intents", record: abandonIntent }, part: PART, find: findDueIntentsOf },
  { recorder: rateAbandonedIntents, part: PART, inOrder: true, find: findUnratedIntentsOf },
  { recorder: spendPaidIntents, part: PART, find: findUnspentIntentsOf },
  { recorder: notifyExpiring, part: PART, find: findDueNoticesOf },
  { recorder: publishRatings, part: PART, find: findDecayedRatings },
];
