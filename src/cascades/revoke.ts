// Revokes an attestation (PRN-25) for its Verifier or an operator. All principals that it backs, on every platform, stop at once, and their agents
// follow.
import {
  type OperatorCall,
  type OperatorCaller,
  type Precheck,
  precheck,
  type VerifierCall,
  type VerifierCaller,
} from "../call.ts";
import type { Deps } from "../context.ts";
import { systemClock, toIso } from "../core/clock.ts";
import { ServiceError, toFieldError, toValidationError } from "../core/errors.ts";
import type { Actor } from "../core/vocabulary.ts";
import type { ReadResults, Statement } from "../db/batch.ts";
import { recordOperatorEntry } from "../journal/operator-log.ts";
import type { RevocationView } from "../principals/responses.ts";
import type { Revocation } from "../principals/schema.ts";
import { type AttestationKey, findRevocation, isBackedBy, markRevoked } from "../principals/store.ts";
import { useCredential } from "../verifiers/store.ts";
import { groupReads, moveGroup } from "./customer.ts";

const TRIGGER = "principal_stops";

/** The Verifier's credential is for this attestation alone. */
export async function revokeByVerifier(
  call: VerifierCall,
  attestationId: string,
  input: Revocation,
): Promise<RevocationView> {
  const { db, verifierId } = call;
  const attestation = { verifierId, attestationId };
  const { caller, ...found } = await call.read(buildRevocationReads(call.deps, attestation));
  refuseOtherSub(caller, attestationId);
  if (input.verifier_id !== undefined && input.verifier_id !== verifierId) {
    throw toValidationError([toFieldError("verifier_id", "invalid_value", "The credential is another Verifier's.")]);
  }
  const { jti, endsAt: expiresAt, actor } = caller;
  const used = useCredential(db, { verifierId, jti, expiresAt }, systemClock.now());
  return revoke(call, { attestation, reason: input.reason ?? null, actor, with: used, always: true }, found);
}

/** An operator has to name the Verifier. */
export async function revokeByOperator(call: OperatorCall, attestationId: string, input: Revocation) {
  const { db, deps, actor } = call;
  const { verifier_id: verifierId, reason = null } = input;
  if (verifierId === undefined) {
    await call.read({});
    throw toValidationError([toFieldError("verifier_id", "required")]);
  }
  const attestation = { verifierId, attestationId };
  const found = await call.read(buildRevocationReads(call.deps, attestation));
  const entry = recordOperatorEntry(db, actor, deps.clock.now(), {
    action: "attestation.revoked",
    subject: { type: "attestation", id: attestationId },
    detail: { verifier_id: verifierId, ...(reason !== null && { reason }) },
  });
  return revoke(call, { attestation, reason, actor, with: [entry], always: false }, found);
}

function refuseOtherSub(caller: VerifierCaller, attestationId: string): void {
  if (caller.attestationId === attestationId) return;
  const message = "The credential is for another attestation.";
  throw new ServiceError("invalid_credentials", { message, reason: "revocation: another sub" });
}

/** Checks the credential and the attestation before the faults of the request. An operator's body names the Verifier. */
export function precheckRevocation(
  call: VerifierCall | OperatorCall,
  attestationId: string,
  input: Partial<Revocation>,
): Precheck {
  const verifierId = call.surface === "verifier" ? call.verifierId : input.verifier_id;
  if (verifierId === undefined) return precheck({}, () => [toFieldError("verifier_id", "required")]);
  const reads = { revocation: findRevocation(call.db, { verifierId, attestationId }) };
  return precheck<typeof reads, VerifierCaller | OperatorCaller>(reads, ({ caller, revocation }) => {
    if ("attestationId" in caller) refuseOtherSub(caller, attestationId);
    if (!revocation) throw new ServiceError("not_found");
    return [];
  });
}

/** The first principals that the attestation backs, and the first slice of their agents. */
const buildRevocationReads = (deps: Deps, attestation: AttestationKey) => ({
  revocation: findRevocation(deps.db, attestation),
  ...groupReads(deps, isBackedBy(attestation), TRIGGER),
});
type Found = ReadResults<ReturnType<typeof buildRevocationReads>>;

type Revoking = {
  readonly attestation: AttestationKey;
  readonly reason: string | null;
  readonly actor: Actor;
  /** Extra statements. `always`: also if it was already revoked. */
  readonly with: readonly Statement[];
  readonly always: boolean;
};

async function revoke(
  call: VerifierCall | OperatorCall,
  { attestation, reason, actor, with: also, always }: Revoking,
  { revocation, ...found }: Found,
): Promise<RevocationView> {
  const { db, deps } = call;
  const now = deps.clock.now();
  if (!revocation) throw new ServiceError("not_found");
  const view = toRevocationView(attestation, revocation.revokedAt ?? now);
  if (revocation.revokedAt !== null) {
    // A repeated revocation changes nothing and gets the same answer.
    if (always) await call.commit(also, view);
    return view;
  }
  const act = {
    where: isBackedBy(attestation),
    set: { attestationStop: "attestation_revoked" },
    action: "principal.attestation_revoked",
    cause: { trigger: TRIGGER, reason: "attestation", actor },
  } as const;
  const moving = moveGroup(deps, act, found, now, call.contended);
  await call.commit([...also, ...markRevoked(db, attestation, reason, now), ...moving.statements], view);
  // A job continues the cascade if this fails.
  call.background(moving.rest().catch(() => undefined));
  return view;
}

const toRevocationView = ({ attestationId, verifierId }: AttestationKey, revokedAt: number): RevocationView => ({
  attestation_id: attestationId,
  verifier_id: verifierId,
  status: "revoked",
  revoked_at: toIso(revokedAt),
});
