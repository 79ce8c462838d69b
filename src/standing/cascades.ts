// Cascades (PRN-16, PRN-17, ACC-26). What stands above moves first, in one guarded batch: from that commit every agent is stopped by its
// effective status, and none begins to run. The agents' own rows and records follow in slices, the first in the same batch; any later run
// continues. Each agent is reported once, also after a crash.
import { commitAll } from "../commit.ts";
import type { Deps } from "../context.ts";
import { FIRST } from "../core/due.ts";
import { retryConflicts } from "../core/retry.ts";
import type { CascadeTrigger } from "../core/vocabulary.ts";
import { type Condition, readBatch, type Statement } from "../db/batch.ts";
import type { CascadeRow, PrincipalRow } from "../db/tables/principals.ts";
import type { EachJob, Recorded } from "../jobs/job.ts";
import { setAccountStopped } from "../principals/store.ts";
import { type Cause, isLast, sliceStatements } from "./slice.ts";
import { beginCascade, beginCascadeWhile, endCascade, findCascades, guardCascade, refuseLeft } from "./store.ts";
import {
  type FoundOfAccount,
  type FoundOfPrincipal,
  STOPPED_BY,
  sliceOfAccount,
  sliceOfPrincipal,
  subjectOf,
} from "./subjects.ts";

/** The slices of one subject that one invocation runs, and the subjects: its queries are limited, so the queue goes on (JOB-12). */
const SLICES = 5;
export const CASCADES_AT_ONCE = 5;
const JOB = "finish_cascades";

export type Cascading = {
  /** One batch: what stands above, then the first slice. */
  readonly statements: Statement[];
  /** Runs further slices, after the commit. What it leaves when it dies is continued by a job. */
  readonly rest: () => Promise<void>;
};

/** The principal after its own move, and the statements of the move, of it and of all that stands above it. */
export type Above = { readonly principal: PrincipalRow; readonly statements: readonly Statement[] };

/** Stops all agents of a principal. A cascade is stored while agents are left, so that any run continues it. */
export function stopAgents(deps: Deps, above: Above, cause: Cause, found: FoundOfPrincipal, now: number): Cascading {
  const { db } = deps;
  const { principalId } = above.principal;
  const slice = sliceOfPrincipal(above.principal, found);
  const last = isLast(slice);
  return {
    statements: [
      ...above.statements,
      ...sliceStatements(deps, cause, slice, now),
      // Refused when an agent began to run after the reading: it is read the next time.
      last ? refuseLeft(db, leftOf(principalId, cause.trigger)) : beginCascade(db, rowOf(principalId, cause, now)),
    ],
    rest: () => runRest(deps, principalId, cause.trigger, last),
  };
}

/**
 * Moves all agents of an account, and with the account's end its principals. `statements` move the account itself; the principals know of it
 * from the same commit on, by one statement for all of them.
 */
export function cascadeAccount(
  deps: Deps,
  { platformId, statements }: { readonly platformId: string; readonly statements: readonly Statement[] },
  cause: Cause,
  found: FoundOfAccount,
  now: number,
): Cascading {
  const { db } = deps;
  const { trigger } = cause;
  const slice = sliceOfAccount(trigger, found);
  return {
    statements: [
      ...statements,
      setAccountStopped(db, platformId, STOPPED_BY[trigger]),
      ...sliceStatements(deps, cause, slice, now),
      // An agent that was registered after the reading is met by the cascade: a busy account can be closed.
      ...beginCascadeWhile(db, rowOf(platformId, cause, now), leftOf(platformId, trigger)),
    ],
    rest: () => runRest(deps, platformId, trigger, isLast(slice)),
  };
}

const leftOf = (subjectId: string, trigger: CascadeTrigger): readonly Condition[] =>
  subjectOf(subjectId).left(subjectId, trigger);

const rowOf = (subjectId: string, { trigger, reason, actor }: Cause, startedAt: number): CascadeRow => ({
  subjectId,
  trigger,
  reason,
  actorType: actor.type,
  actorId: actor.id,
  startedAt,
});

async function runRest(deps: Deps, subjectId: string, trigger: CascadeTrigger, last: boolean): Promise<void> {
  if (last || (await resumeCascade(deps, subjectId, trigger)) !== "more") return;
  // The queue runs the rest. If the message is lost, the minute's run of the job finds the cascade.
  await deps.env.JOB_QUEUE.send({ kind: "record", job: JOB, ids: [subjectId], apart: true });
}

/** Runs some slices of a cascade; `more` when others are left; `trigger` is the expected one. Returns false when it was over before. */
async function resumeCascade(deps: Deps, subjectId: string, trigger: CascadeTrigger): Promise<Recorded> {
  let moved = false;
  let expected = trigger;
  for (let slice = 0; slice < SLICES; slice++) {
    const next = await continueCascade(deps, subjectId, expected);
    moved ||= next.moved;
    if (next.left === null) return moved;
    expected = next.left;
  }
  return "more";
}

/** `left`: the trigger of the next slice, null after the last one. */
type Continued = { readonly moved: boolean; readonly left: CascadeTrigger | null };

const continueCascade = (deps: Deps, subjectId: string, expected: CascadeTrigger): Promise<Continued> =>
  retryConflicts(async () => {
    const { db } = deps;
    const { cascade, slice } = await subjectOf(subjectId).read(db, subjectId, expected);
    if (!cascade || !slice) return { moved: false, left: null };
    const { trigger, actorType, actorId } = cascade;
    // The slice was read for another trigger.
    if (trigger !== expected) return { moved: false, left: trigger };
    const last = isLast(slice);
    const cause = { ...cascade, actor: { type: actorType, id: actorId } };
    await commitAll(deps, [
      guardCascade(db, cascade),
      ...sliceStatements(deps, cause, slice, deps.clock.now()),
      ...(last ? [refuseLeft(db, leftOf(subjectId, trigger)), endCascade(db, cascade)] : []),
    ]);
    return { moved: true, left: last ? null : trigger };
  });

/** Continues the cascades that a crash interrupted. */
export const finishCascades: EachJob = {
  kind: "each",
  name: JOB,
  part: CASCADES_AT_ONCE,
  find: async ({ db }, after, limit) => {
    const { open } = await readBatch(db, { open: findCascades(db, after ?? FIRST, limit) });
    return open;
  },
  record: (deps, subjectId) => resumeCascade(deps, subjectId, "principal_stops"),
};
