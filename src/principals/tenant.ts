// The tenant principal of an account: the platform's own company, which follows the account's profile (ACC-6).
import { createId } from "../core/ids.ts";
import { foldName } from "../core/text.ts";
import type { Actor } from "../core/vocabulary.ts";
import type { Database, Statement } from "../db/batch.ts";
import type { PrincipalRow } from "../db/tables/principals.ts";
import { recordActivity } from "../journal/activity.ts";
import { expandAttestation, toAttestationRow } from "./attestations.ts";
import { NO_STOPS } from "./effective-status.ts";
import { computeFirstNotice } from "./notices.ts";
import { insertAttestation, insertPrincipal } from "./store.ts";

export type LegalPerson = Pick<PrincipalRow, "legalName" | "country">;

/** Its attestation is a placeholder until the account's review records another one. */
export function createTenantPrincipal(
  db: Database,
  platformId: string,
  { legalName, country }: LegalPerson,
  actor: Actor,
  now: number,
): { readonly principalId: string; readonly statements: Statement[] } {
  const principalId = createId("prn", now);
  const attested = expandAttestation({ placeholder: true }, "sandbox", now);
  const row: PrincipalRow = {
    principalId,
    platformId,
    environment: "sandbox",
    tenant: true,
    legalName,
    nameFolded: foldName(legalName),
    country,
    entityType: "company",
    externalRef: `tenant:${platformId}`,
    customerId: null,
    status: "ACTIVE",
    closed: false,
    statusReason: null,
    statusNote: null,
    ...NO_STOPS,
    accountStopped: null,
    ...attested,
    expiryNoticeAt: computeFirstNotice(attested.attestationExpiresAt, now),
    providers: 0,
    metadata: {},
    createdAt: now,
    updatedAt: now,
  };
  const attestation = toAttestationRow(row, { proof: null, recordedAt: now });
  const registered = {
    action: "principal.registered",
    actor,
    subject: { type: "principal", id: principalId },
  } as const;
  return {
    principalId,
    statements: [
      insertPrincipal(db, row),
      insertAttestation(db, attestation),
      recordActivity(db, row, now, registered),
    ],
  };
}
