// One slice of a cascade (PRN-17): the statements for each agent, and for each principal of a closed account. Each gets its row, a log entry,
// an event, and an agent its values in status lists and its directory record.

import { type AgentTrigger, agentMachine } from "../agents/states.ts";
import { reportOf } from "../agents/status.ts";
import { moveAgents, passOnAgents, whileGivenBack } from "../agents/store.ts";
import { toAgentView } from "../agents/views.ts";
import type { Deps } from "../context.ts";
import { type Move, move } from "../core/machine.ts";
import type { Actor, AgentStatus, Environment } from "../core/vocabulary.ts";
import type { Database, Statement } from "../db/batch.ts";
import type { AgentRow, MarketRow } from "../db/tables/agents.ts";
import type { EscrowRow } from "../db/tables/money.ts";
import type { CascadeRow, PrincipalRow } from "../db/tables/principals.ts";
import { listCertificates } from "../identity/certificate-store.ts";
import type { AgentWithPrincipal } from "../identity/store.ts";
import { recordActivities } from "../journal/activity.ts";
import { recordEvents } from "../journal/events.ts";
import { recordDirectoryChanges } from "../journal/feed.ts";
import { effectivePrincipalStatus, stopReasonOf } from "../principals/standing.ts";
import { principalMachine } from "../principals/states.ts";
import { movePrincipals } from "../principals/store.ts";
import { ACCOUNT_REASONS, toPrincipalView } from "../principals/views.ts";

/** How many agents move in one batch: each one's event holds the whole agent, and a value of D1 is at most 2 MB. */
export const SLICE = 200;

/** `trigger` moves the agents by their machine; the reason is kept by those that it suspends. */
export type Cause = Pick<CascadeRow, "trigger" | "reason"> & { readonly actor: Actor };

/** The agents and principals that are left, as far as one slice reads them. */
export type Slice = {
  readonly agents: readonly AgentWithPrincipal[];
  readonly markets: readonly MarketRow[];
  readonly escrows: readonly EscrowRow[];
  /** Principals that end with their account. */
  readonly principals: readonly PrincipalRow[];
  /** By how many milliseconds the sandbox's clock is ahead of real time (ACC-9). */
  readonly ahead: number;
};

/** True when nothing is left for a further slice. */
export const isLast = ({ agents, principals }: Slice): boolean => agents.length < SLICE && principals.length < SLICE;

/** An agent after its move. */
type Moved = { readonly agent: AgentRow; readonly principal: PrincipalRow; readonly move: Move<AgentStatus> };

export function sliceStatements(deps: Deps, cause: Cause, slice: Slice, now: number): Statement[] {
  const { db } = deps;
  const ruling = (environment: Environment) => (environment === "sandbox" ? now + slice.ahead : now);
  const returning = cause.trigger === "account_returns";
  const held = ({ agent, principal }: AgentWithPrincipal): boolean =>
    returning && effectivePrincipalStatus(principal, ruling(agent.environment)) !== "ACTIVE";
  const moved = slice.agents.filter((one) => !held(one)).map((one) => movedBy(cause, one, now));
  return [
    ...[...Map.groupBy(moved, ({ move: { to } }) => to)].flatMap(([to, each]) =>
      moveStatements(db, to, cause, each, now),
    ),
    ...recordEvents(db, now, "agent.status_changed", viewsOf(deps, moved, slice, ruling)),
    ...passOn(db, slice.agents.filter(held), ruling, now),
    // The principals end when their agents have.
    ...(slice.agents.length < SLICE ? closeStatements(db, cause.actor, slice.principals, now) : []),
  ];
}

// ---- Agents --------------------------------------------------------------------------------------------------------------

function movedBy({ trigger, reason }: Cause, { agent, principal }: AgentWithPrincipal, now: number): Moved {
  const moved = move(agentMachine, agent.status, triggerOf(trigger, agent));
  const suspended = moved.to === "SUSPENDED";
  const set = { suspensionReason: suspended ? reason : null, suspendedFrom: suspended ? moved.from : null };
  return { agent: { ...agent, ...set, status: moved.to, statusNote: null, updatedAt: now }, principal, move: moved };
}

/** An agent that was suspended while FUNDING returns to FUNDING (AGT-16). */
const triggerOf = (trigger: Cause["trigger"], { suspendedFrom }: AgentRow): AgentTrigger =>
  trigger === "account_returns" && suspendedFrom === "FUNDING" ? "account_returns_funding" : trigger;

/** The statements of agents that end in one status, except their events. */
function moveStatements(
  db: Database,
  to: AgentStatus,
  { actor, trigger }: Cause,
  moved: readonly Moved[],
  now: number,
): Statement[] {
  const { action, listing } = reportOf(to);
  const also = trigger === "account_returns" ? whileGivenBack(now) : undefined;
  return [
    ...[...Map.groupBy(moved, ({ move: { from } }) => from).values()].flatMap((each) =>
      each[0] ? moveAgents(db, didsOf(each), each[0].move, columnsOf(each[0].agent), also) : [],
    ),
    listCertificates(db, didsOf(moved), to),
    ...recordActivities(
      db,
      now,
      { action, actor, subjectType: "agent" },
      moved.map(({ agent, move: status }) => ({ owner: agent, id: agent.did, changes: { status } })),
    ),
    ...recordDirectoryChanges(
      db,
      listing,
      now,
      // An agent without a certificate is in no directory (DIR-3).
      moved.map(({ agent }) => agent).filter(({ certificateJti }) => certificateJti !== null),
    ),
  ];
}

const didsOf = (each: readonly { readonly agent: AgentRow }[]): string[] => each.map(({ agent }) => agent.did);

const columnsOf = ({ suspensionReason, suspendedFrom, statusNote, updatedAt }: AgentRow) => ({
  suspensionReason,
  suspendedFrom,
  statusNote,
  updatedAt,
});

type Ruling = (environment: Environment) => number;

function viewsOf({ config }: Deps, moved: readonly Moved[], slice: Slice, ruling: Ruling) {
  const [markets, escrows] = [byAgent(slice.markets), byAgent(slice.escrows)];
  return moved.map(({ agent, principal }) => {
    const own = { markets: markets.get(keyOf(agent)) ?? [], escrows: escrows.get(keyOf(agent)) ?? [] };
    return { owner: agent, object: toAgentView(config, { agent, principal, ...own }, ruling(agent.environment)) };
  });
}

type Owned = { readonly did: string; readonly environment: Environment };
const keyOf = ({ did, environment }: Owned): string => `${environment} ${did}`;
const byAgent = <T extends Owned>(rows: readonly T[]): Map<string, T[]> => Map.groupBy(rows, keyOf);

/** An agent whose principal was stopped meanwhile stays SUSPENDED, by what stops it now: its state does not change, so nothing reports it. */
function passOn(db: Database, held: readonly AgentWithPrincipal[], ruling: Ruling, now: number): Statement[] {
  const reasonOf = ({ agent, principal }: AgentWithPrincipal) => stopReasonOf(principal, ruling(agent.environment));
  return [...Map.groupBy(held, reasonOf)].flatMap(([suspensionReason, each]) =>
    passOnAgents(db, didsOf(each), { suspensionReason, updatedAt: now }),
  );
}

// ---- Principals ----------------------------------------------------------------------------------------------------------

function closeStatements(db: Database, actor: Actor, principals: readonly PrincipalRow[], now: number): Statement[] {
  if (principals.length === 0) return [];
  const closed = principals.map((before) => {
    const moved = move(principalMachine, before.status, "close");
    const after = { ...before, status: moved.to, statusReason: ACCOUNT_REASONS.CLOSED, updatedAt: now };
    return { after, move: moved };
  });
  const set = { statusReason: ACCOUNT_REASONS.CLOSED, updatedAt: now };
  return [
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
      closed.map(({ after }) => ({ owner: after, object: toPrincipalView(after, now) })),
    ),
  ];
}
