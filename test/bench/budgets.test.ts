// A read is one trip, a mutation two, and rows stay within the budgets of bench/budgets.ts, which `npm run bench` checks for the whole path. These
// tests check the management and identity routes on every run.
import { beforeAll, describe, expect, it } from "vitest";
import { BUDGETS } from "../../bench/budgets.ts";
import {
  type Agent,
  agentBody,
  type CallOptions,
  createWorld,
  type Json,
  principalBody,
  type World,
} from "../support/world.ts";

let world: World;
let provider: Agent;
let draft: { did: string };
beforeAll(async () => {
  world = await createWorld();
  provider = await world.provider();
  draft = await world.draft("PROVIDER");
});

type Call = { budget: string; method: string; path: () => string; status: number; options?: () => CallOptions };

const agent = () => `/v1/agents/${provider.did}`;
const none = (): CallOptions => ({ key: null });
const body = (make: () => Json) => (): CallOptions => ({ body: make() });
const keyed = (options: () => CallOptions) => (): CallOptions => ({
  ...options(),
  headers: { "Idempotency-Key": crypto.randomUUID() },
});

const READS: readonly Call[] = [
  { budget: "GET /v1/principals", method: "GET", path: () => "/v1/principals?limit=20", status: 200 },
  {
    budget: "GET /v1/principals/{principal_id}",
    method: "GET",
    path: () => `/v1/principals/${provider.principalId}`,
    status: 200,
  },
  { budget: "GET /v1/agents", method: "GET", path: () => "/v1/agents?limit=20", status: 200 },
  { budget: "GET /v1/agents/{did}", method: "GET", path: agent, status: 200 },
  {
    budget: "GET /v1/agents/{did}/scope/authorized_markets",
    method: "GET",
    path: () => `${agent()}/scope/authorized_markets`,
    status: 200,
  },
  { budget: "GET /v1/platform", method: "GET", path: () => "/v1/platform", status: 200 },
  {
    budget: "POST /v1/agents (422)",
    method: "POST",
    path: () => "/v1/agents",
    status: 422,
    options: body(() => ({ economic_role: "PROVIDER" })),
  },
  {
    budget: "GET /1.0/identifiers/{identifier}",
    method: "GET",
    path: () => agent().replace("/v1/agents", "/1.0/identifiers"),
    status: 200,
    options: none,
  },
  ...["aid", "status (in a sandbox)", "rating (in a sandbox)", "certificate", "did.json", "did-web/did.json"].map(
    (part): Call => ({
      budget: `GET /v1/agents/{did}/${part}`,
      method: "GET",
      path: () => `${agent()}/${part.split(" ")[0]}`,
      status: 200,
      options: none,
    }),
  ),
];

const MUTATIONS: readonly Call[] = [
  {
    budget: "POST /v1/principals",
    method: "POST",
    path: () => "/v1/principals",
    status: 201,
    options: body(principalBody),
  },
  {
    budget: "POST /v1/principals (Idempotency-Key)",
    method: "POST",
    path: () => "/v1/principals",
    status: 201,
    options: keyed(body(principalBody)),
  },
  {
    budget: "POST /v1/agents",
    method: "POST",
    path: () => "/v1/agents",
    status: 201,
    options: body(() => ({ ...agentBody("PROVIDER"), principal_id: provider.principalId })),
  },
  {
    budget: "POST /v1/agents/{did}/activate",
    method: "POST",
    path: () => `/v1/agents/${draft.did}/activate`,
    status: 200,
    options: keyed(() => ({})),
  },
  {
    budget: "PATCH /v1/agents/{did}/scope",
    method: "PATCH",
    path: () => `${agent()}/scope`,
    status: 200,
    options: body(() => ({ dispute_window_days: 30 })),
  },
  {
    budget: "PATCH /v1/agents/{did}/status",
    method: "PATCH",
    path: () => `${agent()}/status`,
    status: 200,
    options: body(() => ({ status: "SUSPENDED" })),
  },
];

const PURE: readonly Call[] = [
  "/v1/markets",
  "/v1/rating-method",
  "/v1/verify/challenge",
  "/.well-known/aeap",
  "/.well-known/aeap-ca-jwks",
].map((path) => ({ budget: `GET ${path}`, method: "GET", path: () => path, status: 200, options: none }));

async function measure({ method, path, status, options }: Call) {
  world.meter.reset();
  const reply = await world.call(method, path(), options?.());
  expect(reply.status, reply.text).toBe(status);
  return { ...world.meter.reading, bytes: new TextEncoder().encode(reply.text).byteLength };
}

describe.each([
  { kind: "a read is one trip", calls: READS, trips: 1 },
  { kind: "a mutation is two trips", calls: MUTATIONS, trips: 2 },
  { kind: "what needs no database asks none", calls: PURE, trips: 0 },
])("$kind", ({ calls, trips }) => {
  it.each(calls)("$budget", async (call) => {
    const cost = await measure(call);
    const budget = BUDGETS[call.budget];
    if (!budget) throw new Error(`no budget for ${call.budget}`);
    expect(budget.trips).toBe(trips);
    expect(cost.trips, cost.sql.join("\n")).toBe(trips);
    expect(cost.rowsRead, cost.sql.join("\n")).toBeLessThanOrEqual(budget.rowsRead);
    expect(cost.rowsWritten, cost.sql.join("\n")).toBeLessThanOrEqual(budget.rowsWritten);
    expect(cost.bytes).toBeLessThanOrEqual(budget.bytes);
  });
});

describe("the number of principals", () => {
  it("does not change how many rows registering one reads, nor which one is recognised as registered", async () => {
    const register = (of: Json) => world.call("POST", "/v1/principals", { body: of });
    const first = principalBody();
    expect((await register(first)).status).toBe(201);
    for (let i = 0; i < 30; i++) await register(principalBody());
    world.meter.reset();
    expect((await register(principalBody())).status).toBe(201);
    expect(world.meter.reading.rowsRead).toBeLessThanOrEqual(7);

    const sameReference = await register(principalBody({ external_ref: first["external_ref"] }));
    expect(sameReference.body).toMatchObject({ code: "external_ref_exists", detail: { matched: "external_ref" } });
    const sameName = await register(principalBody({ legal_name: String(first["legal_name"]).toUpperCase() }));
    expect(sameName.body).toMatchObject({ code: "external_ref_exists", detail: { matched: "legal_name_and_country" } });
  });
});
