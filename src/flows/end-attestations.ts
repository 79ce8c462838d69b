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
import { move } from "../core/machine.ts";
import { Conflict, commit, readBatch, type Statement } from "../db/batch.ts";
import { toPrincipalView } from "../principals/service.ts";
import { type PrincipalStatus, principalMachine } from "../principals/states.ts";
import { findEndedAttestations, movePrincipal, type PrincipalRow } from "../principals/store.ts";

const ACTOR: Actor = { type: "system", id: "attestation_expiry" };

/** The cron's. Returns how many principals. */
export async function recordEndedAttestations(deps: Deps, slice: number): Promise<number> {
  const now = deps.clock.now();
  const { ended } = await readBatch(deps.db, { ended: findEndedAttestations(deps.db, now, slice) });
  let recorded = 0;
  for (const principal of ended) {
    try {
      await commit(deps.db, await stopPrincipal(deps, principal, now));
      recorded += 1;
    } catch (thrown) {
      // A new attestation, or an agent that changed meanwhile: what is still due is due again in a minute.
      if (!(thrown instanceof Conflict)) throw thrown;
    }
  }
  return recorded;
}

async function stopPrincipal(deps: Deps, before: PrincipalRow, now: number): Promise<Statement[]> {
  const { db, config } = deps;
  const running = await readBatch(db, findRunningAgents(db, before.principalId));
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
    ...movePrincipal(db, before, ended, set),
    ...suspendAgents(db, running.agents, { suspensionReason: "attestation", updatedAt: now }),
    recordActivity(db, before, now, {
      action: "principal.attestation_expired",
      actor: ACTOR,
      subject: { type: "principal", id: before.principalId },
      changes: { status: { from: ended.from, to: ended.to } },
    }),
    recordEvent(db, before, now, { type: "principal.status_changed", object: toPrincipalView(principal, now) }),
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

type Owned = { readonly did: string; readonly environment: string };
const keyOf = ({ did, environment }: Owned): string => `${environment} ${did}`;
const byAgent = <T extends Owned>(rows: readonly T[]): Map<string, T[]> => Map.groupBy(rows, keyOf);
