// Reads a platform's own principals (PRN-5), maps their rows to responses at an instant, and computes when the end of an attestation is announced
// (PRN-26).
import { type ManagementCall, readPage } from "../call.ts";
import { toIso } from "../core/clock.ts";
import { DAY_MS } from "../core/limits.ts";
import { hashListing, type Page, toPage } from "../core/page.ts";
import type { AccountStop, PrincipalStatus } from "../core/vocabulary.ts";
import type { AttestationRow, PrincipalRow } from "../db/tables/principals.ts";
import { computeRequiredTier, toAttestedTier } from "./attestations.ts";
import { toEffectivePrincipalStatus } from "./effective-status.ts";
import { isPrincipalListByEnd, type ListedPrincipal, listPrincipals } from "./find-store.ts";
import type { RecordedAttestationView } from "./responses.ts";
import type { PrincipalQuery, PrincipalView } from "./schema.ts";
import { findPrincipal } from "./store.ts";

export const findNamedPrincipal = ({ db, tenant }: ManagementCall, { principal_id }: { principal_id: string }) =>
  findPrincipal(db, tenant, principal_id);

export const getPrincipal = async (call: ManagementCall<PrincipalRow>): Promise<PrincipalView> =>
  toPrincipalView((await call.read({})).object, call.now);

export async function getPrincipals(call: ManagementCall, query: PrincipalQuery): Promise<Page<PrincipalView>> {
  const { customer_id: customerId, external_ref: externalRef, status } = query;
  const filter = { customerId, externalRef, status };
  const page = await readPage(call, query, hashListing("principals", [call.environment], filter));
  const { found } = await call.read({ found: listPrincipals(call.db, call.tenant, filter, call.now, page) });
  const byEnd = isPrincipalListByEnd(filter);
  return toPage(
    found,
    page,
    ({ attestationExpiresAt, createdAt, principalId }) => ({
      at: byEnd ? attestationExpiresAt : createdAt,
      id: principalId,
    }),
    (row) => toPrincipalView(row, call.now),
  );
}

// ---- Views --------------------------------------------------------------------------------------------------------------

export function toPrincipalView(row: ListedPrincipal, now: number): PrincipalView {
  const status = toEffectivePrincipalStatus(row, now);
  return {
    principal_id: row.principalId,
    legal_name: row.legalName,
    country: row.country,
    entity_type: row.entityType,
    external_ref: row.externalRef,
    customer_id: row.customerId,
    environment: row.environment,
    status,
    status_reason: toStatusReason(row, status),
    status_note: row.statusNote,
    metadata: row.metadata,
    verification_attestation: {
      attestation_id: row.attestationId,
      verifier_id: row.attestationVerifierId,
      model: row.attestationModel,
      issued_at: toIso(row.attestationIssuedAt),
      expires_at: toIso(row.attestationExpiresAt),
      ...(row.attestationTier !== null && { tier: row.attestationTier }),
      signed: row.attestationSigned,
    },
    attested_tier: toAttestedTier(row),
    // A CLOSED principal has no agents left, whether or not their rows say so yet.
    required_tier: computeRequiredTier(status === "CLOSED" ? 0 : row.providers),
    created_at: toIso(row.createdAt),
    updated_at: toIso(row.updatedAt),
  };
}

/**
 * The principal as events show it, without its account's stop. No event reports the stop or the reinstatement of the account, so a change in between
 * would otherwise never be reported.
 */
export const toEventPrincipal = (row: ListedPrincipal, now: number): PrincipalView =>
  toPrincipalView({ ...row, accountStopped: null }, now);

export function toRecordedView(row: AttestationRow, principal: ListedPrincipal, now: number): RecordedAttestationView {
  return {
    attestation_id: row.attestationId,
    verifier_id: row.verifierId,
    model: row.model,
    issued_at: toIso(row.issuedAt),
    expires_at: toIso(row.expiresAt),
    ...(row.tier !== null && { tier: row.tier }),
    signed: row.signed,
    principal_id: row.principalId,
    status: toAttestationStatus(row, principal, now),
    proof: row.proof,
    recorded_at: toIso(row.recordedAt),
    revoked_at: row.revokedAt === null ? null : toIso(row.revokedAt),
    revocation_reason: row.revocationReason,
  };
}

function toAttestationStatus(
  row: AttestationRow,
  principal: ListedPrincipal,
  now: number,
): RecordedAttestationView["status"] {
  if (row.revokedAt !== null) return "revoked";
  const isPresent = row.attestationId === principal.attestationId && row.verifierId === principal.attestationVerifierId;
  if (!isPresent) return "replaced";
  return row.expiresAt <= now ? "expired" : "current";
}

/** The reason that principals show for a stop of their account. */
export const ACCOUNT_REASONS: Readonly<Record<AccountStop, string>> = {
  SUSPENDED: "operator",
  CLOSED: "account_closed",
};

function toStatusReason(row: ListedPrincipal, shown: PrincipalStatus): string | null {
  const { status, statusReason, accountStopped, platformStopped, attestationStop } = row;
  if (shown === "ACTIVE") return null;
  if (shown === "CLOSED") return status === "CLOSED" ? statusReason : ACCOUNT_REASONS.CLOSED;
  if (shown === "SUSPENDED") {
    if (accountStopped !== null) return ACCOUNT_REASONS.SUSPENDED;
    return platformStopped ? "platform" : "customer";
  }
  return attestationStop ?? "attestation_expired";
}

// ---- Notices of the end of an attestation -------------------------------------------------------------------------------

/** Each day has one notice, farthest from the end first. If several are due, only the nearest to the end is sent. */
const NOTICE_DAYS = [30, 7, 1] as const;
export type NoticeDays = (typeof NOTICE_DAYS)[number];

export const FARTHEST_NOTICE_DAYS = NOTICE_DAYS[0];

const computeNoticeInstant = (expiresAt: number, days: NoticeDays): number => expiresAt - days * DAY_MS;

/** The first notice of an attestation that is recorded now: at once if its time has come, null if the attestation has ended. */
export const computeFirstNotice = (expiresAt: number, now: number): number | null =>
  expiresAt <= now ? null : Math.max(now, computeNoticeInstant(expiresAt, FARTHEST_NOTICE_DAYS));

/**
 * The first notice of an attestation that follows another. An earlier instant stays, which saves a write of the index: the job finds no notice due
 * then, and moves the instant on.
 */
export const computeRenewedNotice = (known: number | null, expiresAt: number, now: number): number | null => {
  const first = computeFirstNotice(expiresAt, now);
  return known === null || first === null ? first : Math.min(known, first);
};

/** The notice that is due now: the nearest to the end whose time has come. Null before the first notice, and from the end on. */
export const pickDueNotice = (expiresAt: number, now: number): NoticeDays | null =>
  expiresAt <= now ? null : (NOTICE_DAYS.findLast((days) => computeNoticeInstant(expiresAt, days) <= now) ?? null);

/** The instant of the notice after those that are due now; null after the last. */
export const computeNextNotice = (expiresAt: number, now: number): number | null => {
  const next = NOTICE_DAYS.find((days) => computeNoticeInstant(expiresAt, days) > now);
  return next === undefined ? null : computeNoticeInstant(expiresAt, next);
};
