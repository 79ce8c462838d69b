// Cascades (PRN-16, PRN-17, PRN-24, ACC-26). What stands above moves first, in one guarded batch: from that commit every agent is stopped by
// its effective status, and none begins to run. The agents' own rows and records follow in slices, the first in the same batch; any later run
// continues. Each agent is reported once, also after a crash, and so is each principal that moved with others.
import { commitAll } from "../commit.ts";
import type { Deps, JobMessage } from "../context.ts";
import { FIRST } from "../core/due.ts";
import { retryConflicts } from "../core/retry.ts";
import type { CascadeTrigger } from "../core/vocabulary.ts";
import { type Database, readBatch, type Statement } from "../db/batch.ts";
import type { CascadeRow, PrincipalRow } from "../db/tables/principals.ts";
import type { EachJob, Recorded } from "../jobs/job.ts";
import { setAccountStopped } from "../principals/store.ts";
import { settleReports } from "./reports.ts";
import { type Cause, isLast, type Slice, sliceStatements } from "./slice.ts";
import {
  advanceCascade,
  type Begun,
  beginCascade,
  beginCascades,
  endCascade,
  findCascades,
  guardCascade,
  refuseLeft,
} from "./store.ts";
import {
  ACCOUNT,
  type FoundOfAccount,
  type FoundOfPrincipals,
  PRINCIPAL,
  STOPPED_BY,
  sliceOfAccount,
  sliceOfPrincipals,
  subjectOf,
} from "./subjects.ts";

/**
 * The slices that one invocation runs: of one subject by an operation, its own first one included, and of so many subjects one each by a
 * message of a job. Each agent of a slice takes a statement, and an invocation's queries are limited, so the queue goes on (JOB-12).
 */
const SLICES = 3;
export const CASCADES_AT_ONCE = SLICES;
const JOB = "finish_cascades";

export type Cascading = {
  /** One batch: what stands above, then the first slice. */
  readonly statements: Statement[];
  /** Runs further slices, after the commit, and hands on what is left. When it dies, a job continues it. */
  readonly rest: (slices?: number) => Promise<void>;
};

/** Principals after their moves, and the statements of the moves, of them and of all that stands above them. */
export type Above = {
  readonly principals: readonly PrincipalRow[];
  readonly statements: readonly Statement[];
  /** True where others move with them, each with a cascade of its own that the statements have stored. */
  readonly more?: boolean;
};

/** Stops all agents of principals. A cascade is stored for each that has agents left, so that any run continues it. */
export function stopAgents(deps: Deps, above: Above, cause: Cause, found: FoundOfPrincipals, now: number): Cascading {
  const { principals, more = false } = above;
  const { trigger } = cause;
  const ids = principals.map(({ principalId }) => principalId);
  const only = more || ids.length > 1 ? undefined : ids[0];
  const slice = sliceOfPrincipals(deps, principals, found, only === undefined ? null : FIRST);
  const last = isLast(deps, slice);
  return {
    statements: [
      ...above.statements,
      ...sliceStatements(deps, cause, slice, now),
      ...(only === undefined
        ? // Of many principals one is always busy: an agent that began to run after the reading is met by the cascade.
          beginCascades(deps.db, ids, begunBy(cause, now), (id) => PRINCIPAL.left(id, trigger))
        : beginBehind(deps.db, only, begunBy(cause, now), slice)),
    ],
    rest: (slices) =>
      only === undefined ? runOthers(deps, now, more || !last) : runRest(deps, only, trigger, last, slices),
  };
}

/**
 * Moves all agents of an account, and with the account's end its principals. `statements` move the account itself; the principals know of it
 * from the same commit on, by one statement for all of them. `contended`: the first agents follow with the others, because those who keep
 * changing them would hold it off.
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
  const slice = sliceOfAccount(trigger, first);
  return {
    statements: [
      ...statements,
      setAccountStopped(db, platformId, STOPPED_BY[trigger]),
      ...sliceStatements(deps, cause, slice, now),
      // An agent that was registered after the reading is met by the cascade: a busy account can be closed.
      ...beginCascades(db, [platformId], begunBy(cause, now), (id) => ACCOUNT.left(id, trigger)),
    ],
    rest: (slices) => runRest(deps, platformId, trigger, !contended && isLast(deps, slice), slices),
  };
}

/** Of one principal, whose slice refuses what began to run after the reading. */
const beginBehind = (db: Database, principalId: string, begun: Begun, { stretch }: Slice): Statement[] =>
  stretch?.upTo ? [beginCascade(db, principalId, begun, stretch.upTo)] : [];

/**
 * The cause of agents that an unfinished stop has left: that stop has taken them, whatever stops their principal since. A return gives back only
 * what was taken by what has gone.
 */
export const takenBy = (cascade: CascadeRow | null, cause: Cause): Cause =>
  cascade?.trigger === "principal_stops" && cause.trigger === "principal_stops" ? causeOf(cascade) : cause;

const causeOf = ({ trigger, reason, actorType, actorId }: CascadeRow): Cause => ({
  trigger,
  reason,
  actor: { type: actorType, id: actorId },
});

export const begunBy = ({ trigger, reason, actor }: Cause, startedAt: number): Begun => ({
  trigger,
  reason,
  actorType: actor.type,
  actorId: actor.id,
  startedAt,
});

async function runRest(
  deps: Deps,
  subjectId: string,
  trigger: CascadeTrigger,
  last: boolean,
  slices = SLICES - 1,
): Promise<void> {
  if (last || (await resumeCascade(deps, subjectId, trigger, slices)) !== "more") return;
  await handOn(deps, { kind: "record", job: JOB, ids: [subjectId] });
}

/** Of many principals: the cascades that began at an instant. */
async function runOthers(deps: Deps, startedAt: number, left: boolean): Promise<void> {
  if (left) await handOn(deps, { kind: "find", job: JOB, after: { at: startedAt, id: "" } });
}

type Order = Extract<JobMessage, { readonly kind: "record" | "find" }>;

/** The queue runs the rest. If the message is lost, the minute's run of the job finds the cascades. */
const handOn = ({ env }: Deps, message: Order): Promise<unknown> => env.JOB_QUEUE.send({ ...message, apart: true });

/** Runs some slices of a cascade; `more` when others are left; `trigger` is the expected one. Returns false when it was over before. */
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
    // A reading for another trigger has moved nothing.
    if (next.moved) slice += 1;
  }
  return "more";
}

/** `left`: the trigger of the next slice, null after the last one. */
type Continued = { readonly moved: boolean; readonly left: CascadeTrigger | null };

const continueCascade = (deps: Deps, subjectId: string, expected: CascadeTrigger): Promise<Continued> =>
  retryConflicts(async () => {
    const { db } = deps;
    const subject = subjectOf(subjectId);
    const { cascade, slice, principal } = await subject.read(deps, subjectId, expected);
    if (!cascade || !slice) return { moved: false, left: null };
    const { trigger } = cascade;
    // The slice was read for another trigger.
    if (trigger !== expected) return { moved: false, left: trigger };
    const now = deps.clock.now();
    const last = isLast(deps, slice);
    await commitAll(deps, [
      ...(principal ? settleReports(db, [{ principal, cascade }], now) : []),
      ...sliceStatements(deps, causeOf(cascade), slice, now),
      // A stretch refuses by itself what began to run after the reading.
      ...(last && !slice.stretch ? [refuseLeft(db, subject.left(subjectId, trigger))] : []),
      ...moveOn(db, principal ? { ...cascade, report: null } : cascade, last, slice),
    ]);
    return { moved: true, left: last ? null : trigger };
  });

/** What becomes of a cascade with its slice, where no other run has written it. */
function moveOn(db: Database, cascade: CascadeRow, last: boolean, { stretch }: Slice): Statement[] {
  if (last) return endCascade(db, cascade);
  return stretch?.upTo ? advanceCascade(db, cascade, stretch.upTo) : [guardCascade(db, cascade)];
}

/** Continues the cascades that a crash interrupted. */
export const finishCascades: EachJob = {
  kind: "each",
  name: JOB,
  part: CASCADES_AT_ONCE,
  find: async ({ db }, after, limit) => {
    const { open } = await readBatch(db, { open: findCascades(db, after ?? FIRST, limit) });
    return open;
  },
  record: (deps, subjectId) => resumeCascade(deps, subjectId, "principal_stops", 1),
};
