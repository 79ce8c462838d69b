// The second factor of a person (CRED-28): a session sets it up with the password, a typed code puts it into force, and removing it needs both. A
// change ends all other sessions.
import type { OperatorCall, PersonCaller, SessionCall } from "../call.ts";
import type { Env } from "../context.ts";
import { toIso } from "../core/clock.ts";
import { computeSha256Hex, decodeBase64, encodeBase32, encodeBase64 } from "../core/encoding.ts";
import { type FieldError, ServiceError, toFieldError } from "../core/errors.ts";
import { writeNumber } from "../core/ids.ts";
import { RECOVERY_CODES, SECOND_MS, TOTP_STEP_SECONDS } from "../core/limits.ts";
import { openSealing } from "../core/seal.ts";
import type { Actor, Environment } from "../core/vocabulary.ts";
import { commit, type Database, readBatch, type Statement } from "../db/batch.ts";
import type { PersonRow, PlatformRow } from "../db/tables/accounts.ts";
import type { EachJob } from "../jobs/job.ts";
import { recordActivity } from "../journal/activity.ts";
import { recordNotice } from "../journal/alerts.ts";
import { recordOperatorEntry } from "../journal/operator-log.ts";
import { endLinks, findPerson, findSealedByOlderKey, LINKS_OF_SESSIONS, updatePerson } from "./credential-store.ts";
import { judgePassword, judgePerson, requireCurrentPassword } from "./passwords.ts";
import type { TotpConfirmation, TotpRemoval, TotpSetUp } from "./schema.ts";
import { deleteSessions } from "./session-store.ts";
import { findPlatform } from "./store.ts";

const totpSealing = openSealing("ACCOUNT_SEAL_KEYS");
/** @throws Error where ACCOUNT_SEAL_KEYS is no list of keys */
export const checkAccountSealKeys = totpSealing.check;

/** Whether a log-in and a confirmation need a code. */
export const hasTotp = ({ totpConfirmedAt }: PersonRow): boolean => totpConfirmedAt !== null;

type UsedCode = Pick<PersonRow, "totpStep"> | Pick<PersonRow, "recoveryCodes">;

/** Returns the columns that the used code changes. @throws ServiceError what `refuse` makes, where the code does not count */
export async function useCode(
  env: Env,
  { platformId, totpSecret, totpStep, recoveryCodes }: PersonRow,
  typed: string,
  now: number,
  refuse: () => ServiceError,
): Promise<UsedCode> {
  const code = normalizeCode(typed);
  if (isTotpCode(code) && totpSecret !== null) {
    const secret = decodeBase64(await totpSealing.open(env, platformId, totpSecret));
    const step = secret ? await findMatchingStep(secret, code, now, totpStep) : null;
    if (step === null) throw refuse();
    return { totpStep: step };
  }
  const hash = await computeSha256Hex(code);
  if (!recoveryCodes?.includes(hash)) throw refuse();
  return { recoveryCodes: recoveryCodes.filter((stored) => stored !== hash) };
}

const toWrongCodeFault = (field: string): FieldError =>
  toFieldError(field, "invalid_value", "Must be the app's current code or a recovery code, not used before.");

/** The refusal of a wrong code in a body. */
export const toInvalidCodeError = (field: string, fault = toWrongCodeFault(field)): ServiceError =>
  new ServiceError("validation_failed", { field_errors: [fault], type: "totp_invalid" });

const NO_CODE_OF_APP = toFieldError("code", "invalid_value", "Must be the app's current code, not used before.");

// ---- By a session --------------------------------------------------------------------------------------------------------

async function readPerson({ db, tenant, read }: SessionCall) {
  const { caller, platform, person } = await read({
    platform: findPlatform(db, tenant.platformId),
    person: findPerson(db, tenant.platformId),
  });
  if (!platform || !person) throw new ServiceError("invalid_credentials");
  return { caller, platform, person };
}

/** Answers the secret for the app, once. An unconfirmed set-up is replaced. */
export async function setUpTotp(call: SessionCall, { current_password }: TotpSetUp) {
  const { db, deps } = call;
  const { caller, platform, person } = await readPerson(call);
  await requireCurrentPassword(call, caller, person.hash, current_password);
  if (hasTotp(person)) throw new ServiceError("invalid_status", { message: TOTP_IN_FORCE });
  const secret = drawTotpSecret();
  const recovery = await drawRecoveryCodes();
  const { env, config } = deps;
  const set = {
    totpSecret: await totpSealing.seal(env, platform.platformId, encodeBase64(secret)),
    totpSealKey: await totpSealing.newestKey(env),
    totpStep: 0,
    recoveryCodes: recovery.map(({ hash }) => hash),
  };
  const view = {
    ...toAppSecret(secret, config.operatorName, platform.email),
    recovery_codes: recovery.map(({ code }) => code),
  };
  await call.commit(updatePerson(db, person, set), view);
  return view;
}

const TOTP_IN_FORCE = "TOTP is already set up; remove it first.";
const TOTP_NOT_IN_FORCE = "TOTP is not set up.";

export async function confirmTotp(call: SessionCall, { code }: TotpConfirmation) {
  const { db, deps } = call;
  const now = deps.clock.now();
  const { caller, platform, person } = await readPerson(call);
  if (hasTotp(person)) throw new ServiceError("invalid_status", { message: TOTP_IN_FORCE });
  if (person.totpSecret === null) throw new ServiceError("invalid_status", { message: TOTP_NOT_IN_FORCE });
  // A recovery code would not prove that the app works.
  const withoutCodes = { ...person, recoveryCodes: null };
  const used = await judgePerson(call, caller, (wrong) =>
    useCode(deps.env, withoutCodes, code, now, () => wrong(toInvalidCodeError("code", NO_CODE_OF_APP))),
  );
  const view = { confirmed_at: toIso(now) };
  const set = { ...used, totpConfirmedAt: now };
  const change = toOwnChange(call, caller, "account.totp_enabled");
  await call.commit([...updatePerson(db, person, set), ...recordTotpChange(db, platform, change, now)], view);
  return view;
}

export async function removeTotp(call: SessionCall, { current_password, code }: TotpRemoval): Promise<null> {
  const { db, deps } = call;
  const now = deps.clock.now();
  const { caller, platform, person } = await readPerson(call);
  await judgePerson(call, caller, async (wrong) => {
    await judgePassword(call, wrong, person.hash, { password: current_password, field: "current_password" });
    if (!hasTotp(person)) throw new ServiceError("invalid_status", { message: TOTP_NOT_IN_FORCE });
    await useCode(deps.env, person, code, now, () => wrong(toInvalidCodeError("code")));
  });
  const change = toOwnChange(call, caller, "account.totp_disabled");
  await call.commit([...updatePerson(db, person, NO_TOTP), ...recordTotpChange(db, platform, change, now)], null);
  return null;
}

const NO_TOTP = {
  totpSecret: null,
  totpSealKey: null,
  totpConfirmedAt: null,
  totpStep: 0,
  recoveryCodes: null,
} as const satisfies Partial<PersonRow>;

type TotpAction = "account.totp_enabled" | "account.totp_disabled";
const NOTICES = {
  "account.totp_enabled": "customer.totp_enabled",
  "account.totp_disabled": "customer.totp_disabled",
} as const satisfies Record<TotpAction, string>;

type TotpChange = {
  readonly action: TotpAction;
  readonly actor: Actor;
  readonly environment: Environment;
  readonly staying?: string;
  readonly reason?: string;
};

const toOwnChange = (
  { environment, session }: SessionCall,
  { actor }: PersonCaller,
  action: TotpAction,
): TotpChange => ({ action, actor, environment, staying: session.tokenHash });

/** Ends the sessions except `staying`, with the links that they requested, and writes the entry and the notice. */
function recordTotpChange(
  db: Database,
  platform: PlatformRow,
  { action, actor, environment, staying, reason }: TotpChange,
  now: number,
): Statement[] {
  const { platformId } = platform;
  const subject = { type: "platform", id: platformId };
  const changes = reason === undefined ? {} : { changes: { reason: { from: null, to: reason } } };
  return [
    deleteSessions(db, platformId, staying),
    endLinks(db, platformId, LINKS_OF_SESSIONS, now),
    recordActivity(db, { platformId, environment }, now, { action, actor, subject, ...changes }),
    recordNotice(db, platform, now, { kind: NOTICES[action], data: { byOperator: actor.type === "operator" } }),
  ];
}

// ---- By the operator -----------------------------------------------------------------------------------------------------

/** For a person who has lost the app and the recovery codes. It ends all sessions. */
export async function removeTotpOf(
  call: OperatorCall<PlatformRow>,
  platformId: string,
  { reason }: { readonly reason: string },
) {
  const { db, actor, now } = call;
  const { object: platform, person } = await call.read({ person: findPerson(db, platformId) });
  if (!person || !hasTotp(person)) throw new ServiceError("invalid_status", { message: TOTP_NOT_IN_FORCE });
  const view = { platform_id: platformId, removed_at: toIso(now) };
  const subject = { type: "platform", id: platformId };
  await call.commit(
    [
      ...updatePerson(db, person, NO_TOTP),
      ...recordTotpChange(
        db,
        platform,
        { action: "account.totp_disabled", actor, environment: "sandbox", reason },
        now,
      ),
      recordOperatorEntry(db, actor, now, { action: "platform.totp_removed", subject, platformId, detail: { reason } }),
    ],
    view,
  );
  return view;
}

// ---- By a job ------------------------------------------------------------------------------------------------------------

/** Seals the secrets under the newest key, so that older keys can be removed from the configuration. */
export const resealTotpSecrets: EachJob = {
  kind: "each",
  name: "reseal_totp_secrets",
  find: async ({ db, env, clock }, after, limit) => {
    const newest = await totpSealing.newestKey(env);
    const { ids } = await readBatch(db, { ids: findSealedByOlderKey(db, newest, after?.id ?? "", limit) });
    // Due since its key is not the newest, which no column dates.
    return ids.map((id) => ({ at: clock.now(), id }));
  },
  record: async ({ db, env }, platformId) => {
    const { person } = await readBatch(db, { person: findPerson(db, platformId) });
    const totpSealKey = await totpSealing.newestKey(env);
    if (!person?.totpSecret || person.totpSealKey === totpSealKey) return false;
    const totpSecret = await totpSealing.seal(
      env,
      platformId,
      await totpSealing.open(env, platformId, person.totpSecret),
    );
    await commit(db, updatePerson(db, person, { totpSecret, totpSealKey }));
    return true;
  },
};

// ---- The codes: RFC 6238 with SHA-1, six digits and 30 seconds -----------------------------------------------------------

/** RFC 4648. */
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const SECRET_BYTES = 20;
/** 80 bits, so that its hash reveals nothing. */
const RECOVERY_BYTES = 10;
const COUNTER_BYTES = 8;
const HMAC = { name: "HMAC", hash: "SHA-1" };

const drawBytes = (length: number) => crypto.getRandomValues(new Uint8Array(length));

export const drawTotpSecret = (): Uint8Array<ArrayBuffer> => drawBytes(SECRET_BYTES);

/** The secret in the forms that an authenticator app accepts: typed, or as a link in a QR code. */
export function toAppSecret(secret: Uint8Array, issuer: string, email: string) {
  const text = encodeBase32(secret, ALPHABET);
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(email)}`;
  const query = `secret=${text}&issuer=${encodeURIComponent(issuer)}&algorithm=SHA1&digits=6&period=${TOTP_STEP_SECONDS}`;
  return { secret: text, otpauth_uri: `otpauth://totp/${label}?${query}` };
}

/** The code of a time step (RFC 4226, section 5.3). */
export async function computeTotpCode(secret: Uint8Array<ArrayBuffer>, step: number): Promise<string> {
  const counter = new Uint8Array(COUNTER_BYTES);
  writeNumber(counter, step);
  const key = await crypto.subtle.importKey("raw", secret, HMAC, false, ["sign"]);
  const mac = new DataView(await crypto.subtle.sign("HMAC", key, counter));
  const offset = mac.getUint8(mac.byteLength - 1) & 0xf;
  return String((mac.getUint32(offset) & 0x7fffffff) % 1_000_000).padStart(6, "0");
}

export const toTimeStep = (now: number): number => Math.floor(now / (TOTP_STEP_SECONDS * SECOND_MS));

/** The step of a code that counts now: the current step or a neighbour, because clocks differ, and later than the last used step. Null: none. */
export async function findMatchingStep(
  secret: Uint8Array<ArrayBuffer>,
  code: string,
  now: number,
  usedStep: number,
): Promise<number | null> {
  const current = toTimeStep(now);
  for (const step of [current - 1, current, current + 1])
    if (step > usedStep && (await computeTotpCode(secret, step)) === code) return step;
  return null;
}

/** Recovery codes in groups of four characters, with their hashes. */
export const drawRecoveryCodes = (): Promise<{ readonly code: string; readonly hash: string }[]> =>
  Promise.all(
    Array.from({ length: RECOVERY_CODES }, async () => {
      const text = encodeBase32(drawBytes(RECOVERY_BYTES), ALPHABET);
      return { code: text.replace(/.{4}(?!$)/g, "$&-"), hash: await computeSha256Hex(text) };
    }),
  );

/** Removes the grouping and the case that people type. */
export const normalizeCode = (typed: string): string => typed.replace(/[\s-]/g, "").toUpperCase();
const isTotpCode = (code: string): boolean => /^\d{6}$/.test(code);
