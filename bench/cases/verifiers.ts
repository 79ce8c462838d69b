// Operators' acts on Verifiers, and a registration that one of them attests.
import { CompactSign, exportJWK, generateKeyPair } from "jose";
import type { Case } from "../case.ts";
import { json, manage, must, operate, type Play, principalBody } from "../play.ts";
import type { Ask } from "../wire.ts";

const PATH = "/v1/operator/verifiers";
const DAY_SECONDS = 86_400;

type Held = { readonly verifierId: string; readonly sign: (claims: Record<string, unknown>) => Promise<string> };

async function register({ stage, next }: Play): Promise<Held> {
  const { publicKey, privateKey } = await generateKeyPair("ES256");
  const kid = `k${next()}`;
  const body = { name: `Verifier ${next()}`, jwks: { keys: [{ ...(await exportJWK(publicKey)), kid }] } };
  const verifier = json(await must(stage, operate(stage, "POST", PATH, body), 201));
  const header = { alg: "ES256", typ: "aeap-attestation+jwt", kid };
  return {
    verifierId: String(verifier["verifier_id"]),
    sign: (claims) =>
      new CompactSign(new TextEncoder().encode(JSON.stringify(claims))).setProtectedHeader(header).sign(privateKey),
  };
}

async function proven(play: Play): Promise<Ask> {
  const { verifierId: iss, sign } = await register(play);
  const { legal_name, country, ...rest } = principalBody(play.next());
  const iat = Math.floor(Date.now() / 1_000) - DAY_SECONDS;
  const claims = { iss, jti: `att-${play.next()}`, subject: { legal_name, country }, model: "kyb", iat };
  const exp = iat + 100 * DAY_SECONDS;
  const verification_attestation = {
    attestation_id: claims.jti,
    verifier_id: iss,
    model: "kyb",
    issued_at: new Date(iat * 1_000).toISOString(),
    expires_at: new Date(exp * 1_000).toISOString(),
    proof: await sign({ ...claims, exp }),
  };
  return manage(play.stage, "POST", "/v1/principals", { ...rest, legal_name, country, verification_attestation });
}

export const VERIFIERS: readonly Case[] = [
  { route: "POST /v1/principals", variant: "proven by a Verifier", status: 201, ask: proven },
  {
    route: "POST /v1/operator/verifiers",
    status: 201,
    ask: async ({ stage, next }) => {
      const { publicKey } = await generateKeyPair("ES256");
      const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: "k" }] };
      return operate(stage, "POST", PATH, { name: `Verifier ${next()}`, jwks });
    },
  },
  {
    route: "GET /v1/operator/verifiers",
    status: 200,
    filling: true,
    ask: ({ stage }) => operate(stage, "GET", `${PATH}?limit=20`),
  },
  {
    route: "GET /v1/operator/verifiers/{verifier_id}",
    status: 200,
    ask: async (play) => operate(play.stage, "GET", `${PATH}/${(await register(play)).verifierId}`),
  },
  {
    route: "PATCH /v1/operator/verifiers/{verifier_id}",
    status: 200,
    ask: async (play) =>
      operate(play.stage, "PATCH", `${PATH}/${(await register(play)).verifierId}`, { status: "disabled" }),
  },
];
