// Issues a new certificate for the same key, after a renewed attestation or before the old certificate ends (AGT-23). The old one stays valid
// until it ends.
import type { ManagementCall } from "../call.ts";
import { toIso } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import { isFinal } from "../core/vocabulary.ts";
import type { AidSource } from "../identity/aid.ts";
import { certify } from "../identity/certificate.ts";
import { findListPlace } from "../identity/certificate-store.ts";
import type { AgentWithPrincipal } from "../identity/store.ts";
import { toEffectivePrincipalStatus } from "../principals/effective-status.ts";
import { buildSourceReads } from "./find-store.ts";
import { reviseAgent, toAidSource } from "./revise.ts";

/** Refuses an agent without a certificate, one that has ended, and one whose principal is not ACTIVE. */
export function refuseUncertified({ agent, principal, certificate }: AidSource, now: number): void {
  const standing = toEffectivePrincipalStatus(principal, now);
  if (certificate !== null && !isFinal(agent.status) && standing === "ACTIVE") return;
  throw new ServiceError("invalid_status", { detail: { status: agent.status, principal_status: standing } });
}

export async function reissueCertificate(call: ManagementCall<AgentWithPrincipal>, did: string) {
  const { db, tenant, now, deps } = call;
  const { place, caller, object, ...found } = await call.read({
    ...buildSourceReads(db, tenant, did),
    place: findListPlace(db),
  });
  const before = toAidSource(object, found);
  refuseUncertified(before, now);
  const certificate = await certify(call, before.agent, before.principal, place);
  const view = {
    did,
    certificate: certificate.text,
    certificate_expires_at: toIso(certificate.row.expiresAt),
    key_id: certificate.row.keyId,
  };
  const { statements } = await reviseAgent(
    db,
    deps,
    before,
    {
      set: {},
      newVersion: true,
      certificate,
      activity: { action: "agent.certificate_reissued", actor: caller.actor },
      listing: "updated",
    },
    now,
  );
  await call.commit(statements, view);
  return view;
}
