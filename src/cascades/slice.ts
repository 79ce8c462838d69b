// Builds the statements of one slice of a cascade (PRN-17), for its agents and for the principals of a closed account. Each gets its row, a log entry
// and an event; an agent also gets its values in status lists and its directory record.
import { mayReactivateWithAccount } from "../agents/find-store.ts";
import { toAgentView } from "../agents/read.ts";
import { type AgentTrigger, agentMachine } from "../agents/states.ts";
import { toStatusRecords } from "../agents/status.ts";
import { moveAgents, replaceSuspensionReason, type Stretch } from "../agents/store.ts";
import type { Deps } from "../context.ts";
import type { Due } from "../core/clock.ts";
import { listStatesMovedBy, type Move, move } from "../core/machine.ts";
import type { Actor, AgentStatus, Environment } from "../core/vocabulary.ts";
import type { Database, Statement } from "../db/batch.ts";
import type { AgentRow, MarketRow } from "../db/tables/agents.ts";
import type { EscrowRow } from "../db/tables/money.ts";
import type { CascadeRow } from "../db/tables/walks.ts";
import { listCertificates } from "../identity/certificate-store.ts";
import type { AgentWithPrincipal } from "../identity/store.ts";
import { SLICE } from "../jobs/walk.ts";
import { recordActivities } from "../journal/activity.ts";
import { LAST_NUMBERS, recordLastNumbers } from "../journal/directory-store.ts";
import { recordEvents } from "../journal/events.ts";
import { recordDirectoryChanges } from "../journal/feed.ts";
import { toEffectivePrincipalStatus, toStopReason } from "../principals/effective-status.ts";
import type { WithReports } from "../principals/group-store.ts";
import { ACCOUNT_REASONS, toPrincipalView } from "../principals/read.ts";
import { principalMachine } from "../principals/states.ts";
import { movePrincipals } from "../principals/store.ts";
import { settleReports } from "./reports.ts";

export const chooseSliceSize = ({ slices }: Deps): number => slices?.agents ?? SLICE;

/** The position of the last agent of a slice; null if no agent is left after it. */
export function computeSliceEnd(deps: Deps, agents: readonly { readonly agent: AgentRow }[]): Due | null {
  const last = agents.length < chooseSliceSize(deps) ? undefined : agents.at(-1);
  return last ? { at: last.agent.createdAt, id: last.agent.did } : null;
}

/** `trigger`: of the agents' state machine. `reason`: kept by the agents that it suspends. */
export type Cause = Pick<CascadeRow, "trigger"> & CascadeRow["payload"];

export type OwningAgent = AgentWithPrincipal & {
  readonly markets: readonly MarketRow[];
  readonly escrows: readonly EscrowRow[];
};

/** The agents and principals that are left, as far as one slice reads them. */
export type Slice = {
  readonly agents: readonly OwningAgent[];
  /** The range that the slice covers, if all agents belong to one principal: in its order, no slice reads finished agents again. */
  readonly stretch: Stretch | null;
  readonly principals: readonly WithReports[];
  /** How many milliseconds the sandbox's clock is ahead of real time (ACC-9). */
  readonly ahead: number;
};

export const isLastSlice = (deps: Deps, { agents, principals }: Slice): boolean =>
  agents.length < chooseSliceSize(deps) && principals.length < chooseSliceSize(deps);

type Moved = { readonly before: OwningAgent; readonly agent: AgentRow; readonly move: Move<AgentStatus> };
/** Agents that get one status. */
type MovedGroup = readonly [to: AgentStatus, moved: readonly Moved[]];

export function moveSlice(deps: Deps, cause: Cause, slice: Slice, now: number): Statement[] {
  const { db } = deps;
  const ruling = (environment: Environment) => (environment === "sandbox" ? now + slice.ahead : now);
  const returning = cause.trigger === "account_returns";
  const held = ({ agent, principal }: OwningAgent): boolean =>
    returning && toEffectivePrincipalStatus(principal, ruling(agent.environment)) !== "ACTIVE";
  const moved = slice.agents.filter((one) => !held(one)).map((one) => moveAgent(cause, one, now));
  const groups = Map.groupBy(moved, ({ move: { to } }) => to);
  return [
    // Also if no agent is left, so that an agent that became active after the reading aborts the batch.
    ...(slice.stretch ? moveStretch(db, cause, slice.stretch, moved, now) : []),
    ...[...groups].flatMap((group) => [
      ...(slice.stretch ? [] : moveNamedAgents(db, group, cause, now)),
      ...recordMovedAgents(db, group, cause, now, slice.stretch ? noteLastNumbers(db, group) : UNNOTED),
    ]),
    ...recordEvents(db, now, "agent.status_changed", toMovedViews(deps, moved, ruling)),
    ...changeReasons(db, slice.agents.filter(held), ruling, now),
    // The principals close after their agents.
    ...(slice.agents.length < chooseSliceSize(deps) ? closePrincipals(db, cause.actor, slice.principals, now) : []),
  ];
}

// ---- Agents --------------------------------------------------------------------------------------------------------------

function moveAgent(cause: Cause, before: OwningAgent, now: number): Moved {
  const { agent } = before;
  const moved = move(agentMachine, agent.status, chooseReturnTrigger(cause.trigger, agent));
  const suspendedFrom = moved.to === "SUSPENDED" ? moved.from : null;
  const { suspensionReason, updatedAt } = toMovedColumns(moved.to, cause, now);
  const set = { suspensionReason, suspendedFrom, statusNote: null, updatedAt: Math.max(agent.updatedAt, updatedAt) };
  return { before, agent: { ...agent, ...set, status: moved.to }, move: moved };
}

const toMovedColumns = (to: AgentStatus, { reason }: Cause, now: number) => ({
  suspensionReason: to === "SUSPENDED" ? reason : null,
  updatedAt: now,
});

/** An agent that was suspended while FUNDING returns to FUNDING (AGT-16). */
const chooseReturnTrigger = (trigger: Cause["trigger"], { suspendedFrom }: AgentRow): AgentTrigger =>
  trigger === "account_returns" && suspendedFrom === "FUNDING" ? "account_returns_funding" : trigger;

function moveStretch(db: Database, cause: Cause, stretch: Stretch, moved: readonly Moved[], now: number): Statement[] {
  const { trigger } = cause;
  const from = listStatesMovedBy(agentMachine, trigger);
  const [first] = from;
  if (!first) return [];
  const { to } = move(agentMachine, first, trigger);
  return moveAgents(db, moved.map(pickRowAsRead), stretch, { from, to, set: toMovedColumns(to, cause, now) });
}

const pickRowAsRead = ({ before }: Moved): AgentRow => before.agent;

function moveNamedAgents(db: Database, [to, moved]: MovedGroup, cause: Cause, now: number): Statement[] {
  const from = [...new Set(moved.map(({ move: status }) => status.from))];
  const also = cause.trigger === "account_returns" ? mayReactivateWithAccount(now) : undefined;
  return moveAgents(db, moved.map(pickRowAsRead), null, { from, to, set: toMovedColumns(to, cause, now), also });
}

/** The statement that notes the last sequence numbers, and the references to them. */
type Note = { readonly statements: readonly Statement[]; readonly noted?: typeof LAST_NUMBERS };
const UNNOTED: Note = { statements: [] };

/** With fewer agents of one platform, the note costs more than it saves. */
const NOTED_FROM = 3;
function noteLastNumbers(db: Database, [, moved]: MovedGroup): Note {
  const [first] = moved;
  if (!first || moved.length < NOTED_FROM) return UNNOTED;
  const environments = new Set(moved.map(({ agent }) => agent.environment));
  return { statements: [recordLastNumbers(db, first.agent.platformId, environments)], noted: LAST_NUMBERS };
}

/** Builds the statements for agents, except those of their rows and events. */
function recordMovedAgents(
  db: Database,
  [to, moved]: MovedGroup,
  { actor }: Cause,
  now: number,
  { statements, noted }: Note,
): Statement[] {
  const { action, listing } = toStatusRecords(to);
  return [
    ...statements,
    ...moved.flatMap(({ agent }) => listCertificates(db, agent, to)),
    ...recordActivities(
      db,
      now,
      { action, actor, subjectType: "agent" },
      moved.map(({ agent, move: status }) => ({ owner: agent, id: agent.did, changes: { status } })),
      noted?.activity,
    ),
    ...recordDirectoryChanges(
      db,
      listing,
      to,
      // An agent without a certificate is not in the directory (DIR-3).
      moved.map(({ agent }) => agent).filter(({ certificateJti }) => certificateJti !== null),
      noted?.directory,
    ),
  ];
}

type Ruling = (environment: Environment) => number;

const toMovedViews = ({ config }: Deps, moved: readonly Moved[], ruling: Ruling) =>
  moved.map(({ before, agent, move: { from } }) => ({
    owner: agent,
    object: toAgentView(config, { ...before, agent }, ruling(agent.environment)),
    previous: { status: from },
  }));

/**
 * An agent whose principal was stopped for another reason meanwhile stays SUSPENDED for that reason. Its status does not change, so nothing reports
 * it.
 */
function changeReasons(db: Database, held: readonly OwningAgent[], ruling: Ruling, now: number): Statement[] {
  const reasonOf = ({ agent, principal }: OwningAgent) => toStopReason(principal, ruling(agent.environment));
  return [...Map.groupBy(held, reasonOf)].flatMap(([suspensionReason, each]) =>
    replaceSuspensionReason(
      db,
      each.map(({ agent }) => agent),
      { suspensionReason, updatedAt: now },
    ),
  );
}

// ---- Principals ----------------------------------------------------------------------------------------------------------

function closePrincipals(db: Database, actor: Actor, principals: readonly WithReports[], now: number): Statement[] {
  if (principals.length === 0) return [];
  const closed = principals.map(({ principal: before }) => {
    const moved = move(principalMachine, before.status, "close");
    const after = { ...before, status: moved.to, closed: true, statusReason: ACCOUNT_REASONS.CLOSED, updatedAt: now };
    return { after, move: moved };
  });
  const set = { statusReason: ACCOUNT_REASONS.CLOSED, updatedAt: now };
  return [
    ...settleReports(db, principals, now),
    ...[...Map.groupBy(closed, ({ move: { from } }) => from).values()].flatMap((each) =>
      each[0]
        ? movePrincipals(
            db,
            each.map(({ after }) => after.principalId),
            each[0].move,
            set,
          )
        : [],
    ),
    ...recordActivities(
      db,
      now,
      { action: "principal.closed", actor, subjectType: "principal" },
      closed.map(({ after, move: status }) => ({ owner: after, id: after.principalId, changes: { status } })),
    ),
    ...recordEvents(
      db,
      now,
      "principal.status_changed",
      closed.map(({ after, move: { from } }) => ({
        owner: after,
        object: toPrincipalView(after, now),
        previous: { status: from },
      })),
    ),
  ];
}
