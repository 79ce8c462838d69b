// Cascades (PRN-16, PRN-17, PRN-24, ACC-26). One guarded batch first changes the account, customer or principal above: from that commit every agent
// is suspended or revoked by its effective status, and none can become active. The agents' own rows and records follow in slices, the first in the
// same batch; any later run continues. Each agent is reported once, even after a crash, and so is each principal that changed with others.
import type { Deps } from "../context.ts";
import { BEFORE_FIRST_DUE } from "../core/clock.ts";
import type { CascadeTrigger } from "../core/vocabulary.ts";
import type { Database, Statement } from "../db/batch.ts";
import type { PrincipalRow } from "../db/tables/principals.ts";
import type { CascadeRow } from "../db/tables/walks.ts";
import { buildWalkJob, queueWalks, runOrQueueWalk, type WalkDefinition } from "../jobs/walk.ts";
import { setAccountStopped } from "../principals/store.ts";
import { settleReports } from "./reports.ts";
import { type Cause, isLastSlice, moveSlice, type Slice } from "./slice.ts";
import { type BegunCascade, beginCascade, beginCascades, refuseLeft } from "./store.ts";
import {
  ACCOUNT,
  type Continuable,
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

export type Cascading = {
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
          beginCascades(deps.db, ids, { ...cause, startedAt: now }, (id) => PRINCIPAL.left(id, trigger))
        : beginCascadeAfter(deps.db, only, { ...cause, startedAt: now }, slice)),
    ],
    rest: async (slices) => {
      if (only !== undefined) await runRest(deps, only, trigger, last, slices);
      else if (more || !last) await queueWalks(deps, anyCascade, now);
    },
  };
}

export type AccountMoved = {
  readonly platformId: string;
  readonly statements: readonly Statement[];
  /** True if the first agents follow by the cascade too, because callers that keep changing them would delay the act. */
  readonly contended: boolean;
};

/** Changes all agents of an account and, at its closing, its principals, which one more statement marks in the same commit. */
export function cascadeAccount(
  deps: Deps,
  { platformId, statements, contended }: AccountMoved,
  cause: Cause,
  found: FoundOfAccount,
  now: number,
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
      ...beginCascades(db, [platformId], { ...cause, startedAt: now }, (id) => ACCOUNT.left(id, trigger)),
    ],
    rest: (slices) => runRest(deps, platformId, trigger, !contended && isLastSlice(deps, slice), slices),
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

const toCause = ({ trigger, payload }: CascadeRow): Cause => ({ trigger, ...payload });

async function runRest(
  deps: Deps,
  subjectId: string,
  trigger: CascadeTrigger,
  last: boolean,
  slices = SLICES - 1,
): Promise<void> {
  if (!last) await runOrQueueWalk(deps, defineCascade(trigger, slices), subjectId);
}

/** Reads the next slice. `expected`: the trigger that the cascade probably has; for another one the slice is read again. */
async function readCascade(deps: Deps, subjectId: string, expected: CascadeTrigger): Promise<Continuable> {
  const found = await chooseSubject(subjectId).read(deps, subjectId, expected);
  const { walk } = found;
  return walk && walk.trigger !== expected ? readCascade(deps, subjectId, walk.trigger) : found;
}

const defineCascade = (expected: CascadeTrigger, slices: number): WalkDefinition<"cascade", Continuable> => ({
  kind: "cascade",
  job: "finish_cascades",
  slices,
  readSlice: (deps, subjectId) => readCascade(deps, subjectId, expected),
  buildSlice: (deps, cascade, { slice, principal }) => {
    if (!slice) return null;
    const { db, clock } = deps;
    const { subject, trigger, afterAt, afterId } = cascade;
    const now = clock.now();
    const last = isLastSlice(deps, slice);
    return {
      statements: [
        ...(principal ? settleReports(db, [{ principal, cascade }], now) : []),
        ...moveSlice(deps, toCause(cascade), slice, now),
        // A stretch aborts the batch itself if an agent became active after the reading.
        ...(last && !slice.stretch ? [refuseLeft(db, chooseSubject(subject).left(subject, trigger))] : []),
      ],
      next: last ? null : (slice.stretch?.upTo ?? { at: afterAt, id: afterId }),
    };
  },
});

const anyCascade = defineCascade("principal_stops", 1);

export const finishCascades = buildWalkJob(anyCascade, CASCADES_AT_ONCE);
