// Restates a principal in its agents: its name and country (ACC-19), its attestation (ACC-24), and the attestation's end, which each agent's row
// repeats for the lists (PRN-14). One guarded batch changes the principal and the first slice of agents; the others follow in slices, which any later
// run continues. These slices reactivate agents if that was requested (reactivate-agents.ts). Under another name or country each agent gets one
// new version, which is signed in its slice and kept for good. Its whole document is stale from then on, and signed at its next reading (IDN-18).
// Also lists agents again after their account returns, and begins the reactivation of a whole group.
import { findStatedAgents, findSuspendedOf } from "../agents/slice-store.ts";
import { advanceVersions, markDocumentsStale, refuseOtherAgentCount, writeAttestationEnds } from "../agents/store.ts";
import type { Deps } from "../context.ts";
import { type Actor, isActiveOrFunding } from "../core/vocabulary.ts";
import { type Condition, type Database, type ReadResults, readBatch, type Statement } from "../db/batch.ts";
import type { PrincipalRow } from "../db/tables/principals.ts";
import { signVersionAlone } from "../identity/aid.ts";
import { insertAidVersions } from "../identity/store.ts";
import { buildWalkJob, queueWalks, runOrQueueWalk, type WalkDefinition } from "../jobs/walk.ts";
import { findWalk, selectAgentPosition } from "../jobs/walk-store.ts";
import { recordDirectoryChanges } from "../journal/feed.ts";
import { groupIdsExcept } from "../principals/group-store.ts";
import { findPrincipalById, refuseChangedPrincipal } from "../principals/store.ts";
import { agentsToReactivate, type Reactivating, reactivateAgents } from "./reactivate-agents.ts";
import type { Reactivation } from "./schema.ts";
import { chooseSliceSize, computeSliceEnd } from "./slice.ts";
import { beginReactivations, beginRestatement, dropRestatement } from "./store.ts";

/**
 * The limits of one invocation, whose queries are limited (JOB-12): slices of one principal, and principals of one message. The queue continues the
 * rest.
 */
const SLICES = 5;
const RESTATED_AT_ONCE = 5;

/** The reads of a restatement, besides the principal. `principalId` may be an expression of the same trip. */
export const buildRestateReads = (deps: Deps, principalId: Parameters<typeof findStatedAgents>[1]) =>
  findStatedAgents(deps.db, principalId, chooseSliceSize(deps));

type Found = ReadResults<ReturnType<typeof buildRestateReads>>;

export type Restating = {
  /** The first slice, for the batch that changes the principal. */
  readonly statements: Statement[];
  /** Restates further slices after the commit. It never throws: a job continues what a crash leaves. */
  readonly rest: () => Promise<void>;
  /** The agents that the first slice reactivated; null if none were requested. */
  readonly reactivation: Reactivation | null;
};

/**
 * Restates all agents of a principal that the same batch changes. A restatement is stored while agents are left. It keeps a reactivation that an
 * unfinished restatement was asked for, unless `forget`.
 */
export const restateAgents = (
  deps: Deps,
  principal: PrincipalRow,
  found: Found,
  now: number,
  forget = false,
): Promise<Restating> => restate(deps, principal, found, { returning: null, forget }, now);

/** Also reactivates, as the actor `returning`, the agents that stops of the principal suspended. */
export const restateAndReactivate = (
  deps: Deps,
  principal: PrincipalRow,
  found: Found,
  returning: Actor,
  now: number,
): Promise<Restating> => restate(deps, principal, found, { returning, forget: false }, now);

async function restate(
  deps: Deps,
  principal: PrincipalRow,
  found: Found,
  { returning, forget }: { readonly returning: Actor | null; readonly forget: boolean },
  now: number,
): Promise<Restating> {
  const { db } = deps;
  const { principalId } = principal;
  const reached = computeSliceEnd(deps, found.agents);
  const { length } = found.agents;
  const slice = await restateSlice(deps, principal, found, returning, now);
  return {
    reactivation: slice.tally && { ...slice.tally, more: reached !== null },
    statements: [
      // No later slice would find an agent that was registered after the reading, so the batch is retried with a new reading.
      refuseOtherAgentCount(db, principalId, reached, length),
      ...slice.statements,
      reached === null
        ? dropRestatement(db, principalId)
        : beginRestatement(db, principalId, { startedAt: now, after: reached, returning }, forget),
    ],
    rest: () => (reached === null ? Promise.resolve() : restateRest(deps, principalId)),
  };
}

/** The first principals of a group after their change, whether there are others, and the condition that selects all of them. */
type Group = { readonly first: readonly PrincipalRow[]; readonly others: boolean; readonly where: Condition };

export const groupReactivationReads = (deps: Deps, principalIds: Condition) =>
  findSuspendedOf(deps.db, principalIds, chooseSliceSize(deps));

/** Reactivates the agents of a group that the same batch changes: the first slice in the batch, the others by a restatement of each principal. */
export async function reactivateGroup(
  deps: Deps,
  { first, others, where }: Group,
  { agents }: ReadResults<ReturnType<typeof groupReactivationReads>>,
  actor: Actor,
  now: number,
): Promise<Restating> {
  const { db } = deps;
  const { sources, tally } = agentsToReactivate(first, { agents }, now);
  const isWhole = agents.length < chooseSliceSize(deps);
  const done = isWhole ? first.map(({ principalId }) => principalId) : [];
  return {
    reactivation: { ...tally, more: others || !isWhole },
    statements: [
      ...(await reactivateAgents(deps, sources, actor, now)),
      beginReactivations(db, groupIdsExcept(where, done), actor, now),
    ],
    rest: async () => {
      if (!others && isWhole) return;
      await queueWalks(deps, restatement, now);
    },
  };
}

async function restateRest(deps: Deps, principalId: string): Promise<void> {
  try {
    await runOrQueueWalk(deps, restatement, principalId);
  } catch (thrown) {
    const message = thrown instanceof Error ? thrown.message : "unknown";
    console.error(JSON.stringify({ event: "restatement_interrupted", principal_id: principalId, message }));
  }
}

const readRestatement = (deps: Deps, principalId: string) =>
  readBatch(deps.db, {
    walk: findWalk(deps.db, "restatement", principalId),
    principal: findPrincipalById(deps.db, principalId),
    ...findStatedAgents(deps.db, principalId, chooseSliceSize(deps), selectAgentPosition("restatement", principalId)),
  });

const restatement: WalkDefinition<"restatement", Awaited<ReturnType<typeof readRestatement>>> = {
  kind: "restatement",
  job: "restate_agents",
  slices: SLICES,
  readSlice: readRestatement,
  buildSlice: async (deps, { relisting, payload: returning }, { principal, agents }) => {
    if (!principal) return null;
    const { db, clock } = deps;
    const { statements } = await restateSlice(deps, principal, { agents }, returning, clock.now());
    return {
      statements: [
        refuseChangedPrincipal(db, principal),
        ...statements,
        ...(relisting ? relistSlice(db, { agents }) : []),
      ],
      next: computeSliceEnd(deps, agents),
    };
  },
};

export const finishRestatements = buildWalkJob(restatement, RESTATED_AT_ONCE);

// ---- One slice -----------------------------------------------------------------------------------------------------------

/** `tally`: null if no reactivation was requested. */
type RestatedSlice = { readonly statements: Statement[]; readonly tally: Reactivating["tally"] | null };

/**
 * Builds the statements for the agents of a slice. An agent whose newest version states another name or country gets its next version and a directory
 * record; a DRAFT states nothing, so its version is not signed (IDN-19). Another attestation only makes the document stale (ACC-24), without a new
 * version. Each row gets the attestation's end.
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
    ...(attested.length === 0 ? [] : [markDocumentsStale(db, listDids(attested), ending)]),
    ...(ended.length === 0 ? [] : [writeAttestationEnds(db, listDids(ended), ending)]),
    ...(outdated.length === 0 ? [] : await signNextVersions(deps, principal, outdated, now)),
    ...(asked ? await reactivateAgents(deps, asked.sources, asked.by, now) : []),
  ];
  return { statements, tally: asked?.tally ?? null };
}

/** A reader of the directory may have seen the agents suspended, and no other record reports that they are active (DIR-15). */
const relistSlice = (db: Database, { agents }: Found): Statement[] =>
  recordDirectoryChanges(
    db,
    "status_changed",
    null,
    agents
      .map(({ agent }) => agent)
      .filter(({ status, certificateJti }) => certificateJti !== null && isActiveOrFunding(status)),
  );

const listDids = (each: Found["agents"]): string[] => each.map(({ agent }) => agent.did);

async function signNextVersions(
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
