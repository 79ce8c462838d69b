// Every mail of the service as data: the subject, the paragraphs and the button of each kind (MAIL-1).
import { toIso } from "../core/clock.ts";
import type { AccountNotice, LinkData, MailData, MailKind, News } from "./kinds.ts";
import { type Content, type Sender, toOneLine } from "./layout.ts";

/** Builds a sentence in which each value stays on one line. */
const toSentence = (words: TemplateStringsArray, ...values: (string | number)[]): string =>
  String.raw({ raw: words }, ...values.map((value) => toOneLine(String(value))));

const formatCount = (number: number, unit: string): string => `${number} ${unit}${number === 1 ? "" : "s"}`;
const formatInstant = (ms: number): string => `${toIso(ms).slice(0, 19).replace("T", " ")} UTC`;
const toReasonParagraphs = (reason: string | null): string[] => (reason === null ? [] : [`Reason: ${reason}`]);

type Template<K extends MailKind> = (data: MailData[K], sender: Sender) => Content;

const toLinkTemplate =
  (subject: string, sentences: readonly string[], label: string, path: string) =>
  ({ token, validHours }: LinkData, { operatorName }: Sender): Content => ({
    subject,
    paragraphs: [...sentences, toSentence`The link works once, within ${formatCount(validHours, "hour")}.`, NOT_ASKED],
    button: { label, path: `${path}${path.includes("?") ? "&" : "?"}token=${encodeURIComponent(token)}` },
    footer: toSentence`You get this mail because this address was given to ${operatorName}.`,
  });

const NOT_ASKED = "If you did not ask for this, do nothing: without the link nothing happens.";

const toNotice = ({ account }: AccountNotice, subject: string, ...paragraphs: string[]): Content => ({
  subject,
  paragraphs,
  footer: toSentence`You get this mail because it concerns the account of ${account}.`,
});

const adviseOwner = ({ operatorName }: Sender): string =>
  toSentence`If none of you did this, change the password, rotate the keys, and tell ${operatorName}.`;

const toNewsTemplate =
  (what: string) =>
  ({ subject, text }: News, { operatorName }: Sender): Content => ({
    subject,
    paragraphs: text
      .replace(/\r\n?/g, "\n")
      .trim()
      .split(/\n{2,}/),
    footer: toSentence`${what} by ${operatorName} to the contacts of all accounts.`,
  });

const VERIFY_PATH = "/v1/platform/verify-email";

export const CATALOGUE: { readonly [K in MailKind]: Template<K> } = {
  verify_email: toLinkTemplate(
    "Verify your email address",
    [
      "An account was opened with this address, and a password chosen for it. Open the link and enter that password to begin.",
      "If you did not open it, say so on the page that the link opens: the account is then deleted.",
    ],
    "Verify the address",
    VERIFY_PATH,
  ),
  verify_new_email: toLinkTemplate(
    "Verify your new email address",
    ["An account is about to use this address. Open the link and enter the account's password to allow it."],
    "Verify the new address",
    VERIFY_PATH,
  ),
  verify_contact: toLinkTemplate(
    "Confirm that you are an admin contact",
    [
      "An account names this address as its admin contact. Open the link and press its button to get the account's notices.",
    ],
    "Get the notices",
    `${VERIFY_PATH}?contact=true`,
  ),
  reset_password: toLinkTemplate(
    "Reset your password",
    ["A new password was requested. Open the link to choose one; this ends all sessions."],
    "Choose a new password",
    "/v1/platform/password/reset",
  ),
  "customer.key_issued": (data, sender) =>
    toNotice(
      data,
      toSentence`A ${data.environment} key was issued`,
      toSentence`A management key of ${data.account} for ${data.environment} was issued at ${formatInstant(data.at)}. It begins with ${data.keyPrefix}.`,
      adviseOwner(sender),
    ),
  "customer.key_rotated": (data, sender) =>
    toNotice(
      data,
      toSentence`The ${data.environment} key was rotated`,
      toSentence`The management key of ${data.account} for ${data.environment} was rotated at ${formatInstant(data.at)}. The new one begins with ${data.keyPrefix}.`,
      data.previousEndsAt === null
        ? "The previous key has ended."
        : toSentence`The previous key works until ${formatInstant(data.previousEndsAt)}.`,
      adviseOwner(sender),
    ),
  "customer.verification_decided": (data) =>
    data.decision === "approve"
      ? toNotice(
          data,
          "Your account is accredited",
          toSentence`The verification of ${data.account} is complete: the account is accredited with ${data.accreditationTier}.`,
          ...toReasonParagraphs(data.reason),
          "POST /v1/platform/promote opens production, and answers the production key once.",
        )
      : toNotice(
          data,
          "Your verification was refused",
          toSentence`The verification of ${data.account} was refused. Correct what the reason names and submit it again; the sandbox is not affected.`,
          ...toReasonParagraphs(data.reason),
        ),
  "customer.profile_decided": (data) =>
    data.decision === "approve"
      ? toNotice(
          data,
          "Your profile change was approved",
          toSentence`The proposed change of name, country or registration number was approved: the account is now ${data.account}, and its agents' documents say so.`,
          ...toReasonParagraphs(data.reason),
        )
      : toNotice(
          data,
          "Your profile change was refused",
          toSentence`The change of name, country or registration number that ${data.account} proposed was refused. The signed documents stay as they are.`,
          ...toReasonParagraphs(data.reason),
        ),
  "customer.password_changed": (data, sender) =>
    toNotice(
      data,
      "Your password was changed",
      toSentence`The password of the account of ${data.account} was changed at ${formatInstant(data.at)}. All other sessions have ended.`,
      adviseOwner(sender),
    ),
  "customer.password_reset": (data, sender) =>
    toNotice(
      data,
      "Your password was reset",
      toSentence`The password of the account of ${data.account} was reset by a mailed link at ${formatInstant(data.at)}. All sessions have ended.`,
      adviseOwner(sender),
    ),
  "customer.totp_enabled": (data, sender) =>
    toNotice(
      data,
      "TOTP was set up",
      toSentence`Since ${formatInstant(data.at)} a log-in to the account of ${data.account} needs a code of an authenticator app. All other sessions have ended.`,
      "A password reset does not remove TOTP: keep the recovery codes.",
      adviseOwner(sender),
    ),
  "customer.totp_disabled": (data, sender) =>
    toNotice(
      data,
      "TOTP was removed",
      data.byOperator
        ? toSentence`${sender.operatorName} removed TOTP from the account of ${data.account} at ${formatInstant(data.at)}, because someone asked for it. All sessions have ended.`
        : toSentence`TOTP was removed from the account of ${data.account} at ${formatInstant(data.at)}: a log-in no longer needs a code. All other sessions have ended.`,
      adviseOwner(sender),
    ),
  "customer.session_opened": (data, sender) =>
    toNotice(
      data,
      "A log-in from a new device",
      toSentence`Someone logged in to the account of ${data.account} at ${formatInstant(data.at)} with ${data.device}, from the network ${data.network}. This device was not used with the account from this network in the last 90 days.`,
      "GET /v1/platform/sessions lists the sessions, and DELETE /v1/platform/sessions/{session_id} ends one.",
      adviseOwner(sender),
    ),
  "customer.log_ins_limited": (data, sender) =>
    toNotice(
      data,
      "Log-ins to your account are limited",
      toSentence`At ${formatInstant(data.at)} the hundredth log-in within 24 hours to the account of ${data.account} failed. Until those hours are over, log-ins are accepted only from networks from which someone logged in to it in the last 90 days.`,
      "To log in from elsewhere, reset the password: that lifts the limit.",
      toSentence`If none of you tried to log in, someone is guessing the password: set up TOTP, and tell ${sender.operatorName}.`,
    ),
  "customer.email_changed": (data, sender) =>
    toNotice(
      data,
      "Your email address was changed",
      toSentence`The address of the account of ${data.account} was changed at ${formatInstant(data.at)}, from ${data.oldEmail} to ${data.newEmail}. Sessions are opened with the new one.`,
      adviseOwner(sender),
    ),
  "customer.contact_changed": (data, sender) =>
    toNotice(
      data,
      "The admin contact was changed",
      toSentence`The admin contact of the account of ${data.account} was changed at ${formatInstant(data.at)}, from ${data.oldContact} to ${data.newContact}. Notices go there and to the account's own address.`,
      adviseOwner(sender),
    ),
  "customer.account_suspended": (data, sender) =>
    toNotice(
      data,
      "Your account is suspended",
      toSentence`The account of ${data.account} is suspended by ${sender.operatorName}: its keys and sessions are refused, and its agents are suspended. Open tasks and disputes continue.`,
      ...toReasonParagraphs(data.reason),
    ),
  "customer.account_reinstated": (data) =>
    toNotice(
      data,
      "Your account is reinstated",
      toSentence`The account of ${data.account} is reinstated: its keys and sessions work again, and the agents that were suspended with it are reactivated.`,
      ...toReasonParagraphs(data.reason),
    ),
  "customer.account_closed": (data) =>
    toNotice(
      data,
      "Your account is closed",
      toSentence`The account of ${data.account} was closed at ${formatInstant(data.at)}. Its keys, sessions and webhook endpoints have ended, its principals are closed, and its agents are revoked.`,
      toSentence`Its documents and personal data are erased after ${formatCount(data.retentionYears, "year")}.`,
    ),
  "customer.attestation_expiring": (data) => {
    const { ends } = data;
    const sentences = ends.map(({ principalId, principalName, expiresAt }) => {
      return toSentence`The attestation of ${principalName} (${principalId}) ends at ${formatInstant(expiresAt)}.`;
    });
    const last = Math.max(...ends.map(({ days }) => days));
    const [{ principalName }, ...others] = ends;
    const subject =
      others.length === 0
        ? toSentence`The attestation of ${principalName} ends within ${formatCount(last, "day")}`
        : toSentence`The attestations of ${ends.length} principals end within ${formatCount(last, "day")}`;
    const effect = "From then on the agents of the principal are suspended, until a new attestation is recorded.";
    const paragraphs = others.length === 0 ? [`${sentences.join("")} ${effect}`] : [sentences.join("\n"), effect];
    return toNotice(data, subject, ...paragraphs);
  },
  "customer.webhook_disabled": (data, sender) => {
    const { cause } = data;
    const endpoint = toSentence`The ${data.environment} endpoint ${data.webhookId} at ${data.host}`;
    const kept = "Nothing is lost: its events remain in GET /v1/events.";
    if (cause === "gone" || cause === "failing") {
      const sentence = toSentence`${endpoint} was disabled, because it ${WHY_DISABLED[cause]}.`;
      return toNotice(data, "A webhook endpoint was disabled", sentence, kept);
    }
    const what = cause === "deleted" ? "deleted" : "disabled";
    return toNotice(
      data,
      toSentence`A webhook endpoint was ${what} by the account`,
      toSentence`${endpoint} was ${what} at ${formatInstant(data.at)}, with a key or a session of ${data.account}. It receives no further events. ${kept}`,
      adviseOwner(sender),
    );
  },
  "customer.digest": (data) =>
    toNotice(
      data,
      toSentence`${data.held.length + data.more} more notices of the last hour`,
      "An address gets at most 20 mails an hour about one account. These were held back:",
      data.held.map(({ subject, at }) => toSentence`${formatInstant(at)}: ${subject}`).join("\n"),
      ...(data.more > 0 ? [toSentence`And ${data.more} more.`] : []),
      "The activity log has all of them: GET /v1/platform/activity.",
    ),
  "customer.webhook_created": (data, sender) =>
    toNotice(
      data,
      "A webhook endpoint was created",
      toSentence`The ${data.environment} endpoint ${data.webhookId} at ${data.host} was created at ${formatInstant(data.at)}. Events of ${data.account} go there from now on.`,
      adviseOwner(sender),
    ),
  "customer.webhook_url_changed": (data, sender) =>
    toNotice(
      data,
      "The address of a webhook endpoint was changed",
      toSentence`The address of the ${data.environment} endpoint ${data.webhookId} was changed at ${formatInstant(data.at)}. It was at ${data.previousHost} and is now at ${data.host}.`,
      adviseOwner(sender),
    ),
  "customer.wallet_changed": (data, sender) => {
    const { did, network, environment, wallet, previous, effectiveAt } = data;
    const earlier = toSentence`The previous wallet is ${previous}.`;
    if (!data.asked)
      return toNotice(
        data,
        "An operational wallet was changed on-chain",
        toSentence`The contract on ${network} now pays ${wallet} for the ${environment} agent ${did}. The service was not asked for this change. ${earlier}`,
        "The agent's markets on the network wait until the contract has their wallet again, or until you request this one.",
        adviseOwner(sender),
      );
    return effectiveAt === null
      ? toNotice(
          data,
          "An operational wallet was changed",
          toSentence`The ${environment} agent ${did} has been paid at ${wallet} on ${network} since ${formatInstant(data.at)}. ${earlier}`,
          adviseOwner(sender),
        )
      : toNotice(
          data,
          "A change of the operational wallet is scheduled",
          toSentence`The ${environment} agent ${did} will be paid at ${wallet} on ${network} from ${formatInstant(effectiveAt)} on. Until then it is paid at ${previous}.`,
          adviseOwner(sender),
        );
  },
  "customer.dispute_filed": (data) =>
    toNotice(
      data,
      "A dispute was filed against your agent",
      toSentence`The consumer ${data.consumerDid} disputes ${data.amount} ${data.currency} of a ${data.environment} purchase from your agent ${data.providerDid}. The reason is ${data.reason.replaceAll("_", " ")}.`,
      toSentence`Answer, make an offer or concede by ${formatInstant(data.answersUntil)}: GET /v1/disputes/${data.disputeId} shows the dispute. After that an arbiter decides.`,
    ),
  "customer.dispute_decided": (data) =>
    toNotice(
      data,
      toSentence`A dispute was decided: ${data.resolution.replaceAll("_", " ")}`,
      toSentence`The arbiter has decided the ${data.environment} dispute ${data.disputeId} between the consumer ${data.consumerDid} and the provider ${data.providerDid}: ${data.resolution.replaceAll("_", " ")}. The consumer is awarded ${data.refund} ${data.currency}.`,
      toSentence`GET /v1/disputes/${data.disputeId} shows the decision, its reasons and what has been paid.`,
    ),
  "customer.announcement": toNewsTemplate("An announcement"),
  "customer.maintenance": toNewsTemplate("A maintenance notice"),
  "customer.deprecation": toNewsTemplate("A deprecation notice"),
  "customer.security": toNewsTemplate("A security notice"),
  "operator.alerts": ({ kind, alerts }, { operatorName }) => ({
    subject: `[${operatorName}] ${kind.replaceAll("_", " ")}: ${alerts.length}`,
    paragraphs: alerts.map(
      ({ raisedAt, subject, message }) => `${toSentence`${toIso(raisedAt)} ${subject}`}\n${message}`,
    ),
    button: { label: "All alerts, and how to acknowledge them", path: "/v1/operator/alerts" },
    footer: "You get this mail because OPERATOR_ALERT_EMAIL names this address.",
  }),
};

const WHY_DISABLED = { gone: "answered 410 Gone", failing: "failed for five days" } as const;
