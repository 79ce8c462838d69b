// Plays the calls of a platform on one of its principals, from a change of its metadata to its closing.
import { operatorHeaders, pickValue } from "../client.ts";
import type { Stage } from "./stage.ts";

export async function playPrincipal(stage: Stage): Promise<void> {
  // Names and references are unique, so each play needs its own.
  const number = Date.now();
  const body = {
    legal_name: `Rheinwerk Logistik GmbH ${number}`,
    country: "DE",
    entity_type: "company",
    external_ref: `crm-rheinwerk-${number}`,
    verification_attestation: { placeholder: true },
  };
  const params = { principal_id: pickValue<string>(await stage.ask("registerPrincipal", { body }), "principal_id") };
  await stage.show("patchPrincipal", { params, body: { metadata: { crm_owner: "north", plan: "gold" } } });
  const day = (days: number): string => new Date(number + days * 86_400_000).toISOString();
  const attestation = {
    attestation_id: `att-${number}`,
    verifier_id: "acme-verification",
    model: "kyb",
    tier: "TIER_2",
    issued_at: day(-1),
    expires_at: day(300),
  };
  await stage.show("recordAttestation", { params, body: { ...attestation, reactivate_agents: true } });
  await stage.show("listAttestations", { params });
  await stage.show("revokeAttestation", {
    params: { attestation_id: attestation.attestation_id },
    headers: operatorHeaders(stage.service.operator_key),
    body: { verifier_id: attestation.verifier_id, reason: "The company is dissolved." },
  });
  await stage.ask("recordAttestation", { params, body: { placeholder: true } });
  await stage.show("suspendPrincipal", { params, body: { reason: "The contract is under review." } });
  await stage.show("reactivatePrincipal", { params, body: { reason: "The review is over.", reactivate_agents: true } });
  await stage.show("closePrincipal", { params, body: { reason: "Offboarded." } });
}
