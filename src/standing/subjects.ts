// The two subjects of a cascade (PRN-17, ACC-26): a principal with its agents, and an account with the agents and principals of both
// environments. Each says what one slice reads, and whether anything is left. The first slice of many principals reads those of all.

import {
  findAccountAgentsIn,
  findAgentsIn,
  findAgentsOf,
  findTakenAgents,
  someAccountAgentIn,
  someAgentIn,
  someTakenAgent,
} from "../agents/slice-store.ts";
import { agentMachine } from "../agents/states.ts";
import type { Due } from "../core/due.ts";
import { statesMovedBy } from "../core/machine.ts";
import type { AccountStop, AgentStatus, CascadeTrigger } from "../core/vocabulary.ts";
import { type Condition, type Database, present, type ReadResults, readBatch } from "../db/batch.ts";
import { findClockOffset } from "../db/clock.ts";
import type { CascadeRow, PrincipalRow } from "../db/tables/principals.ts";
import type { Tenant } from "../db/tenant.ts";
import { findPrincipalsIn, somePrincipalIn } from "../principals/group-store.ts";
import { principalMachine } from "../principals/states.ts";
import { findPrincipalById } from "../principals/store.ts";
import { SLICE, type Slice } from "./slice.ts";
import { findCascade, type Place, positionOf, type SubjectId } from "./store.ts";

/** A subject's cascade as it is stored, and its next slice for an expected trigger; null where the subject is gone. */
type Continuable = {
  readonly cascade: CascadeRow | null;
  readonly slice: Slice | null;
  /** The subject, where it is one. */
  readonly principal: PrincipalRow | null;
};

type Subject = {
  readonly read: (db: Database, subjectId: string, trigger: CascadeTrigger) => Promise<Continuable>;
  /** Something is left where one of these holds, at its place in a batch. */
  readonly left: (subjectId: SubjectId, trigger: CascadeTrigger) => readonly Condition[];
};

export const subjectOf = (subjectId: string): Subject => (subjectId.startsWith("plt_") ? ACCOUNT : PRINCIPAL);

// ---- A principal ---------------------------------------------------------------------------------------------------------

const movedBy = (trigger: CascadeTrigger): AgentStatus[] => statesMovedBy(agentMachine, trigger);

/** The reads of a slice, beside those of what stands above. `after`: where its cascade goes on. */
export const stopReads = (db: Database, principalId: string, trigger: CascadeTrigger, after?: Place) =>
  findAgentsIn(db, principalId, movedBy(trigger), SLICE, after);

/** The same of several principals, which a query of the same trip names. */
export const stopReadsOf = (db: Database, principalIds: Condition, trigger: CascadeTrigger) =>
  findAgentsOf(db, principalIds, movedBy(trigger), SLICE);

export type FoundOfPrincipals = ReadResults<ReturnType<typeof stopReads>>;

/** `after`: the position of a single principal's slice, null for a slice of many. */
export function sliceOfPrincipals(
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
  const stretch = after && only ? { principalId: only.principalId, after, upTo: endOf(found) } : null;
  return { agents, stretch, principals: [], ahead: 0 };
}

/** The position of the last agent of a slice; null when none is left behind it. */
function endOf(agents: FoundOfPrincipals["agents"]): Due | null {
  const last = agents.length < SLICE ? undefined : agents.at(-1);
  return last ? { at: last.agent.createdAt, id: last.agent.did } : null;
}

export const PRINCIPAL: Subject = {
  read: async (db, principalId, trigger) => {
    const { cascade, owner, ...found } = await readBatch(db, {
      cascade: findCascade(db, principalId),
      owner: findPrincipalById(db, principalId),
      ...stopReads(db, principalId, trigger, positionOf(principalId)),
    });
    const after = cascade && { at: cascade.afterAt, id: cascade.afterDid };
    return { cascade, slice: owner && sliceOfPrincipals([owner], found, after), principal: owner };
  },
  left: (principalId, trigger) => [someAgentIn(principalId, movedBy(trigger))],
};

// ---- An account ----------------------------------------------------------------------------------------------------------

/** What a cascade of an account leaves on its principals from the first commit on. */
export const STOPPED_BY: Readonly<Record<CascadeTrigger, AccountStop | null>> = {
  principal_stops: "SUSPENDED",
  principal_closes: "CLOSED",
  account_returns: null,
  principal_returns: null,
};

const ENDED = statesMovedBy(principalMachine, "close");

/** The reads of a slice, beside those of the account. */
export const accountReads = (db: Database, platformId: Tenant["platformId"], trigger: CascadeTrigger) => ({
  ...(trigger === "account_returns"
    ? findTakenAgents(db, platformId, SLICE)
    : findAccountAgentsIn(db, platformId, movedBy(trigger), SLICE)),
  ...present({
    principals: trigger === "principal_closes" ? findPrincipalsIn(db, platformId, ENDED, SLICE) : null,
  }),
});

/** `ahead`: by how many milliseconds the sandbox's clock is ahead of real time. */
export type FoundOfAccount = ReadResults<ReturnType<typeof accountReads>> & { readonly ahead: number };

/** The standing of the principals is the one that the first commit gives them. */
export function sliceOfAccount(trigger: CascadeTrigger, found: FoundOfAccount): Slice {
  const accountStopped = STOPPED_BY[trigger];
  const { agents, principals = [], ahead } = found;
  return {
    agents: agents.map((one) => ({ ...one, principal: { ...one.principal, accountStopped } })),
    stretch: null,
    principals: principals.map(({ principal, cascade }) => ({ principal: { ...principal, accountStopped }, cascade })),
    ahead,
  };
}

const leftOfAccount = (platformId: SubjectId, trigger: CascadeTrigger): readonly Condition[] => {
  if (trigger === "account_returns") return [someTakenAgent(platformId)];
  const agents = someAccountAgentIn(platformId, movedBy(trigger));
  return trigger === "principal_closes" ? [agents, somePrincipalIn(platformId, ENDED)] : [agents];
};

export const ACCOUNT: Subject = {
  read: async (db, platformId, trigger) => {
    const { cascade, ...found } = await readBatch(db, {
      cascade: findCascade(db, platformId),
      ...accountReads(db, platformId, trigger),
      ahead: findClockOffset(db, platformId),
    });
    return { cascade, slice: sliceOfAccount(trigger, found), principal: null };
  },
  left: leftOfAccount,
};
