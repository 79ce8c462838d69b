// The mailed link proves the address (ACC-10): of a new account, which then gets its sandbox key, or of an account that moves to another one
// (ACC-13).
import type { PublicCall } from "../call.ts";
import { sha256Hex } from "../core/encoding.ts";
import { fieldError, type ServiceError, validationError } from "../core/errors.ts";
import { move } from "../core/machine.ts";
import type { Actor } from "../core/vocabulary.ts";
import type { IdempotencyOwner } from "../db/outcomes.ts";
import type { LinkRow, PlatformRow } from "../db/tables/accounts.ts";
import { type Changes, recordActivity } from "../journal/activity.ts";
import { recordNotice } from "../journal/notices.ts";
import { moveAddress } from "./change-email.ts";
import { issueKey } from "./keys.ts";
import { endLinks, findLink, ownerOfLink, useLink } from "./link-store.ts";
import { ASKED, mailLink, recentMailsTo } from "./links.ts";
import type { TokenInput } from "./sign-up-schema.ts";
import { platformMachine } from "./states.ts";
import { findPlatform, findPlatformByEmail, updatePlatform } from "./store.ts";

/** The owner of an Idempotency-Key here: the link, whose token seals the answer with the key. */
export const keysOfLink = async ({ token }: TokenInput): Promise<IdempotencyOwner> => ({
  space: "verify-email",
  secret: token,
  platformId: ownerOfLink(await sha256Hex(token)),
});

export async function verifyEmail(call: PublicCall, { token }: TokenInput) {
  const { db, now } = call;
  const tokenHash = await sha256Hex(token);
  const { link, platform } = await call.read({
    link: findLink(db, tokenHash),
    platform: findPlatform(db, ownerOfLink(tokenHash)),
  });
  if (!link || !platform || link.usedAt !== null || link.expiresAt <= now) throw usedUp();
  if (link.kind === "verify_email") return beginAccount(call, link, platform);
  if (link.kind === "change_email") return moveAddress(call, link, platform);
  throw usedUp();
}

/** One refusal for every link that does not count: which it was is nobody's business. */
const usedUp = (): ServiceError => validationError([USED_UP]);
export const USED_UP = fieldError("token", "invalid_value", "The link is unknown, was used, or has ended.");

async function beginAccount(call: PublicCall, link: LinkRow, before: PlatformRow) {
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
      ...useLink(db, link.tokenHash, now),
      endLinks(db, platformId, "verify_email", now),
      ...updatePlatform(db, before, {}, now, moved),
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

/** Answers the same for every address, and works after the answer, so that its time tells nothing either. */
export async function resendVerification(call: PublicCall, { email }: { readonly email: string }) {
  const { db, deps, now } = call;
  const { platform, mailed } = await call.read({
    platform: findPlatformByEmail(db, email),
    mailed: recentMailsTo(db, email, "verify_email", now),
  });
  if (platform?.status === "EMAIL_PENDING") call.background(mailLink(deps, platform, "verify_email", mailed, now));
  return ASKED;
}
