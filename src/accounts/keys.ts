// Management keys of an account (ACC-17): issued, listed, rotated. A key is shown once, in the answer of the call that issues it.
import { type ManagementCall, type ManagementCaller, type Precheck, precheck } from "../call.ts";
import type { Deps } from "../context.ts";
import { toIso, toIsoOrNull } from "../core/clock.ts";
import { requireConfirmed } from "../core/confirmed.ts";
import { ServiceError } from "../core/errors.ts";
import { createId } from "../core/ids.ts";
import { HOUR_MS } from "../core/limits.ts";
import { requireProduction } from "../core/production.ts";
import type { Actor, Environment } from "../core/vocabulary.ts";
import type { Statement } from "../db/batch.ts";
import type { KeyRow } from "../db/tables/accounts.ts";
import type { Owner } from "../db/tenant.ts";
import { recordActivity } from "../journal/activity.ts";
import { recordEvent } from "../journal/events.ts";
import { recordNotice } from "../journal/notices.ts";
import type { RotationInput } from "./key-schema.ts";
import { endKeys, findCurrentKeys, findKeys, insertKey } from "./key-store.ts";
import { generateManagementKey, keyBrands } from "./management-key.ts";
import { findPlatform } from "./store.ts";

const WARNING =
  "This key is shown only once: the service stores only its hash. Keep it secret, and never put it into an agent's runtime.";

/** A new key in the answer of the call that issues it. */
export type IssuedKey = {
  readonly raw_key: string;
  readonly key_prefix: string;
  readonly environment: Environment;
  readonly warning: string;
};

type NewKey = {
  readonly row: KeyRow;
  readonly view: IssuedKey;
  /** The data of the notices about the key. */
  readonly notice: { readonly environment: Environment; readonly keyPrefix: string };
};

async function drawManagementKey({ env }: Deps, { platformId, environment }: Owner, now: number): Promise<NewKey> {
  const { rawKey, keyPrefix, keyHash } = await generateManagementKey(environment, keyBrands(env));
  const stamps = { createdAt: now, expiresAt: null, lastUsedAt: null };
  return {
    row: { keyHash, keyId: createId("key", now), platformId, environment, keyPrefix, ...stamps },
    view: { raw_key: rawKey, key_prefix: keyPrefix, environment, warning: WARNING },
    notice: { environment, keyPrefix },
  };
}

/** Issues the first key of an environment. If two calls issue it, the second one fails (Conflict). */
export async function issueKey(
  deps: Deps,
  owner: Owner,
  actor: Actor,
  now: number,
): Promise<Pick<NewKey, "view" | "notice"> & { readonly statements: Statement[] }> {
  const { row, view, notice } = await drawManagementKey(deps, owner, now);
  const subject = { type: "api_key", id: row.keyId };
  const entry = { action: "api_key.issued", actor, subject } as const;
  return { view, notice, statements: [insertKey(deps.db, row), recordActivity(deps.db, owner, now, entry)] };
}

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
