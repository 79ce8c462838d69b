// Every mail of the service as data: the subject, the paragraphs and the button of each kind (MAIL-1).
import { toIso } from "../core/clock.ts";
import type { About, LinkData, MailData, MailKind, News } from "./kinds.ts";
import { type Content, type Sender, toOneLine } from "./layout.ts";

/** Builds a sentence in which each value stays on one line. */
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
    button: { label, path: `${path}${path.includes("?") ? "&" : "?"}token=${encodeURIComponent(token)}` },
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
      "An account was opened with this address, and a password chosen for it. Open the link and enter that password to begin.",
      "If you did not open it, say so on the page that the link opens: the account is then deleted.",
    ],
    "Verify the address",
    VERIFY_PATH,
  ),
  verify_new_email: linkMail(
    "Verify your new email address",
    ["An account is about to use this address. Open the link and enter the account's password to allow it."],
    "Verify the new address",
    VERIFY_PATH,
  ),
  verify_contact: linkMail(
    "Confirm that you are an admin contact",
    [
      "An account names this address as its admin contact. Open the link and press its button to get the account's notices.",
    ],
    "Get the notices",
    `${VERIFY_PATH}?contact=true`,
  ),
  reset_password: linkMail(
    "Reset your password",
    ["A new password was requested. Open the link to choose one; this ends all sessions."],
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
  "customer.profile_decided": (data) =>
    data.decision === "approve"
      ? notice(
          data,
          "Your profile change was approved",
          say`The proposed change of name, country or registration number was approved: the account is now ${data.account}, and its agents' documents say so.`,
          ...reasonOf(data.reason),
        )
      : notice(
          data,
          "Your profile change was refused",
          say`The change of name, country or registration number that ${data.account} proposed was refused. The signed documents stay as they are.`,
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
      "A password reset does not remove TOTP: keep the recovery codes.",
      unexpected(sender),
    ),
  "customer.totp_disabled": (data, sender) =>
    notice(
      data,
      "TOTP was removed",
      data.byOperator
        ? say`${sender.operatorName} removed TOTP from the account of ${data.account} at ${instant(data.at)}, because someone asked for it. All sessions have ended.`
        : say`TOTP was removed from the account of ${data.account} at ${instant(data.at)}: a log-in no longer needs a code. All other sessions have ended.`,
      unexpected(sender),
    ),
  "customer.session_opened": (data, sender) =>
    notice(
      data,
      "A log-in from a new device",
      say`Someone logged in to the account of ${data.account} at ${instant(data.at)} with ${data.device}, from the network ${data.network}. This device was not used with the account from this network in the last 90 days.`,
      "GET /v1/platform/sessions lists the sessions, and DELETE /v1/platform/sessions/{session_id} ends one.",
      unexpected(sender),
    ),
  "customer.log_ins_limited": (data, sender) =>
    notice(
      data,
      "Log-ins to your account are limited",
      say`At ${instant(data.at)} the hundredth log-in within 24 hours to the account of ${data.account} failed. Until those hours are over, log-ins are accepted only from networks from which someone logged in to it in the last 90 days.`,
      "To log in from elsewhere, reset the password: that lifts the limit.",
      say`If none of you tried to log in, someone is guessing the password: set up TOTP, and tell ${sender.operatorName}.`,
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
      "The admin contact was changed",
      say`The admin contact of the account of ${data.account} was changed at ${instant(data.at)}, from ${data.oldContact} to ${data.newContact}. Notices go there and to the account's own address.`,
      unexpected(sender),
    ),
  "customer.account_suspended": (data, sender) =>
    notice(
      data,
      "Your account is suspended",
      say`The account of ${data.account} is suspended by ${sender.operatorName}: its keys and sessions are refused, and its agents are suspended. Open tasks and disputes continue.`,
      ...reasonOf(data.reason),
    ),
  "customer.account_reinstated": (data) =>
    notice(
      data,
      "Your account is reinstated",
      say`The account of ${data.account} is reinstated: its keys and sessions work again, and the agents that were suspended with it are reactivated.`,
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
      return say`The attestation of ${principalName} (${principalId}) ends at ${instant(expiresAt)}.`;
    });
    const last = Math.max(...ends.map(({ days }) => days));
    const [{ principalName }, ...others] = ends;
    const subject =
      others.length === 0
        ? say`The attestation of ${principalName} ends within ${count(last, "day")}`
        : say`The attestations of ${ends.length} principals end within ${count(last, "day")}`;
    const effect = "From then on the agents of the principal are suspended, until a new attestation is recorded.";
    const paragraphs = others.length === 0 ? [`${sentences.join("")} ${effect}`] : [sentences.join("\n"), effect];
    return notice(data, subject, ...paragraphs);
  },
  "customer.webhook_disabled": (data, sender) => {
    const { cause } = data;
    const endpoint = say`The ${data.environment} endpoint ${data.webhookId} at ${data.host}`;
    const kept = "Nothing is lost: its events remain in GET /v1/events.";
    if (cause === "gone" || cause === "failing") {
      const sentence = say`${endpoint} was disabled, because it ${WHY_DISABLED[cause]}.`;
      return notice(data, "A webhook endpoint was disabled", sentence, kept);
    }
    const what = cause === "deleted" ? "deleted" : "disabled";
    return notice(
      data,
      say`A webhook endpoint was ${what} by the account`,
      say`${endpoint} was ${what} at ${instant(data.at)}, with a key or a session of ${data.account}. It receives no further events. ${kept}`,
      unexpected(sender),
    );
  },
  "customer.digest": (data) =>
    notice(
      data,
      say`${data.held.length + data.more} more notices of the last hour`,
      "An address gets at most 20 mails an hour about one account. These were held back:",
      data.held.map(({ subject, at }) => say`${instant(at)}: ${subject}`).join("\n"),
      ...(data.more > 0 ? [say`And ${data.more} more.`] : []),
      "The activity log has all of them: GET /v1/platform/activity.",
    ),
  "customer.webhook_created": (data, sender) =>
    notice(
      data,
      "A webhook endpoint was created",
      say`The ${data.environment} endpoint ${data.webhookId} at ${data.host} was created at ${instant(data.at)}. Events of ${data.account} go there from now on.`,
      unexpected(sender),
    ),
  "customer.webhook_url_changed": (data, sender) =>
    notice(
      data,
      "The address of a webhook endpoint was changed",
      say`The address of the ${data.environment} endpoint ${data.webhookId} was changed at ${instant(data.at)}. It was at ${data.previousHost} and is now at ${data.host}.`,
      unexpected(sender),
    ),
  "customer.wallet_changed": (data, sender) => {
    const { did, network, environment, wallet, previous, effectiveAt } = data;
    const earlier = say`The previous wallet is ${previous}.`;
    if (!data.asked)
      return notice(
        data,
        "An operational wallet was changed on-chain",
        say`The contract on ${network} now pays ${wallet} for the ${environment} agent ${did}. The service was not asked for this change. ${earlier}`,
        "The agent's markets on the network wait until the contract has their wallet again, or until you request this one.",
        unexpected(sender),
      );
    return effectiveAt === null
      ? notice(
          data,
          "An operational wallet was changed",
          say`The ${environment} agent ${did} has been paid at ${wallet} on ${network} since ${instant(data.at)}. ${earlier}`,
          unexpected(sender),
        )
      : notice(
          data,
          "A change of the operational wallet is scheduled",
          say`The ${environment} agent ${did} will be paid at ${wallet} on ${network} from ${instant(effectiveAt)} on. Until then it is paid at ${previous}.`,
          unexpected(sender),
        );
  },
  "customer.dispute_filed": (data) =>
    notice(
      data,
      "A dispute was filed against your agent",
      say`The consumer ${data.consumerDid} disputes ${data.amount} ${data.currency} of a ${data.environment} purchase from your agent ${data.providerDid}. The reason is ${data.reason.replaceAll("_", " ")}.`,
      say`Answer, make an offer or concede by ${instant(data.answersUntil)}: GET /v1/disputes/${data.disputeId} shows the dispute. After that an arbiter decides.`,
    ),
  "customer.dispute_decided": (data) =>
    notice(
      data,
      say`A dispute was decided: ${data.resolution.replaceAll("_", " ")}`,
      say`The arbiter has decided the ${data.environment} dispute ${data.disputeId} between the consumer ${data.consumerDid} and the provider ${data.providerDid}: ${data.resolution.replaceAll("_", " ")}. The consumer is awarded ${data.refund} ${data.currency}.`,
      say`GET /v1/disputes/${data.disputeId} shows the decision, its reasons and what has been paid.`,
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
