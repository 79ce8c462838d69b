// A team of Cloudflare Access, which signs application tokens, publishes its keys on loopback and rotates them, and the world that accepts its
// tokens.
import { exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from "jose";
import { inject } from "vitest";
import { type AccessTiming, openAccess } from "../../src/auth/access.ts";
import { buildDeps } from "../../src/context.ts";
import type { KeysAnswer } from "./access-teams.ts";
import { withDeps } from "./variants.ts";
import { env, ISSUER, type World } from "./world.ts";

export type TeamKey = { readonly privateKey: CryptoKey; readonly publicKey: CryptoKey; readonly jwk: JWK };

export async function drawTeamKey(): Promise<TeamKey> {
  const { privateKey, publicKey } = await generateKeyPair("RS256", { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), kid: crypto.randomUUID(), alg: "RS256", use: "sig" };
  return { privateKey, publicKey, jwk };
}

export class Team {
  readonly origin: string;
  readonly audience = "32eafc7626e974616deaf0dc3ce63d7bcbed58a2731e84d06bc3cdf1b53c4228";
  readonly key: TeamKey;

  constructor(origin: string, key: TeamKey) {
    this.origin = origin;
    this.key = key;
  }

  /** The claims of a person who has just signed in. */
  claims(): JWTPayload {
    const now = Math.floor(Date.now() / 1000);
    return {
      aud: [this.audience],
      email: "ada@operator.example",
      iat: now,
      nbf: now,
      exp: now + 3_600,
      iss: this.origin,
      type: "app",
      identity_nonce: "6ei69kawdKzMIAPF",
      sub: crypto.randomUUID(),
      country: "DE",
    };
  }

  /** Signs a valid token with the changes; a member that is undefined is left out. */
  sign(change: Record<string, unknown> = {}, key: TeamKey = this.key, kid = key.jwk.kid): Promise<string> {
    const header = { alg: "RS256", typ: "JWT", ...(kid !== undefined && { kid }) };
    return new SignJWT({ ...this.claims(), ...change }).setProtectedHeader(header).sign(key.privateKey);
  }

  /** Publishes the keys as Cloudflare does: as JWK and as PEM. */
  publish(...keys: TeamKey[]): Promise<void> {
    const body = { keys: keys.map(({ jwk }) => jwk), public_cert: { kid: "", cert: "" }, public_certs: [] };
    return this.answer({ status: 200, body: JSON.stringify(body), headers: { "Content-Type": "application/json" } });
  }

  async answer(answer: KeysAnswer): Promise<void> {
    await fetch(this.origin, { method: "PUT", body: JSON.stringify(answer) });
  }

  async reads(): Promise<number> {
    return Number(await (await fetch(this.origin)).text());
  }
}

export async function openTeam(): Promise<Team> {
  const response = await fetch(inject("accessTeams"), { method: "POST" });
  const team = new Team(await response.text(), await drawTeamKey());
  await team.publish(team.key);
  return team;
}

/** The timing of production, but with a long time-out, because the team's server shares the machine with the tests. */
const PATIENT: AccessTiming = { timeoutMs: 60_000, maxAgeMs: 600_000, restMs: 10_000, now: () => Date.now() };

/** A service that accepts the team's tokens and has not read its keys yet. */
export function withAccess(world: World, team: Team, timing: AccessTiming = PATIENT): World {
  const configured = { ACCESS_TEAM_DOMAIN: team.origin, ACCESS_AUDIENCE: team.audience };
  const deps = buildDeps({ ...env, DB: world.meter.d1, ...configured }, ISSUER, { now: () => world.now() });
  return withDeps(world, { ...deps, access: openAccess(team, timing) });
}
