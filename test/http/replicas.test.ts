// READ_REPLICAS: the copy of the database that each operation reads, observed at the binding. Reads that decide go to the primary.
import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { beforeAll, describe, expect, inject, it, vi } from "vitest";
import { createApp, ROUTES } from "../../src/app.ts";
import type { Surface } from "../../src/call.ts";
import { HOUR_MS } from "../../src/core/limits.ts";
import type { Route } from "../../src/http/route.ts";
import { formatProofTimestamp, signProof } from "../../src/protocol/proof.ts";
import { PLAYS } from "../consequences/plays/all.ts";
import { READING_POSTS } from "../consequences/table.ts";
import { isWhole } from "../support/scale.ts";
import { withEmptyCache, withVars } from "../support/variants.ts";
import { type Agent, createWorld, env, expectStatus, ISSUER, type World } from "../support/world.ts";

type Seen = { primary: number; replica: number; constraints: (string | undefined)[] };
let world: World;
/** The agents that call, and one that is only read. */
let agent: Agent;
let read: Agent;
let observed: World;
const seen: Seen = { primary: 0, replica: 0, constraints: [] };

vi.spyOn(console, "info").mockImplementation(() => undefined);

/** The database, with a record of which of its two entrances was used. The second argument makes the replica appear empty. */
function observe(d1: D1Database, behind = false): D1Database {
  const session = (constraint?: string) => {
    seen.constraints.push(constraint);
    return {
      prepare: (sql: string) => d1.prepare(behind ? sql.replace(/\bwhere\b/g, "where 1 = 0 and") : sql),
      batch: (statements: D1PreparedStatement[]) => {
        seen.replica += 1;
        return d1.batch(statements);
      },
    };
  };
  return {
    prepare: (sql: string) => d1.prepare(sql),
    batch: (statements: D1PreparedStatement[]) => {
      seen.primary += 1;
      return d1.batch(statements);
    },
    withSession: session,
  } as unknown as D1Database;
}

beforeAll(async () => {
  world = await createWorld();
  [agent, read] = [await world.agent("PROVIDER"), await world.consumer()];
  // A signed list that stays current however long the file takes, so that reading it does not sign one.
  await world.call("GET", "/.well-known/aeap-status-lists/1", { key: null });
  const ahead = Date.now() + HOUR_MS;
  await env.DB.prepare("update status_lists set signed_at = ?").bind(ahead).run();
  observed = withVars(world, { DB: observe(env.DB), READ_REPLICAS: "on" });
});

/** Sends a valid caller and valid path values, but no body or query, because this is about the first trip. */
async function ask(of: World, { method, path, surfaces, body }: Route, query = ""): Promise<void> {
  reset();
  const fresh = await withEmptyCache(of);
  const verb = method.toUpperCase();
  const named: readonly Surface[] = surfaces;
  const { did } = named.includes("public") ? read : agent;
  const concrete =
    path
      .replace(/\{(did|identifier)\}/, did)
      .replace("{n}", "1")
      .replace(/\{\w+\}/g, "x") + query;
  const rawBody = body ? '{"no_such_field":1}' : "";
  const headers = named.includes("agent")
    ? await world.prove(agent, verb, concrete, rawBody)
    : named.includes("operator")
      ? { Authorization: `Bearer ${inject("operatorKey")}` }
      : named.includes("session")
        ? { Authorization: `Bearer ${await of.session()}` }
        : {};
  const key = named.includes("management") ? world.key : null;
  const reply = await fresh.call(verb, concrete, { key, headers, ...(rawBody !== "" && { rawBody }) });
  expect([401, 403, 429, 500]).not.toContain(reply.status);
}

/** Public reads that no decision depends on. */
const REPLICATED: Readonly<Record<string, string>> = {
  "getAgentAid?version=2": "a signed document by its version",
  "getAgentAid?revision=2": "a signed document by its revision",
  getAgentDidDocument: "a DID document",
  getAgentDidWebDocument: "a DID document under its did:web",
  resolveDid: "a resolution",
  getStatusList: "a status list",
};
/** Operations that do not read the database. */
const PURE: ReadonlySet<string> = new Set([
  ...["getChallenge", "getCaJwks", "getCaJwksJson", "getDiscovery", "getContext", "listMarkets", "getRatingMethod"],
  // Without a body that the schema accepts they are refused before anything is read.
  ...["verifyCertificate", "verifyProof", "verifyAid", "announceToAll", "registerVerifier", "revokeAttestation"],
  ...[
    "registerPlatform",
    "verifyEmail",
    "refuseVerification",
    "resendVerification",
    "logIn",
    "forgotPassword",
    "resetPassword",
  ],
  // Pages, whose scripts make the calls.
  ...["openVerificationPage", "openResetPage"],
]);

const asked = ROUTES.flatMap((route) => {
  const queries = route.operationId === "getAgentAid" ? ["", "?version=2", "?revision=2"] : [""];
  return queries.map((query) => ({ name: `${route.operationId}${query}`, route, query }));
});

/** The first route of each kind: while READ_REPLICAS is off, `npm test` calls only these and the routes that a replica may answer. */
const firstOfKind = new Set(
  [...Map.groupBy(asked, ({ route: { surfaces, method } }) => `${surfaces} ${method}`).values()].map(([one]) => one),
);

describe.each(asked)("$name", (one) => {
  const { name, route, query } = one;
  const isReplicated = name in REPLICATED;
  it(`reads ${PURE.has(name) ? "nothing" : isReplicated ? "the nearest copy" : "the primary"}`, async () => {
    await ask(observed, route, query);
    const { primary, replica, constraints } = seen;
    if (PURE.has(name)) expect([primary, replica, constraints]).toEqual([0, 0, []]);
    else if (isReplicated) expect([primary, replica, constraints]).toEqual([0, 1, ["first-unconstrained"]]);
    else expect([primary > 0, replica, constraints]).toEqual([true, 0, []]);
  });

  if (!isWhole() && !isReplicated && !firstOfKind.has(one)) return;
  it("reads no replica unless READ_REPLICAS is on", async () => {
    await ask(withVars(world, { DB: observe(env.DB), READ_REPLICAS: "off" }), route, query);
    expect([seen.replica, seen.constraints]).toEqual([0, []]);
  });
});

// ---- Complete, valid requests --------------------------------------------------------------------------------------------

const reset = () => Object.assign(seen, { primary: 0, replica: 0, constraints: [] });

/** An announcement and a new Verifier depend on no stored row, so they take one trip. */
const ONE_TRIP: ReadonlySet<string> = new Set(["announceToAll", "registerVerifier"]);
describe("an operation that writes goes to the primary with both of its trips:", () => {
  const writing = ROUTES.filter(
    ({ method, effects, operationId }) =>
      (effects === true || method !== "get") && operationId !== "verifyProof" && !READING_POSTS.includes(operationId),
  );

  // Every route above is tested for the copy that it reads: here one of each kind runs to its end.
  const kinds = Map.groupBy(writing, ({ surfaces, method, idempotency, lock }) =>
    [surfaces, method, idempotency, lock !== undefined].join(" "),
  );
  const played = isWhole() ? writing : [...kinds.values()].flatMap(([first]) => first ?? []);

  it.each(played.map(({ operationId }) => operationId))("%s", async (operationId) => {
    const [play] = Object.values(PLAYS[operationId] ?? {});
    if (!play) throw new Error(`nobody plays ${operationId}`);
    const other = withVars(await createWorld(), { DB: observe(env.DB), READ_REPLICAS: "on" });
    const act = await play({ world: observed, other });
    reset();
    await act();
    const trips = ONE_TRIP.has(operationId) ? 1 : 2;
    expect([seen.primary >= trips, seen.replica, seen.constraints]).toEqual([true, 0, []]);
  });
});

describe("a valid verification reads no copy of the database:", () => {
  const VERIFICATIONS: readonly [
    path: string,
    body: () => Promise<unknown>,
    verdict: Record<string, unknown>,
    trips?: number,
  ][] = [
    ["/v1/verify/certificate", async () => ({ certificate: agent.certificate }), { valid: true }, 1],
    ["/v1/verify/proof", boundProof, { verified: true }, 1],
    ["/v1/verify/proof", challengeProof, { verified: true }, 1],
    ["/v1/verify/aid", async () => ({ aid: await readAid() }), { valid: true }],
  ];
  const open = async (method: string, path: string, options: object = {}) =>
    expectStatus(await world.call(method, path, { key: null, ...options }), 200);
  const readAid = () => open("GET", `/v1/agents/${agent.did}/aid`);

  async function boundProof() {
    const sent = await world.proveBound(agent, read.did);
    return {
      proof_type: "bound_proof",
      certificate: agent.certificate,
      proof: sent["AEAP-Proof"],
      timestamp: sent["AEAP-Timestamp"],
      callee_did: read.did,
    };
  }
  async function challengeProof() {
    const { nonce } = await open("GET", "/v1/verify/challenge");
    const timestamp = formatProofTimestamp(Date.now());
    const { proof } = await signProof({ kind: "challenge", timestamp, nonce, agentDid: agent.did }, agent.privateKey);
    return { proof_type: "challenge_response", certificate: agent.certificate, nonce, proof, timestamp };
  }

  it.each(VERIFICATIONS)("%s", async (path, bodyOf, verdict, trips = 0) => {
    const body = await bodyOf();
    reset();
    const reply = await observed.call("POST", path, { key: null, body });
    expect(expectStatus(reply, 200)).toMatchObject(verdict);
    expect([seen.primary, seen.replica, seen.constraints]).toEqual([trips, 0, []]);
  });

  it("is every POST that writes nothing to the database", () => {
    const asked = VERIFICATIONS.map(([path]) => path);
    const posts = ROUTES.filter(({ operationId }) => [...READING_POSTS, "verifyProof"].includes(operationId));
    const platforms = ["/v1/agents/{did}/spend-policy/evaluate"];
    expect([...new Set(asked), ...platforms].sort()).toEqual(posts.map(({ path }) => path).sort());
  });
});

describe("with READ_REPLICAS on", () => {
  it.each(Object.keys(REPLICATED))(
    "%s is read from the primary if the replica has not received it yet",
    async (name) => {
      const [operationId, query] = name.split("?");
      const route = ROUTES.find((one) => one.operationId === operationId);
      const path = route?.path.replace(/\{(did|identifier)\}/, read.did).replace("{n}", "1") ?? "";
      const behind = await withEmptyCache(withVars(world, { DB: observe(env.DB, true), READ_REPLICAS: "on" }));
      reset();
      const reply = await behind.call("GET", `${path}${query ? `?${query}` : ""}`, { key: null });
      expect(reply.status).toBe(200);
      expect([seen.replica, seen.primary]).toEqual([1, 1]);
    },
  );

  it("an unknown object is 404 after both were read", async () => {
    reset();
    const reply = await observed.call("GET", `/v1/agents/${agent.did}/aid?version=77`, { key: null });
    expect([reply.status, seen.replica, seen.primary]).toEqual([404, 1, 1]);
  });

  it("a document or a list that has to be signed is read and kept on the primary", async () => {
    const other = await world.consumer();
    await env.DB.prepare("update agents set revision = revision + 1 where did = ?").bind(other.did).run();
    const { aid_revision } = expectStatus(
      await world.call("GET", `/v1/agents/${other.did}/status`, { key: null }),
      200,
    );
    reset();
    const aid = await observed.call("GET", `/v1/agents/${other.did}/aid?revision=${aid_revision}`, { key: null });
    expect([expectStatus(aid, 200).revision, seen.replica, seen.primary]).toEqual([aid_revision, 1, 2]);
    await env.DB.prepare("update status_lists set signed_at = 0").run();
    reset();
    const list = await (await withEmptyCache(observed)).call("GET", "/.well-known/aeap-status-lists/1", { key: null });
    expect([list.status, seen.replica, seen.primary]).toEqual([200, 1, 2]);
  });
});

describe("READ_REPLICAS", () => {
  it.each(["", "yes", "ON"])('"%s" is neither on nor off, so the service refuses its first call', async (value) => {
    const log = vi.spyOn(console, "error").mockImplementation(() => undefined);
    const context = createExecutionContext();
    const request = new Request(`${ISSUER}/healthz`);
    const { status } = await createApp().fetch(request, { ...env, READ_REPLICAS: value }, context);
    await waitOnExecutionContext(context);
    expect([status, String(log.mock.calls)]).toEqual([500, expect.stringContaining("READ_REPLICAS must be on or off")]);
    log.mockRestore();
  });
});
