// Specification 3.2: an attestation ends at its instant, with no grace; every reading computes that. This records it: the
// principal ATTESTATION_EXPIRED and every agent of it that ran SUSPENDED, with what tells of it, together or not at all.
import {
  recordActivities,
  recordActivity,
  recordDirectoryChanges,
  recordEvent,
  recordEvents,
} from "../activity/store.ts";
import { type AgentStatus, agentMachine } from "../agents/states.ts";
import { type AgentRow, findRunningAgents, suspendAgents } from "../agents/store.ts";
import { toAgentView } from "../agents/views.ts";
import type { Actor } from "../call.ts";
import type { Deps } from "../context.ts";
import { type Move, move } from "../core/machine.ts";
import { commit, type Database, type ReadResults, readBatch, type Statement } from "../db/batch.ts";
import { toPrincipalView } from "../principals/service.ts";
import { type PrincipalStatus, principalMachine } from "../principals/states.ts";
import { findEndedAttestations, movePrincipal, type PrincipalRow } from "../principals/store.ts";
import { sweepEach } from "./sweep.ts";

const ACTOR: Actor = { type: "system", id: "attestation_expiry" };

/** So many agents at most stop in one transaction with their principal; a principal of more stops slice by slice. */
const AGENTS_AT_ONCE = 1_000;

/** The cron's. Returns how many principals. */
export async function recordEndedAttestations(deps: Deps, slice: number): Promise<number> {
  const now = deps.clock.now();
  const { ended } = await readBatch(deps.db, { ended: findEndedAttestations(deps.db, now, slice) });
  return sweepEach(ended, async (principal) => {
    for (;;) {
      const running = await readBatch(deps.db, findRunningAgents(deps.db, principal.principalId, AGENTS_AT_ONCE));
      await commit(deps.db, stopPrincipal(deps, principal, running, now));
      if (running.agents.length < AGENTS_AT_ONCE) return true;
    }
  });
}

type Running = ReadResults<ReturnType<typeof findRunningAgents>>;

function stopPrincipal(deps: Deps, before: PrincipalRow, running: Running, now: number): Statement[] {
  const { db, config } = deps;
  const last = running.agents.length < AGENTS_AT_ONCE;
  const ended = move(principalMachine, before.status as PrincipalStatus, "attestation_ends");
  const set = { statusReason: "attestation_expired", updatedAt: now };
  const principal: PrincipalRow = { ...before, ...set, status: ended.to };
  const stopped = running.agents.map((agent): AgentRow => {
    const { from, to } = move(agentMachine, agent.status as AgentStatus, "principal_stops");
    return {
      ...agent,
      status: to,
      suspensionReason: "attestation",
      suspendedFrom: from,
      statusNote: null,
      updatedAt: now,
    };
  });
  const [markets, escrows] = [byAgent(running.markets), byAgent(running.escrows)];
  const viewOf = (agent: AgentRow) => {
    const own = { markets: markets.get(keyOf(agent)) ?? [], escrows: escrows.get(keyOf(agent)) ?? [] };
    return toAgentView(config, { agent, principal, ...own }, now);
  };
  const statusOf = ({ suspendedFrom, status }: AgentRow) => ({ status: { from: suspendedFrom, to: status } });
  return [
    ...suspendAgents(db, running.agents, last ? before : null, { suspensionReason: "attestation", updatedAt: now }),
    ...(last ? recordPrincipal(db, before, principal, ended, now) : []),
    ...recordActivities(
      db,
      now,
      { action: "agent.suspended", actor: ACTOR, subjectType: "agent" },
      stopped.map((agent) => ({ owner: agent, id: agent.did, changes: statusOf(agent) })),
    ),
    ...recordEvents(
      db,
      now,
      "agent.status_changed",
      stopped.map((agent) => ({ owner: agent, object: viewOf(agent) })),
    ),
    ...recordDirectoryChanges(db, "status_changed", now, stopped),
  ];
}

/** The principal's own part, with the last of its agents. */
const recordPrincipal = (
  db: Database,
  before: PrincipalRow,
  after: PrincipalRow,
  ended: Move<PrincipalStatus>,
  now: number,
): Statement[] => [
  ...movePrincipal(db, before, ended, after),
  recordActivity(db, before, now, {
    action: "principal.attestation_expired",
    actor: ACTOR,
    subject: { type: "principal", id: before.principalId },
    changes: { status: { from: ended.from, to: ended.to } },
  }),
  recordEvent(db, before, now, { type: "principal.status_changed", object: toPrincipalView(after, now) }),
];

type Owned = { readonly did: string; readonly environment: string };
const keyOf = ({ did, environment }: Owned): string => `${environment} ${did}`;
const byAgent = <T extends Owned>(rows: readonly T[]): Map<string, T[]> => Map.groupBy(rows, keyOf);
