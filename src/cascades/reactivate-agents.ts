// Reactivates the agents that stops of their principal suspended, if `reactivate_agents` asks for it (PRN-21): when an attestation is recorded, and
// when the principal or its customer is reactivated. An agent whose certificate names an earlier attestation or another scope, or has an end, gets a
// new one for the same key, at its next version.
import { toAgentView } from "../agents/read.ts";
import type { findStatedAgents } from "../agents/slice-store.ts";
import { agentMachine } from "../agents/states.ts";
import { toStatusRecords } from "../agents/status.ts";
import { reactivateAgentRows } from "../agents/store.ts";
import type { Deps } from "../context.ts";
import { systemClock } from "../core/clock.ts";
import { move } from "../core/machine.ts";
import { Conflict } from "../core/retry.ts";
import type { Actor } from "../core/vocabulary.ts";
import { type ReadResults, readBatch, type Statement } from "../db/batch.ts";
import type { AgentRow } from "../db/tables/agents.ts";
import type { PrincipalRow } from "../db/tables/principals.ts";
import { pickWorstEscrowState } from "../escrow/states.ts";
import { type AidSource, signVersionAlone } from "../identity/aid.ts";
import { issueAtPlace, namesEarlierAttestation, statesOtherScope } from "../identity/certificate.ts";
import {
  clearPlaces,
  type DrawnPlace,
  findCertificatesSetToEnd,
  findPlaces,
  insertCertificates,
  listCertificatesOf,
  replaceCertificates,
} from "../identity/certificate-store.ts";
import { watchCrowding } from "../identity/open-status-list.ts";
import { insertAidVersions } from "../identity/store.ts";
import { recordActivities } from "../journal/activity.ts";
import { recordEvents } from "../journal/events.ts";
import { recordDirectoryChanges } from "../journal/feed.ts";
import { toEffectivePrincipalStatus } from "../principals/effective-status.ts";
import type { Reactivation } from "./schema.ts";

type Found = ReadResults<ReturnType<typeof findStatedAgents>>;
type Tally = Omit<Reactivation, "more">;

/** The agents of a slice to reactivate, and how many return or stay, by reason. */
export type Reactivating = { readonly sources: readonly AidSource[]; readonly tally: Tally };

export function agentsToReactivate(principals: readonly PrincipalRow[], found: Found, now: number): Reactivating {
  const sources: AidSource[] = [];
  const left = { escrow_constrained: 0, platform: 0, operator: 0, principal_not_active: 0 };
  const owners = new Map(principals.map((principal) => [principal.principalId, principal]));
  for (const { agent, certificate, markets, escrows } of found.agents) {
    const principal = owners.get(agent.principalId);
    if (!principal || agent.status !== "SUSPENDED") continue;
    const { suspensionReason: reason } = agent;
    if (reason === "platform" || reason === "operator") left[reason] += 1;
    else if (toEffectivePrincipalStatus(principal, now) !== "ACTIVE") left.principal_not_active += 1;
    else if (pickWorstEscrowState(agent.economicRole, escrows) === "CONSTRAINED") left.escrow_constrained += 1;
    else sources.push({ agent, certificate, principal, markets, escrows });
  }
  return { sources, tally: { agents_reactivated: sources.length, agents_left: left } };
}

/** Builds the statements that reactivate agents, after a trip that reads free places in the status list and certificates that have an end. */
export async function reactivateAgents(
  deps: Deps,
  sources: readonly AidSource[],
  actor: Actor,
  now: number,
): Promise<Statement[]> {
  if (sources.length === 0) return [];
  const { db } = deps;
  const kept = sources.filter((source) => !needsCertificate(source));
  const { places, ending } = await readBatch(db, {
    places: findPlaces(db, sources.length),
    ending: findCertificatesSetToEnd(db, listDids(kept.map(({ agent }) => agent))),
  });
  await requirePlaces(deps, places, sources.length);
  const back = await Promise.all(
    sources.map((source, i) => {
      const isEnding = needsCertificate(source) || ending.has(source.agent.did);
      return reactivateAgent(deps, source, isEnding ? places[i] : null, now);
    }),
  );
  const agents = back.map(({ after }) => after.agent);
  const issued = back.flatMap((one) => (one.issued ? [{ ...one.issued, agent: one.after.agent }] : []));
  const rows = issued.map(({ row }) => row);
  return [
    ...reactivateAgentRows(
      db,
      back.map(({ before, after }) => ({ before, after: after.agent })),
      now,
    ),
    listCertificatesOf(db, listDids(agents), "ACTIVE"),
    ...(issued.length === 0
      ? []
      : [
          // Earlier certificates are replaced, whatever their value in the status list.
          replaceCertificates(db, listDids(issued.map(({ agent }) => agent)), systemClock.now()),
          clearPlaces(db, rows),
          insertCertificates(db, rows),
          ...insertAidVersions(
            db,
            issued.map(({ version }) => version),
          ),
        ]),
    ...recordActivities(
      db,
      now,
      { action: "agent.reactivated", actor, subjectType: "agent" },
      back.map(({ after: { agent }, before }) => ({
        owner: agent,
        id: agent.did,
        changes: { status: { from: before.status, to: agent.status } },
      })),
    ),
    ...recordEvents(
      db,
      now,
      "agent.status_changed",
      back.map(({ after, before: { status } }) => ({
        owner: after.agent,
        object: toAgentView(deps.config, after, now),
        previous: { status },
      })),
    ),
    ...[...Map.groupBy(agents, ({ status }) => status)].flatMap(([status, each]) =>
      recordDirectoryChanges(db, toStatusRecords("ACTIVE").listing, status, each),
    ),
  ];
}

const listDids = (agents: readonly AgentRow[]): string[] => agents.map(({ did }) => did);

/** Returns true if there is no certificate, or if it states another attestation or scope than the present one. */
const needsCertificate = ({ agent, principal, certificate }: AidSource): boolean =>
  certificate === null || namesEarlierAttestation(certificate, principal) || statesOtherScope(certificate, agent);

async function requirePlaces(deps: Deps, places: readonly DrawnPlace[], needed: number): Promise<void> {
  const last = places.at(-1) ?? null;
  // Scaled to a single place, so that many draws at once do not make a list look crowded.
  await watchCrowding(deps, last && { ...last, taken: Math.floor((last.taken + 1) / needed) - 1 });
  if (places.length < needed) throw new Conflict();
}

/** `place`: for a new certificate; null if the present one stays. */
async function reactivateAgent(deps: Deps, source: AidSource, place: DrawnPlace | null | undefined, now: number) {
  const { agent: before, principal } = source;
  const waited = before.suspendedFrom === "FUNDING";
  const { to } = move(agentMachine, before.status, waited ? "reactivate_funding" : "reactivate");
  const agent: AgentRow = {
    ...before,
    suspensionReason: null,
    suspendedFrom: null,
    statusNote: null,
    status: to,
    endsAt: principal.attestationExpiresAt,
    updatedAt: Math.max(before.updatedAt, now),
  };
  if (!place) return { before, after: { ...source, agent }, issued: null };
  const next = { ...agent, earlierKey: null, version: before.version + 1, revision: before.revision + 1 };
  const { columns, text, row } = await issueAtPlace(deps, next, principal, place);
  const after: AidSource = { ...source, agent: { ...next, ...columns }, certificate: text };
  return { before, after, issued: { row, version: await signVersionAlone(deps, after, now) } };
}
