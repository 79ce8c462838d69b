// Wrong credentials (CRED-1 to CRED-3, CRED-11, PRF-1, PRF-10): all of them on one route of each kind, a missing and a foreign one on every route.
// One router judges the credentials of all routes (test/http/router.test.ts); `npm run test:long` tries every wrong one on every route. Registering
// a new route covers it; a new surface does not compile until its rows are added.
import { beforeAll, describe, expect, inject, it, vi } from "vitest";
import { generateManagementKey } from "../../src/accounts/keys.ts";
import { drawSessionToken } from "../../src/accounts/links.ts";
import { ROUTES } from "../../src/app.ts";
import type { Surface } from "../../src/call.ts";
import { createId } from "../../src/core/ids.ts";
import { HOUR_MS, SESSION_IDLE_HOURS } from "../../src/core/limits.ts";
import { managementKeys } from "../../src/db/tables/accounts.ts";
import type { Route } from "../../src/http/route.ts";
import type { CertificateClaims } from "../../src/protocol/certificate.ts";
import { generateKeyPair } from "../../src/protocol/ecdsa.ts";
import { drawTeamKey, openTeam, type Team, withAccess } from "../support/access.ts";
import { isWhole } from "../support/scale.ts";
import { dumpDatabase } from "../support/variants.ts";
import { type Agent, BRANDS, createWorld, env, expectStatus, type World } from "../support/world.ts";
import {
  type Attempt,
  access,
  bearer,
  challengeOf,
  flipped,
  forgeCertificate,
  type Headers,
  key,
  prove,
  reissueCertificate,
  secondsAway,
  stopRealTime,
  without,
} from "./support.ts";

type Row = { name: string; status: number; code: string; headers: (attempt: Attempt) => Headers | Promise<Headers> };

let world: World;
let suspendedWorld: World;
let closedWorld: World;
let agent: Agent;
let suspended: Agent;
let revoked: Agent;
let terminated: Agent;
let expired: Agent;
let replaced: Agent;
const keys = { unknown: "", expired: "", branded: "" };
const sessions = { unknown: "", idle: "", old: "", suspended: "", closed: "" };
let operatorKey: string;
let team: Team;

stopRealTime();
// Every refusal is logged with its reason; a thousand of them would hide other output.
vi.spyOn(console, "info").mockImplementation(() => undefined);

beforeAll(async () => {
  team = await openTeam();
  world = withAccess(await createWorld(), team);
  suspendedWorld = await createWorld();
  closedWorld = await createWorld();
  operatorKey = inject("operatorKey");
  const status = async (of: Agent, to: string) =>
    expectStatus(await world.call("PATCH", `/v1/agents/${of.did}/status`, { body: { status: to } }), 200);
  const consumers = await Promise.all(Array.from({ length: 6 }, () => world.consumer()));
  [agent, suspended, revoked, terminated, expired, replaced] = consumers as [Agent, Agent, Agent, Agent, Agent, Agent];
  await status(suspended, "SUSPENDED");
  await status(terminated, "TERMINATED");
  const db = env.DB;
  await db.batch([
    // Changes the rows directly, because no route revokes an agent or replaces a certificate yet.
    db.prepare("update agents set status = 'REVOKED' where did = ?").bind(revoked.did),
    db.prepare("update certificates set replaced_at = ? where did = ?").bind(Date.now() - 1, replaced.did),
    db
      .prepare("update principals set attestation_expires_at = ? where principal_id = ?")
      .bind(Date.now() - 1, expired.principalId),
    db.prepare("update platforms set status = 'SUSPENDED' where platform_id = ?").bind(suspendedWorld.platformId),
    // Closing ends an account's keys and sessions: these rows are what a race with the closing would leave.
    db.prepare("update platforms set status = 'CLOSED' where platform_id = ?").bind(closedWorld.platformId),
  ]);
  sessions.unknown = (await drawSessionToken()).token;
  sessions.idle = await world.session({ usedAt: Date.now() - SESSION_IDLE_HOURS * HOUR_MS });
  sessions.old = await world.session({ expiresAt: Date.now() });
  sessions.suspended = await suspendedWorld.session();
  sessions.closed = await closedWorld.session();
  keys.branded = (await generateManagementKey("sandbox", ["sk"])).rawKey;
  keys.unknown = (await generateManagementKey("sandbox", BRANDS)).rawKey;
  const now = Date.now();
  const { rawKey, keyHash, keyPrefix } = await generateManagementKey("sandbox", BRANDS);
  const { platformId } = world;
  const expiredKey = { keyHash, keyId: createId("key", now), platformId, environment: "sandbox", keyPrefix } as const;
  await world.deps.db.insert(managementKeys).values({ ...expiredKey, createdAt: now - 1, expiresAt: now - 1 });
  keys.expired = rawKey;
});

const reissued = (of: Agent, change: Partial<CertificateClaims>) => reissueCertificate(world, of, change);
const forged = (of: Agent, borrowKid: boolean) => forgeCertificate(world, of, borrowKid);
const freshKey = async (): Promise<CryptoKey> => (await generateKeyPair()).privateKey;

// ---- The rows ------------------------------------------------------------------------------------------------------

function row(name: string, status: number, code: string, headers: Row["headers"]): Row {
  return { name, status, code, headers };
}
const invalid = (name: string, headers: Row["headers"]) => row(name, 401, "invalid_credentials", headers);
const certificateRequired = (name: string, headers: Row["headers"]) => row(name, 401, "certificate_required", headers);
const failed = (name: string, headers: Row["headers"]) => row(name, 401, "aeap_verification_failed", headers);

/** Wrong sessions, on the routes of sessions and in the place of a key. */
const WRONG_SESSIONS: Row[] = [
  invalid("a malformed session", () => bearer("ses_nonsense")),
  invalid("an unknown session", () => bearer(sessions.unknown)),
  invalid("a session 12 hours after its last use", () => bearer(sessions.idle)),
  invalid("a session after 30 days", () => bearer(sessions.old)),
  row("a session of a suspended platform", 403, "account_suspended", () => bearer(sessions.suspended)),
  invalid("a session of a closed platform", () => bearer(sessions.closed)),
];
const MANAGEMENT: Row[] = [
  invalid("a malformed key", () => key("nonsense")),
  invalid("an empty key", () => key("")),
  invalid("a key that calls itself another brand's", () => key(world.key.replace("service_", "sk_"))),
  invalid("a key of another brand", () => key(keys.branded)),
  invalid("a key with a typo", () => key(flipped(world.key, 30))),
  invalid("a key without its last character", () => key(world.key.slice(0, -1))),
  invalid("a sandbox key that calls itself live", () => key(world.key.replace("sandbox", "live"))),
  invalid("an unknown key", () => key(keys.unknown)),
  invalid("an expired key", () => key(keys.expired)),
  row("a key of a suspended platform", 403, "account_suspended", () => key(suspendedWorld.key)),
  row("a live key of a suspended platform", 403, "account_suspended", () => key(suspendedWorld.liveKey)),
  invalid("a key of a closed platform", () => key(closedWorld.key)),
  ...WRONG_SESSIONS,
];
const SESSION: Row[] = [
  invalid("no credential", () => ({})),
  invalid("a management key", () => key(world.key)),
  invalid("a live management key", () => key(world.liveKey)),
  invalid("a management key as a bearer", () => bearer(world.key)),
  invalid("an agent's headers", (attempt) => prove(agent, attempt)),
  invalid("the operator's bearer", () => bearer(operatorKey)),
  invalid("the operator's token of Access", async () => access(await team.sign())),
  ...WRONG_SESSIONS,
];
/** Credentials of another surface count as a missing credential. */
const NO_KEY: [string, Row["headers"]][] = [
  ["no credential", () => ({})],
  ["an agent's headers", (attempt) => prove(agent, attempt)],
  ["the operator's bearer", () => bearer(operatorKey)],
  ["the operator's token of Access", async () => access(await team.sign())],
  ["the key as a bearer", () => bearer(world.key)],
];

const CERTIFICATE: Row[] = [
  certificateRequired("no credential", () => ({})),
  certificateRequired("a management key", () => key(world.key)),
  certificateRequired("a live management key", () => key(world.liveKey)),
  certificateRequired("the operator's bearer", () => bearer(operatorKey)),
  certificateRequired("the operator's token of Access", async () => access(await team.sign())),
  certificateRequired("an empty certificate", async (attempt) => prove(agent, attempt, { certificate: "" })),
  certificateRequired("a proof without its certificate", (attempt) =>
    without(prove(agent, attempt), "AEAP-Certificate"),
  ),
  certificateRequired("a proof without its certificate, and a management key", async (attempt) => ({
    ...(await without(prove(agent, attempt), "AEAP-Certificate")),
    ...key(world.key),
  })),
  failed("a certificate that is none", (attempt) => prove(agent, attempt, { certificate: "e30.e30.e30" })),
  failed("a certificate whose claims were changed", (attempt) =>
    prove(agent, attempt, { certificate: flipped(agent.certificate, agent.certificate.indexOf(".") + 40) }),
  ),
  failed("a certificate whose signature was changed", (attempt) =>
    prove(agent, attempt, { certificate: flipped(agent.certificate, agent.certificate.length - 20) }),
  ),
  failed("a certificate of another key", async (attempt) =>
    prove(agent, attempt, { certificate: await forged(agent, false) }),
  ),
  failed("a certificate of another key under the CA's kid", async (attempt) =>
    prove(agent, attempt, { certificate: await forged(agent, true) }),
  ),
  failed("a certificate of another issuer", async (attempt) =>
    prove(agent, attempt, { certificate: await reissued(agent, { iss: "https://other.example" }) }),
  ),
  failed("an expired certificate", async (attempt) =>
    prove(agent, attempt, { certificate: await reissued(agent, { exp: Math.floor(Date.now() / 1000) - 1 }) }),
  ),
  failed("a certificate that is not valid yet", async (attempt) =>
    prove(agent, attempt, { certificate: await reissued(agent, { nbf: Math.floor(Date.now() / 1000) + 60 }) }),
  ),
  failed("a certificate that the registry does not know", async (attempt) =>
    prove(agent, attempt, { certificate: await reissued(agent, { jti: createId("crt", Date.now()) }) }),
  ),
  failed("a replaced certificate", (attempt) => prove(replaced, attempt)),
  failed("a REVOKED agent", (attempt) => prove(revoked, attempt)),
  failed("a TERMINATED agent", (attempt) => prove(terminated, attempt)),
  row("a SUSPENDED agent", 409, "agent_not_active", (attempt) => prove(suspended, attempt)),
  row("an agent whose principal's attestation expired", 409, "agent_not_active", (attempt) => prove(expired, attempt)),
];

const OWN_PROOF: Row[] = [
  failed("a certificate without a proof", (attempt) => without(prove(agent, attempt), "AEAP-Proof")),
  failed("a proof without a timestamp", (attempt) => without(prove(agent, attempt), "AEAP-Timestamp")),
  failed("a proof by another key", async (attempt) => prove(agent, attempt, { signer: await freshKey() })),
  failed("another agent's certificate", (attempt) => prove(agent, attempt, { certificate: suspended.certificate })),
  failed("a timestamp 32 seconds ago", (attempt) => prove(agent, attempt, { at: secondsAway(-32) })),
  failed("a timestamp 32 seconds ahead", (attempt) => prove(agent, attempt, { at: secondsAway(32) })),
  failed("a timestamp in milliseconds", async (attempt) => ({
    ...(await prove(agent, attempt)),
    "AEAP-Timestamp": String(Date.now()),
  })),
  failed("a timestamp that was not signed", async (attempt) => ({
    ...(await prove(agent, attempt)),
    "AEAP-Timestamp": secondsAway(1),
  })),
  failed("a proof of another path", (attempt) => prove(agent, attempt, { path: "/v1/other" })),
  failed("a proof of another method", (attempt) =>
    prove(agent, attempt, { method: attempt.method === "GET" ? "POST" : "GET" }),
  ),
  failed("a proof of another body or query", (attempt) =>
    prove(agent, attempt, attempt.method === "GET" ? { path: `${attempt.path}&x=1` } : { rawBody: "{}" }),
  ),
  failed("a proof bound to another agent", () => world.proveBound(agent, suspended.did)),
  failed("a proof bound to itself", () => world.proveBound(agent, agent.did)),
  failed("a proof that is no signature", async (attempt) => ({
    ...(await prove(agent, attempt)),
    "AEAP-Proof": "AAAA",
  })),
];

/** On a route that accepts a proof bound to the counterparty, each of these is a fault of that proof. */
const BOUND_PROOF: Row[] = OWN_PROOF.map((wrong) => ({ ...wrong, code: "proof_invalid" }));

const OPERATOR: Row[] = [
  invalid("no credential", () => ({})),
  invalid("a management key", () => key(world.key)),
  invalid("a management key as a bearer", () => bearer(world.key)),
  invalid("an agent's headers", (attempt) => prove(agent, attempt)),
  invalid("another bearer", () => bearer(flipped(operatorKey, 3))),
  invalid("an empty bearer", () => ({ Authorization: "Bearer " })),
  invalid("another scheme", () => ({ Authorization: `Basic ${operatorKey}` })),
  invalid("a token of Access as a bearer", async () => bearer(await team.sign())),
  invalid("the operator's key as a token of Access", () => access(operatorKey)),
  invalid("a management key as a token of Access", () => access(world.key)),
  invalid("an agent's certificate as a token of Access", () => access(agent.certificate)),
  invalid("an empty token of Access", () => access("")),
  invalid("an expired token of Access", async () =>
    access(await team.sign({ exp: Math.floor(Date.now() / 1000) - 1 })),
  ),
  invalid("a token of Access for another application", async () => access(await team.sign({ aud: ["another"] }))),
  invalid("a token of Access of another team", async () => access(await team.sign({ iss: "https://other.example" }))),
  invalid("a token of Access by another key", async () =>
    access(await team.sign({}, await drawTeamKey(), team.key.jwk.kid)),
  ),
  invalid("another bearer, and a good token of Access", async () => ({
    ...bearer(flipped(operatorKey, 3)),
    ...access(await team.sign()),
  })),
];

const ROWS: Record<Surface, (operation: Route) => Row[]> = {
  management: ({ path, withoutCredential }) => {
    const missing = path.startsWith("/v1/directory") ? "unauthorized" : (withoutCredential ?? "invalid_credentials");
    return [...NO_KEY.map(([name, headers]) => row(name, 401, missing, headers)), ...MANAGEMENT];
  },
  session: () => SESSION,
  agent: ({ boundProofs }) => [...CERTIFICATE, ...(boundProofs ? BOUND_PROOF : OWN_PROOF)],
  verifier: () => [
    invalid("no credential", () => ({})),
    invalid("a management key", () => key(world.key)),
    invalid("a JWS of nobody", () => bearer("e30.e30.AAAA")),
  ],
  operator: () => OPERATOR,
  public: () => [],
};

/** A request with faults in path, query and body: the code of the credential comes first. */
const attemptOf = (operation: Route, rawBody = operation.body ? '{"no_such_field":1}' : ""): Attempt => ({
  method: operation.method.toUpperCase(),
  path: `${operation.path.replace("{did}", agent.did).replace(/\{\w+\}/g, "nothing")}?no_such_parameter=1`,
  rawBody,
});
const BODIES = ['{"no_such_field":1}', "", "{"];

/** On a route with several surfaces, the surface of the presented credential refuses it. */
const wrongFor = (operation: Route): Row[] => {
  const rows = (operation.surfaces as readonly Surface[]).flatMap((surface) => ROWS[surface](operation));
  // A sent certificate decides alone; without one, no certificate is required.
  const asked = ({ name, code }: Row) => code !== "certificate_required" && name !== "an agent's headers";
  return `${operation.surfaces}`.startsWith("agent,") ? rows.filter(asked) : rows;
};

// ---- The matrix ----------------------------------------------------------------------------------------------------

const guarded = ROUTES.filter(({ surfaces }) => !surfaces.includes("public"));

/** Routes of one kind have the same wrong credentials. A GET has no body. */
const kindOf = ({ surfaces, boundProofs, withoutCredential, method }: Route): string =>
  [surfaces, boundProofs === true, withoutCredential, method === "get"].join(" ");
/** One of each kind: the first that takes a body, or the first. */
const representatives = new Set(
  [...Map.groupBy(guarded, kindOf).values()].map((alike) => alike.find(({ body }) => body) ?? alike[0]),
);

/** The credential is refused before a body that is faulty, missing or unreadable. */
const bodiesFor = (operation: Route): readonly string[] =>
  operation.method === "get" ? [""] : BODIES.slice(0, isWhole() || representatives.has(operation) ? BODIES.length : 1);

/** A good credential that opens another surface. */
const FOREIGN = ["an agent's headers", "a management key", "the operator's bearer"];
const rowsOn = (operation: Route): Row[] => {
  const rows = wrongFor(operation);
  if (isWhole() || representatives.has(operation)) return rows;
  const missing = rows.find(({ name }) => name === "no credential");
  const foreign = rows.find(({ name }) => FOREIGN.includes(name));
  if (!missing || !foreign) throw new Error(`${operation.operationId} lacks a row`);
  return [missing, foreign];
};
const matrix = guarded.flatMap((operation) =>
  rowsOn(operation).map((wrong) => ({ operation, wrong, title: `${operation.method} ${operation.path}` })),
);

describe("a wrong credential", () => {
  it("is tried on every surface that needs one, with every row of the surface", () => {
    const tried = new Set([...representatives].flatMap((operation) => operation?.surfaces ?? []));
    const needed = Object.keys(ROWS).filter((surface) => surface !== "public");
    expect([...tried].sort()).toEqual(needed.sort());
    expect(guarded.length).toBeGreaterThan(8);
  });

  it.each(matrix)("$title with $wrong.name is refused with $wrong.status $wrong.code", async ({ operation, wrong }) => {
    for (const body of bodiesFor(operation)) {
      const attempt = attemptOf(operation, body);
      const headers = await wrong.headers(attempt);
      const { method, path, rawBody } = attempt;
      const reply = await world.call(method, path, { key: null, headers, ...(rawBody !== "" && { rawBody }) });
      expect([body, reply.status, reply.body.code]).toEqual([body, wrong.status, wrong.code]);
      expect(reply.body.field_errors).toBeUndefined();
      expect(reply.headers.get("www-authenticate")).toBe(wrong.status === 401 ? challengeOf(operation) : null);
    }
  });

  it("changes nothing", async () => {
    const before = await dumpDatabase();
    for (const { operation, wrong } of matrix.filter((_, i) => isWhole() || i % 3 === 0)) {
      const attempt = attemptOf(operation);
      const { method, rawBody } = attempt;
      const [path = ""] = attempt.path.split("?");
      const headers = await wrong.headers({ ...attempt, path });
      await world.call(method, path, { key: null, headers, ...(rawBody !== "" && { rawBody }) });
    }
    expect(await dumpDatabase()).toEqual(before);
  });
});
