// Records everything that falls due on a sandbox clock (ACC-28), as the minute's jobs record it: each row is decided again by the stored data
// and the clock that rules it.
import { notifyExpiring } from "../accounts/notices.ts";
import { recordRatingsDated, recordSandboxProgress } from "../accounts/store.ts";
import { findDecayedAgents } from "../agents/find-store.ts";
import { publishRatings } from "../agents/ratings.ts";
import { dateRatings } from "../agents/store.ts";
import { finishCascades } from "../cascades/cascades.ts";
import { endAttestation } from "../cascades/expire.ts";
import type { Deps } from "../context.ts";
import { BEFORE_FIRST_DUE, type Due, measureAhead } from "../core/clock.ts";
import { HOUR_MS, MINUTE_MS } from "../core/limits.ts";
import { runConcurrently } from "../core/retry.ts";
import { commit, type Database, type Read, readBatch } from "../db/batch.ts";
import { findClockOffset } from "../db/clock.ts";
import { endDisputeDays } from "../disputes/deadlines.ts";
import type { EachJob, Recorded } from "../jobs/job.ts";
import type { Recorder } from "../jobs/run.ts";
import { abandonIntent, spendPaidIntents } from "../payments/abandon.ts";
import { rateAbandonedIntents } from "../payments/rate.ts";
import { selectPrincipalPlatform } from "../principals/find-store.ts";
import { autoConfirmTasks } from "../tasks/confirm.ts";
import {
  findDueDisputesOf,
  findDueIntentsOf,
  findDueNoticesOf,
  findDueTasksOf,
  findEndedAttestationsOf,
  findMovedSandboxes,
  findSandboxClock,
  findUnratedIntentsOf,
  findUnspentIntentsOf,
  type Sandbox,
  type SandboxClock,
} from "./due-store.ts";

// ---- The kinds of rows that fall due -------------------------------------------------------------------------------------

type DueKind = {
  readonly recorder: Recorder;
  /** Rows per part: an invocation's queries are limited (JOB-12). */
  readonly part: number;
  /** Set for rows that change the same sums, such as an agent's rating: recorded at once, they would conflict. */
  readonly inOrder?: true;
  readonly find: (db: Database, sandbox: Sandbox, limit: number) => Read<Due[]>;
};

const PART = 20;

/** The order matters: an intent's consumer is rated for it only after it was abandoned. */
export const DUE_KINDS: readonly DueKind[] = [
  { recorder: autoConfirmTasks, part: PART, inOrder: true, find: findDueTasksOf },
  { recorder: endDisputeDays, part: PART / 2, inOrder: true, find: findDueDisputesOf },
  { recorder: { name: "end_attestations", record: endAttestationAndAgents }, part: 1, find: findEndedAttestationsOf },
  { recorder: { name: "abandon_intents", record: abandonIntent }, part: PART, find: findDueIntentsOf },
  { recorder: rateAbandonedIntents, part: PART, inOrder: true, find: findUnratedIntentsOf },
  { recorder: spendPaidIntents, part: PART, find: findUnspentIntentsOf },
  { recorder: notifyExpiring, part: PART, find: findDueNoticesOf },
  {
    recorder: publishRatings,
    part: PART,
    find: (db, { platformId, now }, limit) => findDecayedAgents(db, platformId, now, BEFORE_FIRST_DUE, limit),
  },
];

/** Ends the principal's attestation, then suspends its agents: a part is one principal and a slice of its agents. */
async function endAttestationAndAgents(deps: Deps, principalId: string): Promise<Recorded> {
  const { offset } = await readBatch(deps.db, {
    offset: findClockOffset(deps.db, selectPrincipalPlatform(principalId)),
  });
  const ended = await endAttestation(deps, principalId, deps.clock.now() + offset);
  const agents = await finishCascades.record(deps, principalId);
  return agents === "more" ? "more" : ended || agents;
}

// ---- One sandbox ---------------------------------------------------------------------------------------------------------

const FOUND_AT_ONCE = 1_000;
/** How often a row is tried that is found again: another writer may win each time, or the row may fail. */
const TRIES = 3;

type Found = { readonly kind: DueKind; readonly ids: readonly string[] };

/** Searches again after each round, because one record may make another row due. Returns how many rows are left to the next minute's sweep. */
export async function recordDue(deps: Deps, sandbox: Sandbox): Promise<number> {
  const tried = new Map<string, number>();
  const triesOf = (kind: DueKind, id: string) => tried.get(toRowKey(kind, id)) ?? 0;
  for (;;) {
    const found = await findDue(deps, sandbox, deps.slices?.due ?? FOUND_AT_ONCE);
    const due = found
      .map(({ kind, ids }) => ({ kind, ids: ids.filter((id) => triesOf(kind, id) < TRIES) }))
      .filter(({ ids }) => ids.length > 0);
    if (due.length === 0) return countFound(found);
    for (const { kind, ids } of due) {
      for (const id of ids) tried.set(toRowKey(kind, id), triesOf(kind, id) + 1);
      await recordKind(deps, sandbox, kind, ids);
    }
  }
}

export async function countDue(deps: Deps, sandbox: Sandbox, most: number): Promise<number> {
  return countFound(await findDue(deps, sandbox, most));
}

const countFound = (found: readonly Found[]): number => found.reduce((sum, { ids }) => sum + ids.length, 0);

async function findDue({ db }: Deps, sandbox: Sandbox, limit: number): Promise<Found[]> {
  const reads = DUE_KINDS.map((kind) => [kind.recorder.name, kind.find(db, sandbox, limit)] as const);
  const found = await readBatch(db, Object.fromEntries(reads));
  return DUE_KINDS.map((kind) => ({ kind, ids: sortByDueTime(found[kind.recorder.name] ?? []).map(({ id }) => id) }));
}

/** Rows that fell due first come first: a read returns one range after the other. */
const sortByDueTime = (due: readonly Due[]): Due[] => due.toSorted((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1));

const toRowKey = ({ recorder }: DueKind, id: string): string => `${recorder.name} ${id}`;

const splitIntoParts = ({ part }: DueKind, ids: readonly string[]): string[][] =>
  Array.from({ length: Math.ceil(ids.length / part) }, (_, n) => ids.slice(n * part, (n + 1) * part));

/** Also records the rows that a part leaves. If the object fails, as when a new version of the Worker resets it, the rows are found again. */
async function recordKind(deps: Deps, { platformId }: Sandbox, kind: DueKind, ids: readonly string[]): Promise<void> {
  const { SANDBOXES } = deps.env;
  const recorder = kind.recorder.name;
  const reach = () => SANDBOXES.get(SANDBOXES.idFromName(platformId));
  // The calls of one stub arrive in order; a stub whose call failed cannot be used again.
  let object = reach();
  await runConcurrently(splitIntoParts(kind, ids), async (part) => {
    try {
      for (let left = part; left.length > 0; )
        left = await object.record({ recorder, ids: left, ahead: measureAhead(deps.clock) });
    } catch (thrown) {
      object = reach();
      const message = thrown instanceof Error ? thrown.message : "unknown";
      console.error(JSON.stringify({ event: "sandbox_part_failed", platformId, recorder, message }));
    }
  });
}

// ---- The sweep -----------------------------------------------------------------------------------------------------------

/** Each minute, for the sandboxes whose clock was moved, because the minute's jobs use real time. */
export const sweepSandboxes: EachJob = {
  kind: "each",
  name: "sweep_sandboxes",
  find: async ({ db, clock }, after, limit) => {
    const now = clock.now();
    const { moved } = await readBatch(db, { moved: findMovedSandboxes(db, after?.id ?? "", limit) });
    return moved.map((id) => ({ at: now, id }));
  },
  record: sweepSandbox,
};

async function sweepSandbox(deps: Deps, platformId: string): Promise<boolean> {
  const { db, clock } = deps;
  const now = clock.now();
  const { known } = await readBatch(db, { known: findSandboxClock(db, platformId) });
  if (!known || known.clockOffsetMs === 0) return false;
  const { clockOffsetMs: offset, clockRecordedTo } = known;
  const ahead = measureAhead(clock) + offset;
  const since = clockRecordedTo ?? now;
  // Done once: afterwards the sandbox's ratings are found by its own clock (TSK-23). A sandbox may have many, so no call waits for it.
  if (!known.ratingsDated) await commit(db, [dateRatings(db, platformId), recordRatingsDated(db, platformId)]);
  const left = await recordDue(deps, { platformId, now: now + offset, since, ahead });
  const reached = computeRecordableTo(known, now, ahead);
  if (left === 0 && reached !== null && reached >= since + HOUR_MS) {
    await commit(db, [recordSandboxProgress(db, platformId, offset, reached)]);
  }
  return true;
}

/** Up to it nothing more can fall due: earlier calls were answered, and rows that wait for a chain are due later. Null in the minute after a move. */
function computeRecordableTo(
  { clockOffsetMs, clockMovedAt, readThrough }: SandboxClock,
  now: number,
  ahead: number,
): number | null {
  if (clockMovedAt !== null && now < clockMovedAt + MINUTE_MS) return null;
  return (
    Math.min(now + clockOffsetMs, readThrough === null ? Number.POSITIVE_INFINITY : readThrough + ahead) - MINUTE_MS
  );
}
