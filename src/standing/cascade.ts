// Stops every agent of a principal (PRN-16, PRN-17). The principal moves first, in one guarded batch: from that commit every agent is
// stopped by its effective status, and none begins to run. The agents' own rows and records follow in slices, the first in the same
// batch; any later run continues. Each agent is reported once, also after a crash.
import { agentMachine } from "../agents/states.ts";
import { toAgentView } from "../agents/views.ts";
import { commitAll } from "../commit.ts";
import type { Deps } from "../context.ts";
import { FIRST } from "../core/due.ts";
import { move } from "../core/machine.ts";
import { retryConflicts } from "../core/retry.ts";
import type { Actor, Environment } from "../core/vocabulary.ts";
import { type ReadResults, readBatch, type Statement } from "../db/batch.ts";
import type { AgentRow } from "../db/tables/agents.ts";
import type { CascadeRow, PrincipalRow } from "../db/tables/principals.ts";
import { listCertificates } from "../identity/certificate-store.ts";
import type { EachJob } from "../jobs/job.ts";
import { recordActivities } from "../journal/activity.ts";
import { recordEvents } from "../journal/events.ts";
import { recordDirectoryChanges } from "../journal/feed.ts";
import { findPrincipalById } from "../principals/store.ts";
import {
  beginCascade,
  endCascade,
  findCascade,
  findCascades,
  findRunningAgents,
  refuseRunning,
  suspendAgents,
} from "./store.ts";

/** How many agents stop in one batch: each one's event holds the whole agent, and a value of D1 is at most 2 MB. */
export const SLICE = 200;

type Running = ReadResults<ReturnType<typeof findRunningAgents>>;
/** The reason of the stop, and the actor. */
export type Stop = Pick<CascadeRow, "trigger" | "reason"> & { readonly actor: Actor };

/** True when no agent is left for a further slice. */
export const isLast = ({ agents }: Pick<Running, "agents">): boolean => agents.length < SLICE;

/** The reads of a stop beside the principal itself. */
export const cascadeReads = (deps: Deps, principalId: string) => findRunningAgents(deps.db, principalId, SLICE);

/**
 * The statements of the first slice, for the batch that moves the principal. `principal` is the row after the move. Where more agents run
 * than a slice holds, the cascade is stored, so that a later run continues.
 */
export function startCascade(
  deps: Deps,
  principal: PrincipalRow,
  stop: Stop,
  running: Running,
  now: number,
): Statement[] {
  const { db } = deps;
  const { principalId } = principal;
  const { trigger, reason, actor } = stop;
  const rest = isLast(running)
    ? refuseRunning(db, principalId)
    : beginCascade(db, { principalId, trigger, reason, actorType: actor.type, actorId: actor.id, startedAt: now });
  return [...stopAgents(deps, principal, stop, running, now), rest];
}

const ATTEMPTS = 6;

/** Runs a cascade to its end. Returns false when it was over before. */
export async function resumeCascade(deps: Deps, principalId: string): Promise<boolean> {
  for (let slices = 1; ; slices++) {
    const reached = await retryConflicts(ATTEMPTS, () => stopSlice(deps, principalId));
    if (reached !== "slice") return reached === "end" || slices > 1;
  }
}

type Reached = "slice" | "end" | "nothing";

async function stopSlice(deps: Deps, principalId: string): Promise<Reached> {
  const { db } = deps;
  const { cascade, principal, ...running } = await readBatch(db, {
    cascade: findCascade(db, principalId),
    principal: findPrincipalById(db, principalId),
    ...cascadeReads(deps, principalId),
  });
  if (!cascade || !principal) return "nothing";
  const stop = { ...cascade, actor: { type: cascade.actorType, id: cascade.actorId } };
  await commitAll(deps, [
    ...stopAgents(deps, principal, stop, running, deps.clock.now()),
    ...(isLast(running) ? [refuseRunning(db, principalId), endCascade(db, principalId)] : []),
  ]);
  return isLast(running) ? "end" : "slice";
}

/** Continues the cascades that a crash interrupted. */
export const finishCascades: EachJob = {
  kind: "each",
  name: "finish_cascades",
  find: async ({ db }, after, limit) => {
    const { open } = await readBatch(db, { open: findCascades(db, after ?? FIRST, limit) });
    return open;
  },
  record: resumeCascade,
};

/** The statements for each agent: its row, an activity entry, an event, a directory record. */
function stopAgents(deps: Deps, principal: PrincipalRow, stop: Stop, running: Running, now: number): Statement[] {
  const { db, config } = deps;
  if (running.agents.length === 0) return [];
  const { reason, actor } = stop;
  const stopped = running.agents.map((agent): AgentRow => {
    const { from, to } = move(agentMachine, agent.status, stop.trigger);
    return { ...agent, status: to, suspensionReason: reason, suspendedFrom: from, statusNote: null, updatedAt: now };
  });
  const [markets, escrows] = [byAgent(running.markets), byAgent(running.escrows)];
  const viewOf = (agent: AgentRow) => {
    const own = { markets: markets.get(keyOf(agent)) ?? [], escrows: escrows.get(keyOf(agent)) ?? [] };
    return toAgentView(config, { agent, principal, ...own }, now);
  };
  return [
    ...suspendAgents(db, running.agents, { suspensionReason: reason, updatedAt: now }),
    listCertificates(
      db,
      stopped.map(({ did }) => did),
      "SUSPENDED",
    ),
    ...recordActivities(
      db,
      now,
      { action: "agent.suspended", actor, subjectType: "agent" },
      stopped.map((agent) => ({
        owner: agent,
        id: agent.did,
        changes: { status: { from: agent.suspendedFrom, to: agent.status } },
      })),
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

type Owned = { readonly did: string; readonly environment: Environment };
const keyOf = ({ did, environment }: Owned): string => `${environment} ${did}`;
const byAgent = <T extends Owned>(rows: readonly T[]): Map<string, T[]> => Map.groupBy(rows, keyOf);
