// The token of Cloudflare Access, verified against the keys that its team publishes (CRED-16 to CRED-18).
import { createExecutionContext } from "cloudflare:test";
import { SignJWT } from "jose";
import { beforeAll, beforeEach, describe, expect, inject, it, vi } from "vitest";
import { checkConfiguration, createApp } from "../../src/app.ts";
import { parseAccessTeam } from "../../src/auth/access.ts";
import { accessConfiguration } from "../../src/auth/operator.ts";
import { defineRoute } from "../../src/http/route.ts";
import { drawTeamKey, openTeam, type Team, type TeamKey, withAccess } from "../support/access.ts";
import { createWorld, env, ISSUER, type World } from "../support/world.ts";
import { access, bearer, callOperator, type Headers, outcomeOf } from "./support.ts";

const logged = vi.spyOn(console, "info").mockImplementation(() => undefined);
const DAY_MS = 86_400_000;

let world: World;
let team: Team;
let service: World;
let stranger: TeamKey;
beforeAll(async () => {
  world = await createWorld();
  team = await openTeam();
  service = withAccess(world, team);
  stranger = await drawTeamKey();
});
beforeEach(() => logged.mockClear());

const outcome = (headers: Headers, of: World = service) => outcomeOf(of, headers);
const refused = [401, "invalid_credentials"];
const seconds = (ahead: number) => Math.floor(Date.now() / 1000) + ahead;
const base64Url = (value: unknown) =>
  btoa(JSON.stringify(value)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "");

/** The actor that the service recognises. */
async function actorOf(headers: Record<string, string>): Promise<unknown> {
  const probe = defineRoute({
    operationId: "probe",
    method: "get",
    path: "/v1/operator/probe",
    surfaces: ["operator"],
    status: 200,
    errors: [],
    handle: async ({ actor }) => actor,
  });
  const app = createApp(withAccess(world, team).deps, [probe]);
  const reply = await app.request(`${ISSUER}/v1/operator/probe`, { headers }, env, createExecutionContext());
  return reply.json();
}

describe("a token of the team", () => {
  it("opens the operator's routes to a person, and names the person as the actor", async () => {
    const token = await team.sign();
    expect(await outcome(access(token))).toBe(200);
    expect(await actorOf(access(token))).toEqual({ type: "operator", id: "ada@operator.example" });
  });

  it("opens them to a service token, which has no address and no nbf", async () => {
    const change = { email: undefined, nbf: undefined, sub: "", common_name: "e367826f93b8d711.access" };
    const token = await team.sign(change);
    expect(await outcome(access(token))).toBe(200);
    expect(await actorOf(access(token))).toEqual({ type: "operator", id: "e367826f93b8d711.access" });
  });

  it("may be for several applications, or name its only application as text", async () => {
    expect(await outcome(access(await team.sign({ aud: ["other", team.audience] })))).toBe(200);
    expect(await outcome(access(await team.sign({ aud: team.audience })))).toBe(200);
  });

  it("is judged by the wall clock, not by the service's clock", async () => {
    const moved = withAccess(world, team);
    const token = await team.sign({ exp: seconds(60) });
    try {
      world.advance(DAY_MS);
      expect(await outcome(access(token), moved)).toBe(200);
      world.offset = -DAY_MS;
      expect(await outcome(access(token), moved)).toBe(200);
      expect(await outcome(access(await team.sign({ exp: seconds(-1) })), moved)).toEqual(refused);
    } finally {
      world.offset = 0;
    }
  });

  it("is not a credential on any other route", async () => {
    const headers = access(await team.sign());
    expect((await service.call("GET", "/v1/platform", { key: null, headers })).body.code).toBe("invalid_credentials");
    expect((await service.call("GET", "/v1/tasks/tsk_x", { key: null, headers })).body.code).toBe(
      "certificate_required",
    );
  });
});

describe("a token that is refused", () => {
  const FAULTY: [name: string, token: () => string | Promise<string>][] = [
    ["for another application", () => team.sign({ aud: ["another"] })],
    ["for no application", () => team.sign({ aud: undefined })],
    ["for an application whose tag only begins alike", () => team.sign({ aud: [team.audience.slice(0, -1)] })],
    ["of another issuer", () => team.sign({ iss: "https://other.cloudflareaccess.com" })],
    ["of the issuer with a slash", () => team.sign({ iss: `${team.origin}/` })],
    ["of no issuer", () => team.sign({ iss: undefined })],
    ["that has expired", () => team.sign({ exp: seconds(-1) })],
    ["that never expires", () => team.sign({ exp: undefined })],
    ["whose end is a text", () => team.sign({ exp: String(seconds(60)) })],
    ["that is not valid yet", () => team.sign({ nbf: seconds(60) })],
    ["of the team's session", () => team.sign({ type: "org" })],
    ["of no type", () => team.sign({ type: undefined })],
    ["that names nobody", () => team.sign({ email: undefined })],
    ["that names nobody, in empty members", () => team.sign({ email: "", common_name: "" })],
    ["whose address is no text", () => team.sign({ email: ["ada@operator.example"] })],
    ["of a key that the team does not have", () => team.sign({}, stranger)],
    ["of another key under the team's key id", () => team.sign({}, stranger, team.key.jwk.kid)],
    ["of another key, without a key id", () => team.sign({}, { ...stranger, jwk: {} }, undefined)],
    ["signed with HS256 by the public key", () => confused(JSON.stringify(team.key.jwk))],
    ["signed with HS256 by the public key's modulus", () => confused(team.key.jwk.n ?? "")],
    ["with alg none", async () => unsigned("none")],
    ["with alg None", async () => unsigned("None")],
    [
      "with alg none and the good signature",
      async () => `${await unsigned("none")}${(await team.sign()).split(".")[2]}`,
    ],
    ["with its claims changed", async () => changed(await team.sign(), { email: "eve@operator.example" })],
    ["without its signature", async () => `${(await team.sign()).split(".").slice(0, 2).join(".")}.`],
    ["in two copies", async () => `${await team.sign()}, ${await team.sign()}`],
    ["that is not a token", () => "nonsense"],
    ["that is empty", () => ""],
    ["that is the operator's key", () => inject("operatorKey")],
  ];

  const confused = (secret: string) =>
    new SignJWT(team.claims())
      .setProtectedHeader({ alg: "HS256", typ: "JWT", kid: team.key.jwk.kid ?? "" })
      .sign(new TextEncoder().encode(secret));
  const unsigned = (alg: string) =>
    `${base64Url({ alg, typ: "JWT", kid: team.key.jwk.kid })}.${base64Url(team.claims())}.`;
  const changed = (token: string, change: object) => {
    const [header, , signature] = token.split(".");
    return [header, base64Url({ ...team.claims(), ...change }), signature].join(".");
  };

  it.each(FAULTY)("%s is refused", async (_name, token) => {
    const headers = access(await token());
    const reply = await callOperator(service, headers);
    expect([reply.status, reply.body.code]).toEqual(refused);
    expect(reply.body).not.toHaveProperty("data");
  });

  it("has the same code for all faults, and its reason is logged without the token", async () => {
    const token = await team.sign({ exp: seconds(-1) });
    const { body } = await callOperator(service, access(token));
    const other = await callOperator(service, access("nonsense"));
    expect({ ...body, request_id: "" }).toEqual({ ...other.body, request_id: "" });
    const log = logged.mock.calls.flat().join("\n");
    expect(log).toContain("ERR_JWT_EXPIRED");
    for (const part of token.split(".")) expect(log).not.toContain(part);
    expect(log).not.toContain("ada@operator.example");
  });
});

describe("both headers", () => {
  it("with a wrong key are refused, even with a good token", async () => {
    const token = access(await team.sign());
    for (const wrong of [bearer("nonsense"), { Authorization: "Bearer " }, { Authorization: "Basic YTpi" }]) {
      expect(await outcome({ ...token, ...wrong })).toEqual(refused);
    }
  });

  it("with a good key are the key's call, which succeeds also when Access is off or down", async () => {
    const headers = { ...bearer(inject("operatorKey")), ...access("nonsense") };
    const down = await openTeam();
    await down.answer({ status: 503, body: "" });
    for (const of of [service, world, withAccess(world, down)]) expect(await outcome(headers, of)).toBe(200);
    expect(await down.reads()).toBe(0);
    const { id } = (await actorOf({ ...headers, ...access(await team.sign()) })) as { id: string };
    expect(id).toMatch(/^[0-9a-f]{12}$/);
  });
});

describe("the key alone", () => {
  it("still works, with Access on and off", async () => {
    for (const of of [service, world]) {
      expect(await outcome(bearer(inject("operatorKey")), of)).toBe(200);
      expect(await outcome(bearer("nonsense"), of)).toEqual(refused);
    }
  });
});

describe("with Access off", () => {
  it("refuses a good token, and reads no keys", async () => {
    const other = await openTeam();
    expect(await outcome(access(await other.sign()), world)).toEqual(refused);
    expect(await other.reads()).toBe(0);
  });
});

describe("the configuration", () => {
  it.each([
    ["acme.cloudflareaccess.com", "https://acme.cloudflareaccess.com"],
    ["https://acme.cloudflareaccess.com", "https://acme.cloudflareaccess.com"],
    ["https://acme.cloudflareaccess.com/", "https://acme.cloudflareaccess.com"],
    ["http://127.0.0.1:8123", "http://127.0.0.1:8123"],
    ["http://[::1]:8123", "http://[::1]:8123"],
    ["http://localhost:8123", "http://localhost:8123"],
  ])("reads %s as %s", (domain, origin) => {
    expect(parseAccessTeam(domain, "tag")).toEqual({ origin, audience: "tag" });
  });

  it.each([
    "http://acme.cloudflareaccess.com",
    "http://127.0.0.1.example.com",
    "http://127.0.0.1@example.com",
    "ftp://127.0.0.1",
    "https://user@acme.cloudflareaccess.com",
    "https://acme.cloudflareaccess.com/cdn-cgi/access/certs",
    "acme.cloudflareaccess.com?x=1",
    "acme.cloudflareaccess.com#x",
    "acme cloudflareaccess.com",
    "https://",
  ])("refuses %s at the start of the service", (domain) => {
    const configured = { ...env, ACCESS_TEAM_DOMAIN: domain, ACCESS_AUDIENCE: "tag" };
    expect(() => checkConfiguration(configured)).toThrow(/ACCESS_TEAM_DOMAIN/);
  });

  it("needs both values or none", () => {
    expect(parseAccessTeam("", "")).toBeNull();
    expect(() => parseAccessTeam("acme.cloudflareaccess.com", "")).toThrow(/must be set together/);
    expect(() => parseAccessTeam("", "tag")).toThrow(/must be set together/);
    expect(accessConfiguration(env)).toBeNull();
  });
});
