// The account's part and the operator's part of a review: the submission (ACC-21), and the attestation of the tenant principal, which an
// approval records and the operator renews at any time (ACC-24).
import type { OperatorCall, SessionCall } from "../call.ts";
import { type Attested, type Attesting, attestWithAgents, buildAttestReads } from "../cascades/attest.ts";
import type { Deps } from "../context.ts";
import { addMonths, toIso } from "../core/clock.ts";
import { ServiceError, toFieldError, toValidationError } from "../core/errors.ts";
import { createId } from "../core/ids.ts";
import { ATTESTATION_MAX_AGE_MONTHS } from "../core/limits.ts";
import { move } from "../core/machine.ts";
import type { Tier } from "../core/vocabulary.ts";
import type { ReadResults } from "../db/batch.ts";
import type { PlatformRow } from "../db/tables/accounts.ts";
import { recordActivity } from "../journal/activity.ts";
import { raiseAlert } from "../journal/alerts.ts";
import { recordOperatorEntry } from "../journal/operator-log.ts";
import { toPrincipalView } from "../principals/read.ts";
import { findPrincipalById } from "../principals/store.ts";
import { findMissingDocuments, toPlatformView, toReviewedProfile } from "./profile.ts";
import type { RenewalInput } from "./schema.ts";
import { platformMachine } from "./states.ts";
import { findPlatform, selectTenantPrincipal, updatePlatform } from "./store.ts";

export async function submitVerification(call: SessionCall) {
  const { db, deps, environment } = call;
  const now = deps.clock.now();
  const { caller, platform: before } = await call.read({ platform: findPlatform(db, call.tenant.platformId) });
  if (!before) throw new ServiceError("invalid_credentials");
  const moved = move(platformMachine, before.status, "submit");
  const missing = findMissingDocuments(before);
  if (missing.length > 0) {
    const message = "This document is missing.";
    throw toValidationError(missing.map((type) => toFieldError(type, "missing_fields", message)));
  }
  const { platformId } = before;
  // Clears an earlier decision, which the log keeps.
  const set = {
    submittedAt: now,
    reviewed: toReviewedProfile(before),
    decision: null,
    decisionReason: null,
    decidedAt: null,
  };
  const view = { ...toPlatformView({ ...before, ...set, status: moved.to }), environment };
  await call.commit(
    [
      ...updatePlatform(db, before, set, now, moved),
      recordActivity(db, { platformId, environment }, now, {
        action: "account.verification_submitted",
        actor: caller.actor,
        subject: { type: "platform", id: platformId },
        changes: { platform_status: { from: moved.from, to: moved.to } },
      }),
      // Each submission has its own alert, because the previous one may still be unacknowledged.
      raiseAlert(db, {
        kind: "review_waiting",
        subject: `${platformId} submitted ${toIso(now)}`,
        message: `An account waits for its review: GET /v1/operator/platforms/${platformId}.`,
      }),
    ],
    view,
  );
  return view;
}

// ---- The attestation of the tenant principal -----------------------------------------------------------------------------

export async function renewAttestation(
  call: OperatorCall<PlatformRow>,
  platformId: string,
  { expires_at: asked }: RenewalInput,
) {
  const { db, deps, actor } = call;
  const now = deps.clock.now();
  const { object: platform, ...found } = await call.read(buildTenantReads(deps, platformId));
  const expiresAt = asked ?? computeMaxExpiry(now);
  if (expiresAt <= now || expiresAt > computeMaxExpiry(now)) {
    const message = "Must be in the future, and at most twelve months away.";
    throw toValidationError([toFieldError("expires_at", "invalid_value", message)]);
  }
  if (platform.status !== "ACCREDITED") {
    const message = `The account is ${platform.status}: only an accredited account can renew its attestation.`;
    throw new ServiceError("invalid_status", { message, detail: { status: platform.status } });
  }
  const renewed = { tier: platform.accreditationTier, expiresAt, actor, entry: true };
  const attested = await attestTenant(deps, found, renewed, now);
  const view = toPrincipalView(attested.principal, now);
  await call.commit(
    [
      ...attested.statements,
      recordOperatorEntry(db, actor, now, {
        action: "platform.attestation_renewed",
        subject: { type: "platform", id: platformId },
        platformId,
        detail: { expires_at: view.verification_attestation.expires_at },
      }),
    ],
    view,
  );
  call.background(attested.rest());
  return view;
}

/** The reads of an attestation, in addition to those of the account. */
export const buildTenantReads = (deps: Deps, platformId: string) => {
  const principalId = selectTenantPrincipal(platformId);
  return { principal: findPrincipalById(deps.db, principalId), ...buildAttestReads(deps, principalId) };
};
type TenantFacts = ReadResults<ReturnType<typeof buildTenantReads>>;

/** Attests the tenant principal. Agents that an ended attestation has suspended stay suspended until each is reactivated. */
export async function attestTenant(
  deps: Deps,
  { principal, ...found }: TenantFacts,
  { tier, expiresAt, ...by }: { readonly tier: Tier; readonly expiresAt: number } & Pick<Attesting, "actor" | "entry">,
  now: number,
): Promise<Attested> {
  if (!principal) throw new Error("unreachable: an account with a complete profile has a tenant principal");
  const attestation = {
    attestationId: createId("att", now),
    attestationVerifierId: "operator",
    attestationModel: "kyb",
    attestationTier: tier,
    attestationSigned: false,
    attestationIssuedAt: now,
    attestationExpiresAt: expiresAt,
  } as const;
  return attestWithAgents(deps, { ...found, principal }, { attestation, proof: null, reactivate: false, ...by }, now);
}

export const computeMaxExpiry = (now: number): number => addMonths(now, ATTESTATION_MAX_AGE_MONTHS);
