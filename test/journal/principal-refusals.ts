// Refused calls of each operation on principals and customers, for test/journal/refusals.test.ts.

import { operator } from "../cascades/account-support.ts";
import { revokeAs } from "../cascades/revocation-support.ts";
import { principalBody, type Reply, type World } from "../support/world.ts";
import type { Refusal } from "./account-refusals.ts";

type Known = {
  readonly world: World;
  readonly principalId: string;
  readonly principalRef: string;
  readonly customerId: string;
};

/** `at` returns its values once the tests run. */
export function principalRefusals(at: () => Known): Readonly<Record<string, readonly Refusal[]>> {
  const post = (path: string, body?: unknown): Promise<Reply> =>
    at().world.call("POST", path, { ...(body !== undefined && { body }) });
  const patch = (path: string, body: unknown): Promise<Reply> => at().world.call("PATCH", path, { body });
  const principal = () => `/v1/principals/${at().principalId}`;
  const customer = () => `/v1/customers/${at().customerId}`;
  return {
    registerPrincipal: [
      ["a body without its fields", "validation_failed", () => post("/v1/principals", {})],
      [
        "a country without the service",
        "validation_failed",
        () => post("/v1/principals", principalBody({ country: "AQ" })),
      ],
      [
        "a reference that is taken",
        "external_ref_exists",
        () => post("/v1/principals", principalBody({ external_ref: at().principalRef })),
      ],
    ],
    patchPrincipal: [
      ["an empty patch", "no_changes_requested", () => patch(`${principal()}`, {})],
      ["a field that registration fixes", "validation_failed", () => patch(`${principal()}`, { country: "FR" })],
    ],
    recordAttestation: [
      ["a body without its fields", "validation_failed", () => post(`${principal()}/attestations`, {})],
      [
        "the account's own company",
        "tenant_principal_field_locked",
        () => post(`/v1/principals/${at().world.tenantPrincipalId}/attestations`, { placeholder: true }),
      ],
    ],
    revokeAttestation: [
      [
        "an unknown attestation",
        "not_found",
        () => revokeAs(at().world, "att_nobody", operator(), { verifier_id: "acme-verification" }),
      ],
      ["no Verifier", "validation_failed", () => revokeAs(at().world, "att_nobody", operator(), {})],
      ["no credential", "invalid_credentials", () => revokeAs(at().world, "att_nobody", {})],
    ],
    suspendPrincipal: [
      ["an unknown field", "validation_failed", () => post(`${principal()}/suspend`, { colour: "red" })],
    ],
    reactivatePrincipal: [["an ACTIVE principal", "invalid_status", () => post(`${principal()}/reactivate`)]],
    closePrincipal: [["one with open disputes", "close_blocked_open_disputes", () => post(`${principal()}/close`)]],
    createCustomer: [
      ["a body without its fields", "validation_failed", () => post("/v1/customers", {})],
      [
        "a reference that is taken",
        "external_ref_exists",
        () => post("/v1/customers", { name: "X", external_ref: "client-1" }),
      ],
    ],
    patchCustomer: [
      ["an empty patch", "no_changes_requested", () => patch(customer(), {})],
      ["a field that cannot be changed", "validation_failed", () => patch(customer(), { status: "SUSPENDED" })],
    ],
    suspendCustomer: [
      ["an unknown field", "validation_failed", () => post(`${customer()}/suspend`, { colour: "red" })],
    ],
    reactivateCustomer: [["an ACTIVE customer", "invalid_status", () => post(`${customer()}/reactivate`)]],
    deleteCustomer: [
      ["a customer with a principal", "customer_not_empty", () => at().world.call("DELETE", customer())],
    ],
  };
}
