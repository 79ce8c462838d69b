// Cascades (PRN-16, PRN-17, PRN-24, ACC-26). One guarded batch first changes the account, customer or principal above: from that commit every agent
// is suspended or revoked by its effective status, and none can become active. The agents' own rows and records follow in slices, the first in the
// same batch; any later run continues. Each agent is reported once, even after a crash, and so is each principal that changed with others.
import { commitAll } from "../commit.ts";
import type { Deps, JobMessage } from "../context.ts";
import { BEFORE_FIRST_DUE } from "../core/due.ts";
import { retryConflicts } from "../core/retry.ts";
import type { CascadeTrigger } from "../core/vocabulary.ts";
import { type Database, readBatch, type Statement } from "../db/batch.ts";
import type { CascadeRow, PrincipalRow } from "../db/tables/principals.ts";
import type { EachJob, Recorded } from "../jobs/job.ts";
import { setAccountStopped } from "../principals/store.ts";
import { settleReports } from "./reports.ts";
import { type Cause, isLastSlice, moveSlice, type Slice } from "./slice.ts";
import {
  advanceCascade,
  type BegunCascade,
  beginCascade,
  beginCascades,
  endCascade,
  findCascades,
  guardCascade,
  refuseLeft,
} from "./store.ts";
import {
  ACCOUNT,
  chooseSubject,
  type FoundOfAccount,
  type FoundOfPrincipals,
  PRINCIPAL,
  STOPPED_BY,
  toAccountSlice,
  toPrincipalsSlice,
} from "./subjects.ts";

/**
 * The limit of slices in one invocation, because each agent takes a statement and an invocation's queries are limited (JOB-12). An operation runs
 * them for one subject, its first slice included; a message of the job runs one slice for each of several subjects.
 */
const SLICES = 3;
export const CASCADES_AT_ONCE = SLICES;
const JOB = "finish_cascades";

export type Cascading = {
  /** One batch: what is above the agents, then the first slice. */
  readonly statements: Statement[];
  /** Runs further slices after the commit, and queues what is left. A job continues it after a crash. */
  readonly rest: (slices?: number) => Promise<void>;
};

/** Principals after their changes, and the statements that change them and all that is above them. */
export type PrincipalsMoved = {
  readonly principals: readonly PrincipalRow[];
  readonly statements: readonly Statement[];
  /** True if other principals change too, whose cascades the statements have stored. */
  readonly more?: boolean;
};

/** Stops all agents of principals. A cascade is stored for each principal that has agents left, so that any run continues it. */
export function stopAgents(
  deps: Deps,
  above: PrincipalsMoved,
  cause: Cause,
  found: FoundOfPrincipals,
  now: number,
): Cascading {
  const { principals, more = false } = above;
  const { trigger } = cause;
  const ids = principals.map(({ principalId }) => principalId);
  const only = more || ids.length > 1 ? undefined : ids[0];
  const slice = toPrincipalsSlice(deps, principals, found, only === undefined ? null : BEFORE_FIRST_DUE);
  const last = isLastSlice(deps, slice);
  return {
    statements: [
      ...above.statements,
      ...moveSlice(deps, cause, slice, now),
      ...(only === undefined
        ? // One of many principals is always busy, so their cascades also stop an agent that became active after the reading.
          beginCascades(deps.db, ids, toBegunCascade(cause, now), (id) => PRINCIPAL.left(id, trigger))
        : beginCascadeAfter(deps.db, only, toBegunCascade(cause, now), slice)),
    ],
    rest: (slices) =>
      only === undefined ? queueOthers(deps, now, more || !last) : runRestOfSubject(deps, only, trigger, last, slices),
  };
}

/**
 * Changes all agents of an account and, at its closing, its principals. `statements` change the account itself; one more statement marks all its
 * principals in the same commit. `contended`: the first agents follow by the cascade too, because callers that keep changing them would delay the
 * act.
 */
export function cascadeAccount(
  deps: Deps,
  { platformId, statements }: { readonly platformId: string; readonly statements: readonly Statement[] },
  cause: Cause,
  found: FoundOfAccount,
  now: number,
  contended: boolean,
): Cascading {
  const { db } = deps;
  const { trigger } = cause;
  const first = contended ? { ...found, agents: [], principals: [] } : found;
  const slice = toAccountSlice(trigger, first);
  return {
    statements: [
      ...statements,
      setAccountStopped(db, platformId, STOPPED_BY[trigger]),
      ...moveSlice(deps, cause, slice, now),
      // The cascade also covers an agent that was registered after the reading, so that a busy account can be closed.
      ...beginCascades(db, [platformId], toBegunCascade(cause, now), (id) => ACCOUNT.left(id, trigger)),
    ],
    rest: (slices) => runRestOfSubject(deps, platformId, trigger, !contended && isLastSlice(deps, slice), slices),
  };
}

/** The cascade of a single principal. Its slice aborts the batch if an agent became active after the reading. */
const beginCascadeAfter = (db: Database, principalId: string, begun: BegunCascade, { stretch }: Slice): Statement[] =>
  stretch?.upTo ? [beginCascade(db, principalId, begun, stretch.upTo)] : [];

/**
 * Agents that an unfinished stop has left keep its cause, whatever stops their principal since: reinstatement reactivates only agents that were
 * suspended for the reason that ended.
 */
export const chooseCause = (cascade: CascadeRow | null, cause: Cause): Cause =>
  cascade?.trigger === "principal_stops" && cause.trigger === "principal_stops" ? toCause(cascade) : cause;

const toCause = ({ trigger, reason, actorType, actorId }: CascadeRow): Cause => ({
  trigger,
  reason,
  actor: { type: actorType, id: actorId },
});

export const toBegunCascade = ({ trigger, reason, actor }: Cause, startedAt: number): BegunCascade => ({
  trigger,
  reason,
  actorType: actor.type,
  actorId: actor.id,
  startedAt,
});

async function runRestOfSubject(
  deps: Deps,
  subjectId: string,
  trigger: CascadeTrigger,
  last: boolean,
  slices = SLICES - 1,
): Promise<void> {
  if (last || (await resumeCascade(deps, subjectId, trigger, slices)) !== "more") return;
  await queueCascade(deps, { kind: "record", job: JOB, ids: [subjectId] });
}

/** Continues the cascades of many principals, which began at one instant. */
async function queueOthers(deps: Deps, startedAt: number, left: boolean): Promise<void> {
  if (left) await queueCascade(deps, { kind: "find", job: JOB, after: { at: startedAt, id: "" } });
}

type Order = Extract<JobMessage, { readonly kind: "record" | "find" }>;

/** The queue runs the rest. If the message is lost, the minute's job finds the cascades. */
const queueCascade = ({ env }: Deps, message: Order): Promise<unknown> =>
  env.JOB_QUEUE.send({ ...message, apart: true });

/** Runs some slices of a cascade. `trigger`: the expected one. Returns `more` if slices are left, and false if the cascade was over already. */
async function resumeCascade(
  deps: Deps,
  subjectId: string,
  trigger: CascadeTrigger,
  slices: number,
): Promise<Recorded> {
  let moved = false;
  let expected = trigger;
  for (let slice = 0; slice < slices; ) {
    const next = await continueCascade(deps, subjectId, expected);
    moved ||= next.moved;
    if (next.left === null) return moved;
    expected = next.left;
    // A reading for another trigger has changed nothing.
    if (next.moved) slice += 1;
  }
  return "more";
}

/** `left`: the trigger of the next slice, null after the last one. */
type Continued = { readonly moved: boolean; readonly left: CascadeTrigger | null };

const continueCascade = (deps: Deps, subjectId: string, expected: CascadeTrigger): Promise<Continued> =>
  retryConflicts(async () => {
    const { db } = deps;
    const subject = chooseSubject(subjectId);
    const { cascade, slice, principal } = await subject.read(deps, subjectId, expected);
    if (!cascade || !slice) return { moved: false, left: null };
    const { trigger } = cascade;
    // The slice was read for another trigger.
    if (trigger !== expected) return { moved: false, left: trigger };
    const now = deps.clock.now();
    const last = isLastSlice(deps, slice);
    await commitAll(deps, [
      ...(principal ? settleReports(db, [{ principal, cascade }], now) : []),
      ...moveSlice(deps, toCause(cascade), slice, now),
      // A stretch aborts the batch itself if an agent became active after the reading.
      ...(last && !slice.stretch ? [refuseLeft(db, subject.left(subjectId, trigger))] : []),
      ...advanceOrEnd(db, principal ? { ...cascade, report: null } : cascade, last, slice),
    ]);
    return { moved: true, left: last ? null : trigger };
  });

/** Advances or ends a cascade with its slice. Aborts the batch if another run has written the slice. */
function advanceOrEnd(db: Database, cascade: CascadeRow, last: boolean, { stretch }: Slice): Statement[] {
  if (last) return endCascade(db, cascade);
  return stretch?.upTo ? advanceCascade(db, cascade, stretch.upTo) : [guardCascade(db, cascade)];
}

/** Continues the cascades that a crash interrupted. */
export const finishCascades: EachJob = {
  kind: "each",
  name: JOB,
  part: CASCADES_AT_ONCE,
  find: async ({ db }, after, limit) => {
    const { open } = await readBatch(db, { open: findCascades(db, after ?? BEFORE_FIRST_DUE, limit) });
    return open;
  },
  record: (deps, subjectId) => resumeCascade(deps, subjectId, "principal_stops", 1),
};
