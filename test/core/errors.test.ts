// Transcribes the catalogue of errors, code by code (HTTP-14, HTTP-16, HTTP-17).
import { describe, expect, it } from "vitest";
import { ERRORS, FIELD_ERRORS, ServiceError, toFieldError, toValidationError } from "../../src/core/errors.ts";
import { toErrorEnvelope } from "../../src/http/responses.ts";

const COMMON: Readonly<Record<string, number>> = {
  invalid_credentials: 401,
  certificate_required: 401,
  aeap_verification_failed: 401,
  proof_invalid: 401,
  unauthorized: 401,
  email_not_verified: 403,
  account_suspended: 403,
  tier_exceeds_accreditation: 403,
  forbidden: 403,
  role_not_permitted: 403,
  spend_policy_violation: 403,
  facilitation_not_found: 404,
  production_locked: 409,
  email_exists: 409,
  email_already_in_use: 409,
  kyb_in_progress: 409,
  verification_already_accredited: 409,
  not_accredited: 409,
  already_promoted: 409,
  key_not_provisioned: 409,
  close_blocked_escrow: 409,
  close_blocked_open_disputes: 409,
  external_ref_exists: 409,
  customer_not_empty: 409,
  tenant_principal_field_locked: 409,
  invalid_status: 409,
  environment_mismatch: 409,
  agent_status_not_mutable: 409,
  use_activate_endpoint: 409,
  escrow_constrained_cannot_reactivate: 409,
  escrow_below_threshold: 409,
  market_not_authorized: 409,
  settlement_verification_failed: 409,
  payment_not_found: 409,
  amount_mismatch: 409,
  intent_expired: 409,
  task_already_closed: 409,
  confirmation_window_closed: 409,
  dispute_window_expired: 409,
  final_sale: 409,
  dispute_exists: 409,
  idempotency_key_processing: 409,
  no_changes_requested: 400,
  validation_failed: 422,
  confirmation_mismatch: 422,
  current_password_invalid: 422,
  document_type_invalid: 422,
  file_too_large: 422,
  unsupported_file_type: 422,
  field_not_allowed_for_role: 422,
  invalid_market_format: 422,
  catalog_url_not_permitted: 422,
  invalid_reason: 422,
  invalid_disputed_amount: 422,
  idempotency_key_reused: 422,
  rate_limited: 429,
  cursor_expired: 410,
};

/** The codes that occur inside `field_errors`. */
const FIELD_CODES = [
  "cert_tier_role_mismatch",
  "authorized_action_role_mismatch",
  "missing_fields",
  "invalid_economic_role",
  "invalid_cert_tier",
  "invalid_field",
  "required",
  "invalid_format",
  "invalid_type",
  "invalid_value",
  "too_short",
  "too_long",
  "too_small",
  "too_big",
  "unknown_field",
  "not_found",
  "scope_exceeds_delegator",
];

/** Unreadable requests, unexpected failures, agents that may not act, and a chain that does not answer. */
const SPECIAL: Readonly<Record<string, number>> = {
  invalid_request: 400,
  not_found: 404,
  method_not_allowed: 405,
  payload_too_large: 413,
  internal_error: 500,
  agent_not_active: 409,
  escrow_constrained: 409,
  service_busy: 503,
  chain_unavailable: 503,
};

const statuses = Object.fromEntries(Object.entries(ERRORS).map(([code, { status }]) => [code, status]));

describe("the catalogue", () => {
  it("has these codes with their statuses, and no others", () => {
    expect(statuses).toEqual({ ...COMMON, ...SPECIAL });
  });

  it("has these field codes, and no others", () => {
    expect(Object.keys(FIELD_ERRORS).sort()).toEqual([...FIELD_CODES].sort());
  });

  it("has a sentence for every code", () => {
    const messages = [...Object.values(ERRORS).map(({ message }) => message), ...Object.values(FIELD_ERRORS)];
    expect(messages.filter((message) => !/^[A-Z`].*\.$/.test(message))).toEqual([]);
  });
});

describe("an error", () => {
  it.each(Object.entries({ ...COMMON, ...SPECIAL }))("%s answers %i in the flat envelope", (code, status) => {
    const error = new ServiceError(code as keyof typeof ERRORS);
    expect(toErrorEnvelope(error, "req_1")).toEqual({
      code,
      message: ERRORS[code as keyof typeof ERRORS].message,
      status,
      request_id: "req_1",
      error: code,
    });
  });

  it("carries field_errors, detail and type where it has them, and never the reason for the log", () => {
    const extra = {
      field_errors: [toFieldError("country", "invalid_value")],
      detail: { a: 1 },
      type: "replay",
      reason: "secret",
    };
    const envelope = toErrorEnvelope(new ServiceError("validation_failed", extra), "req_1");
    expect(envelope).toMatchObject({
      field_errors: [{ field: "country", code: "invalid_value", message: FIELD_ERRORS.invalid_value }],
      detail: { a: 1 },
      type: "replay",
    });
    expect(JSON.stringify(envelope)).not.toContain("secret");
  });
});

describe("several faults of one body", () => {
  it("give validation_failed when the schema found any", () => {
    const faults = [
      toFieldError("profile.catalog_url", "catalog_url_not_permitted"),
      toFieldError("country", "required"),
    ];
    const error = toValidationError(faults);
    expect([error.code, error.extra.field_errors]).toEqual(["validation_failed", faults]);
  });

  it("give the first special code when all are special", () => {
    const faults = [toFieldError("a", "catalog_url_not_permitted"), toFieldError("b", "field_not_allowed_for_role")];
    const error = toValidationError(faults);
    expect([error.code, error.extra.field_errors]).toEqual(["catalog_url_not_permitted", faults]);
  });

  it("give validation_failed for codes that occur only in field_errors", () => {
    expect(toValidationError([toFieldError("cert_tier", "cert_tier_role_mismatch")]).code).toBe("validation_failed");
    expect(toValidationError([toFieldError("customer_id", "not_found")]).code).toBe("validation_failed");
  });
});
