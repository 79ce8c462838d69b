// Issues an agent's certificate for its present key and scope (IDN-6, IDN-7), and serves the status lists that certificates name (IDN-14).
import { decodeJwt } from "jose";
import type { ManagementCall, PublicCall } from "../call.ts";
import type { Deps } from "../context.ts";
import { addMonths, systemClock } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import { createId } from "../core/ids.ts";
import { CERTIFICATE_MONTHS, MINUTE_MS, SECOND_MS, STATUS_LIST_TTL_SECONDS } from "../core/limits.ts";
import { Conflict, memoizeBy } from "../core/retry.ts";
import { commit, readBatch } from "../db/batch.ts";
import type { AgentRow, CertificateRow, StatusListRow } from "../db/tables/agents.ts";
import type { PrincipalRow } from "../db/tables/principals.ts";
import { toCanonicalJson } from "../protocol/canonical-json.ts";
import { type CertificateCheck, type CertificateClaims, issueCertificate } from "../protocol/certificate.ts";
import { computeJwkThumbprint } from "../protocol/jwks.ts";
import { CERTIFICATE_STATUS, nameStatus, signStatusList } from "../protocol/status-list.ts";
import { toDelegation, toScope } from "./aid.ts";
import {
  type DrawnPlace,
  type Exception,
  findListToSign,
  findStatusList,
  type IssuedClaims,
  type Place,
  storeSignedList,
  toListedNumber,
} from "./certificate-store.ts";
import { watchCrowding } from "./open-status-list.ts";

export type IssuedCertificate = {
  /** The JWT. */
  readonly text: string;
  readonly columns: Pick<AgentRow, "certificateJti" | "certificateExpiresAt" | "recertified">;
  readonly row: CertificateRow;
};

/** `drawn`: the certificate's place in the status list, drawn in the trip that read the agent. */
export async function certify(
  { deps, background }: Pick<ManagementCall, "deps" | "background">,
  agent: AgentRow,
  principal: PrincipalRow,
  drawn: DrawnPlace | null,
): Promise<IssuedCertificate> {
  if (!drawn) {
    // All drawn places are taken: the next attempt draws others, from a new list if this one is full.
    await watchCrowding(deps, drawn);
    throw new Conflict();
  }
  background(watchCrowding(deps, drawn));
  const { taken: _drawnBefore, ...place } = drawn;
  return issueAtPlace(deps, agent, principal, place);
}

/**
 * Issues a certificate at a place. It never outlives the principal's attestation, and its dates are in real time, because an offline reader has no
 * other clock (IDN-7).
 */
export async function issueAtPlace(
  deps: Deps,
  agent: AgentRow,
  principal: PrincipalRow,
  place: Place,
): Promise<IssuedCertificate> {
  const { publicJwk, keyId } = agent;
  if (publicJwk === null || keyId === null) throw new Error("an agent without a key is not certified");
  const { issuer } = deps.config;
  const now = systemClock.now();
  const { signing } = await deps.ca();
  const delegation = toDelegation(agent);
  const issuedAt = Math.floor(now / SECOND_MS);
  const jti = createId("crt", now);
  const claims: CertificateClaims = {
    iss: issuer,
    sub: agent.did,
    jti,
    iat: issuedAt,
    nbf: issuedAt,
    exp: Math.floor(Math.min(addMonths(now, CERTIFICATE_MONTHS), principal.attestationExpiresAt) / SECOND_MS),
    cnf: { jwk: publicJwk },
    status: { status_list: { idx: place.idx, uri: toStatusListUri(issuer, place.listId) } },
    aeap: {
      version: "1",
      agent_id: agent.did,
      economic_role: agent.economicRole,
      cert_tier: agent.certTier,
      principal_id: principal.principalId,
      principal_name: principal.legalName,
      principal_country: principal.country,
      authorized_actions: agent.authorizedActions,
      capabilities: agent.capabilities,
      scope: toScope(agent),
      ...(delegation && { delegation }),
      attestation: {
        attestation_id: principal.attestationId,
        verifier_id: principal.attestationVerifierId,
        model: principal.attestationModel,
        signed: principal.attestationSigned,
      },
    },
  };
  const expiresAt = claims.exp * SECOND_MS;
  const row = { did: agent.did, jti, keyId, caKid: signing.kid, ...place, issuedAt: now, expiresAt };
  return {
    text: await issueCertificate(claims, signing),
    columns: { certificateJti: jti, certificateExpiresAt: expiresAt, recertified: agent.certificateJti !== null },
    row: { ...row, listedStatus: toListedNumber(agent.status), replacedAt: null },
  };
}

/** True if a certificate names another attestation than its principal's present one: it ends with the attestation that it names. */
export function namesEarlierAttestation(certificate: string, principal: PrincipalRow): boolean {
  const { attestation } = decodeJwt<CertificateClaims>(certificate).aeap;
  return (
    attestation.attestation_id !== principal.attestationId ||
    attestation.verifier_id !== principal.attestationVerifierId
  );
}

/** True if a certificate states another scope than the agent's: the scope changed while none could be issued (AGT-22). */
export const statesOtherScope = (certificate: string, agent: AgentRow): boolean =>
  toCanonicalJson(decodeJwt<CertificateClaims>(certificate).aeap.scope) !== toCanonicalJson(toScope(agent));

/** The columns of the row that this service stored for a certificate. */
export const toIssuedClaims = async ({
  claims,
  kid,
}: Extract<CertificateCheck, { ok: true }>): Promise<IssuedClaims> => ({
  did: claims.sub,
  jti: claims.jti,
  keyId: await computeJwkThumbprint(claims.cnf.jwk),
  caKid: kid,
});

export const toStatusListUri = (issuer: string, listId: number): string =>
  `${issuer}/.well-known/aeap-status-lists/${listId}`;

// ---- Status lists -------------------------------------------------------------------------------------------------------

export type ServedList = {
  readonly list: string;
  /** Seconds until the end of the list's own `ttl`. */
  readonly maxAgeSeconds: number;
  /** Seconds until the next list may be signed: a shared cache asks again then. */
  readonly currentSeconds: number;
};

/** Signs a list at most once a minute. */
export async function getStatusList(call: PublicCall, name: string): Promise<ServedList> {
  const listId = /^[1-9]\d{0,8}$/.test(name) ? Number(name) : null;
  if (listId === null) throw new ServiceError("not_found");
  const { db, deps } = call;
  if (db !== deps.db) {
    const { copy } = await call.read({ copy: findStatusList(db, listId) });
    if (!copy) throw new ServiceError("not_found");
    const now = Date.now();
    if (isCurrent(copy, now - MINUTE_MS)) return toServedList(copy.signed, copy.signedAt, now);
  }
  const endTurn = await takeTurn(deps, listId);
  let list: SignedList | null = null;
  try {
    list = await findOrSignList(deps, listId);
  } finally {
    endTurn(list?.signedAt ?? null);
  }
  if (!list) throw new ServiceError("not_found");
  return toServedList(list.signed, list.signedAt, Date.now());
}

const toServedList = (list: string, signedAt: number, now: number): ServedList => ({
  list,
  maxAgeSeconds: STATUS_LIST_TTL_SECONDS - Math.ceil((now - signedAt) / SECOND_MS),
  currentSeconds: Math.ceil((signedAt + MINUTE_MS - now) / SECOND_MS),
});

type SignedList = { readonly signed: string; readonly signedAt: number };

const isCurrent = (list: StatusListRow, staleFrom: number): list is StatusListRow & SignedList =>
  list.signed !== null && list.signedAt !== null && list.signedAt > staleFrom;

/** Reads the primary, so that a newly signed list has every exception that was committed. */
async function findOrSignList(deps: Deps, listId: number): Promise<SignedList | null> {
  // Real time, because an offline reader has no other clock.
  const now = Date.now();
  const since = { staleFrom: now - MINUTE_MS, now };
  const { found } = await readBatch(deps.db, { found: findListToSign(deps.db, listId, since) });
  if (!found) return null;
  const { list, exceptions } = found;
  return isCurrent(list, since.staleFrom) ? list : signList(deps, list, exceptions, now);
}

async function signList(
  deps: Deps,
  list: StatusListRow,
  exceptions: readonly Exception[],
  now: number,
): Promise<SignedList> {
  const { db } = deps;
  const { issuer } = deps.config;
  const { listId, size } = list;
  const signed = await signStatusList(
    exceptions.flatMap(({ idx, listedStatus, replacedAt }) => {
      const replaced = replacedAt !== null && replacedAt <= now;
      const status = replaced ? CERTIFICATE_STATUS.invalid : listedStatus;
      return status === CERTIFICATE_STATUS.valid ? [] : [{ idx, status: nameStatus(status) }];
    }),
    { uri: toStatusListUri(issuer, listId), issuer, size, now, ttlSeconds: STATUS_LIST_TTL_SECONDS },
    (await deps.ca()).signing,
  );
  await commit(db, [storeSignedList(db, listId, list.signedAt, { signedAt: now, signed })]);
  return { signed, signedAt: now };
}

// ---- Turns ---------------------------------------------------------------------------------------------------------------

/** Ends a turn with the instant at which the list was signed; null if that is unknown. */
type EndTurn = (signedAt: number | null) => void;
/** When a list was signed, as far as this isolate knows, and until when one of its calls has its turn. */
type KnownList = { readonly signedAt: number; readonly busyUntil: number };

const TURN_MS = 2 * SECOND_MS;
const POLL_MS = 10;
const knownLists = memoizeBy((_kept: Deps["sharedCache"]) => new Map<number, KnownList>());

/**
 * Reading a list that is not current reads all of its exceptions, so the calls of one isolate take turns: the first one signs, and the next ones
 * find its text. Among several isolates, the first stored text wins.
 */
async function takeTurn({ sharedCache }: Deps, listId: number): Promise<EndTurn> {
  const lists = knownLists(sharedCache);
  for (;;) {
    const now = Date.now();
    const known = lists.get(listId);
    if (known && known.signedAt > now - MINUTE_MS) return () => undefined;
    if (!known || known.busyUntil <= now) {
      lists.set(listId, { signedAt: 0, busyUntil: now + TURN_MS });
      // Requests for lists that do not exist must not fill the memory.
      return (signedAt) => (signedAt === null ? lists.delete(listId) : lists.set(listId, { signedAt, busyUntil: 0 }));
    }
    await scheduler.wait(POLL_MS);
  }
}
