// The operator's attestation of a tenant principal (ACC-24): recorded by the approval of an account, renewed by the operator at any time.
import type { OperatorCall } from "../call.ts";
import type { Deps } from "../context.ts";
import { addMonths } from "../core/clock.ts";
import { fieldError, ServiceError, validationError } from "../core/errors.ts";
import { newId } from "../core/ids.ts";
import { ATTESTATION_MAX_AGE_MONTHS } from "../core/limits.ts";
import { move } from "../core/machine.ts";
import type { Tier } from "../core/vocabulary.ts";
import { type Database, type ReadResults, readBatch, type Statement } from "../db/batch.ts";
import type { PrincipalRow } from "../db/tables/principals.ts";
import { recordActivity } from "../journal/activity.ts";
import { recordEvent } from "../journal/events.ts";
import { recordOperatorEntry } from "../journal/operator-log.ts";
import { currentAttestation } from "../principals/attestations.ts";
import { principalMachine } from "../principals/states.ts";
import { attestPrincipal, findPrincipalById, insertAttestation } from "../principals/store.ts";
import { toPrincipalView } from "../principals/views.ts";
import { endAttestations } from "../standing/expire.ts";
import { type Restating, restateAgents, restateReads } from "../standing/restate-agents.ts";
import { findCascade } from "../standing/store.ts";
import type { RenewalInput } from "./review-schema.ts";
import { findPlatform, tenantPrincipalOf } from "./store.ts";

/** The reads of an attestation, beside those of the account. */
export const attestReads = (db: Database, platformId: string) => {
  const principalId = tenantPrincipalOf(platformId);
  return {
    principal: findPrincipalById(db, principalId),
    cascade: findCascade(db, principalId),
    ...restateReads(db, principalId),
  };
};
type Found = ReadResults<ReturnType<typeof attestReads>>;

export type Attested = { readonly principal: PrincipalRow } & Restating;

/**
 * Attests the tenant principal. Its agents' documents show the attestation, so they become stale. Agents that an ended attestation has
 * suspended stay suspended, until each is returned.
 */
export async function attestTenant(
  deps: Deps,
  found: Found,
  { tier, expiresAt }: { readonly tier: Tier; readonly expiresAt: number },
  now: number,
): Promise<Attested> {
  const { db } = deps;
  const { principal: before, cascade } = found;
  if (!before) throw new Error("unreachable: an account with a complete profile has a tenant principal");
  if (cascade) throw new ServiceError("invalid_status", { message: STILL_STOPPING, headers: { "Retry-After": "5" } });
  const moved = move(principalMachine, before.status, "attest");
  const principal: PrincipalRow = {
    ...before,
    status: moved.to,
    statusReason: moved.to === "ACTIVE" ? null : before.statusReason,
    attestationId: newId("att", now),
    attestationVerifierId: "operator",
    attestationModel: "kyb",
    attestationTier: tier,
    attestationIssuedAt: now,
    attestationExpiresAt: expiresAt,
    updatedAt: Math.max(now, before.updatedAt + 1),
  };
  const restating = await restateAgents(deps, principal, found, now);
  const returned = moved.from === moved.to ? [] : [statusEvent(db, principal, now)];
  return {
    principal,
    rest: restating.rest,
    statements: [
      ...attestPrincipal(db, before, principal),
      insertAttestation(db, currentAttestation(principal, { proof: null, recordedAt: now })),
      ...returned,
      ...restating.statements,
    ],
  };
}

const STILL_STOPPING = "The agents of the last attestation are still being suspended; try again in a moment.";

const statusEvent = (db: Database, principal: PrincipalRow, now: number): Statement =>
  recordEvent(db, principal, now, { type: "principal.status_changed", object: toPrincipalView(principal, now) });

/** Records an end that no job has recorded yet: the new attestation begins after it, and gives no agent back. */
export async function recordEnd(deps: Deps, principal: PrincipalRow | null, now: number): Promise<boolean> {
  if (principal?.status !== "ACTIVE" || principal.attestationExpiresAt > now) return false;
  await endAttestations.record(deps, principal.principalId);
  return true;
}

export const maxExpiry = (now: number): number => addMonths(now, ATTESTATION_MAX_AGE_MONTHS);

export async function renewAttestation(call: OperatorCall, platformId: string, { expires_at: asked }: RenewalInput) {
  const { db, deps, actor } = call;
  const now = deps.clock.now();
  const found = await call.read({ platform: findPlatform(db, platformId), ...attestReads(db, platformId) });
  const { platform } = found;
  if (!platform) throw new ServiceError("not_found");
  const expiresAt = asked ?? maxExpiry(now);
  if (expiresAt <= now || expiresAt > maxExpiry(now)) {
    const message = "Must be in the future, and at most twelve months away.";
    throw validationError([fieldError("expires_at", "invalid_value", message)]);
  }
  if (platform.status !== "ACCREDITED") {
    const message = `The account is ${platform.status}: only the attestation of an accredited one is renewed.`;
    throw new ServiceError("invalid_status", { message, detail: { status: platform.status } });
  }
  const read = (await recordEnd(deps, found.principal, now)) ? await readBatch(db, attestReads(db, platformId)) : found;
  const attested = await attestTenant(deps, read, { tier: platform.accreditationTier, expiresAt }, now);
  const view = toPrincipalView(attested.principal, now);
  const { verification_attestation: to } = view;
  const from = read.principal && toPrincipalView(read.principal, now).verification_attestation;
  await call.commit(
    [
      ...attested.statements,
      recordActivity(db, { platformId, environment: "sandbox" }, now, {
        action: "account.attestation_renewed",
        actor,
        subject: { type: "principal", id: attested.principal.principalId },
        changes: { verification_attestation: { from, to } },
      }),
      recordOperatorEntry(db, actor, now, {
        action: "platform.attestation_renewed",
        subject: { type: "platform", id: platformId },
        platformId,
        detail: { expires_at: to.expires_at },
      }),
    ],
    view,
  );
  call.background(attested.rest());
  return view;
}
