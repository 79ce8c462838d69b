// Authenticates Verifiers (CRED-26): a JWS by a registered key as `Authorization: Bearer`, good once. It permits the revocation of the one
// attestation that it names, which the service function compares with its path.
import { systemClock } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import type { Actor } from "../core/vocabulary.ts";
import type { VerifierRow } from "../db/tables/principals.ts";
import type { Entrance } from "../http/call.ts";
import type { Incoming } from "../http/incoming.ts";
import { findVerifier, isUsed, refuseChangedVerifier } from "../verifiers/store.ts";
import { readCredential, verifyCredential } from "../verifiers/verifiers.ts";
import { readBearer } from "./access.ts";

type VerifierFacts = { readonly verifier: VerifierRow | null; readonly used: boolean };

export const verifierEntrance: Entrance = {
  presents: (incoming) => readPresentedJws(incoming) !== undefined,
  challenge: () => 'Bearer realm="verifiers"',
  check: async (incoming) => {
    const presented = readCredential(readPresentedJws(incoming) ?? "");
    if (presented === null) throw toCredentialError("no claims");
    const { verifierId, jti, endsAt } = presented;
    const actor: Actor = { type: "verifier", id: verifierId };
    const { issuer: audience } = incoming.deps.config;
    let admitted: VerifierRow | null = null;
    return {
      // Any client can name a Verifier, so only the client's address is charged before the signature is verified.
      quota: { of: "address" },
      keys: null,
      reads: (db) => ({ verifier: findVerifier(db, verifierId), used: isUsed(db, verifierId, jti) }),
      offsetOf: () => null,
      admit: async ({ verifier, used }: VerifierFacts) => {
        if (!verifier) throw toCredentialError("no such Verifier");
        const checked = await verifyCredential(presented, verifier, { audience, now: systemClock.now() });
        if (!checked.ok) throw toCredentialError(checked.reason);
        if (used) throw toCredentialError("revocation: it was used before");
        const { attestationId } = checked;
        admitted = verifier;
        return { caller: { actor, attestationId, jti, endsAt }, platformId: null };
      },
      guards: (db) => (admitted ? [refuseChangedVerifier(db, admitted)] : []),
      parts: { verifierId },
    };
  },
};

/** A compact JWS; an operator's key has no dots. */
function readPresentedJws({ context: { req } }: Incoming): string | undefined {
  const presented = readBearer(req.header("authorization"));
  return presented !== undefined && /^[\w-]+\.[\w-]*\.[\w-]*$/.test(presented) ? presented : undefined;
}

const toCredentialError = (reason: string): ServiceError =>
  new ServiceError("invalid_credentials", { message: NO_CREDENTIAL, reason });

const NO_CREDENTIAL = "This is not a valid revocation credential of a Verifier.";
