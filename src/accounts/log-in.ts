// Log-in and log-out (CRED-16, CRED-20). Whoever does not know the password learns nothing: an unknown address costs the same derivation and
// gets the same answer. Failures are counted exactly, by client address and by account within it, so that a stranger's failures lock only
// the stranger out.
import type { PublicCall, SessionCall } from "../call.ts";
import type { Deps } from "../context.ts";
import { toIso } from "../core/clock.ts";
import { sha256Hex } from "../core/encoding.ts";
import { ServiceError } from "../core/errors.ts";
import {
  DAY_MS,
  LOG_IN_FAILURES_PER_ACCOUNT,
  LOG_IN_FAILURES_PER_ADDRESS,
  LOG_IN_WINDOW_MINUTES,
  MINUTE_MS,
  SECOND_MS,
  SESSION_DAYS,
} from "../core/limits.ts";
import { foldName } from "../core/text.ts";
import { recordActivity } from "../journal/activity.ts";
import { clientNetwork } from "./client-network.ts";
import { findLogIn, putPassword } from "./password-store.ts";
import { checkPassword, hashPassword } from "./passwords.ts";
import type { LogInInput } from "./session-schema.ts";
import { deleteSession, insertSession } from "./session-store.ts";
import { whileOpen } from "./store.ts";
import { newSessionToken } from "./tokens.ts";

const LIMITS = {
  windowMs: LOG_IN_WINDOW_MINUTES * MINUTE_MS,
  perAccount: LOG_IN_FAILURES_PER_ACCOUNT,
  perAddress: LOG_IN_FAILURES_PER_ADDRESS,
};

/** An attempt that counts as a failure until it is given back. */
export type Attempt = { readonly giveBack: () => Promise<void> };

/** @throws ServiceError `rate_limited` when too many attempts of this client have failed */
export async function beginAttempt(deps: Deps, client: string, email: string): Promise<Attempt> {
  const { ATTEMPTS } = deps.env;
  const guard = ATTEMPTS.get(ATTEMPTS.idFromName(clientNetwork(client)));
  const attempt = await guard.begin(await sha256Hex(foldName(email)), Date.now(), LIMITS);
  if (attempt.ok) return { giveBack: async () => guard.giveBack(attempt.id) };
  const message = "Too many attempts have failed; wait before the next.";
  const seconds = Math.max(1, Math.ceil(attempt.retryAfterMs / SECOND_MS));
  throw new ServiceError("rate_limited", { message, headers: { "Retry-After": String(seconds) } });
}

export async function logIn(call: PublicCall, { email, password }: LogInInput) {
  const { db, deps, now } = call;
  const attempting = beginAttempt(deps, call.clientAddress, email);
  // Awaited after the trip, which runs at the same time.
  attempting.catch(() => undefined);
  const { account } = await call.read({ account: findLogIn(db, email) });
  const attempt = await attempting;
  const { matches, outdated } = await checkPassword(password, account?.hash ?? null);
  if (!account || !matches) {
    throw new ServiceError("invalid_credentials", { message: "The address or the password is wrong." });
  }
  call.background(attempt.giveBack());
  if (account.status === "EMAIL_PENDING") throw new ServiceError("email_not_verified");
  if (account.status === "SUSPENDED") throw new ServiceError("account_suspended");
  const { platformId } = account;
  const { token, tokenHash } = await newSessionToken();
  const expiresAt = now + SESSION_DAYS * DAY_MS;
  const view = { session_token: token, expires_at: toIso(expiresAt), platform_id: platformId };
  await call.commit(
    [
      whileOpen(db, platformId),
      insertSession(db, { tokenHash, platformId, createdAt: now, usedAt: now, expiresAt }),
      ...(outdated ? [putPassword(db, platformId, await hashPassword(password), now)] : []),
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
      recordActivity(db, { platformId: caller.platformId, environment }, call.now, {
        action: "session.ended",
        actor: caller.actor,
        subject: { type: "platform", id: caller.platformId },
      }),
    ],
    null,
  );
  return null;
}
