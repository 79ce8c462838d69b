// The last step of a change of one agent that its document states, by its platform or by the service when an escrow is funded: the row, its documents,
// the activity log, the outbox and the directory's feed, as statements of one batch. Changes of its markets are signed in markets/own.ts.
import type { Deps } from "../context.ts";
import { systemClock } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import { sells } from "../core/roles.ts";
import { type ActivityAction, type Actor, type ChangeType, isFinal } from "../core/vocabulary.ts";
import type { Condition, Database, ReadResults, Statement } from "../db/batch.ts";
import type { AgentRow } from "../db/tables/agents.ts";
import type { PrincipalRow } from "../db/tables/principals.ts";
import { pickWorstStateOfAgent, toEscrowStates } from "../escrow/states.ts";
import { type AidSource, listMarketCodes, parseCertificate, signVersion } from "../identity/aid.ts";
import type { IssuedCertificate } from "../identity/certificate.ts";
import {
  clearPlace,
  endEarlierKeys,
  insertCertificate,
  listCertificates,
  replaceCertificates,
} from "../identity/certificate-store.ts";
import type { AgentWithPrincipal } from "../identity/store.ts";
import { endIntentsOfAgents } from "../intents/store.ts";
import { type Changes, recordActivity } from "../journal/activity.ts";
import { type Event, type EventType, recordEvent } from "../journal/events.ts";
import { recordDirectoryChange } from "../journal/feed.ts";
import { toEffectiveAgentStatus, toEffectivePrincipalStatus } from "../principals/effective-status.ts";
import { countProvider, uncountProvider } from "../principals/store.ts";
import type { buildSourceReads } from "./find-store.ts";
import { toAgentView } from "./read.ts";
import { updateAgent } from "./store.ts";

/** Builds the source of the documents from the first trip's reads. */
export const toAidSource = (
  agent: AgentWithPrincipal,
  { newest, markets, escrows }: ReadResults<ReturnType<typeof buildSourceReads>>,
): AidSource => ({ ...agent, certificate: newest && parseCertificate(newest.content), markets, escrows });

/** Refuses to edit a REVOKED or TERMINATED agent (AGT-20). Agents of a CLOSED principal count as REVOKED before their rows say so. */
export function refuseFinal({ agent, principal }: Pick<AidSource, "agent" | "principal">, now: number): void {
  const status = toEffectiveAgentStatus(agent.status, toEffectivePrincipalStatus(principal, now));
  if (isFinal(status)) throw new ServiceError("agent_status_not_mutable", { detail: { status } });
}

export function refuseHolder(holder: { readonly did: string } | null | undefined): void {
  if (!holder) return;
  const message = "An agent with this external_ref already exists.";
  throw new ServiceError("external_ref_exists", { detail: { did: holder.did, matched: "external_ref" }, message });
}

export type AgentChange = {
  readonly set: Partial<AgentRow>;
  /** True if the platform's part of the document changes: this batch signs a new version (IDN-16). */
  readonly newVersion: boolean;
  /** True if another signed part changes: the document becomes stale (IDN-18). */
  readonly stale?: boolean;
  readonly certificate?: IssuedCertificate | null;
  /** When earlier certificates end, in real time; absent if they stay as they are (AGT-22). */
  readonly earlierCountUntil?: number;
  /** True if the certificates of the key before the present one end at once. */
  readonly endsEarlierKey?: boolean;
  readonly principal?: AidSource["principal"];
  /** A further condition of the write, for facts outside the row. */
  readonly also?: Condition | undefined;
  readonly activity: { readonly action: ActivityAction; readonly actor: Actor; readonly changes?: Changes };
  readonly events?: readonly EventType[];
  /** The type of the directory record; an agent without a certificate has none (DIR-3). */
  readonly listing: ChangeType | null;
  /** Markets and escrows as they are after the change. */
  readonly markets?: AidSource["markets"];
  readonly escrows?: AidSource["escrows"];
};

/** Moves a selling agent from its old principal's count of providers to the new one's (PRN-10). */
export const moveProviderCount = (
  db: Database,
  { economicRole, principalId }: AgentRow,
  next: PrincipalRow,
): Statement[] => (sells(economicRole) ? [...countProvider(db, next), uncountProvider(db, principalId)] : []);

/** A principal counts its selling agents until each has ended (PRN-10). */
const endsSelling = (before: AgentRow, after: AgentRow): boolean =>
  sells(after.economicRole) && !isFinal(before.status) && isFinal(after.status);

/** A key is valid no longer than its certificates. */
const shortenGrace = ({ earlierKey }: AgentRow, until = Number.POSITIVE_INFINITY): Partial<AgentRow> =>
  earlierKey !== null && earlierKey.until > until ? { earlierKey: { ...earlierKey, until } } : {};

/** The earlier value of the member whose change the event reports. */
function pickPreviousMember(
  type: EventType,
  { status, keyId, principalId, ...before }: AgentRow,
): Pick<Event, "previous"> {
  switch (type) {
    case "agent.status_changed":
      return { previous: { status } };
    case "agent.escrow_state_changed":
      return { previous: { escrow_state: pickWorstStateOfAgent(before) } };
    case "agent.key_rotated":
      return { previous: { key_id: keyId } };
    case "agent.transferred":
      return { previous: { principal_id: principalId } };
    default:
      return {};
  }
}

export async function reviseAgent(
  db: Database,
  deps: Deps,
  before: AidSource,
  change: AgentChange,
  now: number,
): Promise<{ after: AidSource; statements: Statement[] }> {
  const { newVersion, certificate, earlierCountUntil, endsEarlierKey, activity, events = [], listing, also } = change;
  const documented = newVersion || change.stale === true;
  const { version, revision } = before.agent;
  const numbers = {
    ...(newVersion && { version: version + 1 }),
    ...(documented && { revision: revision + 1 }),
  };
  const agent: AgentRow = {
    ...before.agent,
    ...shortenGrace(before.agent, earlierCountUntil),
    ...change.set,
    ...certificate?.columns,
    ...(change.escrows && { escrowStates: toEscrowStates(change.escrows) }),
    ...numbers,
    updatedAt: now,
  };
  const after: AidSource = {
    ...before,
    agent,
    principal: change.principal ?? before.principal,
    certificate: certificate?.text ?? before.certificate,
    markets: change.markets ?? before.markets,
    escrows: change.escrows ?? before.escrows,
  };
  const { revision: _relative, ...columns } = agent;
  // Certificates that are replaced at once are listed as replaced, whatever the agent's status.
  const replaced = earlierCountUntil !== undefined && earlierCountUntil <= systemClock.now();
  const object = events.length === 0 ? {} : toAgentView(deps.config, after, now);
  return {
    after,
    statements: [
      ...updateAgent(db, before.agent, columns, { documented, owner: after.principal, also }),
      ...(endsSelling(before.agent, agent) ? [uncountProvider(db, agent.principalId)] : []),
      ...(agent.status !== before.agent.status && !replaced ? listCertificates(db, before.agent, agent.status) : []),
      ...(isFinal(agent.status) ? endIntentsOfAgents(db, [agent.did], deps.clock.now()) : []),
      ...(endsEarlierKey ? [endEarlierKeys(db, before.agent)] : []),
      ...(earlierCountUntil === undefined ? [] : [replaceCertificates(db, [agent.did], earlierCountUntil)]),
      ...(certificate ? [clearPlace(db, certificate.row), insertCertificate(db, certificate.row)] : []),
      ...(newVersion ? await signVersion(db, deps, after, now) : []),
      recordActivity(db, agent, now, { ...activity, subject: { type: "agent", id: agent.did } }),
      ...events.map((type) => recordEvent(db, agent, now, { type, object, ...pickPreviousMember(type, before.agent) })),
      ...(listing !== null && after.certificate !== null
        ? recordDirectoryChange(db, agent, listing, listMarketCodes(after.markets))
        : []),
    ],
  };
}
