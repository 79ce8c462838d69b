// Management keys of an account (ACC-17): issued, listed, rotated, and their text (CRED-4 to CRED-9). A key is shown once, in the answer of the
// call that issues it. The usage of an account (EVT-36) is at the end.
import { type ManagementCall, type ManagementCaller, type OperatorCall, type Precheck, precheck } from "../call.ts";
import type { Deps, Env } from "../context.ts";
import { toIso, toIsoOrNull } from "../core/clock.ts";
import { computeSha256Hex, encodeUtf8 } from "../core/encoding.ts";
import { ServiceError } from "../core/errors.ts";
import { createId } from "../core/ids.ts";
import { DAY_MS, HOUR_MS } from "../core/limits.ts";
import { memoizeBy } from "../core/retry.ts";
import { requireProduction } from "../core/roles.ts";
import { type Actor, ENVIRONMENTS, type Environment } from "../core/vocabulary.ts";
import { computeVolumeDayEnd, findVolumeMark, requireConfirmed, toVolumeDay } from "../core/volume.ts";
import type { Statement } from "../db/batch.ts";
import type { Owner } from "../db/statement.ts";
import type { KeyRow } from "../db/tables/accounts.ts";
import { recordActivity } from "../journal/activity.ts";
import { countEntries } from "../journal/activity-store.ts";
import { recordNotice } from "../journal/alerts.ts";
import { recordEvent } from "../journal/events.ts";
import { type FoundVolume, findVolume } from "../journal/volume-store.ts";
import { countEndpoints } from "../webhooks/store.ts";
import { countLinks } from "./credential-store.ts";
import { endKeys, findCurrentKeys, findKeys, insertKey } from "./key-store.ts";
import type { AccountUsage } from "./responses.ts";
import type { RotationInput } from "./schema.ts";
import { findPlatform } from "./store.ts";

/** Issues the first key of an environment. If two calls issue it, the second one fails (Conflict). */
export async function issueKey(
  deps: Deps,
  owner: Owner,
  actor: Actor,
  now: number,
): Promise<Pick<DrawnKey, "view" | "notice"> & { readonly statements: Statement[] }> {
  const { row, view, notice } = await drawManagementKey(deps, owner, now);
  const subject = { type: "api_key", id: row.keyId };
  const entry = { action: "api_key.issued", actor, subject } as const;
  return { view, notice, statements: [insertKey(deps.db, row), recordActivity(deps.db, owner, now, entry)] };
}

export type IssuedKey = {
  readonly raw_key: string;
  readonly key_prefix: string;
  readonly environment: Environment;
  readonly warning: string;
};

type DrawnKey = {
  readonly row: KeyRow;
  readonly view: IssuedKey;
  /** The data of the notices about the key. */
  readonly notice: { readonly environment: Environment; readonly keyPrefix: string };
};

async function drawManagementKey({ env }: Deps, { platformId, environment }: Owner, now: number): Promise<DrawnKey> {
  const { rawKey, keyPrefix, keyHash } = await generateManagementKey(environment, keyBrands(env));
  const stamps = { createdAt: now, expiresAt: null, lastUsedAt: null };
  return {
    row: { keyHash, keyId: createId("key", now), platformId, environment, keyPrefix, ...stamps },
    view: { raw_key: rawKey, key_prefix: keyPrefix, environment, warning: WARNING },
    notice: { environment, keyPrefix },
  };
}

const WARNING =
  "This key is shown only once: the service stores only its hash. Keep it secret, and never put it into an agent's runtime.";

/** Always one page, because an account has few working keys. */
export async function getKeys(call: ManagementCall) {
  const { rows } = await call.read({ rows: findKeys(call.db, call.tenant.platformId, readRealTime(call)) });
  return { data: rows.map(toKeyView), next_cursor: null, has_more: false };
}

const toKeyView = (row: KeyRow) => ({
  key_id: row.keyId,
  key_prefix: row.keyPrefix,
  environment: row.environment,
  created_at: toIso(row.createdAt),
  expires_at: toIsoOrNull(row.expiresAt),
  last_used_at: toIsoOrNull(row.lastUsedAt),
});

/** Keys end in real time, also while a test clock runs ahead (CRED-10). */
const readRealTime = ({ deps }: ManagementCall): number => deps.clock.now();

/** A replaced key must not take the account over from the key that replaced it. */
export function refuseInGrace({ inGrace }: ManagementCaller): void {
  if (!inGrace) return;
  const message = "This key was replaced: until its grace ends it cannot rotate keys, promote or change the account.";
  throw new ServiceError("forbidden", { message });
}

/** The current key rotates its own environment; a confirmed session rotates either. */
function refuseForeignRotation(call: ManagementCall, caller: ManagementCaller, environment: Environment): void {
  refuseInGrace(caller);
  requireConfirmed(caller);
  const { actor } = caller;
  if (actor.type !== "management_api" || environment === call.environment) return;
  const message = "A management key can rotate only the key of its own environment; a session can rotate either key.";
  throw new ServiceError("forbidden", { message });
}

/** The precheck that the caller may rotate the named environment. */
export const precheckRotation = (call: ManagementCall, { environment }: Partial<RotationInput>): Precheck =>
  precheck<Record<never, never>, ManagementCaller>({}, ({ caller }) => {
    refuseForeignRotation(call, caller, environment ?? call.environment);
    return [];
  });

export async function rotateKey(call: ManagementCall, { environment: named, grace_hours }: RotationInput) {
  const { db, deps, tenant } = call;
  const now = readRealTime(call);
  const { caller, platform, keys } = await call.read({
    platform: findPlatform(db, tenant.platformId),
    keys: findCurrentKeys(db, tenant.platformId),
  });
  if (!platform) throw new ServiceError("invalid_credentials");
  const environment = named ?? call.environment;
  refuseForeignRotation(call, caller, environment);
  const current = keys.find((key) => key.environment === environment);
  if (environment === "production") requireProduction("rotate_key", caller);
  if (!current) throw new ServiceError("key_not_provisioned");
  const { platformId } = platform;
  const owner = { platformId, environment };
  const endsAt = now + grace_hours * HOUR_MS;
  const { row, view: apiKey, notice } = await drawManagementKey(deps, owner, now);
  const view = { api_key: apiKey, previous_key_expires_at: toIso(endsAt) };
  const object = { platform_id: platformId, ...toKeyView(row), previous_key_expires_at: toIso(endsAt) };
  await call.commit(
    [
      ...endKeys(db, { ...owner, keyPrefix: current.keyPrefix }, endsAt, now),
      insertKey(db, row),
      recordActivity(db, owner, now, {
        action: "api_key.rotated",
        actor: caller.actor,
        subject: { type: "api_key", id: row.keyId },
        changes: { key_prefix: { from: current.keyPrefix, to: row.keyPrefix } },
      }),
      ...keys.map((key) =>
        recordEvent(db, { platformId, environment: key.environment }, now, { type: "api_key.rotated", object }),
      ),
      recordNotice(db, platform, now, {
        kind: "customer.key_rotated",
        data: { ...notice, previousEndsAt: grace_hours === 0 ? null : endsAt },
      }),
    ],
    view,
  );
  return view;
}

// ---- The text of a key: `<brand>_sandbox_…` or `<brand>_live_…` ----------------------------------------------------------

const ENVIRONMENT_WORDS: Record<Environment, string> = { sandbox: "sandbox", production: "live" };
/** No underscore, because it separates the parts of a key. */
const BRAND_PATTERN = /^[a-z][a-z0-9-]{0,31}$/;
const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const SECRET_CHARS = 43;
const CHECKSUM_CHARS = 6;
const RANDOM_CHARS = SECRET_CHARS + CHECKSUM_CHARS;
const SHOWN_CHARS = 6;

type NewKey = { rawKey: string; keyPrefix: string; keyHash: string };

/** The accepted brands. New keys are issued under the first (CRED-7). */
export type KeyBrands = readonly [string, ...string[]];

export const keyBrands = memoizeBy((env: Pick<Env, "MANAGEMENT_KEY_BRANDS">) =>
  parseKeyBrands(env.MANAGEMENT_KEY_BRANDS),
);

/** Reads `acme,service`. Throws on a name that cannot be separated from the rest of a key. */
export function parseKeyBrands(list: string): KeyBrands {
  const [first = "", ...others] = list.split(",").map((name) => name.trim());
  const wrong = [first, ...others].find((name) => !BRAND_PATTERN.test(name));
  if (wrong !== undefined) throw new Error(`"${wrong}" in "${list}" is not a brand of management keys`);
  return [first, ...others];
}

/** Draws 32 random bytes and adds a checksum, so that a typo is refused without a look-up. Only the SHA-256 is stored. */
export async function generateManagementKey(environment: Environment, brands: KeyBrands): Promise<NewKey> {
  const secret = encodeBase62(crypto.getRandomValues(new Uint8Array(32)), SECRET_CHARS);
  const body = toKeyPrefix(brands[0], environment) + secret;
  const rawKey = body + computeChecksum(body);
  return { rawKey, keyPrefix: takeKeyPrefix(rawKey), keyHash: await computeSha256Hex(rawKey) };
}

/** The environment of a well-formed key of one of the brands, without a look-up; null for everything else. */
export function parseManagementKey(rawKey: string, brands: KeyBrands): Environment | null {
  const prefix = rawKey.slice(0, -RANDOM_CHARS);
  const environment = ENVIRONMENTS.find((one) => brands.some((brand) => toKeyPrefix(brand, one) === prefix));
  if (environment === undefined || !/^[0-9A-Za-z]+$/.test(rawKey.slice(-RANDOM_CHARS))) return null;
  const body = rawKey.slice(0, -CHECKSUM_CHARS);
  return computeChecksum(body) === rawKey.slice(-CHECKSUM_CHARS) ? environment : null;
}

/** Describes the form of a text that `parseManagementKey` refuses, and never whether such a key exists (CRED-9). */
export function describeKeyFault(rawKey: string, brands: KeyBrands): string {
  const prefixes = brands.flatMap((brand) => ENVIRONMENTS.map((environment) => toKeyPrefix(brand, environment)));
  if (prefixes.some((prefix) => rawKey.startsWith(prefix))) {
    return "The management key is incomplete or mistyped: its checksum does not fit.";
  }
  const expected = `A management key of this service begins with ${prefixes.slice(0, 2).join(" or ")}.`;
  if (/^[a-z][a-z0-9-]*_(?:sandbox|live)_/.test(rawKey)) return `The key is of another brand. ${expected}`;
  return `This is not a management key. ${expected} An operator key works only under /v1/operator.`;
}

/** The part of a well-formed key that may be shown: it names the key in the activity log and in lists. */
export const takeKeyPrefix = (rawKey: string): string => rawKey.slice(0, SHOWN_CHARS - RANDOM_CHARS);

const toKeyPrefix = (brand: string, environment: Environment): string => `${brand}_${ENVIRONMENT_WORDS[environment]}_`;

function encodeBase62(bytes: Uint8Array, chars: number): string {
  let value = 0n;
  for (const byte of bytes) value = (value << 8n) | BigInt(byte);
  let text = "";
  for (let i = 0; i < chars; i++) {
    text = BASE62.charAt(Number(value % 62n)) + text;
    value /= 62n;
  }
  return text;
}

/** CRC-32 of the key so far, in base62: it detects typos, and is not secret. */
function computeChecksum(text: string): string {
  let crc = 0xffffffff;
  for (const byte of encodeUtf8(text)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  const value = (crc ^ 0xffffffff) >>> 0;
  return encodeBase62(
    new Uint8Array([value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255]),
    CHECKSUM_CHARS,
  );
}

// ---- The usage of an account, for operators (EVT-36) ---------------------------------------------------------------------

export const findNamedUsage = ({ db }: OperatorCall, { platform_id }: { platform_id: string }) =>
  findVolume(db, platform_id);

/** Reads a few rows, however much the account has. */
export async function getUsage(call: OperatorCall<FoundVolume>, platformId: string): Promise<AccountUsage> {
  const { db, deps } = call;
  const now = deps.clock.now();
  const {
    object: account,
    rows,
    links,
    ...endpoints
  } = await call.read({
    rows: countEntries(db, platformId),
    links: countLinks(db, platformId, toVolumeDay(now) * DAY_MS),
    sandbox: countEndpoints(db, { platformId, environment: "sandbox" }),
    production: countEndpoints(db, { platformId, environment: "production" }),
  });
  const today = account.volume?.day === toVolumeDay(now) ? account.volume : null;
  const of = (environment: Environment): AccountUsage["sandbox"] => ({
    events: today?.[`${environment}Events`] ?? 0,
    deliveries: today?.[`${environment}Deliveries`] ?? 0,
    event_bytes: today?.[`${environment}Bytes`] ?? 0,
    endpoints: endpoints[environment],
    limits: deps.config.volume[environment],
    used_up: findVolumeMark(account.marks, environment, now)?.quota ?? null,
  });
  return {
    platform_id: platformId,
    since: toIso(toVolumeDay(now) * DAY_MS),
    resets_at: toIso(computeVolumeDayEnd(now)),
    sandbox: of("sandbox"),
    production: of("production"),
    rows,
    mails: (today?.mails ?? 0) + links,
  };
}
