// The mailed link proves the address (ACC-10): of a new account, which then gets its sandbox key, or of an account that moves to another one.
import type { PublicCall } from "../call.ts";
import type { Deps } from "../context.ts";
import { sha256Hex } from "../core/encoding.ts";
import { fieldError, validationError } from "../core/errors.ts";
import { HOUR_MS, MINUTE_MS } from "../core/limits.ts";
import { move } from "../core/machine.ts";
import type { Actor, LinkKind } from "../core/vocabulary.ts";
import { commit } from "../db/batch.ts";
import type { IdempotencyOwner } from "../db/outcomes.ts";
import type { LinkRow, PlatformRow } from "../db/tables/accounts.ts";
import { type Changes, recordActivity } from "../journal/activity.ts";
import { issueKey } from "./keys.ts";
import { countLinks, endLinks, findLink, ownerOfLink, useLink } from "./link-store.ts";
import { createLink, sendLink } from "./links.ts";
import { recordNotice } from "./notices.ts";
import type { TokenInput } from "./sign-up-schema.ts";
import { platformMachine } from "./states.ts";
import { findPlatform, findPlatformByEmail, ownerOfEmail, updatePlatform } from "./store.ts";

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
  throw usedUp();
}

/** One code for every link that does not count: which it was is nobody's business. */
export const usedUp = () =>
  validationError([fieldError("token", "invalid_value", "The link is unknown, was used, or has ended.")]);

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

/** How often a link of one kind is mailed to one account. */
const REST_MS = MINUTE_MS;
const PER_HOUR = 5;

/** Answers the same for every address, and works after the answer, so that its time tells nothing either. */
export async function resendVerification(call: PublicCall, { email }: { readonly email: string }) {
  const { db, deps, now } = call;
  const { platform, ...mailed } = await call.read({
    platform: findPlatformByEmail(db, email),
    lately: countLinks(db, ownerOfEmail(email), "verify_email", now - REST_MS),
    thisHour: countLinks(db, ownerOfEmail(email), "verify_email", now - HOUR_MS),
  });
  if (platform?.status !== "EMAIL_PENDING" || mailed.lately > 0 || mailed.thisHour >= PER_HOUR) return ASKED;
  call.background(mailLink(deps, platform, "verify_email", now));
  return ASKED;
}

/** Makes the last mailed link of its kind the one that counts. */
async function mailLink(deps: Deps, { platformId, email }: PlatformRow, kind: LinkKind, now: number): Promise<void> {
  const link = await createLink(deps.db, { platformId, kind, email }, now);
  await commit(deps.db, [endLinks(deps.db, platformId, kind, now), link.statement]);
  await sendLink(deps, link);
}

/** The answer to whoever asks for a mail. */
export const ASKED = { status: "accepted" } as const;
