// Sign-up (ACC-10): an account is registered with an address and a password, and begins when its address is verified. Links mailed to an address
// are opened or refused here (ACC-10, ACC-13, ACC-29), and accounts that were never verified are removed (ACC-12).
import { type Precheck, type PublicCall, precheck } from "../call.ts";
import { BEFORE_FIRST_DUE } from "../core/clock.ts";
import { computeSha256Hex } from "../core/encoding.ts";
import { ServiceError, toFieldError, toValidationError } from "../core/errors.ts";
import { createId } from "../core/ids.ts";
import { DAY_MS, UNVERIFIED_DAYS } from "../core/limits.ts";
import { move } from "../core/machine.ts";
import { foldName } from "../core/text.ts";
import type { Actor } from "../core/vocabulary.ts";
import { commit, readBatch, type Statement } from "../db/batch.ts";
import type { IdempotencyOwner } from "../db/outcomes.ts";
import type { LinkRow, PlatformRow } from "../db/tables/accounts.ts";
import type { BulkJob } from "../jobs/job.ts";
import { type Changes, recordActivity } from "../journal/activity.ts";
import { recordNotice } from "../journal/alerts.ts";
import { beginChain } from "../journal/volume-store.ts";
import { hashNewPassword } from "./attempts.ts";
import { confirmContact, moveAddress } from "./contact.ts";
import {
  deleteIfUnverified,
  deleteUnverified,
  endLinks,
  findLink,
  findPassword,
  guardPassword,
  insertPassword,
  selectOwnerOfLink,
  useLink,
} from "./credential-store.ts";
import { issueKey } from "./keys.ts";
import { createLink, findRecentMailsTo, LINK_USED_UP, MAIL_ACCEPTED, mailLink, sendLink } from "./links.ts";
import { mayMailStranger } from "./notices.ts";
import { findPasswordFaults, requirePasswordOf } from "./passwords.ts";
import { toPlatformView } from "./profile.ts";
import type { RegistrationInput, TokenInput, VerificationInput } from "./schema.ts";
import { recordDevice } from "./session-store.ts";
import { toLogInPlace } from "./sessions.ts";
import { platformMachine } from "./states.ts";
import {
  countUnverified,
  findPlatform,
  findPlatformByEmail,
  insertPlatform,
  selectOwnerOfEmail,
  selectUnverifiedIds,
  updatePlatform,
} from "./store.ts";

export async function registerPlatform(call: PublicCall, input: RegistrationInput) {
  const { db, deps, now } = call;
  const { taken, mayMail } = await call.read({
    taken: findPlatformByEmail(db, input.email),
    mayMail: await mayMailStranger(db, input.email, now),
  });
  const faults = await findPasswordFaults(deps.env.ASSETS, "password", input.password, input.email);
  if (faults.length > 0) throw toValidationError(faults);
  if (taken) throw new ServiceError("email_exists");
  const row = toNewPlatform(input, now);
  const { platformId, email } = row;
  const link = mayMail ? await createLink(db, { platformId, kind: "verify_email", email }, now) : null;
  const view = toPlatformView(row);
  await call.commit(
    [
      insertPlatform(db, row),
      insertPassword(db, platformId, await hashNewPassword(deps, call.clientAddress, input.password), now),
      ...(link?.statements ?? []),
      beginChain(db, platformId, now),
      recordActivity(db, { platformId, environment: "sandbox" }, now, {
        action: "account.registered",
        actor: { type: "dashboard_admin", id: email },
        subject: { type: "platform", id: platformId },
      }),
    ],
    view,
    platformId,
  );
  if (link) call.background(sendLink(deps, link));
  return view;
}

/** The owner of an Idempotency-Key at sign-up is the address. */
export const toSignUpKeyOwner = async ({ email }: RegistrationInput): Promise<IdempotencyOwner> => ({
  space: "sign-up",
  secret: foldName(email),
  platformId: selectOwnerOfEmail(email),
});

/** Finds the further faults of a body that the schema refuses. */
export const precheckSignUp = ({ deps }: PublicCall, { password, email }: Partial<RegistrationInput>): Precheck =>
  precheck({}, () => (password === undefined ? [] : findPasswordFaults(deps.env.ASSETS, "password", password, email)));

const toNewPlatform = ({ email, legal_name }: RegistrationInput, now: number): PlatformRow => ({
  platformId: createId("plt", now),
  status: "EMAIL_PENDING",
  legalName: legal_name ?? null,
  tradingName: null,
  country: null,
  email,
  emailFolded: foldName(email),
  adminContactEmail: email,
  pendingContactEmail: null,
  registrationNumber: null,
  registeredAddress: null,
  website: null,
  accreditationTier: "TIER_2",
  tenantPrincipalId: null,
  documents: {},
  submittedAt: null,
  reviewed: null,
  pendingProfile: null,
  decision: null,
  decisionReason: null,
  decidedAt: null,
  promotedAt: null,
  promotionBy: "key",
  suspensionReason: null,
  suspendedFrom: null,
  closedAt: null,
  erasedAt: null,
  clockOffsetMs: 0,
  clockMovedAt: null,
  clockRecordedTo: null,
  ratingsDated: false,
  volumeMarks: null,
  createdAt: now,
  updatedAt: now,
});

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

// ---- Mailed links --------------------------------------------------------------------------------------------------------

/** The owner of an Idempotency-Key here is the link, whose token seals the answer with the key. */
export const toLinkKeyOwner = async ({ token }: TokenInput): Promise<IdempotencyOwner> => ({
  space: "verify-email",
  secret: token,
  platformId: selectOwnerOfLink(await computeSha256Hex(token)),
});

/**
 * The link proves the address: of a new account (ACC-10), of one that moves to another address (ACC-13), or of an admin contact (ACC-29). The password
 * proves that the account belongs to the mail's reader, because anyone may have registered the address. A contact has no password.
 */
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
    throw toValidationError([LINK_USED_UP]);
  return { link, platform, stored };
}

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

// ---- Accounts that were never verified -----------------------------------------------------------------------------------

const UNVERIFIED_SLICE = 100;

/** Deletes them with all their rows, so that their address is free again. */
export const removeUnverified: BulkJob = {
  kind: "bulk",
  name: "remove_unverified_accounts",
  here: true,
  slices: 5,
  find: async ({ db, clock }) => {
    const by = clock.now() - UNVERIFIED_DAYS * DAY_MS;
    const { due } = await readBatch(db, { due: countUnverified(db, by, UNVERIFIED_SLICE) });
    if (due.count === 0) return null;
    return {
      oldestDueAt: (due.oldest ?? by) + UNVERIFIED_DAYS * DAY_MS,
      run: async () => {
        const those = selectUnverifiedIds(by, UNVERIFIED_SLICE);
        // The batch reads the ids again, so that it leaves out an account that was verified meanwhile.
        await commit(db, deleteUnverified(db, those));
        return { done: due.count, failed: [], next: due.count === UNVERIFIED_SLICE ? BEFORE_FIRST_DUE : null };
      },
    };
  },
};
