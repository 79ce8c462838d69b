// Verifies the application token of Cloudflare Access (CRED-18, CRED-19). Order of trust: the algorithm, the team's key, the signature, then issuer,
// audience and time, and last the name in the token.
import { createLocalJWKSet, type JSONWebKeySet, type JWTVerifyGetKey, jwtVerify } from "jose";
import { JOSEError, JWKSNoMatchingKey } from "jose/errors";
import * as z from "zod";
import { ServiceError } from "../core/errors.ts";
import { MINUTE_MS, SECOND_MS } from "../core/limits.ts";
import type { Entrance } from "../http/call.ts";
import { readClientAddress } from "../http/rate-limit.ts";

/** The team that signs the accepted tokens, and the application that they are for (its AUD tag). */
export type AccessTeam = { readonly origin: string; readonly audience: string };

/** Returns the person's address or the service token's client id. Throws the refusal. */
export type AccessIdentify = (token: string) => Promise<string>;

export type AccessTiming = {
  readonly timeoutMs: number;
  /** Keys are kept for this long, so a withdrawn key counts no longer. */
  readonly maxAgeMs: number;
  /** After a reading, successful or not, no other follows for this long, so that unknown key ids and outages do not cause a fetch per call. */
  readonly restMs: number;
  /** Real time in epoch milliseconds, whatever clock the service runs on. */
  readonly now: () => number;
};

const TIMING: AccessTiming = {
  timeoutMs: 4 * SECOND_MS,
  maxAgeMs: 10 * MINUTE_MS,
  restMs: 10 * SECOND_MS,
  now: Date.now,
};
const LOOPBACK: ReadonlySet<string> = new Set(["127.0.0.1", "[::1]", "localhost"]);

/** `domain` is a host name or an origin; http is accepted only on loopback. Null when both arguments are empty: Access is off. */
export function parseAccessTeam(domain: string, audience: string): AccessTeam | null {
  if (domain === "" && audience === "") return null;
  if (domain === "" || audience === "") throw new Error("ACCESS_TEAM_DOMAIN and ACCESS_AUDIENCE must be set together");
  const url = URL.parse(domain.includes("://") ? domain : `https://${domain}`);
  const safe = url?.protocol === "https:" || (url?.protocol === "http:" && LOOPBACK.has(url.hostname));
  if (!url || !safe || url.href !== `${url.origin}/`) throw new Error(`ACCESS_TEAM_DOMAIN is not a team: "${domain}"`);
  return { origin: url.origin, audience };
}

export function openAccess(team: AccessTeam, timing: AccessTiming = TIMING): AccessIdentify {
  const keys = openTeamKeys(`${team.origin}/cdn-cgi/access/certs`, timing);
  const options = { algorithms: ["RS256"], issuer: team.origin, audience: team.audience, requiredClaims: ["exp"] };
  return async (token) => {
    try {
      const { payload } = await jwtVerify(token, keys, options);
      return readCallerName(payload);
    } catch (thrown) {
      if (!(thrown instanceof JOSEError)) throw thrown;
      const claim = "claim" in thrown ? ` ${String(thrown.claim)}` : "";
      throw new ServiceError("invalid_credentials", { reason: `Access token: ${thrown.code}${claim}` });
    }
  };
}

// `org` is the type of the team's own session. A service token has a common name in place of an address.
const claimsSchema = z.object({
  type: z.literal("app"),
  email: z.string().optional(),
  common_name: z.string().optional(),
});

function readCallerName(payload: unknown): string {
  const claims = claimsSchema.safeParse(payload);
  const name = claims.data?.email || claims.data?.common_name;
  if (!name) throw new ServiceError("invalid_credentials", { reason: "Access token: it names no user" });
  return name;
}

/**
 * The team's keys, read when a needed key is unknown: Access rotates them every six weeks. Concurrent requests each read them, because a Worker must
 * not await another request's I/O.
 */
function openTeamKeys(url: string, { timeoutMs, maxAgeMs, restMs, now }: AccessTiming): JWTVerifyGetKey {
  let known: { keys: JWTVerifyGetKey; readAt: number } | null = null;
  let restsUntil = 0;
  const read = async (): Promise<JWTVerifyGetKey> => {
    if (now() < restsUntil) throw toKeysUnavailableError("not asked for again so soon");
    try {
      const keys = createLocalJWKSet(await fetchKeys(url, timeoutMs));
      known = { keys, readAt: now() };
      return keys;
    } catch (thrown) {
      throw toKeysUnavailableError(thrown instanceof Error ? thrown.message : "unknown");
    } finally {
      restsUntil = now() + restMs;
    }
  };
  return async (header, token) => {
    const keys = known !== null && now() < known.readAt + maxAgeMs ? known.keys : await read();
    try {
      return await keys(header, token);
    } catch (thrown) {
      if (!(thrown instanceof JWKSNoMatchingKey) || now() < restsUntil) throw thrown;
    }
    return (await read())(header, token);
  };
}

const toKeysUnavailableError = (reason: string) =>
  new ServiceError("internal_error", { reason: `the keys of Access are not available: ${reason}` });

async function fetchKeys(url: string, timeoutMs: number): Promise<JSONWebKeySet> {
  const signal = AbortSignal.timeout(timeoutMs);
  const response = await fetch(url, { redirect: "manual", cache: "no-store", signal });
  if (response.status === 200) return response.json<JSONWebKeySet>();
  await response.body?.cancel();
  throw new Error(`status ${response.status}`);
}

// ---- Bearer tokens, and calls without a credential -----------------------------------------------------------------------

/** Reads `Authorization: Bearer` (RFC 9110, 11.4). The scheme may be in any case, followed by one or more spaces. */
export const readBearer = (authorization: string | undefined): string | undefined =>
  /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1];

/** Public routes are charged to the client's address. */
export const publicEntrance: Entrance = {
  presents: () => true,
  challenge: () => null,
  check: async ({ route, validBody, context }) => ({
    quota: { of: "address" },
    keys: route.keysOf && validBody !== undefined ? await route.keysOf(validBody) : null,
    reads: () => ({}),
    offsetOf: () => null,
    admit: async () => ({ caller: null, platformId: null }),
    parts: { clientAddress: readClientAddress(context), userAgent: context.req.header("user-agent") ?? "" },
  }),
};
