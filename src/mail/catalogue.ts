// Every mail of the service as data: what each kind is told, and its subject, paragraphs and button (MAIL-1). No kind is told a secret but
// the token of its link (MAIL-4).
import { toIso } from "../core/clock.ts";
import type { AlertKind, Environment, Tier } from "../core/vocabulary.ts";
import { type Content, type Sender, toOneLine } from "./layout.ts";

/** The address is not verified, so these mails hold nothing that a person wrote: nobody sends a stranger their own text. */
type LinkData = { readonly token: string; readonly validHours: number };
/** `account`: its legal name, or its address while it has none; its id to another address than the account's own. */
type About = { readonly account: string };
type Reasoned = About & { readonly reason: string };
/** Epoch milliseconds. */
type Changed = About & { readonly at: number };
type ByOperator = Changed & { readonly byOperator: boolean };
/** The end of a principal's attestation. */
type End = {
  readonly principalId: string;
  /** Null to an address that is not verified. */
  readonly principalName: string | null;
  readonly expiresAt: number;
  readonly days: 30 | 7 | 1;
};
type News = { readonly subject: string; readonly text: string };

export type MailData = {
  verify_email: LinkData;
  verify_new_email: LinkData;
  reset_password: LinkData;
  "customer.key_issued": Changed & { readonly environment: Environment; readonly keyPrefix: string };
  /** `previousEndsAt`: null where the previous key ended at once. */
  "customer.key_rotated": Changed & {
    readonly environment: Environment;
    readonly keyPrefix: string;
    readonly previousEndsAt: number | null;
  };
  "customer.verification_decided": About &
    (
      | { readonly decision: "approve"; readonly accreditationTier: Tier; readonly reason: string | null }
      | { readonly decision: "reject"; readonly reason: string }
    );
  "customer.password_changed": Changed;
  "customer.password_reset": Changed;
  "customer.totp_enabled": ByOperator;
  "customer.totp_disabled": ByOperator;
  /** A log-in from a device or network that the account was not seen with. */
  "customer.session_opened": Changed & { readonly device: string; readonly network: string };
  "customer.log_ins_limited": Changed;
  /** Goes to both addresses. */
  "customer.email_changed": Changed & { readonly oldEmail: string; readonly newEmail: string };
  /** Goes to the account's own address. */
  "customer.contact_changed": Changed & { readonly oldContact: string; readonly newContact: string };
  "customer.account_suspended": Reasoned;
  "customer.account_reinstated": Reasoned;
  "customer.account_closed": Changed & { readonly retentionYears: number };
  "customer.attestation_expiring": About & { readonly ends: readonly [End, ...End[]] };
  /** `host` alone of the endpoint's URL: its path may hold a secret. `gone`: it answered 410. */
  "customer.webhook_disabled": About & {
    readonly environment: Environment;
    readonly webhookId: string;
    readonly host: string;
    readonly cause: "gone" | "failing";
  };
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

/** A sentence; a value stays within its line. */
const say = (words: TemplateStringsArray, ...values: (string | number)[]): string =>
  String.raw({ raw: words }, ...values.map((value) => toOneLine(String(value))));

const count = (number: number, unit: string): string => `${number} ${unit}${number === 1 ? "" : "s"}`;
const instant = (ms: number): string => `${toIso(ms).slice(0, 19).replace("T", " ")} UTC`;
const reasonOf = (reason: string | null): string[] => (reason === null ? [] : [`Reason: ${reason}`]);

type Template<K extends MailKind> = (data: MailData[K], sender: Sender) => Content;

const linkMail =
  (subject: string, sentences: readonly string[], label: string, path: string) =>
  ({ token, validHours }: LinkData, { operatorName }: Sender): Content => ({
    subject,
    paragraphs: [...sentences, say`The link works once, within ${count(validHours, "hour")}.`, NOT_ASKED],
    button: { label, path: `${path}?token=${encodeURIComponent(token)}` },
    footer: say`You get this mail because this address was given to ${operatorName}.`,
  });

const NOT_ASKED = "If you did not ask for this, do nothing: without the link nothing happens.";

const notice = ({ account }: About, subject: string, ...paragraphs: string[]): Content => ({
  subject,
  paragraphs,
  footer: say`You get this mail because it concerns the account of ${account}.`,
});

const unexpected = ({ operatorName }: Sender): string =>
  say`If none of you did this, change the password, rotate the keys, and tell ${operatorName}.`;

const news =
  (what: string) =>
  ({ subject, text }: News, { operatorName }: Sender): Content => ({
    subject,
    paragraphs: text
      .replace(/\r\n?/g, "\n")
      .trim()
      .split(/\n{2,}/),
    footer: say`${what} by ${operatorName} to the contacts of all accounts.`,
  });

const VERIFY_PATH = "/v1/platform/verify-email";

export const CATALOGUE: { readonly [K in MailKind]: Template<K> } = {
  verify_email: linkMail(
    "Verify your email address",
    [
      "An account was opened with this address, and a password chosen for it. Open the link and press its button to begin.",
      "If somebody else chose the password, ask for a new one before you begin: whoever knows it can sign in.",
    ],
    "Verify the address",
    VERIFY_PATH,
  ),
  verify_new_email: linkMail(
    "Verify your new email address",
    ["An account is to use this address from now on. Open the link and press its button to let it."],
    "Verify the new address",
    VERIFY_PATH,
  ),
  reset_password: linkMail(
    "Reset your password",
    ["A new password was asked for. Open the link to choose one; it signs out everybody who is signed in."],
    "Choose a new password",
    "/v1/platform/password/reset",
  ),
  "customer.key_issued": (data, sender) =>
    notice(
      data,
      say`A ${data.environment} key was issued`,
      say`A management key of ${data.account} for ${data.environment} was issued at ${instant(data.at)}. It begins with ${data.keyPrefix}.`,
      unexpected(sender),
    ),
  "customer.key_rotated": (data, sender) =>
    notice(
      data,
      say`The ${data.environment} key was rotated`,
      say`The management key of ${data.account} for ${data.environment} was rotated at ${instant(data.at)}. The new one begins with ${data.keyPrefix}.`,
      data.previousEndsAt === null
        ? "The previous key has ended."
        : say`The previous key works until ${instant(data.previousEndsAt)}.`,
      unexpected(sender),
    ),
  "customer.verification_decided": (data) =>
    data.decision === "approve"
      ? notice(
          data,
          "Your account is accredited",
          say`The verification of ${data.account} is complete: the account is accredited with ${data.accreditationTier}.`,
          ...reasonOf(data.reason),
          "POST /v1/platform/promote opens production, and answers the production key once.",
        )
      : notice(
          data,
          "Your verification was refused",
          say`The verification of ${data.account} was refused. Correct what the reason names and submit it again; the sandbox is not affected.`,
          ...reasonOf(data.reason),
        ),
  "customer.password_changed": (data, sender) =>
    notice(
      data,
      "Your password was changed",
      say`The password of the account of ${data.account} was changed at ${instant(data.at)}. All other sessions have ended.`,
      unexpected(sender),
    ),
  "customer.password_reset": (data, sender) =>
    notice(
      data,
      "Your password was reset",
      say`The password of the account of ${data.account} was reset by a mailed link at ${instant(data.at)}. All sessions have ended.`,
      unexpected(sender),
    ),
  "customer.totp_enabled": (data, sender) =>
    notice(
      data,
      "TOTP was set up",
      say`Since ${instant(data.at)} a log-in to the account of ${data.account} needs a code of an authenticator app. All other sessions have ended.`,
      "A reset of the password does not take it away: keep the recovery codes.",
      unexpected(sender),
    ),
  "customer.totp_disabled": (data, sender) =>
    notice(
      data,
      "TOTP was taken away",
      data.byOperator
        ? say`${sender.operatorName} took TOTP away from the account of ${data.account} at ${instant(data.at)}, because someone asked for it. All sessions have ended.`
        : say`TOTP was taken away from the account of ${data.account} at ${instant(data.at)}: a log-in needs no code any more. All other sessions have ended.`,
      unexpected(sender),
    ),
  "customer.session_opened": (data, sender) =>
    notice(
      data,
      "A log-in from a new device",
      say`Someone logged in to the account of ${data.account} at ${instant(data.at)} with ${data.device}, from the network ${data.network}. The account was not seen with them in the last 90 days.`,
      "GET /v1/platform/sessions lists the sessions, and DELETE ends one.",
      unexpected(sender),
    ),
  "customer.log_ins_limited": (data, sender) =>
    notice(
      data,
      "Log-ins to your account are limited",
      say`At ${instant(data.at)} the hundredth log-in within 24 hours to the account of ${data.account} failed. Until those hours are over, log-ins are accepted only from networks from which someone logged in to it in the last 90 days.`,
      "To log in from elsewhere, reset the password: that lifts the limit.",
      say`If none of you tried to log in, someone guesses the password: set TOTP up, and tell ${sender.operatorName}.`,
    ),
  "customer.email_changed": (data, sender) =>
    notice(
      data,
      "Your email address was changed",
      say`The address of the account of ${data.account} was changed at ${instant(data.at)}, from ${data.oldEmail} to ${data.newEmail}. Sessions are opened with the new one.`,
      unexpected(sender),
    ),
  "customer.contact_changed": (data, sender) =>
    notice(
      data,
      "Notices go to another address",
      say`The admin contact of the account of ${data.account} was changed at ${instant(data.at)}, from ${data.oldContact} to ${data.newContact}. Notices go there from now on.`,
      unexpected(sender),
    ),
  "customer.account_suspended": (data, sender) =>
    notice(
      data,
      "Your account is suspended",
      say`The account of ${data.account} is suspended by ${sender.operatorName}: its keys and sessions are refused, and its agents are stopped. Open tasks and disputes go on.`,
      ...reasonOf(data.reason),
    ),
  "customer.account_reinstated": (data) =>
    notice(
      data,
      "Your account is reinstated",
      say`The account of ${data.account} is reinstated: its keys and sessions work again, and the agents that the suspension stopped are given back.`,
      ...reasonOf(data.reason),
    ),
  "customer.account_closed": (data) =>
    notice(
      data,
      "Your account is closed",
      say`The account of ${data.account} was closed at ${instant(data.at)}. Its keys, sessions and webhook endpoints have ended, its principals are closed, and its agents are revoked.`,
      say`Its documents and personal data are erased after ${count(data.retentionYears, "year")}.`,
    ),
  "customer.attestation_expiring": (data) => {
    const { ends } = data;
    const sentences = ends.map(({ principalId, principalName, expiresAt }) => {
      const whole = principalName === null ? principalId : `${principalName} (${principalId})`;
      return say`The attestation of ${whole} ends at ${instant(expiresAt)}.`;
    });
    const last = Math.max(...ends.map(({ days }) => days));
    const [{ principalId, principalName }, ...others] = ends;
    const subject =
      others.length === 0
        ? say`The attestation of ${principalName ?? principalId} ends within ${count(last, "day")}`
        : say`The attestations of ${ends.length} principals end within ${count(last, "day")}`;
    const effect = "From then on the agents of the principal are suspended, until a new attestation is recorded.";
    const paragraphs = others.length === 0 ? [`${sentences.join("")} ${effect}`] : [sentences.join("\n"), effect];
    return notice(data, subject, ...paragraphs);
  },
  "customer.webhook_disabled": (data) =>
    notice(
      data,
      "A webhook endpoint was disabled",
      say`The ${data.environment} endpoint ${data.webhookId} at ${data.host} was disabled, because it ${WHY_DISABLED[data.cause]}.`,
      "Nothing is lost: its events stand in GET /v1/events.",
    ),
  "customer.announcement": news("An announcement"),
  "customer.maintenance": news("A maintenance notice"),
  "customer.deprecation": news("A deprecation notice"),
  "customer.security": news("A security notice"),
  "operator.alerts": ({ kind, alerts }, { operatorName }) => ({
    subject: `[${operatorName}] ${kind.replaceAll("_", " ")}: ${alerts.length}`,
    paragraphs: alerts.map(({ raisedAt, subject, message }) => `${say`${toIso(raisedAt)} ${subject}`}\n${message}`),
    button: { label: "All alerts, and how to acknowledge them", path: "/v1/operator/alerts" },
    footer: "You get this mail because OPERATOR_ALERT_EMAIL names this address.",
  }),
};

const WHY_DISABLED = { gone: "answered 410 Gone", failing: "failed for five days" } as const;
