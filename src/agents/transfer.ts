// Transfers an agent to another principal of its platform (AGT-33). The DID, the key, obligations and ratings stay with the agent. The
// certificate states the principal, so a new one replaces it at once.
import { type ManagementCall, type Precheck, precheck } from "../call.ts";
import { systemClock } from "../core/clock.ts";
import { ServiceError, toFieldError, toValidationError } from "../core/errors.ts";
import { isActiveOrFunding } from "../core/vocabulary.ts";
import { dropAbsentReads } from "../db/batch.ts";
import type { AgentRow } from "../db/tables/agents.ts";
import type { PrincipalRow } from "../db/tables/principals.ts";
import type { AidSource } from "../identity/aid.ts";
import { certify } from "../identity/certificate.ts";
import { findListPlace } from "../identity/certificate-store.ts";
import type { AgentWithPrincipal } from "../identity/store.ts";
import { findTierWarnings } from "../principals/attestations.ts";
import { toEffectivePrincipalStatus } from "../principals/effective-status.ts";
import { findPrincipal } from "../principals/store.ts";
import { buildSourceReads, findDelegates, mayTransferAgent } from "./find-store.ts";
import { toAgentView } from "./read.ts";
import type { MovedAgentView } from "./responses.ts";
import { moveProviderCount, refuseFinal, reviseAgent, toAidSource } from "./revise.ts";
import type { TransferInput } from "./schema.ts";

/** The error names at most this many delegates. */
const DELEGATES_NAMED_MAX = 20;

export async function transferAgent(
  call: ManagementCall<AgentWithPrincipal>,
  did: string,
  { principal_id }: TransferInput,
): Promise<MovedAgentView> {
  const { db, tenant, now, deps } = call;
  const { caller, place, principal, delegates, object, ...found } = await call.read({
    ...buildSourceReads(db, tenant, did),
    place: findListPlace(db),
    principal: findPrincipal(db, tenant, principal_id),
    delegates: findDelegates(db, did, DELEGATES_NAMED_MAX),
  });
  const before = toAidSource(object, found);
  if (!principal) throw buildUnknownPrincipalError();
  refuseFinal(before, now);
  if (principal.principalId === before.principal.principalId) throw new ServiceError("no_changes_requested");
  refuseStoppedPrincipals(before, principal, now);
  refuseDelegation(before, delegates);
  const { attestationExpiresAt: endsAt } = principal;
  const moved = { principalId: principal.principalId, endsAt };
  const stopped = isSuspendedWithPrincipal(before.agent);
  const certificate =
    before.certificate === null ? null : await certify(call, { ...before.agent, ...moved }, principal, place);
  const { after, statements } = await reviseAgent(
    db,
    deps,
    before,
    {
      set: { ...moved, ...(stopped && { suspensionReason: "platform" }) },
      principal,
      newVersion: true,
      certificate,
      ...(certificate && { earlierCountUntil: systemClock.now() }),
      also: mayTransferAgent(before.agent, principal, now),
      activity: {
        action: "agent.transferred",
        actor: caller.actor,
        changes: {
          principal_id: { from: before.principal.principalId, to: principal.principalId },
          ...(stopped && { suspension_reason: { from: before.agent.suspensionReason, to: "platform" } }),
        },
      },
      events: ["agent.transferred"],
      listing: "updated",
    },
    now,
  );
  const view = {
    ...toAgentView(deps.config, after, now),
    ...(certificate && { certificate: certificate.text }),
    warnings: findTierWarnings(before.agent.economicRole, principal),
  };
  await call.commit([...moveProviderCount(db, before.agent, principal), ...statements], view);
  return view;
}

export const precheckTransfer = (
  { db, tenant }: ManagementCall,
  { principal_id: id }: Partial<TransferInput>,
): Precheck =>
  precheck(dropAbsentReads({ principal: id === undefined ? null : findPrincipal(db, tenant, id) }), ({ principal }) =>
    id !== undefined && !principal ? [toFieldError("principal_id", "not_found")] : [],
  );

const buildUnknownPrincipalError = (): ServiceError => toValidationError([toFieldError("principal_id", "not_found")]);

/**
 * Refuses a new principal that is not ACTIVE, and an agent that is being suspended with its present principal: it must not escape a suspension
 * that its row does not show yet. A SUSPENDED agent stays so under the new principal, but no transfer leads out of a revoked attestation.
 */
function refuseStoppedPrincipals({ agent, principal: own }: AidSource, principal: PrincipalRow, now: number): void {
  const standing = toEffectivePrincipalStatus(principal, now);
  if (standing !== "ACTIVE") throw new ServiceError("invalid_status", { detail: { principal_status: standing } });
  const ownStanding = toEffectivePrincipalStatus(own, now);
  if (own.attestationStop === "attestation_revoked") {
    throw new ServiceError("invalid_status", {
      message: "The attestation of the agent's principal is revoked: record another one first.",
      detail: { principal_status: ownStanding, status_reason: own.attestationStop },
    });
  }
  if (!isActiveOrFunding(agent.status) || ownStanding === "ACTIVE") return;
  throw new ServiceError("invalid_status", {
    message: "The agent is still being suspended with its principal; try again in a moment.",
    detail: { status: "SUSPENDED", principal_status: ownStanding },
    headers: { "Retry-After": "5" },
    unkept: true,
  });
}

/** True if the agent was suspended with its own principal. It then waits for its platform, and is not reactivated with the new principal's agents. */
const isSuspendedWithPrincipal = ({ status, suspensionReason }: AgentRow): boolean =>
  status === "SUSPENDED" && (suspensionReason === "principal" || suspensionReason === "attestation");

/** A delegation is between agents of one principal (AGT-24), so agents in a delegation cannot be transferred. */
function refuseDelegation({ agent }: AidSource, delegates: readonly { readonly did: string }[]): void {
  const [delegator] = agent.delegators;
  if (delegator === undefined && delegates.length === 0) return;
  throw new ServiceError("invalid_status", {
    message: "The agent has a delegator or delegates, which belong to its current principal.",
    detail: {
      status: agent.status,
      ...(delegator !== undefined && { delegator }),
      ...(delegates.length > 0 && { delegates: delegates.map(({ did }) => did) }),
    },
  });
}
