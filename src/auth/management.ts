// Authenticates a management key (CRED-4 to CRED-11), or a session in its place (CRED-13). The key's owner is read in the call's first trip,
// together with the reads that it permits: a revoked key fails at its next call, and authentication costs no trip of its own.
import { findKeyOwner, guardKey, type KeyOwner, selectOwnerOfKey, touchKey } from "../accounts/key-store.ts";
import { describeKeyFault, type KeyBrands, keyBrands, parseManagementKey } from "../accounts/keys.ts";
import { SESSION_CHALLENGE } from "../accounts/links.ts";
import type { ManagementCaller } from "../call.ts";
import type { Env } from "../context.ts";
import { computeSha256Hex } from "../core/encoding.ts";
import { ServiceError } from "../core/errors.ts";
import { KEY_USE_MINUTES, MINUTE_MS } from "../core/limits.ts";
import { memoizeBy } from "../core/retry.ts";
import { splitList } from "../core/text.ts";
import type { Actor, Environment } from "../core/vocabulary.ts";
import { findVolumeRefusal } from "../core/volume.ts";
import { commit } from "../db/batch.ts";
import type { Tenant } from "../db/statement.ts";
import type { Admission, Credential, Entrance } from "../http/call.ts";
import type { Incoming } from "../http/incoming.ts";
import { checkSession, presentsSession, toQuotaName } from "./session.ts";

export const managementEntrance: Entrance = {
  presents: (incoming) => readPresentedKey(incoming) !== null || presentsSession(incoming),
  check: (incoming) =>
    readPresentedKey(incoming) === null && presentsSession(incoming) ? checkSession(incoming) : checkKey(incoming),
  challenge: ({ deps }) => `${keyConfiguration(deps.env).headers[0]} realm="platforms", ${SESSION_CHALLENGE}`,
};

/** The configured header names and brands of management keys (CRED-7). */
export const keyConfiguration = memoizeBy((env: Env): { headers: readonly string[]; brands: KeyBrands } => ({
  headers: splitList(env.MANAGEMENT_KEY_HEADERS),
  brands: keyBrands(env),
}));

async function checkKey(incoming: Incoming): Promise<Credential> {
  const { headers, brands } = keyConfiguration(incoming.deps.env);
  const rawKey = readPresentedKey(incoming);
  if (rawKey === null) {
    const other = incoming.context.req.header("authorization") === undefined ? "" : "This is not a session token. ";
    const message = `${other}Send the management key in the header ${headers[0]}, or a session_token as Authorization: Bearer.`;
    throw new ServiceError(incoming.route.withoutCredential ?? "invalid_credentials", { message });
  }
  const environment = parseManagementKey(rawKey, brands);
  if (environment === null)
    throw new ServiceError("invalid_credentials", { message: describeKeyFault(rawKey, brands) });
  const keyHash = await computeSha256Hex(rawKey);
  const tenant: Tenant = { environment, platformId: selectOwnerOfKey(keyHash) };
  let endsAt: number | null = null;
  return {
    quota: {
      of: "account",
      credential: keyHash,
      accountOf: ({ owner }: { owner: KeyOwner | null }) => owner && toQuotaName(owner.platformId, environment),
    },
    keys: { space: environment, secret: rawKey, platformId: tenant.platformId },
    reads: (db) => ({ owner: findKeyOwner(db, keyHash) }),
    offsetOf: ({ owner }: { owner: KeyOwner | null }) =>
      environment === "sandbox" ? (owner?.clockOffsetMs ?? 0) : null,
    admit: async ({ owner }: { owner: KeyOwner | null }) => {
      endsAt = owner?.expiresAt ?? null;
      return admitKey(owner, keyHash, environment, incoming);
    },
    guards: (db) => [guardKey(db, keyHash, endsAt)],
    parts: { environment, tenant },
  };
}

function readPresentedKey({ context, deps }: Incoming): string | null {
  for (const name of keyConfiguration(deps.env).headers) {
    const value = context.req.header(name);
    if (value !== undefined) return value.trim();
  }
  return null;
}

/** Judged in real time: a test clock does not move the end of a key (CRED-10). */
function admitKey(owner: KeyOwner | null, keyHash: string, environment: Environment, incoming: Incoming): Admission {
  const { deps, background } = incoming;
  const now = deps.clock.now();
  if (owner?.environment !== environment || owner.platformStatus === "CLOSED") {
    throw new ServiceError("invalid_credentials", { reason: "unknown key" });
  }
  const { platformId, keyPrefix, accreditationTier, platformStatus, promotedAt, expiresAt, lastUsedAt } = owner;
  const ended =
    expiresAt !== null && expiresAt <= now
      ? new ServiceError("invalid_credentials", { reason: "revoked key" })
      : undefined;
  if (platformStatus === "SUSPENDED") throw new ServiceError("account_suspended");
  const usedBefore = now - KEY_USE_MINUTES * MINUTE_MS;
  if (!ended && (lastUsedAt ?? 0) <= usedBefore) {
    background(commit(deps.db, [touchKey(deps.db, keyHash, now, usedBefore)]).catch(() => undefined));
  }
  const actor: Actor = { type: "management_api", id: keyPrefix };
  const caller: ManagementCaller = {
    platformId,
    environment,
    actor,
    accreditationTier,
    platformStatus,
    promotedAt,
    inGrace: expiresAt !== null,
    isConfirmed: true,
  };
  const usedUp = findVolumeRefusal(owner.volumeMarks, environment, deps.config.volume[environment], now);
  return { caller, platformId, ended, usedUp };
}
