// Restates a principal in the documents of its agents: its name and country (ACC-19), and its attestation (ACC-24), whose end each agent's row
// keeps for the lists (PRN-14). The principal changes first, in one guarded batch with the first slice of agents. The others follow in slices,
// which any later run continues. The same slices reactivate agents where that is asked for (reactivate-agents.ts). Under another name each agent
// gets one new version, which is signed in its slice and kept for good. Its whole document is stale from then, and signed at its next reading
// (IDN-18).
import { findStatedAgents, findSuspendedOf } from "../agents/slice-store.ts";
import { advanceVersions, refuseOtherCount, setEnds, touchDocuments } from "../agents/store.ts";
import { commitAll } from "../commit.ts";
import type { Deps } from "../context.ts";
import { type Due, FIRST } from "../core/due.ts";
import { retryConflicts } from "../core/retry.ts";
import { type Actor, isRunning } from "../core/vocabulary.ts";
import { type Condition, type Database, type ReadResults, readBatch, type Statement } from "../db/batch.ts";
import type { PrincipalRow, RestatementRow } from "../db/tables/principals.ts";
import { signVersionAlone } from "../identity/aid.ts";
import { insertAidVersions } from "../identity/store.ts";
import type { EachJob, Recorded } from "../jobs/job.ts";
import { recordDirectoryChanges } from "../journal/feed.ts";
import { idsOf } from "../principals/group-store.ts";
import { findPrincipalById, refuseChangedPrincipal } from "../principals/store.ts";
import { agentsToReactivate, type Returning, reactivateAgents } from "./reactivate-agents.ts";
import {
  beginReactivations,
  beginRestatement,
  dropRestatement,
  endRestatement,
  findRestatement,
  findRestatements,
  moveRestatement,
} from "./restatement-store.ts";
import type { Reactivation } from "./schema.ts";

/** How many agents one batch restates: each one's version is signed for it. */
export const SLICE = 200;
const sliceSize = ({ slices }: Deps): number => slices?.agents ?? SLICE;

/** The slices of one principal that one invocation restates, and the principals: its queries are limited, so the queue goes on (JOB-12). */
const SLICES = 5;
const RESTATED_AT_ONCE = 5;
const JOB = "restate_agents";

/** The reads of a restatement, beside those of the principal. The principal may be an expression of the same trip. */
export const restateReads = (deps: Deps, principalId: Parameters<typeof findStatedAgents>[1]) =>
  findStatedAgents(deps.db, principalId, FIRST, sliceSize(deps));

type Found = ReadResults<ReturnType<typeof restateReads>>;

export type Restating = {
  /** The first slice, for the batch that changes the principal. */
  readonly statements: Statement[];
  /** Restates further slices, after the commit. It never throws: what it leaves when it dies is continued by a job. */
  readonly rest: () => Promise<void>;
  /** What the first slice has reactivated; null where nobody asked for it. */
  readonly reactivation: Reactivation | null;
};

/**
 * Restates all agents of a principal, which the same batch changes to what is given. A restatement is stored while agents are left; it gives
 * back what an unfinished one was asked for, unless `forget`.
 */
export const restateAgents = (
  deps: Deps,
  principal: PrincipalRow,
  found: Found,
  now: number,
  forget = false,
): Promise<Restating> => restate(deps, principal, found, null, now, forget);

/** The same, and reactivates, in the name of `returning`, the agents that stops of the principal took. */
export const returnAgents = restate;

async function restate(
  deps: Deps,
  principal: PrincipalRow,
  found: Found,
  returning: Actor | null,
  now: number,
  forget = false,
): Promise<Restating> {
  const { db } = deps;
  const { principalId } = principal;
  const reached = endOf(deps, found);
  const { length } = found.agents;
  const begin = ({ at, id }: Due) =>
    beginRestatement(
      db,
      { principalId, startedAt: now, afterAt: at, afterDid: id, returning, relisting: false },
      forget,
    );
  const slice = await restateSlice(deps, principal, found, returning, now);
  return {
    reactivation: slice.tally && { ...slice.tally, more: reached !== null },
    statements: [
      // An agent that was registered after the reading is read the next time: no later slice would find it.
      refuseOtherCount(db, principalId, reached, length),
      ...slice.statements,
      reached === null ? dropRestatement(db, principalId) : begin(reached),
    ],
    rest: () => (reached === null ? Promise.resolve() : restateRest(deps, principalId, reached)),
  };
}

/** The first principals of a group after their move, whether it has others, and which rows of principals it has. */
type Group = { readonly first: readonly PrincipalRow[]; readonly others: boolean; readonly where: Condition };

/** The reads of `returnGroup`. */
export const suspendedReads = (deps: Deps, principalIds: Condition) =>
  findSuspendedOf(deps.db, principalIds, sliceSize(deps));

/** Reactivates the agents of a group that the same batch moves: the first slice in it, the others by a restatement of each principal. */
export async function returnGroup(
  deps: Deps,
  { first, others, where }: Group,
  { agents }: ReadResults<ReturnType<typeof suspendedReads>>,
  actor: Actor,
  now: number,
): Promise<Restating> {
  const { db, env } = deps;
  const { sources, tally } = agentsToReactivate(first, { agents }, now);
  const isWhole = agents.length < sliceSize(deps);
  const done = isWhole ? first.map(({ principalId }) => principalId) : [];
  return {
    reactivation: { ...tally, more: others || !isWhole },
    statements: [
      ...(await reactivateAgents(deps, sources, actor, now)),
      beginReactivations(db, idsOf(where, done), actor, now),
    ],
    rest: async () => {
      if (!others && isWhole) return;
      await env.JOB_QUEUE.send({ kind: "find", job: JOB, after: { at: now, id: "" }, apart: true });
    },
  };
}

async function restateRest(deps: Deps, principalId: string, from: Due): Promise<void> {
  try {
    if ((await resumeRestatement(deps, principalId, from)) === "more") await handOn(deps, principalId);
  } catch (thrown) {
    const message = thrown instanceof Error ? thrown.message : "unknown";
    console.error(JSON.stringify({ event: "restatement_interrupted", principal_id: principalId, message }));
  }
}

/** The position of the last agent of a slice; null when no agent is left behind it. */
export function endOf(deps: Deps, { agents }: Pick<Found, "agents">): Due | null {
  const last = agents.length < sliceSize(deps) ? undefined : agents.at(-1);
  return last ? { at: last.agent.createdAt, id: last.agent.did } : null;
}

/**
 * Runs some slices of a restatement; `more` when others are left. `expected` is the position from which the next slice is read. Returns
 * false when it was over before.
 */
async function resumeRestatement(deps: Deps, principalId: string, expected: Due): Promise<Recorded> {
  let restated = false;
  let from: Due = expected;
  for (let slice = 0; slice < SLICES; slice++) {
    const next = await retryConflicts(() => continueRestatement(deps, principalId, from));
    restated ||= next.restated;
    if (next.from === null) return restated;
    from = next.from;
  }
  return "more";
}

/** Leaves the rest of a restatement to the queue. If the message is lost, the minute's run of the job finds the restatement. */
const handOn = ({ env }: Deps, principalId: string): Promise<unknown> =>
  env.JOB_QUEUE.send({ kind: "record", job: JOB, ids: [principalId], apart: true });

/** `from`: the position of the next slice, null after the last one. */
type Continued = { readonly restated: boolean; readonly from: Due | null };

async function continueRestatement(deps: Deps, principalId: string, expected: Due): Promise<Continued> {
  const { db } = deps;
  const { restatement, principal, ...found } = await readBatch(db, {
    restatement: findRestatement(db, principalId),
    principal: findPrincipalById(db, principalId),
    ...findStatedAgents(db, principalId, expected, sliceSize(deps)),
  });
  if (!restatement || !principal) return { restated: false, from: null };
  const from = positionOf(restatement);
  // The agents were read from another position.
  if (from.at !== expected.at || from.id !== expected.id) return { restated: false, from };
  const reached = endOf(deps, found);
  const slice = await restateSlice(deps, principal, found, restatement.returning, deps.clock.now());
  await commitAll(deps, [
    ...(reached === null ? endRestatement(db, restatement) : moveRestatement(db, restatement, reached)),
    refuseChangedPrincipal(db, principal),
    ...slice.statements,
    ...(restatement.relisting ? relist(db, found) : []),
  ]);
  return { restated: true, from: reached };
}

const positionOf = ({ afterAt, afterDid }: RestatementRow): Due => ({ at: afterAt, id: afterDid });

/** Continues the restatements that a crash interrupted. */
export const finishRestatements: EachJob = {
  kind: "each",
  name: JOB,
  part: RESTATED_AT_ONCE,
  find: async ({ db }, after, limit) => {
    const { open } = await readBatch(db, { open: findRestatements(db, after ?? FIRST, limit) });
    return open;
  },
  record: async (deps, principalId) => {
    const { open } = await readBatch(deps.db, { open: findRestatement(deps.db, principalId) });
    return open ? resumeRestatement(deps, principalId, positionOf(open)) : false;
  },
};

// ---- One slice -----------------------------------------------------------------------------------------------------------

/** `tally`: null where nobody asked for the agents. */
type RestatedSlice = { readonly statements: Statement[]; readonly tally: Returning["tally"] | null };

/**
 * The statements for the agents of a slice. One whose newest version states another name or country gets its next version, and a directory
 * record; a DRAFT states nothing, so its version is not signed (IDN-19). The document of one whose version states another attestation becomes
 * stale (ACC-24): an attestation gives no new version. Each row gets the attestation's end.
 */
async function restateSlice(
  deps: Deps,
  principal: PrincipalRow,
  found: Found,
  returning: Actor | null,
  now: number,
): Promise<RestatedSlice> {
  const { db } = deps;
  const asked = returning && { by: returning, ...agentsToReactivate([principal], found, now) };
  const returned = new Set(asked?.sources.map(({ agent }) => agent.did));
  const staying = found.agents.filter(({ agent }) => !returned.has(agent.did));
  const isOutdated = ({ name, country }: Found["agents"][number]) =>
    name !== principal.legalName || country !== principal.country;
  const outdated = staying.filter(isOutdated);
  const attested = staying.filter((one) => !isOutdated(one) && one.attestationId !== principal.attestationId);
  const ending = { principalId: principal.principalId, endsAt: principal.attestationExpiresAt };
  const ended = staying.filter((one) => one.agent.endsAt !== ending.endsAt && !attested.includes(one));
  const statements = [
    ...(attested.length === 0 ? [] : [touchDocuments(db, didsOf(attested), ending)]),
    ...(ended.length === 0 ? [] : [setEnds(db, didsOf(ended), ending)]),
    ...(outdated.length === 0 ? [] : await nextVersions(deps, principal, outdated, now)),
    ...(asked ? await reactivateAgents(deps, asked.sources, asked.by, now) : []),
  ];
  return { statements, tally: asked?.tally ?? null };
}

/** A reader of the directory may have seen them stopped, and nothing else tells it that they run (DIR-15). */
const relist = (db: Database, { agents }: Found): Statement[] =>
  recordDirectoryChanges(
    db,
    "status_changed",
    null,
    agents
      .map(({ agent }) => agent)
      .filter(({ status, certificateJti }) => certificateJti !== null && isRunning(status)),
  );

const didsOf = (each: Found["agents"]): string[] => each.map(({ agent }) => agent.did);

async function nextVersions(
  deps: Deps,
  principal: PrincipalRow,
  outdated: Found["agents"],
  now: number,
): Promise<Statement[]> {
  const { db } = deps;
  const certified = outdated.filter(({ certificate }) => certificate !== null);
  const versions = await Promise.all(
    certified.map(({ agent, certificate, markets }) => {
      const next = { ...agent, version: agent.version + 1, revision: agent.revision + 1 };
      const source = { agent: next, certificate, principal, markets };
      return signVersionAlone(deps, source, now);
    }),
  );
  return [
    ...advanceVersions(
      db,
      outdated.map(({ agent }) => agent),
      now,
    ),
    ...insertAidVersions(db, versions),
    ...recordDirectoryChanges(
      db,
      "updated",
      null,
      certified.map(({ agent }) => agent),
    ),
  ];
}
