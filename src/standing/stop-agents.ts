// Stops every agent of a principal (PRN-16, PRN-17), whatever it is that stops the principal. What stands above moves first, in one guarded
// batch: from that commit every agent is stopped by its effective status, and none begins to run. The agents' own rows and records follow in
// slices, the first in the same batch; any later run continues. Each agent is reported once, also after a crash.
import { agentMachine } from "../agents/states.ts";
import { reportOf } from "../agents/status.ts";
import { findAgentsIn, moveAgents, refuseAgentsIn } from "../agents/store.ts";
import { toAgentView } from "../agents/views.ts";
import { commitAll } from "../commit.ts";
import type { Config, Deps } from "../context.ts";
import { FIRST } from "../core/due.ts";
import { type Move, move, statesMovedBy } from "../core/machine.ts";
import { retryConflicts } from "../core/retry.ts";
import type { Actor, AgentStatus, Environment, StopTrigger } from "../core/vocabulary.ts";
import { type Database, type ReadResults, readBatch, type Statement } from "../db/batch.ts";
import type { AgentRow } from "../db/tables/agents.ts";
import type { CascadeRow, PrincipalRow } from "../db/tables/principals.ts";
import { listCertificates } from "../identity/certificate-store.ts";
import type { EachJob, Recorded } from "../jobs/job.ts";
import { recordActivities } from "../journal/activity.ts";
import { recordEvents } from "../journal/events.ts";
import { recordDirectoryChanges } from "../journal/feed.ts";
import { findPrincipalById } from "../principals/store.ts";
import { beginCascade, endCascade, findCascade, findCascades } from "./store.ts";

/** How many agents stop in one batch: each one's event holds the whole agent, and a value of D1 is at most 2 MB. */
export const SLICE = 200;

/** The slices of one principal that one invocation stops, and the principals: its queries are limited, so the queue goes on (JOB-12). */
const SLICES = 5;
export const STOPPED_AT_ONCE = 5;
const JOB = "finish_cascades";

/** `trigger` moves the agents by their machine; the reason is kept by those that it suspends. */
export type Stop = Pick<CascadeRow, "trigger" | "reason"> & { readonly actor: Actor };

/** The principal after its own move, and the statements of the move, of it and of all that stands above it. */
export type Above = { readonly principal: PrincipalRow; readonly statements: readonly Statement[] };

export type Stopping = {
  /** One batch: what stands above, then the first slice. */
  readonly statements: Statement[];
  /** Stops the agents of further slices, after the commit. What it leaves when it dies is continued by a job. */
  readonly rest: () => Promise<void>;
};

/** The reads of a stop, beside those of what stands above. */
export const stopReads = (db: Database, principalId: string, trigger: StopTrigger) =>
  findAgentsIn(db, principalId, statesMovedBy(agentMachine, trigger), SLICE);

type Found = ReadResults<ReturnType<typeof stopReads>>;

/** True when no agent is left for a further slice. */
const isLast = ({ agents }: Found): boolean => agents.length < SLICE;

/** Stops all agents of a principal. A cascade is stored while agents are left, so that any run continues it. */
export function stopAgents(deps: Deps, above: Above, stop: Stop, found: Found, now: number): Stopping {
  const { db } = deps;
  const { principal } = above;
  const { principalId } = principal;
  const { trigger, reason, actor } = stop;
  const last = isLast(found);
  const cascade = { principalId, trigger, reason, actorType: actor.type, actorId: actor.id, startedAt: now };
  return {
    statements: [
      ...above.statements,
      ...stopSlice(deps, principal, stop, found, now),
      last ? refuseLeft(db, principalId, trigger) : beginCascade(db, cascade),
    ],
    rest: async () => {
      if (!last && (await resumeCascade(deps, principalId, trigger)) === "more") await handOn(deps, principalId);
    },
  };
}

/** Refuses when an agent began to run after the reading: it is read the next time. */
const refuseLeft = (db: Database, principalId: string, trigger: StopTrigger): Statement =>
  refuseAgentsIn(db, principalId, statesMovedBy(agentMachine, trigger));

/**
 * Runs some slices of a cascade; `more` when others are left; `trigger` is the expected one. Returns false when it was over before. A change
 * that lets a principal stand again comes after the end of its cascade, which would stop the agents that begin to run then.
 */
async function resumeCascade(deps: Deps, principalId: string, trigger: StopTrigger): Promise<Recorded> {
  let stopped = false;
  let expected = trigger;
  for (let slice = 0; slice < SLICES; slice++) {
    const next = await continueCascade(deps, principalId, expected);
    stopped ||= next.stopped;
    if (next.left === null) return stopped;
    expected = next.left;
  }
  return "more";
}

/** Leaves the rest of a cascade to the queue. If the message is lost, the minute's run of the job finds the cascade. */
const handOn = ({ env }: Deps, principalId: string): Promise<unknown> =>
  env.JOB_QUEUE.send({ kind: "record", job: JOB, ids: [principalId], apart: true });

/** `left`: the trigger of the next slice, null after the last one. */
type Continued = { readonly stopped: boolean; readonly left: StopTrigger | null };

const continueCascade = (deps: Deps, principalId: string, expected: StopTrigger): Promise<Continued> =>
  retryConflicts(async () => {
    const { db } = deps;
    const { cascade, principal, ...found } = await readBatch(db, {
      cascade: findCascade(db, principalId),
      principal: findPrincipalById(db, principalId),
      ...stopReads(db, principalId, expected),
    });
    if (!cascade || !principal) return { stopped: false, left: null };
    const { trigger, actorType, actorId } = cascade;
    // The agents were read for another trigger.
    if (trigger !== expected) return { stopped: false, left: trigger };
    const last = isLast(found);
    const stop = { ...cascade, actor: { type: actorType, id: actorId } };
    await commitAll(deps, [
      ...stopSlice(deps, principal, stop, found, deps.clock.now()),
      ...(last ? [refuseLeft(db, principalId, trigger), endCascade(db, cascade)] : []),
    ]);
    return { stopped: true, left: last ? null : trigger };
  });

/** Continues the cascades that a crash interrupted. */
export const finishCascades: EachJob = {
  kind: "each",
  name: JOB,
  part: STOPPED_AT_ONCE,
  find: async ({ db }, after, limit) => {
    const { open } = await readBatch(db, { open: findCascades(db, after ?? FIRST, limit) });
    return open;
  },
  record: (deps, principalId) => resumeCascade(deps, principalId, "principal_stops"),
};

// ---- One slice -----------------------------------------------------------------------------------------------------------

/** An agent after its move. */
type Stopped = { readonly agent: AgentRow; readonly move: Move<AgentStatus> };

/** The statements for each agent: its row, its certificates, an activity entry, an event, a directory record. */
function stopSlice(deps: Deps, principal: PrincipalRow, stop: Stop, found: Found, now: number): Statement[] {
  const { db, config } = deps;
  const stopped = found.agents.map((agent) => stoppedBy(stop, agent, now));
  const events = viewsOf(config, principal, stopped, found, now);
  return [
    ...[...Map.groupBy(stopped, ({ move: { to } }) => to)].flatMap(([to, each]) =>
      stopStatements(db, to, stop.actor, each, now),
    ),
    ...recordEvents(db, now, "agent.status_changed", events),
  ];
}

function stoppedBy({ trigger, reason }: Stop, agent: AgentRow, now: number): Stopped {
  const moved = move(agentMachine, agent.status, trigger);
  const suspended = moved.to === "SUSPENDED";
  const set = { suspensionReason: suspended ? reason : null, suspendedFrom: suspended ? moved.from : null };
  return { agent: { ...agent, ...set, status: moved.to, statusNote: null, updatedAt: now }, move: moved };
}

/** The statements of agents that end in one status, except their events. */
function stopStatements(
  db: Database,
  to: AgentStatus,
  actor: Actor,
  stopped: readonly Stopped[],
  now: number,
): Statement[] {
  const { action, listing } = reportOf(to);
  const dids = (each: readonly Stopped[]) => each.map(({ agent }) => agent.did);
  return [
    ...[...Map.groupBy(stopped, ({ move: { from } }) => from).values()].flatMap((each) =>
      each[0] ? moveAgents(db, dids(each), each[0].move, columnsOf(each[0].agent)) : [],
    ),
    listCertificates(db, dids(stopped), to),
    ...recordActivities(
      db,
      now,
      { action, actor, subjectType: "agent" },
      stopped.map(({ agent, move: status }) => ({ owner: agent, id: agent.did, changes: { status } })),
    ),
    ...recordDirectoryChanges(
      db,
      listing,
      now,
      // An agent without a certificate is in no directory (DIR-3).
      stopped.map(({ agent }) => agent).filter(({ certificateJti }) => certificateJti !== null),
    ),
  ];
}

const columnsOf = ({ suspensionReason, suspendedFrom, statusNote, updatedAt }: AgentRow) => ({
  suspensionReason,
  suspendedFrom,
  statusNote,
  updatedAt,
});

function viewsOf(config: Config, principal: PrincipalRow, stopped: readonly Stopped[], found: Found, now: number) {
  const [markets, escrows] = [byAgent(found.markets), byAgent(found.escrows)];
  return stopped.map(({ agent }) => {
    const own = { markets: markets.get(keyOf(agent)) ?? [], escrows: escrows.get(keyOf(agent)) ?? [] };
    return { owner: agent, object: toAgentView(config, { agent, principal, ...own }, now) };
  });
}

type Owned = { readonly did: string; readonly environment: Environment };
const keyOf = ({ did, environment }: Owned): string => `${environment} ${did}`;
const byAgent = <T extends Owned>(rows: readonly T[]): Map<string, T[]> => Map.groupBy(rows, keyOf);
