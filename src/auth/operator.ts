// Authenticates operators (CRED-16, CRED-17) by a bearer key whose SHA-256 is in a secret, or by a token of Cloudflare Access.
import type { Env } from "../context.ts";
import { computeSha256Hex } from "../core/encoding.ts";
import { ServiceError } from "../core/errors.ts";
import { memoizeBy } from "../core/retry.ts";
import { splitList } from "../core/text.ts";
import type { Actor } from "../core/vocabulary.ts";
import type { Entrance } from "../http/call.ts";
import type { Incoming } from "../http/incoming.ts";
import { openAccess, parseAccessTeam, readBearer } from "./access.ts";

export const operatorEntrance: Entrance = {
  presents: ({ context: { req } }) =>
    req.header("authorization") !== undefined || req.header("cf-access-jwt-assertion") !== undefined,
  challenge: () => 'Bearer realm="operators"',
  check: async (incoming) => {
    const actor: Actor = { type: "operator", id: await identifyOperator(incoming) };
    // Each operator has its own Idempotency-Keys. The answers hold no secret, so none is sealed under this value.
    const owner = `operator:${actor.id}`;
    return {
      quota: { of: "address" },
      keys: { space: "operator", secret: owner, platformId: owner },
      reads: () => ({}),
      offsetOf: () => null,
      admit: async () => ({ caller: { actor }, platformId: owner }),
      parts: { actor },
    };
  },
};

const operatorKeyHashes = memoizeBy(
  (env: Env): ReadonlySet<string> => new Set(splitList(env.OPERATOR_KEY_HASHES ?? "")),
);

/** The configured team of Access; null when Access is off. */
export const accessConfiguration = memoizeBy((env: Env) => {
  const team = parseAccessTeam(env.ACCESS_TEAM_DOMAIN, env.ACCESS_AUDIENCE);
  return team && openAccess(team);
});

/** A presented key decides alone, good or bad (CRED-17): Access adds its token to every request, and a key still works when Access is down. */
async function identifyOperator({ context: { req }, deps }: Incoming): Promise<Actor["id"]> {
  const authorization = req.header("authorization");
  if (authorization !== undefined) return identifyByKey(authorization, operatorKeyHashes(deps.env));
  const token = req.header("cf-access-jwt-assertion");
  if (token === undefined) {
    throw new ServiceError("invalid_credentials", { message: NO_BEARER });
  }
  const access = deps.access ?? accessConfiguration(deps.env);
  if (access === null) throw new ServiceError("invalid_credentials", { reason: "Access token: Access is off" });
  return access(token);
}

async function identifyByKey(authorization: string, hashes: ReadonlySet<string>): Promise<Actor["id"]> {
  const presented = readBearer(authorization);
  if (presented === undefined) throw new ServiceError("invalid_credentials", { message: NO_BEARER });
  const hash = await computeSha256Hex(presented);
  // Hashes of high-entropy keys: the time of the comparison reveals nothing about a key.
  if (!hashes.has(hash)) throw new ServiceError("invalid_credentials", { message: OPERATOR_KEY_ONLY });
  return hash.slice(0, 12);
}

const NO_BEARER = "Send an operator key as Authorization: Bearer.";
const OPERATOR_KEY_ONLY = "This is not an operator key; operator routes accept nothing else.";
