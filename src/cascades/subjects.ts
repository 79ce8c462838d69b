// The two subjects of a cascade (PRN-17, ACC-26): a principal with its agents, and an account with the agents and principals of both environments. A
// subject reads one slice, and tells whether anything is left. The first slice of many principals reads the agents of all of them.
import {
  findAccountAgentsIn,
  findAgentsIn,
  findAgentsOf,
  findAgentsSuspendedWithAccount,
  hasAccountAgentIn,
  hasAgentIn,
  hasAgentSuspendedWithAccount,
} from "../agents/slice-store.ts";
import { agentMachine } from "../agents/states.ts";
import type { Deps } from "../context.ts";
import type { Due } from "../core/clock.ts";
import { listStatesMovedBy } from "../core/machine.ts";
import type { AccountStop, AgentStatus, CascadeTrigger } from "../core/vocabulary.ts";
import { type Condition, dropAbsentReads, type ReadResults, readBatch } from "../db/batch.ts";
import { findClockOffset } from "../db/clock.ts";
import type { Tenant } from "../db/statement.ts";
import type { PrincipalRow } from "../db/tables/principals.ts";
import type { CascadeRow } from "../db/tables/walks.ts";
import { findWalk, selectAgentPosition } from "../jobs/walk-store.ts";
import { findPrincipalsIn, hasPrincipalIn } from "../principals/group-store.ts";
import { principalMachine } from "../principals/states.ts";
import { findPrincipalById } from "../principals/store.ts";
import { chooseSliceSize, computeSliceEnd, type Slice } from "./slice.ts";
import type { SubjectId } from "./store.ts";

/** A subject's stored cascade, and its next slice for an expected trigger; the slice is null if the subject is gone. */
export type Continuable = {
  readonly walk: CascadeRow | null;
  readonly slice: Slice | null;
  readonly principal: PrincipalRow | null;
};

type Subject = {
  readonly read: (deps: Deps, subjectId: string, trigger: CascadeTrigger) => Promise<Continuable>;
  /** Conditions at a place in a batch: something is left if one of them holds. */
  readonly left: (subjectId: SubjectId, trigger: CascadeTrigger) => readonly Condition[];
};

export const chooseSubject = (subjectId: string): Subject => (subjectId.startsWith("plt_") ? ACCOUNT : PRINCIPAL);

// ---- A principal ---------------------------------------------------------------------------------------------------------

const listStatesMovedByTrigger = (trigger: CascadeTrigger): AgentStatus[] => listStatesMovedBy(agentMachine, trigger);

/** The reads of a slice, besides the principal. `after`: the position at which its cascade continues. */
export const findAgentsToStop = (deps: Deps, principalId: string, trigger: CascadeTrigger, after?: Condition) =>
  findAgentsIn(deps.db, principalId, listStatesMovedByTrigger(trigger), chooseSliceSize(deps), after);

/** Reads a slice of several principals, which a query of the same trip names. */
export const findAgentsToStopOfPrincipals = (deps: Deps, principalIds: Condition, trigger: CascadeTrigger) =>
  findAgentsOf(deps.db, principalIds, listStatesMovedByTrigger(trigger), chooseSliceSize(deps));

export type FoundOfPrincipals = ReadResults<ReturnType<typeof findAgentsToStop>>;

/** `after`: the position of a single principal's slice; null for a slice of many. */
export function toPrincipalsSlice(
  deps: Deps,
  owners: readonly PrincipalRow[],
  { agents: found }: FoundOfPrincipals,
  after: Due | null,
): Slice {
  const byId = new Map(owners.map((owner) => [owner.principalId, owner]));
  const agents = found.flatMap((one) => {
    const principal = byId.get(one.agent.principalId);
    return principal ? [{ ...one, principal }] : [];
  });
  const [only] = owners;
  const stretch = after && only ? { principalId: only.principalId, after, upTo: computeSliceEnd(deps, found) } : null;
  return { agents, stretch, principals: [], ahead: 0 };
}

export const PRINCIPAL: Subject = {
  read: async (deps, principalId, trigger) => {
    const { db } = deps;
    const { walk, owner, ...found } = await readBatch(db, {
      walk: findWalk(db, "cascade", principalId),
      owner: findPrincipalById(db, principalId),
      ...findAgentsToStop(deps, principalId, trigger, selectAgentPosition("cascade", principalId)),
    });
    const after = walk && { at: walk.afterAt, id: walk.afterId };
    return { walk, slice: owner && toPrincipalsSlice(deps, [owner], found, after), principal: owner };
  },
  left: (principalId, trigger) => [hasAgentIn(principalId, listStatesMovedByTrigger(trigger))],
};

// ---- An account ----------------------------------------------------------------------------------------------------------

/** The account's stop that a cascade sets on its principals in the first commit. */
export const STOPPED_BY: Readonly<Record<CascadeTrigger, AccountStop | null>> = {
  principal_stops: "SUSPENDED",
  principal_closes: "CLOSED",
  account_returns: null,
  principal_returns: null,
};

const ENDED = listStatesMovedBy(principalMachine, "close");

export const buildAccountReads = (deps: Deps, platformId: Tenant["platformId"], trigger: CascadeTrigger) => {
  const { db } = deps;
  const size = chooseSliceSize(deps);
  return {
    ...(trigger === "account_returns"
      ? findAgentsSuspendedWithAccount(db, platformId, size)
      : findAccountAgentsIn(db, platformId, listStatesMovedByTrigger(trigger), size)),
    ...dropAbsentReads({
      principals: trigger === "principal_closes" ? findPrincipalsIn(db, platformId, ENDED, size) : null,
    }),
  };
};

/** `ahead`: how many milliseconds the sandbox's clock is ahead of real time. */
export type FoundOfAccount = ReadResults<ReturnType<typeof buildAccountReads>> & { readonly ahead: number };

/** Shows the principals with the account's stop that the first commit sets. */
export function toAccountSlice(trigger: CascadeTrigger, found: FoundOfAccount): Slice {
  const accountStopped = STOPPED_BY[trigger];
  const { agents, principals = [], ahead } = found;
  return {
    agents: agents.map((one) => ({ ...one, principal: { ...one.principal, accountStopped } })),
    stretch: null,
    principals: principals.map(({ principal, cascade }) => ({ principal: { ...principal, accountStopped }, cascade })),
    ahead,
  };
}

const isLeftOfAccount = (platformId: SubjectId, trigger: CascadeTrigger): readonly Condition[] => {
  if (trigger === "account_returns") return [hasAgentSuspendedWithAccount(platformId)];
  const agents = hasAccountAgentIn(platformId, listStatesMovedByTrigger(trigger));
  return trigger === "principal_closes" ? [agents, hasPrincipalIn(platformId, ENDED)] : [agents];
};

export const ACCOUNT: Subject = {
  read: async (deps, platformId, trigger) => {
    const { db } = deps;
    const { walk, ...found } = await readBatch(db, {
      walk: findWalk(db, "cascade", platformId),
      ...buildAccountReads(deps, platformId, trigger),
      ahead: findClockOffset(db, platformId),
    });
    return { walk, slice: toAccountSlice(trigger, found), principal: null };
  },
  left: isLeftOfAccount,
};
