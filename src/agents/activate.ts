// Activates a DRAFT (AGT-14): generates a key pair, issues a certificate and signs the document. The private key is returned once and never
// stored.
import type { ManagementCall } from "../call.ts";
import { ServiceError } from "../core/errors.ts";
import { move } from "../core/machine.ts";
import { certify } from "../identity/certificate.ts";
import { findListPlace } from "../identity/certificate-store.ts";
import type { AgentWithPrincipal } from "../identity/store.ts";
import { toEffectivePrincipalStatus } from "../principals/effective-status.ts";
import { buildSourceReads } from "./find-store.ts";
import { drawKey, toCredentials } from "./keys.ts";
import { reviseAgent, toAidSource } from "./revise.ts";
import { agentMachine } from "./states.ts";
import { hasAttestationUntil } from "./while-store.ts";

export async function activateAgent(call: ManagementCall<AgentWithPrincipal>, did: string) {
  const { db, tenant, now, deps } = call;
  const { place, caller, object, ...found } = await call.read({
    ...buildSourceReads(db, tenant, did),
    place: findListPlace(db),
  });
  const before = toAidSource(object, found);
  const { to } = move(agentMachine, before.agent.status, "activate");
  const standing = toEffectivePrincipalStatus(before.principal, now);
  if (standing !== "ACTIVE") throw new ServiceError("invalid_status", { detail: { principal_status: standing } });

  const key = await drawKey();
  const { attestationExpiresAt: endsAt } = before.principal;
  const keyed = { status: to, ...key.columns, endsAt };
  const agent = { ...before.agent, ...keyed };
  const certificate = await certify(call, agent, before.principal, place);
  const view = await toCredentials(agent, before.principal, certificate, key);
  const { statements } = await reviseAgent(
    db,
    deps,
    before,
    {
      set: keyed,
      newVersion: true,
      certificate,
      also: hasAttestationUntil(now, endsAt),
      activity: { action: "agent.activated", actor: caller.actor },
      events: ["agent.activated", "agent.status_changed"],
      listing: "registered",
    },
    now,
  );
  await call.commit(statements, view);
  return view;
}
