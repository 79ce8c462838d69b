// Gives back the agents that the end of an attestation took, when the next one asks for it (PRN-21). Their certificates ended with the old
// attestation, so each returns under another one, for the same key and at its next version.
import type { findStatedAgents } from "../agents/slice-store.ts";
import { agentMachine } from "../agents/states.ts";
import { reportOf } from "../agents/status.ts";
import { returnRecertified } from "../agents/store.ts";
import { toAgentView } from "../agents/views.ts";
import type { Deps } from "../context.ts";
import { systemClock } from "../core/clock.ts";
import { move } from "../core/machine.ts";
import { Conflict } from "../core/retry.ts";
import type { Actor } from "../core/vocabulary.ts";
import { type ReadResults, readBatch, type Statement } from "../db/batch.ts";
import type { PrincipalRow } from "../db/tables/principals.ts";
import { worstEscrowState } from "../escrow/states.ts";
import { type AidSource, signVersionAlone } from "../identity/aid.ts";
import { issueAt } from "../identity/certificate.ts";
import {
  clearPlaces,
  type DrawnPlace,
  findPlaces,
  insertCertificates,
  listCertificatesOf,
  replaceCertificatesOf,
} from "../identity/certificate-store.ts";
import { watchCrowding } from "../identity/open-status-list.ts";
import { insertAidVersions } from "../identity/store.ts";
import { recordActivities } from "../journal/activity.ts";
import { recordEvents } from "../journal/events.ts";
import { recordDirectoryChanges } from "../journal/feed.ts";
import { effectivePrincipalStatus } from "../principals/standing.ts";

type Found = ReadResults<ReturnType<typeof findStatedAgents>>;

/** The agents of a slice that return: none under a principal that something else stops, or whose escrow is constrained (AGT-17). */
export function returnable(principal: PrincipalRow, found: Found, now: number): AidSource[] {
  if (effectivePrincipalStatus(principal, now) !== "ACTIVE") return [];
  return found.agents
    .filter(({ agent }) => agent.status === "SUSPENDED" && agent.suspensionReason === "attestation")
    .filter(({ agent, escrows }) => worstEscrowState(agent.economicRole, escrows) !== "CONSTRAINED")
    .map(({ agent, certificate, markets, escrows }) => ({ agent, certificate, principal, markets, escrows }));
}

/** The statements that give the agents back. It reads their places in the status list, so it costs a trip. */
export async function giveBack(
  deps: Deps,
  sources: readonly AidSource[],
  actor: Actor,
  now: number,
): Promise<Statement[]> {
  if (sources.length === 0) return [];
  const { db } = deps;
  const places = await drawPlaces(deps, sources.length);
  const back = await Promise.all(sources.map((source, i) => returned(deps, source, places[i], now)));
  const dids = back.map(({ after }) => after.agent.did);
  const rows = back.map(({ certificate }) => certificate.row);
  return [
    ...returnRecertified(
      db,
      back.map(({ after }) => after.agent),
      now,
    ),
    // The earlier ones are replaced, whatever their value.
    listCertificatesOf(db, dids, "ACTIVE"),
    replaceCertificatesOf(db, dids, systemClock.now()),
    clearPlaces(db, rows),
    insertCertificates(db, rows),
    ...insertAidVersions(
      db,
      back.map(({ version }) => version),
    ),
    ...recordActivities(
      db,
      now,
      { action: "agent.reactivated", actor, subjectType: "agent" },
      back.map(({ after: { agent }, from }) => ({
        owner: agent,
        id: agent.did,
        changes: { status: { from, to: agent.status } },
      })),
    ),
    ...recordEvents(
      db,
      now,
      "agent.status_changed",
      back.map(({ after }) => ({ owner: after.agent, object: toAgentView(deps.config, after, now) })),
    ),
    ...[...Map.groupBy(back, ({ after }) => after.agent.status)].flatMap(([status, each]) =>
      recordDirectoryChanges(
        db,
        reportOf("ACTIVE").listing,
        status,
        each.map(({ after }) => after.agent),
      ),
    ),
  ];
}

async function drawPlaces(deps: Deps, many: number): Promise<readonly DrawnPlace[]> {
  const { places } = await readBatch(deps.db, { places: findPlaces(deps.db, many) });
  const last = places.at(-1) ?? null;
  // For as many places as one, a list that is not crowded draws as often.
  await watchCrowding(deps, last && { ...last, taken: Math.floor((last.taken + 1) / many) - 1 });
  if (places.length < many) throw new Conflict();
  return places;
}

async function returned(deps: Deps, source: AidSource, place: DrawnPlace | undefined, now: number) {
  if (place === undefined) throw new Conflict();
  const { agent: before, principal } = source;
  const waited = before.suspendedFrom === "FUNDING";
  const { from, to } = move(
    agentMachine,
    before.status,
    waited ? "attestation_returns_funding" : "attestation_returns",
  );
  const gone = { suspensionReason: null, suspendedFrom: null, statusNote: null, earlierKey: null } as const;
  const numbers = {
    version: before.version + 1,
    revision: before.revision + 1,
    updatedAt: Math.max(before.updatedAt, now),
  };
  const agent = { ...before, ...gone, ...numbers, status: to, endsAt: principal.attestationExpiresAt };
  const certificate = await issueAt(deps, agent, principal, place);
  const after: AidSource = { ...source, agent: { ...agent, ...certificate.columns }, certificate: certificate.text };
  return { from, after, certificate, version: await signVersionAlone(deps, after, now) };
}
