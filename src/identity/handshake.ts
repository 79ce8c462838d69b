// The handshake of two agents (PRF-14). The service issues the nonce, and checks a certificate, a proof or a document for clients that do not
// verify themselves. The HTTP status is 200 even if the check fails (IDN-25).
import type { PublicCall } from "../call.ts";
import type { Env } from "../context.ts";
import { toIso } from "../core/clock.ts";
import { decodeBase64Url } from "../core/encoding.ts";
import { CHALLENGE_NONCE_SECONDS, SECOND_MS } from "../core/limits.ts";
import { memoizeBy } from "../core/retry.ts";
import { isFinal } from "../core/vocabulary.ts";
import { verifyAid } from "../protocol/aid.ts";
import { verifyCertificate } from "../protocol/certificate.ts";
import { checkNonce, importNonceKey, issueNonce } from "../protocol/nonce.ts";
import { verifyProof } from "../protocol/proof.ts";
import { toLiveStatus } from "./aid.ts";
import { toIssuedClaims } from "./certificate.ts";
import { findCertificate, type IssuedClaims } from "./certificate-store.ts";
import type { ProofInput } from "./schema.ts";
import { findPublicAgent } from "./store.ts";

const nonceKey = memoizeBy((env: Pick<Env, "NONCE_KEY">): Promise<CryptoKey> => {
  const bytes = decodeBase64Url(env.NONCE_KEY);
  if (!bytes) throw new Error("the secret NONCE_KEY is not base64url");
  return importNonceKey(bytes);
});

// Real time, not the call's clock: a nonce and a proof live for seconds.
const readRealNow = (): number => Date.now();

export async function issueChallenge(call: PublicCall) {
  const now = readRealNow();
  const expires_at = toIso(now + CHALLENGE_NONCE_SECONDS * SECOND_MS);
  return {
    nonce: await issueNonce(await nonceKey(call.deps.env), now),
    expires_in: CHALLENGE_NONCE_SECONDS,
    expires_at,
  };
}

/** Checks signature and dates, as is possible offline, and what only the service knows: whether the certificate is still valid (IDN-25). */
export async function checkCertificate(call: PublicCall, certificate: string) {
  const checked = await verifyGivenCertificate(call, certificate);
  const reason = checked.ok ? await findCertificateEnd(call, await toIssuedClaims(checked)) : checked.reason;
  if (!checked.ok || reason !== null) {
    return { valid: false, reason, agent_id: null, cert_tier: null, economic_role: null, claims: null };
  }
  const { claims } = checked;
  const { cert_tier, economic_role } = claims.aeap;
  return { valid: true, reason: null, agent_id: claims.sub, cert_tier, economic_role, claims };
}

/** Why a certificate ended before its expiry; null while it is valid. A suspension does not end it: the agent's status shows that. */
async function findCertificateEnd(
  call: PublicCall,
  issued: IssuedClaims,
): Promise<"unknown" | "revoked" | "replaced" | null> {
  const { found, certificate } = await call.read({
    found: findPublicAgent(call.db, issued.did),
    certificate: findCertificate(call.db, issued),
  });
  if (!found || !certificate) return "unknown";
  if (isFinal(toLiveStatus(found.agent, found.principal, call.now).status)) return "revoked";
  return certificate.replacedAt !== null && certificate.replacedAt <= readRealNow() ? "replaced" : null;
}

export async function checkProof(call: PublicCall, input: ProofInput) {
  const checked = await verifyGivenCertificate(call, input.certificate);
  if (!checked.ok) return refuseProof(checked.reason);
  const { claims, agentKey } = checked;
  const statement =
    input.proof_type === "bound_proof"
      ? ({ kind: "bound", timestamp: input.timestamp, callerDid: claims.sub, calleeDid: input.callee_did } as const)
      : ({ kind: "challenge", timestamp: input.timestamp, nonce: input.nonce, agentDid: claims.sub } as const);
  const proof = await verifyProof({ statement, proof: input.proof, key: agentKey, now: readRealNow() });
  if (!proof.ok) return refuseProof(proof.reason);
  // A key is valid no longer than its certificate: a stolen key that was rotated away, or a stolen key of the CA, proves nothing.
  const ended = await findCertificateEnd(call, await toIssuedClaims(checked));
  if (ended !== null) return refuseProof(ended);
  if (input.proof_type === "challenge_response") {
    const nonce = await checkNonce(await nonceKey(call.deps.env), input.nonce, readRealNow());
    if (!nonce.ok) return refuseProof(nonce.reason);
    if (!(await useNonceOnce(call, input.nonce, nonce.expiresAt))) return refuseProof("nonce_used");
  }
  return { verified: true, reason: null, agent_id: claims.sub };
}

const refuseProof = (reason: string) => ({ verified: false, reason, agent_id: null });

/** Uses up a nonce (PRF-13). */
async function useNonceOnce(call: PublicCall, nonce: string, expiresAt: number): Promise<boolean> {
  const { REPLAY } = call.deps.env;
  // Spread over objects by the nonce itself, so that no single object handles every handshake.
  const guard = REPLAY.get(REPLAY.idFromName(`nonce:${nonce.slice(-2)}`));
  return (await guard.use(nonce, "", expiresAt)) === "first";
}

export async function checkAid(call: PublicCall, aid: unknown) {
  const { verification } = await call.deps.ca();
  const checked = await verifyAid(aid, verification, { issuer: call.deps.config.issuer });
  if (!checked.ok) return { valid: false, reason: checked.reason, did: null, version: null, revision: null };
  const { did, version, revision } = checked.content;
  return { valid: true, reason: null, did, version, revision };
}

async function verifyGivenCertificate(call: PublicCall, certificate: string) {
  const { verification } = await call.deps.ca();
  return verifyCertificate(certificate, verification, { issuer: call.deps.config.issuer, now: readRealNow() });
}
