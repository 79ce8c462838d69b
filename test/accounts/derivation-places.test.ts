// The bucket of derivations of a client's network (CRED-20): a client that floods a call with passwords does not block other networks. Derivations
// are watched, not replaced.
import crypto from "node:crypto";
import { beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type * as z from "zod";
import { ROUTES } from "../../src/app.ts";
import { buildDeps } from "../../src/context.ts";
import { toClientNetwork, toClientSubnet } from "../../src/core/client-network.ts";
import { withVars } from "../support/variants.ts";
import { createWorld, env, expectStatus, ISSUER, type Reply, type World } from "../support/world.ts";
import { freshAddress, from, logIn, mailedToken, PASSWORD, post, postAs, register, signUp } from "./support.ts";
import { person, setUpTotp } from "./totp-support.ts";

const [AT_ONCE, EVERY_SECONDS] = [2, 50_000];
const NEXT = "another correct horse battery";

let world: World;
let narrow: World;
beforeAll(async () => {
  world = await createWorld();
  narrow = withVars(world, { PASSWORDS_AT_ONCE: String(AT_ONCE), PASSWORDS_EVERY_SECONDS: String(EVERY_SECONDS) });
});

let networks = 0;
/** Clients of a network that has not called before. */
function freshNetwork() {
  const network = `203.0.${++networks}`;
  return { one: from(`${network}.7`), other: from(`${network}.200`) };
}
const attempt = (client: Record<string, string>) =>
  post(narrow, "/v1/platform/sessions", { email: freshAddress(), password: PASSWORD }, client);
async function takePlaces(client: Record<string, string>): Promise<void> {
  for (let n = 0; n < AT_ONCE; n++) expect((await attempt(client)).status).toBe(401);
}

/** Prepares a call on a route that derives a password, so that it would succeed. */
type Ready = () => Promise<(client: Record<string, string>) => Promise<Reply>>;
const bySession =
  (method: string, path: string, body: (email: string) => object = () => ({ current_password: PASSWORD })): Ready =>
  async () => {
    const { email } = await signUp(world);
    const token = await logIn(world, email);
    return (client) =>
      method === "POST"
        ? postAs(narrow, token, path, body(email), client)
        : narrow.call(method, path, {
            key: null,
            body: body(email),
            headers: { Authorization: `Bearer ${token}`, ...client },
          });
  };

const READY: Readonly<Record<string, Ready>> = {
  "POST /v1/platform/register": async () => {
    const email = freshAddress();
    return (client) => post(narrow, "/v1/platform/register", { email, password: PASSWORD }, client);
  },
  "POST /v1/platform/verify-email": async () => {
    const { email } = await register(world);
    const token = mailedToken(world, email);
    return (client) => post(narrow, "/v1/platform/verify-email", { token, password: PASSWORD }, client);
  },
  "POST /v1/platform/sessions": async () => {
    const { email } = await signUp(world);
    return (client) => post(narrow, "/v1/platform/sessions", { email, password: PASSWORD }, client);
  },
  "POST /v1/platform/password": bySession("POST", "/v1/platform/password", () => ({
    current_password: PASSWORD,
    new_password: NEXT,
  })),
  "POST /v1/platform/password/reset": async () => {
    const { email } = await signUp(world);
    await post(world, "/v1/platform/password/forgot", { email });
    const token = mailedToken(world, email);
    return (client) => post(narrow, "/v1/platform/password/reset", { token, new_password: NEXT }, client);
  },
  "POST /v1/platform/email": bySession("POST", "/v1/platform/email", () => ({
    new_email: freshAddress(),
    current_password: PASSWORD,
  })),
  "DELETE /v1/platform/totp": async () => {
    const { token } = await person(world);
    const [code] = (await setUpTotp(world, token)).recoveryCodes;
    const body = { current_password: PASSWORD, code };
    return (client) =>
      narrow.call("DELETE", "/v1/platform/totp", {
        key: null,
        body,
        headers: { Authorization: `Bearer ${token}`, ...client },
      });
  },
  "POST /v1/platform/close": bySession("POST", "/v1/platform/close", (email) => ({
    confirmation: email,
    current_password: PASSWORD,
  })),
};

/** Every route that takes a password, read from the routes: a route without a row above is played with only the current password. */
const taking = ROUTES.filter(({ body }) => {
  const { shape = {} } = (body ?? {}) as { shape?: z.ZodRawShape };
  return Object.keys(shape).some((member) => /(?:^|_)password$/.test(member));
}).map(({ method, path }) => `${method.toUpperCase()} ${path}`);

describe("a network without a place for another derivation", () => {
  const derive = vi.spyOn(crypto, "scrypt");
  beforeEach(() => {
    derive.mockClear();
  });

  it("applies to every route that takes a password", () => {
    expect(taking).toEqual(expect.arrayContaining(Object.keys(READY)));
  });

  it.each(taking)("is refused with 429 at %s before a derivation, and another network is served", async (name) => {
    const [method = "", path = ""] = name.split(" ");
    const call = await (READY[name] ?? bySession(method, path))();
    const { one, other } = freshNetwork();
    await takePlaces(one);
    derive.mockClear();
    const refused = await call(other);
    expect([refused.status, refused.body.code]).toEqual([429, "rate_limited"]);
    const seconds = Number(refused.headers.get("retry-after"));
    expect(seconds).toBeGreaterThan(EVERY_SECONDS - 600);
    expect(seconds).toBeLessThanOrEqual(EVERY_SECONDS);
    expect(derive).not.toHaveBeenCalled();
    expect((await call(freshNetwork().one)).status).toBeLessThan(300);
  });

  it("gets only its places for simultaneous calls", async () => {
    const { one } = freshNetwork();
    const replies = await Promise.all(Array.from({ length: 12 }, () => attempt(one)));
    expect(replies.filter(({ status }) => status === 401)).toHaveLength(AT_ONCE);
    expect(derive).toHaveBeenCalledTimes(AT_ONCE);
  });

  it("also counts the derivation of a good log-in", async () => {
    const { email } = await signUp(world);
    const { one } = freshNetwork();
    const good = () => post(narrow, "/v1/platform/sessions", { email, password: PASSWORD }, one);
    for (let n = 0; n < AT_ONCE; n++) expectStatus(await good(), 201);
    expect((await good()).status).toBe(429);
  });
});

describe("the network of a client", () => {
  it.each([
    ["198.51.100.77", "198.51.100.77", "198.51.100.0/24"],
    ["::ffff:198.51.100.77", "198.51.100.77", "198.51.100.0/24"],
    ["2001:0DB8:7:8:9::1", "2001:db8:7:8::/64", "2001:db8:7::/48"],
    ["2001:db8::1", "2001:db8:0:0::/64", "2001:db8:0::/48"],
    ["fe80::1%eth0", "fe80:0:0:0::/64", "fe80:0:0::/48"],
    ["local", "local", "local"],
  ])("of %s is %s, and its provider's network is %s", (address, client, provider) => {
    expect([toClientNetwork(address), toClientSubnet(address)]).toEqual([client, provider]);
  });
});

describe("the configuration of the bucket", () => {
  it.each([
    [{ PASSWORDS_AT_ONCE: "0" }, "PASSWORDS_AT_ONCE is less than 1"],
    [{ PASSWORDS_AT_ONCE: "" }, "PASSWORDS_AT_ONCE is not a number"],
    [{ PASSWORDS_EVERY_SECONDS: "-1" }, "PASSWORDS_EVERY_SECONDS is not a number"],
    [{ PASSWORDS_EVERY_SECONDS: "1.5" }, "PASSWORDS_EVERY_SECONDS is not a number"],
  ])("%j is refused", (vars, message) => {
    expect(() => buildDeps({ ...env, ...vars }, ISSUER)).toThrow(message);
  });
});
