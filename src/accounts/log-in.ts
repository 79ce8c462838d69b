// Log-in (CRED-13, CRED-21, CRED-28, CRED-29, CRED-31). A caller without the password learns nothing: an unknown address costs the same derivation
// and gets the same answer.
import type { PublicCall } from "../call.ts";
import { toIso } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import { createId } from "../core/ids.ts";
import { DAY_MS, SESSION_DAYS } from "../core/limits.ts";
import type { PersonRow } from "../db/tables/accounts.ts";
import { recordActivity } from "../journal/activity.ts";
import { recordNotice } from "../journal/notices.ts";
import {
  beginAttempt,
  checkPresentedPassword,
  judgeAttempt,
  type MarkFailed,
  refuseStrangerNetwork,
} from "./attempts.ts";
import { toLogInPlace } from "./device-name.ts";
import { findLogIn, type LogInAccount, updatePerson } from "./password-store.ts";
import type { LogInInput } from "./session-schema.ts";
import { findKnownPlace, insertSession, recordDevice } from "./session-store.ts";
import { guardOpenAccount, selectOwnerOfEmail } from "./store.ts";
import { drawSessionToken, SESSION_CHALLENGE } from "./tokens.ts";
import { hasTotp, useCode } from "./totp.ts";

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
