// Activates a DRAFT (AGT-14): draws a key pair, issues a certificate, signs the document. The private key is in this answer alone and is
// stored nowhere.
import type { ManagementCall } from "../call.ts";
import { toIso } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import { move } from "../core/machine.ts";
import { certify } from "../identity/certificate.ts";
import { findPlace } from "../identity/certificate-store.ts";
import { effectivePrincipalStatus } from "../principals/standing.ts";
import { tierWarnings } from "../principals/tiers.ts";
import { exportPrivateKeyPem, exportPublicJwk, generateKeyPair } from "../protocol/ecdsa.ts";
import { jwkThumbprint } from "../protocol/jwks.ts";
import { reviseAgent, sourceOf } from "./revise.ts";
import { agentMachine } from "./states.ts";
import { sourceReads, whileAttested } from "./store.ts";

const WARNING = "Store the private key now: it is shown once and cannot be recovered.";

export async function activateAgent(call: ManagementCall, did: string) {
  const { db, tenant, now, deps } = call;
  const { place, caller, ...found } = await call.read({ ...sourceReads(db, tenant, did), place: findPlace(db) });
  const before = sourceOf(found);
  const { to } = move(agentMachine, before.agent.status, "activate");
  const standing = effectivePrincipalStatus(before.principal, now);
  if (standing !== "ACTIVE") throw new ServiceError("invalid_status", { detail: { principal_status: standing } });

  const { privateKey, publicKey } = await generateKeyPair();
  const publicJwk = { ...(await exportPublicJwk(publicKey)) };
  const { attestationExpiresAt: endsAt } = before.principal;
  const keyed = { status: to, publicJwk, keyId: await jwkThumbprint(publicJwk), endsAt };
  const certificate = await certify(call, { ...before.agent, ...keyed }, before.principal, place);
  const view = {
    did,
    status: to,
    private_key: await exportPrivateKeyPem(privateKey),
    certificate: certificate.text,
    certificate_expires_at: toIso(certificate.row.expiresAt),
    key_id: keyed.keyId,
    warning: WARNING,
    warnings: tierWarnings(before.agent.economicRole, before.principal),
  };
  const { statements } = await reviseAgent(
    db,
    deps,
    before,
    {
      set: keyed,
      newVersion: true,
      certificate,
      also: whileAttested(now, endsAt),
      activity: { action: "agent.activated", actor: caller.actor },
      events: ["agent.activated", "agent.status_changed"],
      listing: "registered",
    },
    now,
  );
  await call.commit(statements, view);
  return view;
}
