// Word lists that several resources share: environments, roles, tiers and states. The state machines (`*/states.ts`), the stored columns, validation
// and the OpenAPI document all read them here.

export const CHANGE_TYPES = ["registered", "updated", "status_changed", "revoked"] as const;
export type ChangeType = (typeof CHANGE_TYPES)[number];

/** The directory's status filter groups the agent statuses into these. */
export const DIRECTORY_STATUSES = ["active", "suspended", "revoked"] as const;
export type DirectoryStatus = (typeof DIRECTORY_STATUSES)[number];

export const ENVIRONMENTS = ["sandbox", "production"] as const;
export type Environment = (typeof ENVIRONMENTS)[number];
export const isEnvironment = (value: unknown): value is Environment => ENVIRONMENTS.some((one) => one === value);
export const OTHER_ENVIRONMENT: Readonly<Record<Environment, Environment>> = {
  sandbox: "production",
  production: "sandbox",
};

export const TIERS = ["TIER_1", "TIER_2", "TIER_3"] as const;
export type Tier = (typeof TIERS)[number];
export const isTier = (value: unknown): value is Tier => TIERS.some((tier) => tier === value);
export const rankTier = (tier: Tier): number => TIERS.indexOf(tier);

export const ECONOMIC_ROLES = ["CONSUMER", "PROVIDER", "ENTERPRISE"] as const;
export type EconomicRole = (typeof ECONOMIC_ROLES)[number];

export const PLATFORM_STATUSES = [
  "EMAIL_PENDING",
  "PROFILE_PENDING",
  "KYB_PENDING",
  "IN_REVIEW",
  "ACCREDITED",
  "SUSPENDED",
  "CLOSED",
] as const;
export type PlatformStatus = (typeof PLATFORM_STATUSES)[number];

export const PROMOTERS = ["key", "session"] as const;
export type Promoter = (typeof PROMOTERS)[number];

export const ACCOUNT_STOPS = ["SUSPENDED", "CLOSED"] as const satisfies readonly PlatformStatus[];
export type AccountStop = (typeof ACCOUNT_STOPS)[number];

/** A verification cannot be submitted without the first four (ACC-4). */
export const REQUIRED_DOCUMENTS = [
  "certificate_of_incorporation",
  "proof_of_registered_address",
  "director_identification",
  "ownership_and_control_structure",
] as const;
export type RequiredDocument = (typeof REQUIRED_DOCUMENTS)[number];
export const DOCUMENT_TYPES = [...REQUIRED_DOCUMENTS, "supporting"] as const;
export type DocumentType = (typeof DOCUMENT_TYPES)[number];
export const DOCUMENT_STATUSES = ["current", "superseded"] as const;
export type DocumentStatus = (typeof DOCUMENT_STATUSES)[number];
/** A document's format is judged by its bytes, not by its declared type. */
export const MEDIA_TYPES = ["application/pdf", "image/png", "image/jpeg"] as const;
export type MediaType = (typeof MEDIA_TYPES)[number];

export const VERIFICATION_DECISIONS = ["approve", "reject"] as const;
export type VerificationDecision = (typeof VERIFICATION_DECISIONS)[number];

export const DECISION_SUBJECTS = ["verification", "profile"] as const;

export const LINK_KINDS = ["verify_email", "change_email", "confirm_contact", "reset_password"] as const;
export type LinkKind = (typeof LINK_KINDS)[number];

export const ANNOUNCEMENT_KINDS = ["announcement", "maintenance", "deprecation", "security"] as const;
export type AnnouncementKind = (typeof ANNOUNCEMENT_KINDS)[number];

export const CUSTOMER_STATUSES = ["ACTIVE", "SUSPENDED"] as const;
export type CustomerStatus = (typeof CUSTOMER_STATUSES)[number];

export const PRINCIPAL_STATUSES = ["ACTIVE", "ATTESTATION_EXPIRED", "SUSPENDED", "CLOSED"] as const;
export type AttestationStop = "attestation_expired" | "attestation_revoked";
export type PrincipalStatus = (typeof PRINCIPAL_STATUSES)[number];

export const ENTITY_TYPES = ["company", "individual"] as const;
export type EntityType = (typeof ENTITY_TYPES)[number];

export const ATTESTATION_MODELS = ["kyb", "kyc"] as const;
export type AttestationModel = (typeof ATTESTATION_MODELS)[number];

export const AGENT_STATUSES = ["DRAFT", "ACTIVE", "SUSPENDED", "REVOKED", "TERMINATED", "FUNDING"] as const;
export type AgentStatus = (typeof AGENT_STATUSES)[number];
/** A REVOKED or TERMINATED agent never changes again (AGT-13). */
export const isFinal = (status: AgentStatus): boolean => status === "REVOKED" || status === "TERMINATED";
/** An ACTIVE or FUNDING agent runs until its principal stops (AGT-19). */
export const ACTIVE_OR_FUNDING: readonly AgentStatus[] = ["ACTIVE", "FUNDING"];
export const isActiveOrFunding = (status: AgentStatus): boolean => ACTIVE_OR_FUNDING.includes(status);

export const SUSPENSION_REASONS = ["platform", "principal", "attestation", "operator"] as const;
export type SuspensionReason = (typeof SUSPENSION_REASONS)[number];

/** A principal that stops suspends all its agents at once; a principal that closes revokes them (AGT-13, AGT-19). */
export const STOP_TRIGGERS = ["principal_stops", "principal_closes"] as const;

/**
 * Triggers that move many agents at once. `account_returns` reactivates the agents that the account's suspension took (ACC-26); `principal_returns`
 * moves no agent, only the principal (PRN-24).
 */
export const CASCADE_TRIGGERS = [...STOP_TRIGGERS, "account_returns", "principal_returns"] as const;
export type CascadeTrigger = (typeof CASCADE_TRIGGERS)[number];

export const VERIFIER_STATUSES = ["enabled", "disabled"] as const;
export type VerifierStatus = (typeof VERIFIER_STATUSES)[number];

export const MARKET_STATUSES = ["PROVISIONING", "ACTIVE", "FAILED"] as const;
export type MarketStatus = (typeof MARKET_STATUSES)[number];

export const ESCROW_STATES = ["FUNDING", "ACTIVE", "CONSTRAINED"] as const;
export type EscrowState = (typeof ESCROW_STATES)[number];

export const SIDES = ["provider", "consumer"] as const;
export type Side = (typeof SIDES)[number];

export const TRANSACTION_STATUSES = ["settled", "reversed"] as const;
export type TransactionStatus = (typeof TRANSACTION_STATUSES)[number];

export const INTENT_STATUSES = ["OPEN", "PAID", "SETTLED", "ABANDONED"] as const;
export type IntentStatus = (typeof INTENT_STATUSES)[number];

/** The values of `intents_from`: who may open an intent that a consumer pays (PAY-6). */
export const INTENTS_FROM = ["anyone", "self"] as const;
export type IntentsFrom = (typeof INTENTS_FROM)[number];

/**
 * The kinds of chain operation. `provider_split` sets a provider's operational wallet and threshold (CHN-14), and `release` pays out a vault's
 * surplus (CHN-28). `refund` is an amount that the provider must return itself, which no key of the service can send (CHN-27). `reserve` is the
 * amount that a vault keeps while disputes are open, and `payout` pays an award out of the vault (CHN-23).
 */
export const OPERATION_KINDS = ["provider_split", "release", "refund", "reserve", "payout"] as const;
export type OperationKind = (typeof OPERATION_KINDS)[number];
export const LEDGER_KINDS = ["settlement", "deposit", "payout", "release"] as const;
export type LedgerKind = (typeof LEDGER_KINDS)[number];
export const OPERATION_STATUSES = ["waiting", "done", "failed"] as const;
export type OperationStatus = (typeof OPERATION_STATUSES)[number];

export const DISPUTE_STATUSES = ["pre_arbitration", "arbitration", "resolved"] as const;
export type DisputeStatus = (typeof DISPUTE_STATUSES)[number];
export const DISPUTE_REASONS = ["not_delivered", "not_as_described", "unauthorized", "other"] as const;
export type DisputeReason = (typeof DISPUTE_REASONS)[number];
export const VERDICTS = ["upheld", "partially_upheld", "rejected"] as const;
export type Verdict = (typeof VERDICTS)[number];
export const RESOLUTIONS = [...VERDICTS, "settled", "withdrawn"] as const;
export type Resolution = (typeof RESOLUTIONS)[number];
export const REFUND_STATUSES = ["none", "owed", "sent", "paid", "outstanding"] as const;
export type RefundStatus = (typeof REFUND_STATUSES)[number];

export const WEBHOOK_STATUSES = ["enabled", "disabled"] as const;
export type WebhookStatus = (typeof WEBHOOK_STATUSES)[number];
/** An endpoint is disabled by its owner, because it answered 410, or because it failed for days. */
export const DISABLED_CAUSES = ["owner", "gone", "failing"] as const;
export type DisabledCause = (typeof DISABLED_CAUSES)[number];
export const DELIVERY_STATUSES = ["pending", "delivered", "failed"] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

export const TASK_STATUSES = ["open", "confirmed", "auto_confirmed", "disputed", "void"] as const;
export type TaskStatus = (typeof TASK_STATUSES)[number];
export const TASK_OUTCOMES = ["confirmed", "partial", "rejected"] as const;
export type TaskOutcome = (typeof TASK_OUTCOMES)[number];

export const ALERT_KINDS = [
  "low_gas",
  "waiting_transaction",
  "network",
  "chain_reorganised",
  "job_lag",
  "follower_lag",
  "job_failed",
  "dead_letter",
  "account_renamed",
  "review_waiting",
  "sandbox_registrations",
  "authority_key",
  "operational_wallet",
  "foreign_act",
  "reconciliation",
  "settlement_reversed",
  "escrow_release",
  "arbitration_waiting",
  "arbitration",
  "award",
  "volume",
] as const;
export type AlertKind = (typeof ALERT_KINDS)[number];

/** `system` acts when something falls due, or where the log does not name the actor; its id then names the job or the act. */
export const ACTOR_TYPES = ["management_api", "dashboard_admin", "agent", "operator", "verifier", "system"] as const;
export type ActorType = (typeof ACTOR_TYPES)[number];
export type Actor = { readonly type: ActorType; readonly id: string };

export const ACTIVITY_ACTIONS = [
  "account.registered",
  "account.email_verified",
  "account.profile_changed",
  "account.profile_proposed",
  "account.profile_decided",
  "account.contact_confirmed",
  "account.document_submitted",
  "account.verification_submitted",
  "account.verification_decided",
  "account.promoted",
  "account.password_changed",
  "account.password_reset",
  "account.totp_enabled",
  "account.totp_disabled",
  "account.email_changed",
  "account.link_refused",
  "account.suspended",
  "account.reinstated",
  "account.closed",
  "principal.attestation_recorded",
  "session.created",
  "session.ended",
  "api_key.issued",
  "api_key.rotated",
  "sandbox.clock_advanced",
  "customer.created",
  "customer.updated",
  "customer.suspended",
  "customer.reactivated",
  "customer.deleted",
  "principal.registered",
  "principal.attestation_expired",
  "principal.attestation_revoked",
  "principal.updated",
  "principal.suspended",
  "principal.reactivated",
  "principal.closed",
  "agent.registered",
  "agent.activated",
  "agent.updated",
  "agent.scope_changed",
  "agent.markets_changed",
  "agent.wallet_changed",
  "agent.escrow_release_requested",
  "agent.certificate_reissued",
  "agent.key_rotated",
  "agent.transferred",
  "agent.promoted",
  "agent.funded",
  "agent.suspended",
  "agent.reactivated",
  "agent.revoked",
  "agent.terminated",
  "dispute.filed",
  "dispute.answered",
  "dispute.evidence_added",
  "dispute.accepted",
  "dispute.conceded",
  "dispute.withdrawn",
  "dispute.escalated",
  "dispute.decided",
  "dispute.payout_repeated",
  "webhook.created",
  "webhook.deleted",
  "webhook.url_changed",
  "webhook.events_changed",
  "webhook.description_changed",
  "webhook.secret_rotated",
  "webhook.enabled",
  "webhook.disabled",
] as const;
export type ActivityAction = (typeof ACTIVITY_ACTIONS)[number];

export const OPERATOR_ACTIONS = [
  "alert.acknowledged",
  "document.read",
  "notice.sent",
  "platform.verification_decided",
  "platform.profile_decided",
  "platform.suspended",
  "platform.reinstated",
  "platform.totp_removed",
  "platform.attestation_renewed",
  "verifier.registered",
  "verifier.updated",
  "attestation.revoked",
  "dispute.resolved",
  "dispute.payout_requested",
  "dispute.payout_repeated",
] as const;
export type OperatorAction = (typeof OPERATOR_ACTIONS)[number];
