// Every error code with its HTTP status and its sentence (HTTP-14, HTTP-16). The status of a code is looked up only here; the OpenAPI document and
// the tests enumerate this table.

export type ErrorSpec = { readonly status: ErrorStatus; readonly message: string };
export type ErrorStatus = 400 | 401 | 403 | 404 | 405 | 409 | 410 | 413 | 422 | 429 | 500 | 503;

const toErrorEntry = <const S extends ErrorStatus>(status: S, message: string) => ({ status, message });

export const ERRORS = {
  // 400: the request itself is wrong.
  invalid_request: toErrorEntry(400, "The request could not be read."),
  no_changes_requested: toErrorEntry(400, "The request changes nothing."),
  // 401: authentication failed.
  invalid_credentials: toErrorEntry(401, "The credential is missing, wrong, unknown or revoked."),
  certificate_required: toErrorEntry(
    401,
    "This call needs an agent's credential: send AEAP-Certificate, AEAP-Proof and AEAP-Timestamp.",
  ),
  aeap_verification_failed: toErrorEntry(
    401,
    "The certificate or the proof does not verify, or the timestamp is more than 30 seconds off.",
  ),
  proof_invalid: toErrorEntry(
    401,
    "The consumer's proof does not verify, or its timestamp is more than 30 seconds off.",
  ),
  unauthorized: toErrorEntry(401, "The directory needs a management key."),
  // 403: not permitted, and not by trying again.
  email_not_verified: toErrorEntry(403, "The account's email address is not verified."),
  account_suspended: toErrorEntry(403, "The platform account is suspended."),
  tier_exceeds_accreditation: toErrorEntry(403, "The action needs a higher accreditation."),
  forbidden: toErrorEntry(
    403,
    "The caller may not do this: it is not a party to the object, or the action needs another credential.",
  ),
  role_not_permitted: toErrorEntry(403, "The agent's role does not permit this."),
  spend_policy_violation: toErrorEntry(403, "The consumer's spend policy refuses this payment."),
  not_found: toErrorEntry(404, "There is no such object, or it is another platform's."),
  facilitation_not_found: toErrorEntry(404, "No facilitation is recorded for this reference."),
  method_not_allowed: toErrorEntry(405, "The path does not support this method; see Allow."),
  // 409: the state of the object forbids it.
  production_locked: toErrorEntry(409, "Production is not available to this account yet."),
  email_exists: toErrorEntry(409, "An account with this address already exists."),
  email_already_in_use: toErrorEntry(409, "Another account already uses this address."),
  kyb_in_progress: toErrorEntry(409, "A verification is already in review."),
  verification_already_accredited: toErrorEntry(409, "The account is already accredited."),
  not_accredited: toErrorEntry(409, "The account is not accredited."),
  already_promoted: toErrorEntry(409, "The account is already in production; rotate the key to get a new one."),
  key_not_provisioned: toErrorEntry(409, "No key exists for this environment yet."),
  close_blocked_escrow: toErrorEntry(409, "Closing is blocked while an escrow holds funds."),
  close_blocked_open_disputes: toErrorEntry(409, "Closing is blocked while agents are active or disputes are open."),
  external_ref_exists: toErrorEntry(
    409,
    "An object with this external_ref, or a principal with this legal name and country, already exists.",
  ),
  customer_not_empty: toErrorEntry(409, "The customer still holds principals."),
  tenant_principal_field_locked: toErrorEntry(
    409,
    "The tenant principal follows the company profile and cannot be edited here.",
  ),
  invalid_status: toErrorEntry(409, "The object's status does not permit this."),
  environment_mismatch: toErrorEntry(409, "Sandbox and production objects cannot be mixed."),
  agent_status_not_mutable: toErrorEntry(409, "A revoked or terminated agent cannot be edited."),
  use_activate_endpoint: toErrorEntry(409, "A DRAFT agent becomes ACTIVE through POST /v1/agents/{did}/activate."),
  escrow_constrained_cannot_reactivate: toErrorEntry(
    409,
    "The agent cannot be reactivated while its escrow is CONSTRAINED.",
  ),
  escrow_below_threshold: toErrorEntry(409, "The production escrow is below its threshold."),
  escrow_constrained: toErrorEntry(409, "The provider's escrow is CONSTRAINED by open disputes."),
  market_not_authorized: toErrorEntry(409, "The provider has no market for this buyer, currency and network."),
  settlement_verification_failed: toErrorEntry(409, "The settlement on-chain cannot be verified against the intent."),
  payment_not_found: toErrorEntry(409, "The transaction is not confirmed on this network yet."),
  amount_mismatch: toErrorEntry(409, "The settled amount differs from the intent."),
  intent_expired: toErrorEntry(409, "The intent expired before it was facilitated."),
  task_already_closed: toErrorEntry(409, "The task is closed; its outcome cannot change."),
  confirmation_window_closed: toErrorEntry(
    409,
    "The confirmation window is over; the task was confirmed automatically.",
  ),
  dispute_window_expired: toErrorEntry(409, "The dispute window is over."),
  final_sale: toErrorEntry(409, "The sale is final: it was settled with a dispute window of zero."),
  dispute_exists: toErrorEntry(409, "A dispute is already open on this transaction."),
  idempotency_key_processing: toErrorEntry(409, "The original request is still in flight; retry with the same key."),
  agent_not_active: toErrorEntry(409, "An agent that is not ACTIVE cannot transact."),
  cursor_expired: toErrorEntry(410, "The cursor is older than 30 days; read the listing again in full."),
  payload_too_large: toErrorEntry(413, "The body is too large or nested too deeply."),
  // 422: the values are wrong.
  validation_failed: toErrorEntry(422, "Some values are not valid; see field_errors."),
  confirmation_mismatch: toErrorEntry(422, "The typed confirmation does not match."),
  current_password_invalid: toErrorEntry(422, "The current password is wrong."),
  document_type_invalid: toErrorEntry(422, "The document type is unknown."),
  file_too_large: toErrorEntry(422, "The file is too large."),
  unsupported_file_type: toErrorEntry(422, "The file format is not accepted."),
  field_not_allowed_for_role: toErrorEntry(422, "The field does not apply to the agent's role."),
  invalid_market_format: toErrorEntry(422, "A market must be JURISDICTION-CURRENCY, such as US-USDC."),
  catalog_url_not_permitted: toErrorEntry(422, "A CONSUMER cannot have a catalogue."),
  invalid_reason: toErrorEntry(422, "The reason must be not_delivered, not_as_described, unauthorized or other."),
  invalid_disputed_amount: toErrorEntry(422, "The disputed amount is malformed or above the settled amount."),
  idempotency_key_reused: toErrorEntry(422, "This Idempotency-Key was used with another body."),
  rate_limited: toErrorEntry(429, "Too many requests; wait for Retry-After, with jitter."),
  internal_error: toErrorEntry(500, "The service failed unexpectedly; retry idempotent calls with backoff."),
  service_busy: toErrorEntry(503, "Other calls changed the same object at the same time; retry."),
  chain_unavailable: toErrorEntry(503, "The chain could not be read just now; retry."),
} as const satisfies Record<string, ErrorSpec>;

export type ErrorCode = keyof typeof ERRORS;

/** Codes inside `field_errors` that any call with input may answer. */
const COMMON_FIELD_ERRORS = {
  required: "This field is required.",
  invalid_format: "The value does not have the expected format.",
  invalid_type: "The value has the wrong type.",
  invalid_value: "The value is not one of those allowed.",
  too_short: "The value is too short.",
  too_long: "The value is too long.",
  too_small: "The value is too small.",
  too_big: "The value is too big.",
  unknown_field: "The field is unknown.",
  not_found: "There is no such object, or it is another platform's.",
} as const;

/** Codes inside `field_errors` of the calls that declare them (`fieldErrors` of a route). */
const OWN_FIELD_ERRORS = {
  missing_fields: "Several required items are missing.",
  invalid_field: "The field is not valid here.",
  invalid_economic_role: "Must be CONSUMER or PROVIDER; ENTERPRISE cannot be registered.",
  invalid_cert_tier: "Must be TIER_1, TIER_2 or TIER_3.",
  cert_tier_role_mismatch: "The certificate tier does not exist for the role.",
  authorized_action_role_mismatch: "The authorized action does not exist for the role.",
  scope_exceeds_delegator: "A delegate's scope must be within its delegator's.",
} as const;

/** Codes that occur only inside `field_errors`. */
export const FIELD_ERRORS = { ...COMMON_FIELD_ERRORS, ...OWN_FIELD_ERRORS };
export type OwnFieldErrorCode = keyof typeof OWN_FIELD_ERRORS;
export const isOwnFieldError = (code: string): code is OwnFieldErrorCode => Object.hasOwn(OWN_FIELD_ERRORS, code);

export type FieldErrorCode = keyof typeof FIELD_ERRORS | ErrorCode;
export type FieldError = { field: string; code: FieldErrorCode; message: string };

export const toFieldError = (field: string, code: FieldErrorCode, message?: string): FieldError => ({
  field,
  code,
  message:
    message ??
    (code in FIELD_ERRORS ? FIELD_ERRORS[code as keyof typeof FIELD_ERRORS] : ERRORS[code as ErrorCode].message),
});

export type ErrorExtra = {
  message?: string;
  field_errors?: FieldError[];
  detail?: Record<string, unknown>;
  type?: string;
  headers?: Record<string, string>;
  /** Not stored under the Idempotency-Key (IDM-7): the corrected request, or the same request later, may use the key again. */
  unkept?: true;
  /** The precise reason, for the log only; it is never answered. */
  reason?: string;
};

/** The only error that becomes an answer. Every other thrown value is answered as 500. */
export class ServiceError extends Error {
  readonly code: ErrorCode;
  readonly extra: ErrorExtra;

  constructor(code: ErrorCode, extra: ErrorExtra = {}) {
    super(extra.message ?? ERRORS[code].message);
    this.name = "ServiceError";
    this.code = code;
    this.extra = extra;
  }

  get status(): ErrorStatus {
    return ERRORS[this.code].status;
  }
}

const WITHOUT_FIELD: ReadonlySet<ErrorCode> = new Set(["validation_failed", "idempotency_key_reused"]);

/** 422 codes of a whole answer that may also occur inside `field_errors`. */
export const TOP_LEVEL_422: readonly ErrorCode[] = (Object.keys(ERRORS) as ErrorCode[]).filter(
  (code) => ERRORS[code].status === 422 && !WITHOUT_FIELD.has(code),
);
const isTopLevel = (code: string): code is ErrorCode => (TOP_LEVEL_422 as readonly string[]).includes(code);

/** A body of 256 KiB may have tens of thousands of faults; more than this number helps no reader. */
const FAULTS_MAX = 100;

/** Chooses the one code for several faults of a body (HTTP-17). */
export function toValidationError(faults: FieldError[]): ServiceError {
  const special = faults.map(({ code }) => code).filter(isTopLevel);
  const code = special.length === faults.length ? special[0] : undefined;
  return new ServiceError(code ?? "validation_failed", { field_errors: faults.slice(0, FAULTS_MAX) });
}
