// Single-use links by mail (ACC-10, CRED-22), and the tokens of links and sessions (CRED-13). Opening a link proves the address. Only the mail
// contains its token, so a lost mail is not sent again: the next mail has another token.
import type { Deps } from "../context.ts";
import { computeSha256Hex, encodeBase64Url } from "../core/encoding.ts";
import { ServiceError, toFieldError } from "../core/errors.ts";
import { HOUR_MS, LINK_HOURS, LINK_MAILS_PER_HOUR, LINK_REST_SECONDS, SECOND_MS } from "../core/limits.ts";
import { Conflict } from "../core/retry.ts";
import type { LinkKind } from "../core/vocabulary.ts";
import { commit, type Database, type Read, type Statement } from "../db/batch.ts";
import type { LinkRow, PlatformRow } from "../db/tables/accounts.ts";
import type { MailKind } from "../mail/kinds.ts";
import { endLinks, findMailTimes, guardMailedCount, insertLink } from "./credential-store.ts";
import { countStrangerMail, sendMailTo, toLoggedCause } from "./notices.ts";
import { selectOwnerOfEmail } from "./store.ts";

const MAILS = {
  verify_email: "verify_email",
  change_email: "verify_new_email",
  confirm_contact: "verify_contact",
  reset_password: "reset_password",
} as const satisfies Record<LinkKind, MailKind>;

type LinkTarget = Pick<LinkRow, "platformId" | "kind" | "email">;
export type NewLink = {
  readonly email: string;
  /** The mail is withheld: the link opens nothing, and only records the request. */
  readonly isWithheld: boolean;
  /** Its row, and the count of its mail. */
  readonly statements: readonly Statement[];
  readonly send: (deps: Deps) => Promise<void>;
};

/**
 * A new link: statements for the commit, and a mail to send afterwards. `isOwner`: the address has proven that it owns the account. `isWithheld`:
 * the address has had enough mails, which the limit on requests must not reveal.
 */
export async function createLink(
  db: Database,
  to: LinkTarget,
  now: number,
  { isOwner = false, isWithheld = false } = {},
): Promise<NewLink> {
  const { token, tokenHash } = await drawLinkToken();
  const usedAt = isWithheld ? now : null;
  const row = { ...to, tokenHash, createdAt: now, expiresAt: now + LINK_HOURS * HOUR_MS, usedAt };
  const counted = isOwner || isWithheld ? [] : await countStrangerMail(db, to.email, now);
  return {
    ...{ email: to.email, isWithheld },
    statements: [insertLink(db, row), ...counted],
    send: async (deps) => {
      if (!isWithheld) await sendMailTo(deps, to.email, MAILS[to.kind], { token, validHours: LINK_HOURS });
    },
  };
}

/** Sends after the answer. The log contains neither the address nor the token. */
export async function sendLink(deps: Deps, { send }: NewLink): Promise<void> {
  try {
    await send(deps);
  } catch (thrown) {
    console.error(JSON.stringify({ event: "mail_failed", message: toLoggedCause(thrown) }));
  }
}

/** The fault of every link that does not count, so that it does not reveal why. */
export const LINK_USED_UP = toFieldError("token", "invalid_value", "The link is unknown, used or expired.");

// ---- Frequency -----------------------------------------------------------------------------------------------------------

/** The times at which links of one kind were mailed to an account within the last hour, newest first. */
export type MailTimes = readonly number[];

export const findRecentMails = (
  db: Database,
  platformId: Parameters<typeof findMailTimes>[1],
  kind: LinkKind,
  now: number,
): Read<MailTimes> => findMailTimes(db, platformId, kind, now - HOUR_MS, LINK_MAILS_PER_HOUR);

/** The milliseconds until another link may be mailed: one a minute, and five an hour. */
function computeNextMailWaitMs(times: MailTimes, now: number): number {
  const [newest] = times;
  const oldest = times[LINK_MAILS_PER_HOUR - 1];
  const rest = newest === undefined ? 0 : newest + LINK_REST_SECONDS * SECOND_MS - now;
  const hour = oldest === undefined ? 0 : oldest + HOUR_MS - now;
  return Math.max(0, rest, hour);
}

/** @throws ServiceError `rate_limited` while no link may be mailed */
export function refuseTooOften(times: MailTimes, now: number): void {
  const wait = computeNextMailWaitMs(times, now);
  if (wait === 0) return;
  const message = "A link was mailed a moment ago, or five within an hour; wait before asking for the next.";
  throw new ServiceError("rate_limited", { message, headers: { "Retry-After": String(Math.ceil(wait / SECOND_MS)) } });
}

/**
 * Makes the last mailed link the only open one of its kind; a withheld link ends only those to other addresses. If several calls read the same
 * times, one succeeds.
 */
export const replaceLink = (
  db: Database,
  { platformId, kind }: LinkTarget,
  link: NewLink,
  times: MailTimes,
  now: number,
): Statement[] => [
  guardMailedCount(db, platformId, kind, now - HOUR_MS, times.length),
  endLinks(db, platformId, [kind], now, link.isWithheld ? { butTo: link.email } : {}),
  ...link.statements,
];

// ---- Public requests -----------------------------------------------------------------------------------------------------

/** The answer to any request for a mail, the same for every address. */
export const MAIL_ACCEPTED = { status: "accepted" } as const;

/** The read for a mail to an address, the same for every address. */
export const findRecentMailsTo = (db: Database, email: string, kind: LinkKind, now: number): Read<MailTimes> =>
  findRecentMails(db, selectOwnerOfEmail(email), kind, now);

/** Mails a link to the account's own address after the answer, so that the answer's time reveals nothing. */
export async function mailLink(
  deps: Deps,
  { platformId, email, status }: Pick<PlatformRow, "platformId" | "email" | "status">,
  kind: LinkKind,
  times: MailTimes,
  now: number,
): Promise<void> {
  if (computeNextMailWaitMs(times, now) > 0) return;
  const to = { platformId, kind, email };
  const link = await createLink(deps.db, to, now, { isOwner: status !== "EMAIL_PENDING" });
  try {
    await commit(deps.db, replaceLink(deps.db, to, link, times, now));
  } catch (thrown) {
    // Another call mails a link at the same moment, or the address has had enough mails: the earlier link stays valid.
    if (thrown instanceof Conflict) return;
    throw thrown;
  }
  await sendLink(deps, link);
}

// ---- Tokens --------------------------------------------------------------------------------------------------------------

const TOKEN_BYTES = 32;
const SESSION_PREFIX = "ses_";
const SESSION_PATTERN = /^ses_[A-Za-z0-9_-]{43}$/;

/** Only the holder knows the token; the hash is stored. */
type NewToken = { readonly token: string; readonly tokenHash: string };

const drawSecret = (): string => encodeBase64Url(crypto.getRandomValues(new Uint8Array(TOKEN_BYTES)));

async function hashToken(token: string): Promise<NewToken> {
  return { token, tokenHash: await computeSha256Hex(token) };
}

export const drawSessionToken = (): Promise<NewToken> => hashToken(SESSION_PREFIX + drawSecret());
const drawLinkToken = (): Promise<NewToken> => hashToken(drawSecret());

/** Judges only the form. */
export const isSessionToken = (text: string): boolean => SESSION_PATTERN.test(text);
/** Distinguishes a session's token, even a mistyped one, from other bearer tokens. */
export const looksLikeSessionToken = (text: string): boolean => text.startsWith(SESSION_PREFIX);

/** The `WWW-Authenticate` challenge of routes that take or start a session (RFC 9110, 11.6.1). */
export const SESSION_CHALLENGE = 'Bearer realm="dashboard"';
