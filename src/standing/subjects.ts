// The two subjects of a cascade (PRN-17, ACC-26): a principal with its agents, and an account with the agents and principals of both
// environments. Each says what one slice reads, and whether anything is left.
import {
  findAccountAgentsIn,
  findAgentsIn,
  findTakenAgents,
  someAccountAgentIn,
  someAgentIn,
  someTakenAgent,
} from "../agents/slice-store.ts";
import { agentMachine } from "../agents/states.ts";
import { statesMovedBy } from "../core/machine.ts";
import type { AccountStop, AgentStatus, CascadeTrigger } from "../core/vocabulary.ts";
import { type Condition, type Database, present, type ReadResults, readBatch } from "../db/batch.ts";
import { findClockOffset } from "../db/clock.ts";
import type { CascadeRow, PrincipalRow } from "../db/tables/principals.ts";
import type { Tenant } from "../db/tenant.ts";
import { principalMachine } from "../principals/states.ts";
import { findPrincipalById, findPrincipalsIn, somePrincipalIn } from "../principals/store.ts";
import { SLICE, type Slice } from "./slice.ts";
import { findCascade } from "./store.ts";

/** A subject's cascade as it is stored, and its next slice for an expected trigger; null where the subject is gone. */
type Continuable = { readonly cascade: CascadeRow | null; readonly slice: Slice | null };

type Subject = {
  readonly read: (db: Database, subjectId: string, trigger: CascadeTrigger) => Promise<Continuable>;
  /** Something is left where one of these holds, at its place in a batch. */
  readonly left: (subjectId: string, trigger: CascadeTrigger) => readonly Condition[];
};

export const subjectOf = (subjectId: string): Subject => (subjectId.startsWith("plt_") ? account : principal);

// ---- A principal ---------------------------------------------------------------------------------------------------------

const movedBy = (trigger: CascadeTrigger): AgentStatus[] => statesMovedBy(agentMachine, trigger);

/** The reads of a slice, beside those of what stands above. */
export const stopReads = (db: Database, principalId: string, trigger: CascadeTrigger) =>
  findAgentsIn(db, principalId, movedBy(trigger), SLICE);

export type FoundOfPrincipal = ReadResults<ReturnType<typeof stopReads>>;

export const sliceOfPrincipal = (owner: PrincipalRow, { agents, markets, escrows }: FoundOfPrincipal): Slice => ({
  agents: agents.map((agent) => ({ agent, principal: owner })),
  markets,
  escrows,
  principals: [],
  ahead: 0,
});

const principal: Subject = {
  read: async (db, principalId, trigger) => {
    const { cascade, owner, ...found } = await readBatch(db, {
      cascade: findCascade(db, principalId),
      owner: findPrincipalById(db, principalId),
      ...stopReads(db, principalId, trigger),
    });
    return { cascade, slice: owner && sliceOfPrincipal(owner, found) };
  },
  left: (principalId, trigger) => [someAgentIn(principalId, movedBy(trigger))],
};

// ---- An account ----------------------------------------------------------------------------------------------------------

/** What a cascade of an account leaves on its principals from the first commit on. */
export const STOPPED_BY: Readonly<Record<CascadeTrigger, AccountStop | null>> = {
  principal_stops: "SUSPENDED",
  principal_closes: "CLOSED",
  account_returns: null,
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
  ahead: findClockOffset(db, platformId),
});

export type FoundOfAccount = ReadResults<ReturnType<typeof accountReads>>;

/** The standing of the principals is the one that the first commit gives them. */
export function sliceOfAccount(trigger: CascadeTrigger, found: FoundOfAccount): Slice {
  const accountStopped = STOPPED_BY[trigger];
  const { agents, markets, escrows, principals = [], ahead } = found;
  return {
    agents: agents.map(({ agent, principal: owner }) => ({ agent, principal: { ...owner, accountStopped } })),
    markets,
    escrows,
    principals: principals.map((owner) => ({ ...owner, accountStopped })),
    ahead,
  };
}

const leftOfAccount = (platformId: string, trigger: CascadeTrigger): readonly Condition[] => {
  if (trigger === "account_returns") return [someTakenAgent(platformId)];
  const agents = someAccountAgentIn(platformId, movedBy(trigger));
  return trigger === "principal_closes" ? [agents, somePrincipalIn(platformId, ENDED)] : [agents];
};

const account: Subject = {
  read: async (db, platformId, trigger) => {
    const { cascade, ...found } = await readBatch(db, {
      cascade: findCascade(db, platformId),
      ...accountReads(db, platformId, trigger),
    });
    return { cascade, slice: sliceOfAccount(trigger, found) };
  },
  left: leftOfAccount,
};
