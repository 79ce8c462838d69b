// Sessions, operators and Verifiers parse `Authorization: Bearer` in the same way (CRED-13, CRED-20, CRED-26), and every 401 has a challenge
// (HTTP-16).
import { beforeAll, describe, expect, inject, it } from "vitest";
import { freshClient, logIn, PASSWORD, post, signUp } from "../accounts/support.ts";
import { send } from "../support/variants.ts";
import { createWorld, type Reply, type World } from "../support/world.ts";

let world: World;
let session: string;
beforeAll(async () => {
  world = await createWorld();
  session = await logIn(world, (await signUp(world)).email);
});

const ask = (method: string, path: string, Authorization: string): Promise<Reply> =>
  world.call(method, path, { key: null, headers: { Authorization } });
/** A credential of the right form, from a Verifier that is not registered. */
const UNKNOWN = [
  { alg: "ES256", typ: "aeap-revocation+jwt" },
  { iss: "ver_1", sub: "att-1" },
]
  .map((part) => btoa(JSON.stringify(part)).replaceAll("=", ""))
  .concat("AAAA")
  .join(".");

const CALLS = [
  ["a session", () => session, (value: string) => ask("GET", "/v1/platform", value)],
  ["an operator", () => inject("operatorKey"), (value: string) => ask("GET", "/v1/operator/jobs", value)],
  ["a Verifier", () => UNKNOWN, (value: string) => ask("POST", "/v1/attestations/att-1/revoke", value)],
] as const;

describe.each(CALLS)("the token of %s", (_whose, tokenOf, call) => {
  it.each(["Bearer  ", "Bearer    ", "bearer ", "BEARER "])(
    "after %j is accepted as after one space",
    async (scheme) => {
      const [one, other] = [await call(`Bearer ${tokenOf()}`), await call(`${scheme}${tokenOf()}`)];
      expect([other.status, other.body.message]).toEqual([one.status, one.body.message]);
    },
  );

  it.each(["Bearer", "Bearer\t", "Token ", "Bearer=", "Bearer, "])("after %j is rejected", async (scheme) => {
    const { status, headers } = await call(`${scheme}${tokenOf()}`);
    expect([status, headers.get("www-authenticate")]).toEqual([401, expect.stringMatching(/^\w[\w-]* realm=/)]);
  });
});

it("sends a challenge with a rejected log-in", async () => {
  const body = { email: "nobody@startup.example", password: PASSWORD };
  const { status, headers } = await post(world, "/v1/platform/sessions", body, freshClient());
  expect([status, headers.get("www-authenticate")]).toEqual([401, 'Bearer realm="dashboard"']);
});

it("sends RateLimit headers with a rejected HEAD", async () => {
  const { response } = await send(world, "/v1/payment-address?market=DE-USDC", { method: "HEAD" });
  expect([response.status, response.headers.get("ratelimit-policy")]).toEqual([
    405,
    expect.stringContaining('"address"'),
  ]);
  expect(response.headers.get("ratelimit")).toContain('"address"');
});
