// On a route of several surfaces (CRED-2), an agent's certificate decides alone if it is sent, then the management key, then the operator. The
// handler gets the call of the surface that decided. No route of the service has several surfaces yet, so these tests probe with their own.
import { beforeAll, describe, expect, inject, it, vi } from "vitest";
import {
  type AgentCall,
  type AnyCall,
  type ManagementCall,
  type OperatorCall,
  precheck,
  type Surface,
} from "../../src/call.ts";
import { defineRoute, type Route } from "../../src/http/route.ts";
import { stopped } from "../support/clock.ts";
import { send, withConfig, withRoute } from "../support/variants.ts";
import { type Agent, createWorld, type World } from "../support/world.ts";
import { bearer, flipped, type Headers, key, prove, without } from "./support.ts";

const PATH = "/v1/probe";
const ATTEMPT = { method: "POST", path: PATH, rawBody: "" };

const SHAPE = {
  operationId: "probe",
  tag: "Account",
  summary: "",
  method: "post",
  path: PATH,
  status: 200,
  errors: [],
  idempotency: "plain",
} as const;

/** Answers who calls, by the members that only the caller's surface has. */
async function tellCaller(call: AnyCall): Promise<unknown> {
  const seen = await callerOf(call);
  await call.commit([], seen);
  return seen;
}

async function callerOf(call: AnyCall): Promise<readonly unknown[]> {
  switch (call.surface) {
    case "agent":
      return ["agent", call.did, (await call.read({})).caller.economicRole];
    case "management":
      return ["management", call.environment, (await call.read({})).caller.platformId];
    case "session":
      return ["session", call.environment, (await call.read({})).caller.platformId];
    case "verifier":
      return ["verifier", call.verifierId, (await call.read({})).caller.attestationId];
    case "operator":
      return ["operator", call.actor.type, (await call.read({})).caller.actor.id];
    case "public":
      return ["public", (await call.read({})).caller];
  }
}

const probeOf = (surfaces: readonly Surface[]): Route => defineRoute({ ...SHAPE, surfaces, handle: tellCaller });

let world: World;
let agent: Agent;
let suspended: Agent;
vi.spyOn(console, "info").mockImplementation(() => undefined);
beforeAll(async () => {
  world = await createWorld();
  [agent, suspended] = [await world.consumer(), await world.consumer()];
  await world.call("PATCH", `/v1/agents/${suspended.did}/status`, { body: { status: "SUSPENDED" } });
});

/** The caller as a route of these surfaces sees it, or its refusal. */
async function ask(surfaces: readonly Surface[], headers: Headers, of = world): Promise<unknown> {
  const { response, body } = await send(withRoute(of, probeOf(surfaces)), PATH, { method: "POST", headers });
  return response.status === 200 ? body : [response.status, body.code];
}

const proven = () => prove(agent, ATTEMPT);
const goodKey = () => key(world.key);
const badKey = () => key(flipped(world.key, 30));
const operator = () => bearer(inject("operatorKey"));

const asAgent = () => ["agent", agent.did, "CONSUMER"];
const asPlatform = () => ["management", "sandbox", world.platformId];
const asOperator = () => ["operator", "operator", expect.stringMatching(/^[0-9a-f]{12}$/)];

const WRONG_CERTIFICATES: readonly [string, () => Promise<Headers>, unknown][] = [
  ["that is none", () => prove(agent, ATTEMPT, { certificate: "x" }), [401, "aeap_verification_failed"]],
  [
    "whose signature was changed",
    () => prove(agent, ATTEMPT, { certificate: flipped(agent.certificate, agent.certificate.length - 20) }),
    [401, "aeap_verification_failed"],
  ],
  ["without a proof", () => without(proven(), "AEAP-Proof"), [401, "aeap_verification_failed"]],
  [
    "with another's proof",
    () => prove(agent, ATTEMPT, { signer: suspended.privateKey }),
    [401, "aeap_verification_failed"],
  ],
  ["of a SUSPENDED agent", () => prove(suspended, ATTEMPT), [409, "agent_not_active"]],
];

describe("a route of agents and platforms", () => {
  const BOTH = ["agent", "management"] as const;

  it("accepts an agent by its certificate and a platform by its key", async () => {
    expect(await ask(BOTH, await proven())).toEqual(asAgent());
    expect(await ask(BOTH, goodKey())).toEqual(asPlatform());
  });

  it("accepts both in whichever order it names them", async () => {
    const headers = { ...(await proven()), ...goodKey() };
    expect(await ask(["management", "agent"], headers)).toEqual(asAgent());
  });

  it.each([
    ["a good", goodKey],
    ["a wrong", badKey],
  ])("lets a good certificate decide alone: %s key in the same request does not matter", async (_which, besides) => {
    expect(await ask(BOTH, { ...(await proven()), ...besides() })).toEqual(asAgent());
  });

  it.each(WRONG_CERTIFICATES)(
    "lets a certificate %s decide alone: a good key does not save it",
    async (_wrong, headers, refusal) => {
      expect(await ask(BOTH, await headers())).toEqual(refusal);
      expect(await ask(BOTH, { ...(await headers()), ...goodKey() })).toEqual(refusal);
    },
  );

  it("lets the key decide if no certificate is sent", async () => {
    const proof = await without(proven(), "AEAP-Certificate");
    expect(await ask(BOTH, { ...proof, ...goodKey() })).toEqual(asPlatform());
    expect(await ask(BOTH, { ...proof, ...badKey() })).toEqual([401, "invalid_credentials"]);
  });

  it("refuses a call without either, also an operator's call, and names both ways to authenticate", async () => {
    for (const headers of [{}, operator()]) {
      expect(await ask(BOTH, headers)).toEqual([401, "invalid_credentials"]);
      const { response } = await send(withRoute(world, probeOf(BOTH)), PATH, { method: "POST", headers });
      expect(response.headers.get("www-authenticate")).toBe(
        'AEAP-Certificate realm="agents", Service-Api-Key realm="platforms", Bearer realm="dashboard"',
      );
    }
  });

  it("charges only the caller of the surface that decided", async () => {
    const fresh = await createWorld();
    const caller = await fresh.consumer();
    const small = withConfig(stopped(fresh), { rate: { credentialQuota: 2, addressQuota: 2, windowSeconds: 86_400 } });
    const call = async () => ask(BOTH, { ...(await prove(caller, ATTEMPT)), ...key(fresh.key) }, small);
    const expected = ["agent", caller.did, "CONSUMER"];
    expect([await call(), await call(), await call()]).toEqual([expected, expected, [429, "rate_limited"]]);
    expect(await ask(BOTH, key(fresh.key), small)).toEqual(["management", "sandbox", fresh.platformId]);
  });

  it("keeps the outcomes of an agent and of its platform apart under one Idempotency-Key (IDM-2)", async () => {
    const name = { "Idempotency-Key": crypto.randomUUID() };
    const seen = [
      await ask(BOTH, { ...(await proven()), ...name }),
      await ask(BOTH, { ...goodKey(), ...name }),
      await ask(BOTH, { ...(await proven()), ...goodKey(), ...name }),
    ];
    expect(seen).toEqual([asAgent(), asPlatform(), asAgent()]);
  });
});

describe("a route of platforms and operators", () => {
  const BOTH = ["operator", "management"] as const;

  it("accepts a platform by its key and an operator by its own key", async () => {
    expect(await ask(BOTH, goodKey())).toEqual(asPlatform());
    expect(await ask(BOTH, operator())).toEqual(asOperator());
  });

  it("lets the management key, good or wrong, decide alone if both are sent", async () => {
    expect(await ask(BOTH, { ...goodKey(), ...operator() })).toEqual(asPlatform());
    expect(await ask(BOTH, { ...goodKey(), ...bearer("nonsense") })).toEqual(asPlatform());
    expect(await ask(BOTH, { ...badKey(), ...operator() })).toEqual([401, "invalid_credentials"]);
  });

  it("refuses an agent", async () => {
    expect(await ask(BOTH, await proven())).toEqual([401, "invalid_credentials"]);
    expect(await ask(BOTH, { ...(await prove(suspended, ATTEMPT)), ...operator() })).toEqual(asOperator());
  });
});

describe("a public route of agents", () => {
  const BOTH = ["public", "agent"] as const;

  it("is public for a call without a certificate, but refuses a call with a wrong one", async () => {
    expect(await ask(BOTH, {})).toEqual(["public", null]);
    expect(await ask(BOTH, badKey())).toEqual(["public", null]);
    expect(await ask(BOTH, await proven())).toEqual(asAgent());
    expect(await ask(BOTH, await prove(agent, ATTEMPT, { signer: suspended.privateKey }))).toEqual([
      401,
      "aeap_verification_failed",
    ]);
  });
});

// tsc checks these, and fails if a line under @ts-expect-error compiles: a handler and a precheck must accept every surface of their route, and no
// other.
const both = { ...SHAPE, surfaces: ["agent", "management"] } as const;
void [
  defineRoute({ ...both, handle: async (call: AgentCall | ManagementCall) => call.surface }),
  defineRoute({ ...both, handle: async (call) => (call.surface === "agent" ? call.did : call.environment) }),
  // @ts-expect-error The route lacks the surface.
  defineRoute({ ...SHAPE, surfaces: ["agent"], handle: async (call: ManagementCall) => call.environment }),
  // @ts-expect-error The route lacks the surface.
  defineRoute({ ...SHAPE, surfaces: ["management"], handle: async (call: OperatorCall) => call.actor }),
  // @ts-expect-error The handler lacks one of the route's surfaces.
  defineRoute({ ...both, handle: async (call: AgentCall) => call.did }),
  // @ts-expect-error Only an agent's call has the member.
  defineRoute({ ...both, handle: async (call) => call.did }),
  // @ts-expect-error The precheck lacks one of the route's surfaces.
  defineRoute({ ...both, handle: tellCaller, precheck: (_call: AgentCall) => precheck({}, () => []) }),
];
