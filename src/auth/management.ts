// Authenticates a management key (CRED-4 to CRED-11). Its owner is read in the first trip of the call, beside the reads that it allows: a
// revoked key fails at its next call, and authentication costs no trip of its own.

import { type KeyBrands, keyFault, parseKeyBrands, parseManagementKey } from "../accounts/management-key.ts";
import { findKeyOwner, type KeyOwner, ownerOf } from "../accounts/store.ts";
import type { ManagementCaller } from "../call.ts";
import type { Env } from "../context.ts";
import { sha256Hex } from "../core/encoding.ts";
import { ServiceError } from "../core/errors.ts";
import { memoizeBy } from "../core/memo.ts";
import { splitList } from "../core/text.ts";
import type { Environment } from "../core/vocabulary.ts";
import type { Tenant } from "../db/tenant.ts";
import type { Credential, Entrance } from "../http/call.ts";
import type { Incoming } from "../http/incoming.ts";
import { chargeAddress } from "../http/rate-limit.ts";

export const managementEntrance: Entrance = {
  presents: (incoming) => presentedKey(incoming) !== null,
  check: checkKey,
  challenge: ({ deps }) => `${keyConfiguration(deps.env).headers[0]} realm="platforms"`,
};

/** The configured header names and brands of management keys (CRED-7). */
export const keyConfiguration = memoizeBy((env: Env): { headers: readonly string[]; brands: KeyBrands } => ({
  headers: splitList(env.MANAGEMENT_KEY_HEADERS),
  brands: parseKeyBrands(env.MANAGEMENT_KEY_BRANDS),
}));

async function checkKey(incoming: Incoming): Promise<Credential> {
  const { headers, brands } = keyConfiguration(incoming.deps.env);
  const rawKey = presentedKey(incoming);
  if (rawKey === null) {
    const message = `Send the management key in the header ${headers[0]}.`;
    throw new ServiceError(incoming.route.withoutCredential ?? "invalid_credentials", { message });
  }
  const environment = parseManagementKey(rawKey, brands);
  if (environment === null) throw new ServiceError("invalid_credentials", { message: keyFault(rawKey, brands) });
  const keyHash = await sha256Hex(rawKey);
  const tenant: Tenant = { environment, platformId: ownerOf(keyHash) };
  return {
    quota: keyHash,
    keys: { space: environment, secret: rawKey, platformId: tenant.platformId },
    reads: (db) => ({ owner: findKeyOwner(db, keyHash) }),
    offsetOf: ({ owner }: { owner: KeyOwner | null }) =>
      environment === "sandbox" ? (owner?.clockOffsetMs ?? 0) : null,
    admit: async ({ owner }: { owner: KeyOwner | null }) => {
      // Anybody can make a well-formed key: one without an owner is charged to the address.
      if (owner?.environment !== environment) await chargeAddress(incoming.context, incoming.deps);
      const caller = toCaller(owner, environment, incoming.deps.clock.now());
      return { caller, platformId: caller.platformId };
    },
    parts: { environment, tenant },
  };
}

function presentedKey({ context, deps }: Incoming): string | null {
  for (const name of keyConfiguration(deps.env).headers) {
    const value = context.req.header(name);
    if (value !== undefined) return value.trim();
  }
  return null;
}

/** `now` is real time: a test clock does not move the end of a key (CRED-10). */
function toCaller(owner: KeyOwner | null, environment: Environment, now: number): ManagementCaller {
  if (owner?.environment !== environment) throw new ServiceError("invalid_credentials", { reason: "unknown key" });
  if (owner.expiresAt !== null && owner.expiresAt <= now) {
    throw new ServiceError("invalid_credentials", { reason: "revoked key" });
  }
  if (owner.platformStatus === "SUSPENDED" || owner.platformStatus === "CLOSED") {
    throw new ServiceError("account_suspended");
  }
  return {
    platformId: owner.platformId,
    environment,
    actor: { type: "management_api", id: owner.keyPrefix },
    accreditationTier: owner.accreditationTier,
  };
}
