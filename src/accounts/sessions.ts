// Sessions of a person: log-in (CRED-13, CRED-21, CRED-28, CRED-29, CRED-31), confirmation (CRED-30), and the list from which the owner ends
// them (CRED-27). A caller without the password learns nothing: an unknown address costs the same derivation and gets the same answer.
import { type PersonCaller, type PublicCall, readPage, type SessionCall } from "../call.ts";
import { toClientSubnet } from "../core/client-network.ts";
import { toIso } from "../core/clock.ts";
import { ServiceError, toFieldError } from "../core/errors.ts";
import { createId } from "../core/ids.ts";
import { CONFIRMATION_MINUTES, DAY_MS, MINUTE_MS, SESSION_DAYS } from "../core/limits.ts";
import { hashListing, toPage } from "../core/page.ts";
import type { PersonRow } from "../db/tables/accounts.ts";
import { recordActivity } from "../journal/activity.ts";
import { recordNotice } from "../journal/alerts.ts";
import {
  beginAttempt,
  checkPresentedPassword,
  judgeAttempt,
  type MarkFailed,
  refuseStrangerNetwork,
} from "./attempts.ts";
import {
  endLinks,
  findLogIn,
  findPerson,
  LINKS_OF_SESSIONS,
  type LogInAccount,
  updatePerson,
} from "./credential-store.ts";
import { drawSessionToken, SESSION_CHALLENGE } from "./links.ts";
import { judgePassword, judgePerson } from "./passwords.ts";
import type { ConfirmationInput, LogInInput, SessionsQuery } from "./schema.ts";
import {
  confirmSession,
  countOtherSessions,
  deleteSession,
  deleteSessions,
  findKnownPlace,
  findSession,
  insertSession,
  listSessions,
  recordDevice,
} from "./session-store.ts";
import { guardOpenAccount, selectOwnerOfEmail } from "./store.ts";
import { hasTotp, toInvalidCodeError, useCode } from "./totp.ts";

export async function logIn(call: PublicCall, { email, password, totp }: LogInInput) {
  const { db, deps, now } = call;
  const place = toLogInPlace(call);
  const attempting = beginAttempt(deps, call.clientAddress, email);
  // Awaited after the trip, which runs at the same time.
  attempting.catch(() => undefined);
  const { account, familiar } = await call.read({
    account: findLogIn(db, email),
    familiar: findKnownPlace(db, selectOwnerOfEmail(email), place, now),
  });
  const attempt = await attempting;
  const { person, set } = await judgeAttempt(attempt, call.background, async (wrong) => {
    refuseStrangerNetwork(attempt, familiar.network);
    const renewed = (outdated: boolean) => (outdated ? password : null);
    const { matches, hash } = await checkPresentedPassword(deps, wrong, password, account?.hash ?? null, renewed);
    if (!account || !matches) throw wrong(toLogInError("The address or the password is wrong."));
    if (account.status === "EMAIL_PENDING") throw new ServiceError("email_not_verified");
    if (account.status === "SUSPENDED") throw new ServiceError("account_suspended");
    const rehashed = hash === null ? {} : { hash, changedAt: now };
    return { person: account, set: { ...rehashed, ...(await judgeCode(call, account, totp, wrong)) } };
  });
  const { platformId } = person;
  const { token, tokenHash } = await drawSessionToken();
  const sessionId = createId("ses", now);
  const view = {
    session_token: token,
    session_id: sessionId,
    expires_at: toIso(now + SESSION_DAYS * DAY_MS),
    platform_id: platformId,
  };
  await call.commit(
    [
      guardOpenAccount(db, platformId),
      // Refuses a log-in whose password or TOTP was changed while it was judged.
      ...updatePerson(db, person, set),
      insertSession(db, { tokenHash, sessionId, platformId, ...place }, now),
      recordDevice(db, platformId, place, now),
      recordActivity(db, { platformId, environment: "sandbox" }, now, {
        action: "session.created",
        actor: { type: "dashboard_admin", id: person.email },
        subject: { type: "session", id: sessionId },
        changes: { device: { from: null, to: place.device }, network: { from: null, to: place.network } },
      }),
      ...(familiar.device ? [] : [recordNotice(db, person, now, { kind: "customer.session_opened", data: place })]),
    ],
    view,
    platformId,
  );
  return view;
}

/** Judges the second factor, if there is one, only after the right password. Its result uses the code up. */
async function judgeCode(
  { deps, now }: PublicCall,
  person: LogInAccount,
  totp: string | undefined,
  wrong: MarkFailed,
): Promise<Partial<PersonRow>> {
  if (!hasTotp(person)) return {};
  if (totp === undefined) throw toLogInError("A code is needed too: send totp.", "totp_required");
  return useCode(deps.env, person, totp, now, () =>
    wrong(toLogInError("The code is wrong, or was used before.", "totp_invalid")),
  );
}

const toLogInError = (message: string, type?: string): ServiceError =>
  new ServiceError("invalid_credentials", {
    message,
    headers: { "WWW-Authenticate": SESSION_CHALLENGE },
    ...(type !== undefined && { type }),
  });

// ---- The place of a log-in (CRED-27) -------------------------------------------------------------------------------------

export const toLogInPlace = ({ clientAddress, userAgent }: Pick<PublicCall, "clientAddress" | "userAgent">) => ({
  device: describeDevice(userAgent),
  network: toClientSubnet(clientAddress),
});

/** A User-Agent may contain any text, so only a word of the tables or a short ASCII product name is stored. */
export function describeDevice(userAgent: string): string {
  const named = (table: readonly (readonly [string, string])[]) =>
    table.find(([mark]) => userAgent.includes(mark))?.[1];
  const what = named(BROWSERS) ?? PRODUCT.exec(userAgent)?.[0] ?? "Unknown device";
  const system = named(SYSTEMS);
  return system === undefined ? what : `${what} on ${system}`;
}

/** The mark in the text, and the name. The first match counts, because most browsers also name others. */
const BROWSERS = [
  ["Edg", "Edge"],
  ["OPR/", "Opera"],
  ["SamsungBrowser/", "Samsung Internet"],
  ["Firefox/", "Firefox"],
  ["FxiOS/", "Firefox"],
  ["CriOS/", "Chrome"],
  ["Chrome/", "Chrome"],
  ["Safari/", "Safari"],
] as const;
const SYSTEMS = [
  ["iPhone", "iPhone"],
  ["iPad", "iPad"],
  ["Android", "Android"],
  ["Windows", "Windows"],
  ["Mac OS X", "macOS"],
  ["CrOS", "ChromeOS"],
  ["Linux", "Linux"],
] as const;
/** The first product of a client that is not a browser, without its version. */
const PRODUCT = /^[A-Za-z0-9._-]{1,40}/;

// ---- The cookie of a session (CRED-15) -----------------------------------------------------------------------------------

/** The prefix makes browsers refuse a cookie of another host or path, or without Secure. */
const COOKIE = "__Host-session";
const ATTRIBUTES = "Path=/; HttpOnly; Secure; SameSite=Lax";

export const formatSessionCookie = (token: string, expiresAt: string): string =>
  `${COOKIE}=${token}; Expires=${new Date(expiresAt).toUTCString()}; ${ATTRIBUTES}`;

export const NO_COOKIE = `${COOKIE}=; Max-Age=0; ${ATTRIBUTES}`;

// ---- Confirmation (CRED-30) ----------------------------------------------------------------------------------------------

export async function confirmPerson(call: SessionCall, input: ConfirmationInput) {
  const { db, deps, session, tenant } = call;
  const now = deps.clock.now();
  const { caller, person } = await call.read({ person: findPerson(db, tenant.platformId) });
  if (!person) throw new ServiceError("invalid_credentials");
  refuseOtherFactor(person, input);
  const { current_password = "", totp } = input;
  const used = await judgePerson(call, caller, async (wrong) => {
    if (totp !== undefined) return useCode(deps.env, person, totp, now, () => wrong(toInvalidCodeError("totp")));
    await judgePassword(call, wrong, person.hash, { password: current_password, field: PASSWORD });
    return {};
  });
  const view = { confirmed_until: toIso(now + CONFIRMATION_MINUTES * MINUTE_MS) };
  await call.commit([...updatePerson(db, person, used), confirmSession(db, session.tokenHash, now)], view);
  return view;
}

const PASSWORD = "current_password";

/** With TOTP only a code counts; without it there is only the password. */
function refuseOtherFactor(person: PersonRow, { totp }: ConfirmationInput): void {
  if (hasTotp(person) === (totp !== undefined)) return;
  const [field, type] = totp === undefined ? ["totp", "totp_required"] : [PASSWORD, undefined];
  throw new ServiceError("validation_failed", {
    field_errors: [toFieldError(field, "required")],
    ...(type !== undefined && { type }),
  });
}

// ---- The sessions of an account (CRED-27) --------------------------------------------------------------------------------

/** Sessions live in real time: a test clock does not move them. */
const readRealTime = ({ deps }: SessionCall): number => deps.clock.now();

export async function getSessions(call: SessionCall, query: SessionsQuery) {
  const { db, session, tenant } = call;
  const page = await readPage(call, query, hashListing("sessions", [], {}));
  const { rows } = await call.read({ rows: listSessions(db, tenant.platformId, readRealTime(call), page) });
  return toPage(
    rows,
    page,
    ({ createdAt, sessionId }) => ({ at: createdAt, id: sessionId }),
    ({ tokenHash, sessionId, createdAt, usedAt, device, network }) => ({
      session_id: sessionId,
      created_at: toIso(createdAt),
      last_used_at: toIso(usedAt),
      device,
      network,
      current: tokenHash === session.tokenHash,
    }),
  );
}

export async function logOut(call: SessionCall): Promise<void> {
  const { caller } = await call.read({});
  await endNamedSession(call, caller, { sessionId: caller.sessionId, tokenHash: call.session.tokenHash });
}

/** The named session may be the calling one, which then logs out. */
export async function endSession(
  call: SessionCall<string>,
  sessionId: string,
): Promise<{ readonly isCurrent: boolean }> {
  const { caller, object: tokenHash } = await call.read({});
  await endNamedSession(call, caller, { sessionId, tokenHash });
  return { isCurrent: tokenHash === call.session.tokenHash };
}

export const findNamedSession = (call: SessionCall, { session_id }: { session_id: string }) =>
  findSession(call.db, call.tenant.platformId, session_id, readRealTime(call));

async function endNamedSession(
  call: SessionCall,
  { platformId, actor }: PersonCaller,
  { sessionId, tokenHash }: { readonly sessionId: string; readonly tokenHash: string },
): Promise<void> {
  const { db, environment } = call;
  const subject = { type: "session", id: sessionId };
  const entry = { action: "session.ended", actor, subject } as const;
  const now = readRealTime(call);
  // Another session may have requested links. A person who logs out may still wait for a mail.
  const ended = tokenHash === call.session.tokenHash ? [] : [endLinks(db, platformId, LINKS_OF_SESSIONS, now)];
  const recorded = recordActivity(db, { platformId, environment }, now, entry);
  await call.commit([...deleteSession(db, tokenHash), ...ended, recorded], null);
}

export async function endOtherSessions(call: SessionCall): Promise<void> {
  const { db, session, tenant, environment } = call;
  const now = readRealTime(call);
  const { caller, others } = await call.read({ others: countOtherSessions(db, tenant.platformId, session.tokenHash) });
  const { platformId, actor } = caller;
  const ended = [
    deleteSessions(db, platformId, session.tokenHash),
    recordActivity(db, { platformId, environment }, now, {
      action: "session.ended",
      actor,
      subject: { type: "platform", id: platformId },
      changes: { sessions: { from: others + 1, to: 1 } },
    }),
  ];
  // A session that has logged out may have left links open.
  await call.commit([endLinks(db, platformId, LINKS_OF_SESSIONS, now), ...(others === 0 ? [] : ended)], null);
}
