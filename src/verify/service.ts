// Specification 5, rule 6: the handshake that two agents make. The service issues the nonce and, for a client that would
// rather ask than compute, checks a certificate, a proof or a document. 200 also when it does not hold: the answer says.
import type { PublicCall } from "../call.ts";
import { toIso } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import { CHALLENGE_NONCE_SECONDS, SECOND_MS, STATUS_LIST_SIZE, STATUS_LIST_TTL_SECONDS } from "../core/limits.ts";
import { readBatch } from "../db/batch.ts";
import { verifyAid } from "../protocol/aid.ts";
import { verifyCertificate } from "../protocol/certificate.ts";
import { decodeBase64Url } from "../protocol/encoding.ts";
import { checkNonce, importNonceKey, issueNonce } from "../protocol/nonce.ts";
import { verifyProof } from "../protocol/proof.ts";
import { type CertificateStatus, signStatusList } from "../protocol/status-list.ts";
import type { ProofInput } from "./schema.ts";
import { findByAgentStatus, findByAttestation, findByPrincipalStatus, findReplaced } from "./store.ts";

const nonceKeys = new Map<string, Promise<CryptoKey>>();
function nonceKeyOf(call: PublicCall): Promise<CryptoKey> {
  const secret = call.deps.env.NONCE_KEY;
  const known = nonceKeys.get(secret);
  if (known) return known;
  const bytes = decodeBase64Url(secret);
  if (!bytes) throw new Error("the secret NONCE_KEY is not base64url");
  const imported = importNonceKey(bytes);
  nonceKeys.set(secret, imported);
  return imported;
}

// The real clock, not the call's: a nonce and a proof live in seconds (contract section 3, test clock).
const wall = (): number => Date.now();

export async function issueChallenge(call: PublicCall) {
  const now = wall();
  const expires_at = toIso(now + CHALLENGE_NONCE_SECONDS * SECOND_MS);
  return { nonce: await issueNonce(await nonceKeyOf(call), now), expires_in: CHALLENGE_NONCE_SECONDS, expires_at };
}

export async function checkCertificate(call: PublicCall, certificate: string) {
  const checked = await certificateOf(call, certificate);
  if (!checked.ok)
    return { valid: false, reason: checked.reason, agent_id: null, cert_tier: null, economic_role: null, claims: null };
  const { claims } = checked;
  const { cert_tier, economic_role } = claims.aeap;
  return { valid: true, reason: null, agent_id: claims.sub, cert_tier, economic_role, claims };
}

export async function checkProof(call: PublicCall, input: ProofInput) {
  const checked = await certificateOf(call, input.certificate);
  if (!checked.ok) return refused(checked.reason);
  const { claims, agentKey } = checked;
  const statement =
    input.proof_type === "bound_proof"
      ? ({ kind: "bound", timestamp: input.timestamp, callerDid: claims.sub, calleeDid: input.callee_did } as const)
      : ({ kind: "challenge", timestamp: input.timestamp, nonce: input.nonce, agentDid: claims.sub } as const);
  const proof = await verifyProof({ statement, proof: input.proof, key: agentKey, now: wall() });
  if (!proof.ok) return refused(proof.reason);
  if (input.proof_type === "challenge_response") {
    const nonce = await checkNonce(await nonceKeyOf(call), input.nonce, wall());
    if (!nonce.ok) return refused(nonce.reason);
    if (!(await useNonceOnce(call, input.nonce, nonce.expiresAt))) return refused("nonce_used");
  }
  return { verified: true, reason: null, agent_id: claims.sub };
}

const refused = (reason: string) => ({ verified: false, reason, agent_id: null });

/** A nonce is single use here; checking a bound proof does not use it up (contract section 7). */
async function useNonceOnce(call: PublicCall, nonce: string, expiresAt: number): Promise<boolean> {
  const { REPLAY } = call.deps.env;
  // Spread over objects by the nonce itself: no single object sees every handshake.
  const guard = REPLAY.get(REPLAY.idFromName(`nonce:${nonce.slice(-2)}`));
  return guard.claim(nonce, expiresAt);
}

export async function checkAid(call: PublicCall, aid: unknown) {
  const { verification } = await call.deps.ca();
  const checked = await verifyAid(aid, verification, { issuer: call.deps.config.issuer });
  if (!checked.ok) return { valid: false, reason: checked.reason, did: null, version: null, revision: null };
  const { did, version, revision } = checked.content;
  return { valid: true, reason: null, did, version, revision };
}

async function certificateOf(call: PublicCall, certificate: string) {
  const { verification } = await call.deps.ca();
  return verifyCertificate(certificate, verification, { issuer: call.deps.config.issuer, now: wall() });
}

/** Status list `n`; there is one. A suspension that comes with the principal is one of the agent (3.2). */
export async function getStatusList(call: PublicCall, n: string): Promise<string> {
  if (n !== "1") throw new ServiceError("not_found");
  const { db, now, deps } = call;
  const found = await readBatch(db, {
    replaced: findReplaced(db, now),
    byAgent: findByAgentStatus(db),
    byPrincipal: findByPrincipalStatus(db),
    byAttestation: findByAttestation(db, now),
  });
  const statuses = new Map<number, CertificateStatus>();
  for (const { idx } of [...found.byPrincipal, ...found.byAttestation]) statuses.set(idx, "suspended");
  for (const { idx, status } of found.byAgent) statuses.set(idx, FINAL.has(status) ? "invalid" : "suspended");
  for (const { idx } of found.replaced) statuses.set(idx, "invalid");
  const { issuer } = deps.config;
  const entries = Array.from(statuses, ([idx, status]) => ({ idx, status }));
  const options = {
    uri: `${issuer}/.well-known/aeap-status-lists/1`,
    issuer,
    size: STATUS_LIST_SIZE,
    now: wall(),
    ttlSeconds: STATUS_LIST_TTL_SECONDS,
  };
  return signStatusList(entries, options, (await deps.ca()).signing);
}

const FINAL: ReadonlySet<string> = new Set(["REVOKED", "TERMINATED"]);
