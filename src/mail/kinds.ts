// The data of each kind of mail (MAIL-1). The only secret in it is the token of a link (MAIL-4).
import type { AlertKind, DisabledCause, DisputeReason, Environment, Resolution, Tier } from "../core/vocabulary.ts";

/** These addresses are not verified, so the mails contain no text that a person wrote. */
export type LinkData = { readonly token: string; readonly validHours: number };
/** `account`: its legal name, or its address while it has none. */
export type AccountNotice = { readonly account: string };
type ReasonedNotice = AccountNotice & { readonly reason: string };
/** Epoch milliseconds. */
type ChangeNotice = AccountNotice & { readonly at: number };
type ByOperator = ChangeNotice & { readonly byOperator: boolean };
/** The end of a principal's attestation. */
type AttestationEnd = {
  readonly principalId: string;
  readonly principalName: string;
  readonly expiresAt: number;
  readonly days: 30 | 7 | 1;
};
/** `host` without the rest of the URL, because its path may hold a secret. */
type Endpoint = ChangeNotice & { readonly environment: Environment; readonly webhookId: string; readonly host: string };
/** Amounts are decimal strings in whole units of `currency`. */
type Disputed = {
  readonly environment: Environment;
  readonly disputeId: string;
  readonly providerDid: string;
  readonly consumerDid: string;
  readonly currency: string;
};
export type News = { readonly subject: string; readonly text: string };

export type MailData = {
  verify_email: LinkData;
  verify_new_email: LinkData;
  verify_contact: LinkData;
  reset_password: LinkData;
  "customer.key_issued": ChangeNotice & { readonly environment: Environment; readonly keyPrefix: string };
  /** `previousEndsAt`: null if the previous key ended at once. */
  "customer.key_rotated": ChangeNotice & {
    readonly environment: Environment;
    readonly keyPrefix: string;
    readonly previousEndsAt: number | null;
  };
  "customer.verification_decided": AccountNotice &
    (
      | { readonly decision: "approve"; readonly accreditationTier: Tier; readonly reason: string | null }
      | { readonly decision: "reject"; readonly reason: string }
    );
  /** About the proposal of another name, country or registration number. */
  "customer.profile_decided": AccountNotice &
    (
      | { readonly decision: "approve"; readonly reason: string | null }
      | { readonly decision: "reject"; readonly reason: string }
    );
  "customer.password_changed": ChangeNotice;
  "customer.password_reset": ChangeNotice;
  "customer.totp_enabled": ByOperator;
  "customer.totp_disabled": ByOperator;
  /** A log-in from a device or network that is new for the account. */
  "customer.session_opened": ChangeNotice & { readonly device: string; readonly network: string };
  "customer.log_ins_limited": ChangeNotice;
  "customer.email_changed": ChangeNotice & { readonly oldEmail: string; readonly newEmail: string };
  "customer.contact_changed": ChangeNotice & { readonly oldContact: string; readonly newContact: string };
  "customer.account_suspended": ReasonedNotice;
  "customer.account_reinstated": ReasonedNotice;
  "customer.account_closed": ChangeNotice & { readonly retentionYears: number };
  "customer.attestation_expiring": AccountNotice & { readonly ends: readonly [AttestationEnd, ...AttestationEnd[]] };
  /** `gone`: it answered 410. `owner`: a key or session disabled it. `deleted`: a key or session deleted it while it was enabled. */
  "customer.webhook_disabled": Endpoint & { readonly cause: DisabledCause | "deleted" };
  /** The subjects of mails that were held back in an hour, and how many more there were. */
  "customer.digest": AccountNotice & {
    readonly held: readonly { readonly subject: string; readonly at: number }[];
    readonly more: number;
  };
  "customer.webhook_created": Endpoint;
  "customer.webhook_url_changed": Endpoint & { readonly previousHost: string };
  /**
   * `effectiveAt`: null if the contract has it already. `asked`: false if the change was made outside the service. The wallets are addresses.
   */
  "customer.wallet_changed": ChangeNotice & {
    readonly environment: Environment;
    readonly did: string;
    readonly network: string;
    readonly wallet: string;
    readonly previous: string;
    readonly effectiveAt: number | null;
    readonly asked: boolean;
  };
  /** Goes to the provider's account. `reason` is a word of the vocabulary, never the consumer's own text. */
  "customer.dispute_filed": ChangeNotice &
    Disputed & { readonly reason: DisputeReason; readonly amount: string; readonly answersUntil: number };
  /** Goes to both accounts. `refund`: what the arbiter awards to the consumer. */
  "customer.dispute_decided": ChangeNotice & Disputed & { readonly resolution: Resolution; readonly refund: string };
  "customer.announcement": News;
  "customer.maintenance": News;
  "customer.deprecation": News;
  "customer.security": News;
  "operator.alerts": {
    readonly kind: AlertKind;
    readonly alerts: readonly { readonly raisedAt: number; readonly subject: string; readonly message: string }[];
  };
};
export type MailKind = keyof MailData;
