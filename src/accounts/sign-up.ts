// Sign-up (ACC-10): an account is registered with an address and a password, and begins when its address is verified.
import { type Precheck, type PublicCall, precheck } from "../call.ts";
import { ServiceError, toValidationError } from "../core/errors.ts";
import { createId } from "../core/ids.ts";
import { foldName } from "../core/text.ts";
import type { IdempotencyOwner } from "../db/outcomes.ts";
import type { PlatformRow } from "../db/tables/accounts.ts";
import { recordActivity } from "../journal/activity.ts";
import { beginChain } from "../journal/chain-store.ts";
import { hashNewPassword } from "./attempts.ts";
import { createLink, sendLink } from "./links.ts";
import { mayMailStranger } from "./mail-bounds.ts";
import { insertPassword } from "./password-store.ts";
import { findPasswordFaults } from "./passwords.ts";
import { toPlatformView } from "./profile.ts";
import type { RegistrationInput } from "./sign-up-schema.ts";
import { findPlatformByEmail, insertPlatform, selectOwnerOfEmail } from "./store.ts";

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
