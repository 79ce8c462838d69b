// Registers an agent as a DRAFT without key or certificate (AGT-1 to AGT-10), and activates it (AGT-14).
import { type ManagementCall, type Precheck, precheck } from "../call.ts";
import { hashDid, isPayableDid, shortenHash } from "../chain/hashes.ts";
import { type FieldError, ServiceError, toFieldError, toValidationError } from "../core/errors.ts";
import { move } from "../core/machine.ts";
import { sells, toLowestTier } from "../core/roles.ts";
import { rankTier } from "../core/vocabulary.ts";
import { dropAbsentReads, type ReadResults } from "../db/batch.ts";
import type { Owner } from "../db/statement.ts";
import type { AgentRow } from "../db/tables/agents.ts";
import { buildAid, toLiveStatus } from "../identity/aid.ts";
import { certify } from "../identity/certificate.ts";
import { findListPlace } from "../identity/certificate-store.ts";
import type { AgentWithPrincipal } from "../identity/store.ts";
import { recordActivity } from "../journal/activity.ts";
import { recordEvent } from "../journal/events.ts";
import { findTierWarnings } from "../principals/attestations.ts";
import { toEffectivePrincipalStatus } from "../principals/effective-status.ts";
import { countProvider, findPrincipal, refuseChangedPrincipal } from "../principals/store.ts";
import { generateDid } from "../protocol/did.ts";
import { type Bounds, findDelegationFaults } from "./delegation.ts";
import {
  buildSourceReads,
  findAgent,
  findAgentByReference,
  hasAttestationUntil,
  refuseChangedDelegator,
} from "./find-store.ts";
import { drawKey, toCredentials } from "./keys.ts";
import { toAgentView } from "./read.ts";
import { refuseHolder, reviseAgent, toAidSource } from "./revise.ts";
import type { AgentInput } from "./schema.ts";
import { agentMachine } from "./states.ts";
import { insertAgent } from "./store.ts";

/** Returns the complete identity document, unsigned. */
export async function registerAgent(call: ManagementCall, input: AgentInput): Promise<Record<string, unknown>> {
  const { db, now, deps } = call;
  const found = await call.read(buildAgentRegistrationReads(call, input));
  const { principal, caller } = found;
  const agent = toDraft(input, caller, found.delegator?.agent, principal?.attestationExpiresAt ?? 0, now);
  const faults = findOwnershipFaults(call, input, found);
  if (faults.length > 0 || !principal) throw toValidationError(faults);
  if (rankTier(agent.certTier) > rankTier(caller.accreditationTier)) {
    throw new ServiceError("tier_exceeds_accreditation", { detail: { accreditation_tier: caller.accreditationTier } });
  }
  const standing = toEffectivePrincipalStatus(principal, now);
  if (standing !== "ACTIVE") throw new ServiceError("invalid_status", { detail: { principal_status: standing } });
  refuseHolder(found.holder);

  const source = { agent, certificate: null, principal, markets: [], escrows: [] };
  const live = toLiveStatus(agent, principal, now);
  const warnings = findTierWarnings(agent.economicRole, principal);
  const view = { ...buildAid(deps.config, source, now), proof: null, live, status: agent.status, warnings };
  const subject = { type: "agent", id: agent.did };
  await call.commit(
    [
      // The delegator may be transferred meanwhile, and a delegation stays within one principal (AGT-24).
      ...(found.delegator ? [refuseChangedDelegator(db, found.delegator.agent)] : []),
      insertAgent(db, agent),
      // The principal may be closed meanwhile, and its name, which the answer states, may change.
      ...(sells(agent.economicRole) ? countProvider(db, principal) : [refuseChangedPrincipal(db, principal)]),
      recordActivity(db, agent, now, { action: "agent.registered", actor: caller.actor, subject }),
      recordEvent(db, agent, now, { type: "agent.registered", object: toAgentView(deps.config, source, now) }),
    ],
    view,
  );
  return view;
}

const buildAgentRegistrationReads = (
  { db, tenant }: ManagementCall,
  { principal_id, delegated_by, external_ref }: Partial<AgentInput>,
) =>
  dropAbsentReads({
    principal: principal_id === undefined ? null : findPrincipal(db, tenant, principal_id),
    delegator: typeof delegated_by === "string" ? findAgent(db, tenant, delegated_by) : null,
    holder: typeof external_ref === "string" ? findAgentByReference(db, tenant, external_ref) : null,
  });

/** The faults that the schema cannot find: another tenant's principal, and a scope wider than the delegator's. */
function findOwnershipFaults(
  call: ManagementCall,
  input: Partial<AgentInput>,
  found: Partial<ReadResults<ReturnType<typeof buildAgentRegistrationReads>>>,
): FieldError[] {
  const { principal_id: principalId, delegated_by: delegatedBy, scope } = input;
  const delegate = { principalId, scope: scope && toBounds(scope) };
  return [
    ...(principalId !== undefined && !found.principal ? [toFieldError("principal_id", "not_found")] : []),
    ...(typeof delegatedBy === "string" ? findDelegationFaults(delegate, found.delegator ?? null, call.now) : []),
  ];
}

export const precheckAgentRegistration = (call: ManagementCall, input: Partial<AgentInput>): Precheck =>
  precheck(buildAgentRegistrationReads(call, input), (found) => findOwnershipFaults(call, input, found));

const toBounds = (scope: AgentInput["scope"]): Bounds => ({
  authorizedActions: scope.authorized_actions,
  capabilities: scope.capabilities,
  maxTransactionValue: scope.max_transaction_value ?? null,
  spendingLimit: scope.spending_limit ?? null,
  minimumCounterpartyCertTier: scope.minimum_counterparty_cert_tier ?? null,
  minimumCounterpartyAr: scope.minimum_counterparty_ar ?? null,
});

function toDraft(
  input: AgentInput,
  { platformId, environment }: Owner,
  delegator: AgentRow | undefined,
  endsAt: number,
  now: number,
): AgentRow {
  const { scope, profile } = input;
  const did = drawDid();
  return {
    did,
    didHash: sells(input.economic_role) ? shortenHash(hashDid(did)) : "",
    platformId,
    environment,
    principalId: input.principal_id,
    economicRole: input.economic_role,
    certTier: input.cert_tier ?? toLowestTier(input.economic_role),
    displayName: profile.display_name,
    description: profile.description ?? null,
    catalogUrl: profile.catalog_url ?? null,
    endpointUrl: input.endpoint_url,
    externalRef: input.external_ref ?? null,
    metadata: input.metadata ?? {},
    ...toBounds(scope),
    intentsFrom: scope.intents_from ?? "anyone",
    disputeWindowDays: scope.dispute_window_days,
    delegators: delegator ? [delegator.did, ...delegator.delegators] : [],
    status: "DRAFT",
    suspensionReason: null,
    suspendedFrom: null,
    statusNote: null,
    version: 1,
    revision: 1,
    certificateJti: null,
    recertified: false,
    certificateExpiresAt: null,
    keyId: null,
    publicJwk: null,
    earlierKey: null,
    ...NOTHING_EARNED,
    wallets: [],
    escrowStates: {},
    promotedAt: null,
    endsAt,
    createdAt: now,
    updatedAt: now,
  };
}

/** Draws DIDs until AEA/P clients can pay one (AGT-10). */
function drawDid(): string {
  for (;;) {
    const did = generateDid();
    if (isPayableDid(did)) return did;
  }
}

/** The columns of an agent that has neither bought nor sold in its environment. */
export const NOTHING_EARNED = {
  ratingWeight: 0,
  ratingWeighted: 0,
  ratingInteractions: 0,
  ratingCounterparties: 0,
  agentRating: null,
  ratingHeaviest: [],
  republishAt: null,
  republishBy: "",
  settledVolumes: {},
  disputesOpen: 0,
  disputesResolvedFor: 0,
  disputesResolvedAgainst: 0,
  walletAsks: null,
} as const satisfies Partial<AgentRow>;

/** Generates a key pair, issues a certificate and signs the document. The private key is returned once and never stored. */
export async function activateAgent(call: ManagementCall<AgentWithPrincipal>, did: string) {
  const { db, tenant, now, deps } = call;
  const { place, caller, object, ...found } = await call.read({
    ...buildSourceReads(db, tenant, did),
    place: findListPlace(db),
  });
  const before = toAidSource(object, found);
  const { to } = move(agentMachine, before.agent.status, "activate");
  const standing = toEffectivePrincipalStatus(before.principal, now);
  if (standing !== "ACTIVE") throw new ServiceError("invalid_status", { detail: { principal_status: standing } });

  const key = await drawKey();
  const { attestationExpiresAt: endsAt } = before.principal;
  const keyed = { status: to, ...key.columns, endsAt };
  const agent = { ...before.agent, ...keyed };
  const certificate = await certify(call, agent, before.principal, place);
  const view = await toCredentials(agent, before.principal, certificate, key);
  const { statements } = await reviseAgent(
    db,
    deps,
    before,
    {
      set: keyed,
      newVersion: true,
      certificate,
      also: hasAttestationUntil(now, endsAt),
      activity: { action: "agent.activated", actor: caller.actor },
      events: ["agent.activated", "agent.status_changed"],
      listing: "registered",
    },
    now,
  );
  await call.commit(statements, view);
  return view;
}
