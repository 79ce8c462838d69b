// Log-in and log-out (CRED-13, CRED-21). Whoever does not know the password learns nothing: an unknown address costs the same derivation and
// gets the same answer.
import type { PublicCall, SessionCall } from "../call.ts";
import { toIso } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import { DAY_MS, SESSION_DAYS } from "../core/limits.ts";
import { recordActivity } from "../journal/activity.ts";
import { beginAttempt, judgeAttempt } from "./attempts.ts";
import { findLogIn, keepsPassword, replacePassword } from "./password-store.ts";
import type { LogInInput } from "./session-schema.ts";
import { deleteSession, insertSession } from "./session-store.ts";
import { whileOpen } from "./store.ts";
import { newSessionToken, SESSION_CHALLENGE } from "./tokens.ts";

export async function logIn(call: PublicCall, { email, password }: LogInInput) {
  const { db, deps, now } = call;
  const attempting = beginAttempt(deps, call.clientAddress, email);
  // Awaited after the trip, which runs at the same time.
  attempting.catch(() => undefined);
  const { account } = await call.read({ account: findLogIn(db, email) });
  const attempt = await attempting;
  const renewed = (outdated: boolean) => (outdated ? password : null);
  const { matches, hash } = await judgeAttempt(deps, attempt, password, account?.hash ?? null, renewed);
  if (!account || !matches) {
    const headers = { "WWW-Authenticate": SESSION_CHALLENGE };
    throw new ServiceError("invalid_credentials", { message: "The address or the password is wrong.", headers });
  }
  call.background(attempt.giveBack());
  if (account.status === "EMAIL_PENDING") throw new ServiceError("email_not_verified");
  if (account.status === "SUSPENDED") throw new ServiceError("account_suspended");
  const { platformId, hash: before } = account;
  const { token, tokenHash } = await newSessionToken();
  const view = { session_token: token, expires_at: toIso(now + SESSION_DAYS * DAY_MS), platform_id: platformId };
  await call.commit(
    [
      whileOpen(db, platformId),
      // The password may have been changed while this one was derived: then everybody is signed out, and nobody begins with the old one.
      ...(hash === null
        ? [keepsPassword(db, platformId, before)]
        : replacePassword(db, { platformId, before, hash }, now)),
      insertSession(db, { tokenHash, platformId }, now),
      recordActivity(db, { platformId, environment: "sandbox" }, now, {
        action: "session.created",
        actor: { type: "dashboard_admin", id: account.email },
        subject: { type: "platform", id: platformId },
      }),
    ],
    view,
    platformId,
  );
  return view;
}

export async function logOut(call: SessionCall): Promise<null> {
  const { db, session, environment } = call;
  const { caller } = await call.read({});
  await call.commit(
    [
      deleteSession(db, session.tokenHash),
      recordActivity(db, { platformId: caller.platformId, environment }, call.deps.clock.now(), {
        action: "session.ended",
        actor: caller.actor,
        subject: { type: "platform", id: caller.platformId },
      }),
    ],
    null,
  );
  return null;
}
