// The mailed link proves the address: of a new account, which then gets its sandbox key (ACC-10), of an account that moves to another one (ACC-13),
// or of an admin contact (ACC-29).
import type { PublicCall } from "../call.ts";
import { computeSha256Hex } from "../core/encoding.ts";
import { type ServiceError, toFieldError, toValidationError } from "../core/errors.ts";
import { move } from "../core/machine.ts";
import type { Actor } from "../core/vocabulary.ts";
import type { Statement } from "../db/batch.ts";
import type { IdempotencyOwner } from "../db/outcomes.ts";
import type { LinkRow, PlatformRow } from "../db/tables/accounts.ts";
import { type Changes, recordActivity } from "../journal/activity.ts";
import { recordNotice } from "../journal/notices.ts";
import { moveAddress } from "./change-email.ts";
import { confirmContact } from "./contact.ts";
import { requirePasswordOf } from "./current-password.ts";
import { toLogInPlace } from "./device-name.ts";
import { issueKey } from "./keys.ts";
import { endLinks, findLink, selectOwnerOfLink, useLink } from "./link-store.ts";
import { findRecentMailsTo, MAIL_ACCEPTED, mailLink } from "./links.ts";
import { findPassword, guardPassword } from "./password-store.ts";
import { recordDevice } from "./session-store.ts";
import type { TokenInput, VerificationInput } from "./sign-up-schema.ts";
import { platformMachine } from "./states.ts";
import { findPlatform, findPlatformByEmail, updatePlatform } from "./store.ts";
import { deleteIfUnverified } from "./unverified-store.ts";

/** The owner of an Idempotency-Key here is the link, whose token seals the answer with the key. */
export const toLinkKeyOwner = async ({ token }: TokenInput): Promise<IdempotencyOwner> => ({
  space: "verify-email",
  secret: token,
  platformId: selectOwnerOfLink(await computeSha256Hex(token)),
});

/** The password proves that the account belongs to the mail's reader, because anyone may have registered the address. A contact has no password. */
export async function verifyEmail(call: PublicCall, { token, password }: VerificationInput) {
  const { link, platform, stored } = await readLink(call, token);
  if (link.kind === "confirm_contact") return confirmContact(call, link, platform);
  if (password === undefined) throw toValidationError([toFieldError("password", "required")]);
  const { before } = await requirePasswordOf(call, platform.email, stored, password);
  const ofPassword = guardPassword(call.db, platform.platformId, before);
  return link.kind === "verify_email"
    ? beginAccount(call, link, platform, ofPassword)
    : moveAddress(call, link, platform, ofPassword);
}

/** For a person who got a mail that is not about him. Deletes an account that never began, with all its rows; any other link is only ended. */
export async function refuseLink(call: PublicCall, { token }: TokenInput): Promise<null> {
  const { db, now } = call;
  const { link, platform } = await readLink(call, token);
  const { platformId } = platform;
  const used = useLink(db, link.tokenHash, now);
  if (link.kind === "verify_email" && platform.status === "EMAIL_PENDING") {
    await call.commit([...used, ...deleteIfUnverified(db, platformId)], null, platformId);
    return null;
  }
  const entry = recordActivity(db, { platformId, environment: "sandbox" }, now, {
    action: "account.link_refused",
    actor: { type: "system", id: "mailed_link" },
    subject: { type: "platform", id: platformId },
    changes: { [link.kind]: { from: link.email, to: null } },
  });
  const forgotten =
    link.kind === "confirm_contact" ? updatePlatform(db, platform, { pendingContactEmail: null }, now) : [];
  await call.commit([...used, ...forgotten, entry], null, platformId);
  return null;
}

/** The open link of a token, which waits for its address to be verified. */
async function readLink({ db, now, read }: PublicCall, token: string) {
  const tokenHash = await computeSha256Hex(token);
  const owner = selectOwnerOfLink(tokenHash);
  const { link, platform, stored } = await read({
    link: findLink(db, tokenHash),
    platform: findPlatform(db, owner),
    stored: findPassword(db, owner),
  });
  if (!link || !platform || link.kind === "reset_password" || link.usedAt !== null || link.expiresAt <= now)
    throw buildLinkUsedUpError();
  return { link, platform, stored };
}

/** One refusal for every link that does not count, so that it does not reveal why. */
const buildLinkUsedUpError = (): ServiceError => toValidationError([LINK_USED_UP]);
export const LINK_USED_UP = toFieldError("token", "invalid_value", "The link is unknown, used or expired.");

async function beginAccount(call: PublicCall, link: LinkRow, before: PlatformRow, ofPassword: Statement) {
  const { db, deps, now } = call;
  const { platformId, email } = before;
  const moved = move(platformMachine, before.status, "verify_email");
  const actor: Actor = { type: "dashboard_admin", id: email };
  const owner = { platformId, environment: "sandbox" } as const;
  const key = await issueKey(deps, owner, actor, now);
  const changes: Changes = { platform_status: { from: moved.from, to: moved.to } };
  const view = { platform_id: platformId, platform_status: moved.to, email, api_key: key.view };
  await call.commit(
    [
      ofPassword,
      ...useLink(db, link.tokenHash, now),
      endLinks(db, platformId, ["verify_email"], now),
      ...updatePlatform(db, before, {}, now, moved),
      // The password was proven, so the first log-in from here is not reported as new.
      recordDevice(db, platformId, toLogInPlace(call), now),
      recordActivity(db, owner, now, {
        action: "account.email_verified",
        actor,
        subject: { type: "platform", id: platformId },
        changes,
      }),
      ...key.statements,
      recordNotice(db, before, now, { kind: "customer.key_issued", data: key.notice }),
    ],
    view,
    platformId,
  );
  return view;
}

/** Answers the same for every address, and works after the answer, so that its time reveals nothing either. */
export async function resendVerification(call: PublicCall, { email }: { readonly email: string }) {
  const { db, deps, now } = call;
  const { platform, mailed } = await call.read({
    platform: findPlatformByEmail(db, email),
    mailed: findRecentMailsTo(db, email, "verify_email", now),
  });
  if (platform?.status === "EMAIL_PENDING") call.background(mailLink(deps, platform, "verify_email", mailed, now));
  return MAIL_ACCEPTED;
}
