// Specification 2.4, 3.3 and 7, and contract section 5, over HTTP: what a platform may register, change, stop and return, and
// what each refusal is called. Every test quotes its sentence.
import { eq } from "drizzle-orm";
import { beforeAll, describe, expect, it } from "vitest";
import { platforms } from "../../src/db/tables/accounts.ts";
import { agents } from "../../src/db/tables/agents.ts";
import { escrows } from "../../src/db/tables/money.ts";
import { account } from "../support/chain.ts";
import { agentBody, createWorld, expectStatus, type Json, type Reply, type World } from "../support/world.ts";

let world: World;
let principalId: string;
beforeAll(async () => {
  world = await createWorld();
  principalId = await world.principal();
});

type Role = "CONSUMER" | "PROVIDER";
const register = (role: Role, overrides: Json = {}): Promise<Reply> =>
  world.call("POST", "/v1/agents", { body: { ...agentBody(role), principal_id: principalId, ...overrides } });
const scope = (role: Role, overrides: Json): Json => ({
  scope: { ...(agentBody(role)["scope"] as Json), ...overrides },
});
const fieldCodes = (reply: Reply): Json =>
  Object.fromEntries(reply.body.field_errors.map((fault: Json) => [fault.field, fault.code]));
const patch = (did: string, part: "scope" | "status", body: Json): Promise<Reply> =>
  world.call("PATCH", `/v1/agents/${did}/${part}`, { body });
const isolated = (did: string) => eq(agents.did, did);

describe("2.4, registration", () => {
  it("contract 5: identity {…}, performance {…}, escrow {…} or null, disputes {…}, governance {…}", async () => {
    const aid = expectStatus(await register("PROVIDER"), 201);
    expect(Object.keys(aid.identity).sort()).toEqual(
      [
        ...["authorized_markets", "cert_tier", "certificate", "delegation", "did", "economic_role", "endpoint_url"],
        ...["principal", "profile", "public_key_jwk", "scope"],
      ].sort(),
    );
    expect(Object.keys(aid.identity.principal).sort()).toEqual(["country", "id", "name", "verification"]);
    expect(Object.keys(aid.performance).sort()).toEqual(["agent_rating", "as_of", "interactions", "settled_volume"]);
    expect(Object.keys(aid.escrow.liability_profile).sort()).toEqual([
      ...["currency", "effective_threshold", "escrow_state", "total_balance"],
    ]);
    expect(aid.escrow.wallets).toEqual([]);
    expect(Object.keys(aid.disputes).sort()).toEqual([
      ...["dispute_window_days", "open", "policy", "resolved_against", "resolved_for"],
    ]);
    expect(aid.governance).toEqual({ operator: expect.any(String), jurisdiction: "DE", enterprise: null });
    expect(expectStatus(await register("CONSUMER"), 201).escrow).toBeNull();
  });

  it("DID: did:aeap:<uuid4>", async () => {
    const { did } = expectStatus(await register("CONSUMER"), 201);
    expect(did).toMatch(/^did:aeap:[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it("catalog_url serializes null on consumers; setting it on a CONSUMER gives 422 catalog_url_not_permitted", async () => {
    expect(expectStatus(await register("CONSUMER"), 201).identity.profile.catalog_url).toBeNull();
    const profile = { display_name: "Shop", catalog_url: "https://shop.example/catalog.json" };
    const refused = await register("CONSUMER", { profile });
    expect([refused.status, refused.body.code]).toEqual([422, "catalog_url_not_permitted"]);
    expect(fieldCodes(refused)).toEqual({ "profile.catalog_url": "catalog_url_not_permitted" });
    const { identity } = expectStatus(await register("PROVIDER", { profile }), 201);
    expect(identity.profile.catalog_url).toBe(profile.catalog_url);
  });

  it("ENTERPRISE at registration: invalid_economic_role", async () => {
    const refused = await register("PROVIDER", { economic_role: "ENTERPRISE" });
    expect([refused.status, refused.body.code]).toEqual([422, "validation_failed"]);
    expect(fieldCodes(refused)).toEqual({ economic_role: "invalid_economic_role" });
  });

  it.each([
    ["CONSUMER", "TIER_1"],
    ["PROVIDER", "TIER_2"],
  ] as const)("certificate tiers: default the lowest of the role (%s: %s)", async (role, tier) => {
    expect(expectStatus(await register(role), 201).identity.cert_tier).toBe(tier);
  });

  it.each([
    ["PROVIDER", "TIER_1", "cert_tier_role_mismatch"],
    ["PROVIDER", "TIER_9", "invalid_cert_tier"],
    ["CONSUMER", "TIER_4", "invalid_cert_tier"],
  ] as const)("certificate tiers: %s with %s is %s, inside field_errors", async (role, tier, code) => {
    const refused = await register(role, { cert_tier: tier });
    expect([refused.status, refused.body.code]).toEqual([422, "validation_failed"]);
    expect(fieldCodes(refused)).toEqual({ cert_tier: code });
  });

  it.each([
    ["PROVIDER", ["purchase"]],
    ["PROVIDER", ["sell", "purchase"]],
    ["CONSUMER", ["sell"]],
    ["CONSUMER", ["purchase", "sell"]],
  ] as const)("role and actions must agree: a %s with %j is authorized_action_role_mismatch", async (role, actions) => {
    const refused = await register(role, scope(role, { authorized_actions: actions }));
    expect([refused.status, refused.body.code]).toEqual([422, "validation_failed"]);
    expect(fieldCodes(refused)).toEqual({ "scope.authorized_actions": "authorized_action_role_mismatch" });
  });

  it.each([
    ["PROVIDER", { max_transaction_value: "5.00" }],
    ["PROVIDER", { spending_limit: { amount: "5.00", currency: "USDC", window_days: 1 } }],
    ["PROVIDER", { minimum_counterparty_cert_tier: "TIER_2" }],
    ["PROVIDER", { minimum_counterparty_ar: 0.5 }],
    ["CONSUMER", { authorized_markets: ["DE-USDC"] }],
  ] as const)(
    "wrong-role fields are rejected with 422 field_not_allowed_for_role: %s with %j",
    async (role, fields) => {
      const refused = await register(role, scope(role, fields));
      expect([refused.status, refused.body.code]).toEqual([422, "field_not_allowed_for_role"]);
      expect(fieldCodes(refused)).toEqual({ [`scope.${Object.keys(fields)[0]}`]: "field_not_allowed_for_role" });
    },
  );

  it("contract 5: dispute_window_days 0..365, default 14", async () => {
    const bare = { authorized_actions: ["sell"], capabilities: [] };
    expect(expectStatus(await register("PROVIDER", { scope: bare }), 201).identity.scope.dispute_window_days).toBe(14);
    for (const days of [0, 365]) {
      const aid = expectStatus(await register("PROVIDER", scope("PROVIDER", { dispute_window_days: days })), 201);
      expect([aid.identity.scope.dispute_window_days, aid.disputes.dispute_window_days]).toEqual([days, days]);
    }
    for (const days of [-1, 366, 1.5]) {
      expect((await register("PROVIDER", scope("PROVIDER", { dispute_window_days: days }))).status).toBe(422);
    }
  });

  it("contract 1: not_found is an id in a body that does not exist or is another platform's", async () => {
    const other = await createWorld();
    for (const principal_id of ["prn_nobody", await other.principal()]) {
      const refused = await register("PROVIDER", { principal_id });
      expect([refused.status, refused.body.code]).toEqual([422, "validation_failed"]);
      expect(fieldCodes(refused)).toEqual({ principal_id: "not_found" });
    }
  });

  it("agents can be registered against the tenant principal like any other principal", async () => {
    expect(expectStatus(await register("PROVIDER", { principal_id: world.tenantPrincipalId }), 201).status).toBe(
      "DRAFT",
    );
  });

  it("contract 3: creating an agent with a higher cert_tier gives 403 tier_exceeds_accreditation", async () => {
    const modest = await createWorld();
    const { db } = modest.deps;
    await db.update(platforms).set({ accreditationTier: "TIER_2" }).where(eq(platforms.platformId, modest.platformId));
    const body = { ...agentBody("PROVIDER"), principal_id: await modest.principal() };
    const refused = await modest.call("POST", "/v1/agents", { body: { ...body, cert_tier: "TIER_3" } });
    expect([refused.status, refused.body.code]).toEqual([403, "tier_exceeds_accreditation"]);
    expectStatus(await modest.call("POST", "/v1/agents", { body: { ...body, cert_tier: "TIER_2" } }), 201);
  });
});

describe("contract 5, Delegation: a delegate's scope must be a subset", () => {
  const limits = {
    capabilities: ["translation", "review"],
    max_transaction_value: "100",
    spending_limit: { amount: "500", currency: "USDC", window_days: 7 },
    minimum_counterparty_cert_tier: "TIER_2",
    minimum_counterparty_ar: 0.5,
  };
  const delegate = (delegated_by: string, overrides: Json) =>
    register("CONSUMER", { ...scope("CONSUMER", { ...limits, ...overrides }), delegated_by });
  let delegator: string;
  beforeAll(async () => {
    const { did } = await world.agent("CONSUMER", { principal_id: principalId, ...scope("CONSUMER", limits) });
    delegator = did;
  });

  it("the same scope, or a narrower one, is one", async () => {
    const aid = expectStatus(
      await delegate(delegator, { capabilities: ["review"], max_transaction_value: "99.99" }),
      201,
    );
    expect(aid.identity.delegation).toEqual({ delegated_by: delegator, chain: [delegator] });
  });

  it.each([
    ["capabilities", { capabilities: ["translation", "drones"] }],
    ["max_transaction_value", { max_transaction_value: "100.01" }],
    ["max_transaction_value", { max_transaction_value: null }],
    ["spending_limit", { spending_limit: { amount: "500.01", currency: "USDC", window_days: 7 } }],
    ["spending_limit", { spending_limit: { amount: "500", currency: "USDC", window_days: 8 } }],
    ["minimum_counterparty_cert_tier", { minimum_counterparty_cert_tier: "TIER_1" }],
    ["minimum_counterparty_ar", { minimum_counterparty_ar: 0.49 }],
  ])("wider in %s is scope_exceeds_delegator in field_errors: %j", async (field, overrides) => {
    const refused = await delegate(delegator, overrides);
    expect([refused.status, refused.body.code]).toEqual([422, "validation_failed"]);
    expect(fieldCodes(refused)).toEqual({ [`scope.${field}`]: "scope_exceeds_delegator" });
  });

  it("delegated_by names an ACTIVE agent of the same principal", async () => {
    const draft = await world.draft("CONSUMER", { principal_id: principalId, ...scope("CONSUMER", limits) });
    const stranger = await world.agent("CONSUMER", scope("CONSUMER", limits));
    for (const [did, code] of [
      [draft.did, "invalid_value"],
      [stranger.did, "invalid_value"],
      ["did:aeap:00000000-0000-4000-8000-000000000000", "not_found"],
    ] as const) {
      const refused = await delegate(did, {});
      expect([refused.status, fieldCodes(refused)]).toEqual([422, { delegated_by: code }]);
    }
  });

  it("depth at most 5", async () => {
    let above = delegator;
    for (let depth = 1; depth <= 5; depth++) {
      const { did } = await world.agent("CONSUMER", {
        principal_id: principalId,
        ...scope("CONSUMER", limits),
        delegated_by: above,
      });
      above = did;
    }
    const refused = await delegate(above, {});
    expect([refused.status, fieldCodes(refused)]).toEqual([422, { delegated_by: "invalid_value" }]);
  });

  it("a scope patch does not widen a delegate past its delegator", async () => {
    const { did } = expectStatus(await delegate(delegator, {}), 201);
    const refused = await patch(did, "scope", { max_transaction_value: "100.01" });
    expect([refused.status, fieldCodes(refused)]).toEqual([422, { max_transaction_value: "scope_exceeds_delegator" }]);
  });
});

describe("3.3, DRAFT", () => {
  it("activate: agent is DRAFT; else 409 invalid_status", async () => {
    const { did } = await world.agent("CONSUMER");
    const refused = await world.call("POST", `/v1/agents/${did}/activate`);
    expect([refused.status, refused.body.code]).toEqual([409, "invalid_status"]);
  });

  it("DRAFT, status patch to ACTIVE: unchanged, 409 use_activate_endpoint", async () => {
    const { did } = await world.draft("CONSUMER");
    const refused = await patch(did, "status", { status: "ACTIVE" });
    expect([refused.status, refused.body.code]).toEqual([409, "use_activate_endpoint"]);
    expect(expectStatus(await world.call("GET", `/v1/agents/${did}`), 200).status).toBe("DRAFT");
  });

  it("activation answers {did, status, private_key, certificate, certificate_expires_at, key_id, warning}", async () => {
    const { did } = await world.draft("CONSUMER");
    const keys = expectStatus(await world.call("POST", `/v1/agents/${did}/activate`), 200);
    expect(Object.keys(keys).sort()).toEqual(
      ["did", "status", "private_key", "certificate", "certificate_expires_at", "key_id", "warning"].sort(),
    );
    expect(keys.status).toBe("ACTIVE");
    expect(keys.private_key).toMatch(/^-----BEGIN PRIVATE KEY-----\n/);
  });
});

describe("3.3 and contract 5, PATCH …/status", () => {
  it("suspends and returns, and the public status shows it at once", async () => {
    const { did } = await world.agent("CONSUMER");
    const shown = async () => (await world.call("GET", `/v1/agents/${did}/status`, { key: null })).body.status;
    const suspended = expectStatus(await patch(did, "status", { status: "SUSPENDED", reason: "audit" }), 200);
    expect(suspended).toMatchObject({ status: "SUSPENDED", suspension_reason: "platform" });
    expect(await shown()).toBe("SUSPENDED");
    const returned = expectStatus(await patch(did, "status", { status: "ACTIVE" }), 200);
    expect(returned).toMatchObject({ status: "ACTIVE", suspension_reason: null });
    expect(await shown()).toBe("ACTIVE");
  });

  it("contract 7: an agent that is SUSPENDED and calls gets 409 agent_not_active; TERMINATED 401", async () => {
    const consumer = await world.agent("CONSUMER");
    const call = () => world.as(consumer, "GET", "/v1/tasks/tsk_nothing");
    expect((await call()).status).toBe(404);
    await patch(consumer.did, "status", { status: "SUSPENDED" });
    const stopped = await call();
    expect([stopped.status, stopped.body.code]).toEqual([409, "agent_not_active"]);
    await patch(consumer.did, "status", { status: "TERMINATED" });
    const ended = await call();
    expect([ended.status, ended.body.code]).toEqual([401, "aeap_verification_failed"]);
  });

  it("a transition that the table does not have is 409 invalid_status and changes nothing", async () => {
    const { did } = await world.agent("CONSUMER");
    const refused = await patch(did, "status", { status: "ACTIVE" });
    expect([refused.status, refused.body.code]).toEqual([409, "invalid_status"]);
  });

  it("return is blocked while escrow is CONSTRAINED (409 escrow_constrained_cannot_reactivate)", async () => {
    const provider = await world.provider();
    await patch(provider.did, "status", { status: "SUSPENDED" });
    const { db } = world.deps;
    await db.update(escrows).set({ state: "CONSTRAINED" }).where(eq(escrows.did, provider.did));
    const refused = await patch(provider.did, "status", { status: "ACTIVE" });
    expect([refused.status, refused.body.code]).toEqual([409, "escrow_constrained_cannot_reactivate"]);
    await db.update(escrows).set({ state: "FUNDING" }).where(eq(escrows.did, provider.did));
    expect(expectStatus(await patch(provider.did, "status", { status: "ACTIVE" }), 200).status).toBe("ACTIVE");
  });

  it("TERMINATED is the platform's own retirement of an agent, final", async () => {
    const { did } = await world.agent("CONSUMER");
    expect(expectStatus(await patch(did, "status", { status: "TERMINATED" }), 200).status).toBe("TERMINATED");
    for (const status of ["ACTIVE", "SUSPENDED", "TERMINATED"]) {
      const refused = await patch(did, "status", { status });
      expect([refused.status, refused.body.code]).toEqual([409, "invalid_status"]);
    }
  });
});

describe("3.3 and contract 5, PATCH …/scope", () => {
  it("changes the document by one version, and the certificate states the new scope", async () => {
    const consumer = await world.agent("CONSUMER");
    const limits = { max_transaction_value: 25, spending_limit: { amount: "1e2", currency: "USDC", window_days: 30 } };
    const agent = expectStatus(await patch(consumer.did, "scope", limits), 200);
    expect(agent.scope.max_transaction_value).toBe("25.00");
    expect(agent.version).toBe(3);
    const aid = expectStatus(await world.call("GET", `/v1/agents/${consumer.did}/aid`, { key: null }), 200);
    expect([aid.version, aid.identity.scope.max_transaction_value]).toEqual([3, "25.00"]);
    const checked = expectStatus(
      await world.call("POST", "/v1/verify/certificate", {
        key: null,
        body: { certificate: aid.identity.certificate },
      }),
      200,
    );
    expect(checked.claims.aeap.scope.max_transaction_value).toBe("25.00");
  });

  it("400 no_changes_requested when nothing changes", async () => {
    const consumer = await world.agent("CONSUMER");
    for (const body of [{}, { capabilities: ["translation"], dispute_window_days: 14 }]) {
      const refused = await patch(consumer.did, "scope", body);
      expect([refused.status, refused.body.code]).toEqual([400, "no_changes_requested"]);
    }
    expect(expectStatus(await world.call("GET", `/v1/agents/${consumer.did}`), 200).version).toBe(2);
  });

  it.each([
    ["PROVIDER", { max_transaction_value: "1" }],
    ["PROVIDER", { minimum_counterparty_ar: 0.1 }],
    ["CONSUMER", { authorized_markets: ["DE-USDC"] }],
  ] as const)("field_not_allowed_for_role: %s with %j", async (role, body) => {
    const { did } = await world.draft(role);
    const refused = await patch(did, "scope", body);
    expect([refused.status, refused.body.code]).toEqual([422, "field_not_allowed_for_role"]);
    expect(fieldCodes(refused)).toEqual({ [Object.keys(body)[0] ?? ""]: "field_not_allowed_for_role" });
  });

  it.each(["CONSUMER", "PROVIDER"] as const)("dispute_window_days is accepted on both: %s", async (role) => {
    const { did } = await world.draft(role);
    expect(expectStatus(await patch(did, "scope", { dispute_window_days: 0 }), 200).scope.dispute_window_days).toBe(0);
  });

  it.each(["REVOKED", "TERMINATED"] as const)(
    "a %s agent rejects scope edits with 409 agent_status_not_mutable",
    async (status) => {
      const consumer = await world.agent("CONSUMER");
      await world.deps.db.update(agents).set({ status }).where(isolated(consumer.did));
      const refused = await patch(consumer.did, "scope", { capabilities: ["other"] });
      expect([refused.status, refused.body.code]).toEqual([409, "agent_status_not_mutable"]);
    },
  );
});

describe("contract 5, reading agents", () => {
  it("GET /v1/agents: filters principal_id, status, economic_role; the environment is the key's; list envelope", async () => {
    const own = await createWorld();
    const first = await own.agent("CONSUMER");
    const second = await own.draft("PROVIDER");
    const dids = async (query: string, key = own.key) => {
      const page = expectStatus(await own.call("GET", `/v1/agents${query}`, { key }), 200);
      expect(Object.keys(page).sort()).toEqual(["data", "has_more", "next_cursor"]);
      return page.data.map(({ did }: { did: string }) => did);
    };
    expect((await dids("")).sort()).toEqual([first.did, second.did].sort());
    expect(await dids(`?principal_id=${first.principalId}`)).toEqual([first.did]);
    expect(await dids("?status=DRAFT")).toEqual([second.did]);
    expect(await dids("?economic_role=CONSUMER")).toEqual([first.did]);
    expect(await dids("", own.liveKey)).toEqual([]);
    const page = expectStatus(await own.call("GET", "/v1/agents?limit=1"), 200);
    expect(page.has_more).toBe(true);
    const rest = expectStatus(await own.call("GET", `/v1/agents?limit=1&cursor=${page.next_cursor}`), 200);
    expect([rest.has_more, rest.next_cursor]).toEqual([false, null]);
    expect([page.data[0].did, rest.data[0].did].sort()).toEqual([first.did, second.did].sort());
  });

  it("GET /v1/agents/{did}: record, escrow, markets, certificate expiry", async () => {
    const provider = await world.provider();
    const agent = expectStatus(await world.call("GET", `/v1/agents/${provider.did}`), 200);
    expect(agent).toMatchObject({
      principal_id: provider.principalId,
      status: "ACTIVE",
      certificate_expires_at: expect.any(String),
      authorized_markets: ["GLOBAL-USDC"],
      escrow_state: "FUNDING",
    });
    expect(agent.escrow).toEqual([
      expect.objectContaining({ network: "base-sepolia", balance: "0.00", threshold: "15.00", state: "FUNDING" }),
    ]);
    expect(agent.markets[0].operational_wallet).toBe(account(8).toLowerCase());
  });
});
