// Specification 1 (roles), 2.4 and 4; contract section 5: registering an agent, its every fault, its delegation.
import { beforeAll, describe, expect, it } from "vitest";
import { dumpDatabase } from "../support/variants.ts";
import { agentBody, createWorld, env, expectStatus, type Json, type Reply, type World } from "../support/world.ts";

let world: World;
let principalId: string;
beforeAll(async () => {
  world = await createWorld();
  principalId = await world.principal();
});

type Role = "CONSUMER" | "PROVIDER";
type Body = Record<string, unknown>;
const bodyOf = (
  role: Role,
  { scope = {}, profile = {}, ...overrides }: { scope?: Body; profile?: Body } & Body = {},
): Body => {
  const valid = agentBody(role) as { scope: Body; profile: Body };
  return {
    ...valid,
    principal_id: principalId,
    ...overrides,
    scope: { ...valid.scope, ...scope },
    profile: { ...valid.profile, ...profile },
  };
};
const register = (body: Body, of = world, key = of.key) => of.call("POST", "/v1/agents", { body, key });
type Fault = { field: string; code: string };
const faultsOf = (reply: Reply) => reply.body.field_errors?.map(({ field, code }: Fault) => [field, code]).sort();

describe("a capability", () => {
  it.each(["Translation", "text to speech", "übersetzen", "x"])("may be %s", async (capability) => {
    const scope = { authorized_actions: ["purchase"], capabilities: [capability] };
    const { did } = await world.draft("CONSUMER", { scope });
    const view = expectStatus(await world.call("GET", `/v1/agents/${did}`), 200);
    expect(view.scope.capabilities).toEqual([capability]);
  });

  it.each(["a,b", " a", "a ", "", "a\n", "x".repeat(101)])("is not %j", async (capability) => {
    const scope = { authorized_actions: ["purchase"], capabilities: [capability] };
    const body = { ...agentBody("CONSUMER"), principal_id: await world.principal(), scope };
    const reply = await world.call("POST", "/v1/agents", { body });
    expect([reply.status, reply.body.field_errors[0].field]).toEqual([422, "scope.capabilities.0"]);
  });
});

describe("an agent", () => {
  it("is registered as DRAFT without key, certificate or signature, and leaves an event and an entry, in two trips", async () => {
    world.meter.reset();
    const aid = expectStatus(
      await register(bodyOf("PROVIDER", { profile: { catalog_url: "https://a.example/c.json" } })),
      201,
    );
    expect(world.meter.reading.trips).toBe(2);
    expect(aid).toMatchObject({
      version: 1,
      status: "DRAFT",
      proof: null,
      live: { status: "DRAFT", environment: "sandbox" },
      identity: {
        economic_role: "PROVIDER",
        cert_tier: "TIER_2",
        certificate: null,
        public_key_jwk: null,
        delegation: null,
        authorized_markets: [],
        profile: { catalog_url: "https://a.example/c.json" },
        principal: { id: principalId },
      },
    });
    expect(aid.did).toMatch(/^did:aeap:[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    const rows = async (table: string) =>
      (await env.DB.prepare(`select * from ${table} where platform_id = ?`).bind(world.platformId).all<Json>()).results;
    expect(await rows("events")).toContainEqual(expect.objectContaining({ type: "agent.registered" }));
    expect(await rows("activity_entries")).toContainEqual(
      expect.objectContaining({ action: "agent.registered", subject_id: aid.did }),
    );
    const changes = await env.DB.prepare("select * from directory_changes where did = ?").bind(aid.did).all();
    expect(changes.results).toEqual([]);
  });

  it.each<[Role, string | undefined, string]>([
    ["CONSUMER", undefined, "TIER_1"],
    ["CONSUMER", "TIER_2", "TIER_2"],
    ["CONSUMER", "TIER_3", "TIER_3"],
    ["PROVIDER", undefined, "TIER_2"],
    ["PROVIDER", "TIER_3", "TIER_3"],
  ])("%s with tier %s has %s", async (role, cert_tier, expected) => {
    const aid = expectStatus(await register(bodyOf(role, cert_tier === undefined ? {} : { cert_tier })), 201);
    expect(aid.identity.cert_tier).toBe(expected);
  });

  it("on a consumer serializes catalog_url as null, and has no escrow", async () => {
    const aid = expectStatus(await register(bodyOf("CONSUMER", { profile: { catalog_url: null } })), 201);
    expect([aid.identity.profile.catalog_url, aid.escrow]).toEqual([null, null]);
  });

  it("has 14 days to dispute unless told otherwise, and 0 to 365", async () => {
    const days = async (dispute_window_days?: number) =>
      (await register(bodyOf("PROVIDER", { scope: { dispute_window_days } }))).body.identity?.scope.dispute_window_days;
    expect([await days(), await days(0), await days(365), await days(366), await days(-1)]).toEqual([
      14,
      0,
      365,
      undefined,
      undefined,
    ]);
  });
});

describe("a body with one fault registers nothing", () => {
  const cases: [string, Role, Parameters<typeof bodyOf>[1], string, [string, string][]][] = [
    [
      "ENTERPRISE",
      "PROVIDER",
      { economic_role: "ENTERPRISE" },
      "validation_failed",
      [["economic_role", "invalid_economic_role"]],
    ],
    [
      "an unknown role",
      "PROVIDER",
      { economic_role: "BROKER" },
      "validation_failed",
      [["economic_role", "invalid_economic_role"]],
    ],
    ["no role", "PROVIDER", { economic_role: undefined }, "validation_failed", [["economic_role", "required"]]],
    ["an unknown tier", "PROVIDER", { cert_tier: "TIER_4" }, "validation_failed", [["cert_tier", "invalid_cert_tier"]]],
    [
      "a tier that a provider has not",
      "PROVIDER",
      { cert_tier: "TIER_1" },
      "validation_failed",
      [["cert_tier", "cert_tier_role_mismatch"]],
    ],
    [
      "a provider that buys too",
      "PROVIDER",
      { scope: { authorized_actions: ["sell", "purchase"] } },
      "validation_failed",
      [["scope.authorized_actions", "authorized_action_role_mismatch"]],
    ],
    [
      "a provider that does not sell",
      "PROVIDER",
      { scope: { authorized_actions: ["quote"] } },
      "validation_failed",
      [["scope.authorized_actions", "authorized_action_role_mismatch"]],
    ],
    [
      "a consumer that sells",
      "CONSUMER",
      { scope: { authorized_actions: ["sell"] } },
      "validation_failed",
      [["scope.authorized_actions", "authorized_action_role_mismatch"]],
    ],
    [
      "a consumer that buys and sells",
      "CONSUMER",
      { scope: { authorized_actions: ["purchase", "sell"] } },
      "validation_failed",
      [["scope.authorized_actions", "authorized_action_role_mismatch"]],
    ],
    [
      "a consumer with a catalogue",
      "CONSUMER",
      { profile: { catalog_url: "https://a.example/c" } },
      "catalog_url_not_permitted",
      [["profile.catalog_url", "catalog_url_not_permitted"]],
    ],
    [
      "a consumer with markets",
      "CONSUMER",
      { scope: { authorized_markets: ["DE-USDC"] } },
      "field_not_allowed_for_role",
      [["scope.authorized_markets", "field_not_allowed_for_role"]],
    ],
    [
      "a provider with markets in its scope",
      "PROVIDER",
      { scope: { authorized_markets: ["DE-USDC"] } },
      "validation_failed",
      [["scope.authorized_markets", "invalid_field"]],
    ],
    [
      "a provider with a ceiling",
      "PROVIDER",
      { scope: { max_transaction_value: "10" } },
      "field_not_allowed_for_role",
      [["scope.max_transaction_value", "field_not_allowed_for_role"]],
    ],
    [
      "a provider with a spending limit",
      "PROVIDER",
      { scope: { spending_limit: { amount: "10", currency: "USDC", window_days: 7 } } },
      "field_not_allowed_for_role",
      [["scope.spending_limit", "field_not_allowed_for_role"]],
    ],
    [
      "a provider with a floor of tiers",
      "PROVIDER",
      { scope: { minimum_counterparty_cert_tier: "TIER_2" } },
      "field_not_allowed_for_role",
      [["scope.minimum_counterparty_cert_tier", "field_not_allowed_for_role"]],
    ],
    [
      "a provider with a floor of ratings",
      "PROVIDER",
      { scope: { minimum_counterparty_ar: 0.5 } },
      "field_not_allowed_for_role",
      [["scope.minimum_counterparty_ar", "field_not_allowed_for_role"]],
    ],
    [
      "a floor above 1",
      "CONSUMER",
      { scope: { minimum_counterparty_ar: 1.1 } },
      "validation_failed",
      [["scope.minimum_counterparty_ar", "too_big"]],
    ],
    [
      "an unknown principal",
      "CONSUMER",
      { principal_id: "prn_nobody" },
      "validation_failed",
      [["principal_id", "not_found"]],
    ],
    [
      "an unknown delegator",
      "CONSUMER",
      { delegated_by: "did:aeap:00000000-0000-4000-8000-000000000000" },
      "validation_failed",
      [["delegated_by", "not_found"]],
    ],
    [
      "no action",
      "PROVIDER",
      { scope: { authorized_actions: [] } },
      "validation_failed",
      [["scope.authorized_actions", "authorized_action_role_mismatch"]],
    ],
    [
      "a capability twice",
      "PROVIDER",
      { scope: { capabilities: ["a", "a"] } },
      "validation_failed",
      [["scope.capabilities", "invalid_value"]],
    ],
    [
      "51 capabilities",
      "PROVIDER",
      { scope: { capabilities: Array.from({ length: 51 }, (_, i) => `c${i}`) } },
      "validation_failed",
      [["scope.capabilities", "too_long"]],
    ],
    [
      "an endpoint that is no URL",
      "PROVIDER",
      { endpoint_url: "nowhere" },
      "validation_failed",
      [["endpoint_url", "invalid_format"]],
    ],
    [
      "an endpoint with a password",
      "PROVIDER",
      { endpoint_url: "https://u:p@a.example" },
      "validation_failed",
      [["endpoint_url", "invalid_format"]],
    ],
    [
      "a script as a catalogue",
      "PROVIDER",
      { profile: { catalog_url: "javascript:alert(1)" } },
      "validation_failed",
      [["profile.catalog_url", "invalid_format"]],
    ],
    ["an unknown field", "PROVIDER", { colour: "red" }, "validation_failed", [["colour", "unknown_field"]]],
    [
      "an unknown field of the scope",
      "PROVIDER",
      { scope: { colour: "red" } },
      "validation_failed",
      [["scope.colour", "unknown_field"]],
    ],
  ];
  it.each(cases)("%s", async (_name, role, overrides, code, faults) => {
    const before = await dumpDatabase();
    const reply = await register(bodyOf(role, overrides));
    expect([reply.status, reply.body.code]).toEqual([422, code]);
    expect(faultsOf(reply)).toEqual(faults);
    expect(await dumpDatabase()).toEqual(before);
  });

  it("a principal of another platform, or of the other environment", async () => {
    const other = await createWorld();
    for (const principal_id of [await other.principal(), other.tenantPrincipalId]) {
      expect(faultsOf(await register(bodyOf("CONSUMER", { principal_id })))).toEqual([["principal_id", "not_found"]]);
    }
    expect(faultsOf(await register(bodyOf("CONSUMER"), world, world.liveKey))).toEqual([["principal_id", "not_found"]]);
  });

  it.each(["SUSPENDED", "ATTESTATION_EXPIRED", "CLOSED"])(
    "a principal that is %s: 409 invalid_status",
    async (status) => {
      const principal_id = await world.principal();
      await env.DB.prepare("update principals set status = ? where principal_id = ?").bind(status, principal_id).run();
      const reply = await register(bodyOf("CONSUMER", { principal_id }));
      expect([reply.status, reply.body.code, reply.body.detail]).toEqual([
        409,
        "invalid_status",
        { principal_status: status },
      ]);
    },
  );

  it.each<[string, Role, string, number]>([
    ["TIER_1", "PROVIDER", "TIER_2", 403],
    ["TIER_2", "PROVIDER", "TIER_3", 403],
    ["TIER_2", "CONSUMER", "TIER_3", 403],
    ["TIER_2", "PROVIDER", "TIER_2", 201],
    ["TIER_1", "CONSUMER", "TIER_1", 201],
  ])("a platform accredited to %s registering a %s of %s: %i", async (accreditation, role, cert_tier, status) => {
    const fresh = await createWorld();
    await env.DB.prepare("update platforms set accreditation_tier = ? where platform_id = ?")
      .bind(accreditation, fresh.platformId)
      .run();
    const reply = await register(bodyOf(role, { principal_id: await fresh.principal(), cert_tier }), fresh);
    expect(reply.status).toBe(status);
    if (status === 403)
      expect(reply.body).toMatchObject({
        code: "tier_exceeds_accreditation",
        detail: { accreditation_tier: accreditation },
      });
  });
});

describe("a delegate", () => {
  const bounds = {
    authorized_actions: ["purchase", "negotiate"],
    capabilities: ["a", "b"],
    max_transaction_value: "100.00",
    spending_limit: { amount: "1000.00", currency: "USDC", window_days: 30 },
    minimum_counterparty_cert_tier: "TIER_2",
    minimum_counterparty_ar: 0.5,
  };
  let delegator: string;
  beforeAll(async () => {
    delegator = (await world.agent("CONSUMER", bodyOf("CONSUMER", { scope: bounds }))).did;
  });
  const delegate = (scope: Body = {}, overrides: Body = {}) =>
    register(bodyOf("CONSUMER", { delegated_by: delegator, scope: { ...bounds, ...scope }, ...overrides }));

  it("may have the same scope, or less of it, and names its delegator", async () => {
    expect(expectStatus(await delegate(), 201).identity.delegation).toEqual({
      delegated_by: delegator,
      chain: [delegator],
    });
    const less = {
      authorized_actions: ["purchase"],
      capabilities: [],
      max_transaction_value: "99.999999",
      spending_limit: { amount: "1e3", currency: "USDC", window_days: 30 },
      minimum_counterparty_cert_tier: "TIER_3",
      minimum_counterparty_ar: 1,
    };
    expect((await delegate(less)).status).toBe(201);
  });

  it.each<[string, Body, string]>([
    ["another action", { authorized_actions: ["purchase", "sign"] }, "authorized_actions"],
    ["another capability", { capabilities: ["a", "c"] }, "capabilities"],
    ["a higher ceiling", { max_transaction_value: "100.000001" }, "max_transaction_value"],
    ["no ceiling", { max_transaction_value: null }, "max_transaction_value"],
    ["a higher limit", { spending_limit: { amount: "1000.01", currency: "USDC", window_days: 30 } }, "spending_limit"],
    ["a wider window", { spending_limit: { amount: "1000", currency: "USDC", window_days: 31 } }, "spending_limit"],
    [
      "a limit in another currency",
      { spending_limit: { amount: "1", currency: "EURC", window_days: 30 } },
      "spending_limit",
    ],
    ["no limit", { spending_limit: null }, "spending_limit"],
    ["a lower floor of tiers", { minimum_counterparty_cert_tier: "TIER_1" }, "minimum_counterparty_cert_tier"],
    ["no floor of tiers", { minimum_counterparty_cert_tier: null }, "minimum_counterparty_cert_tier"],
    ["a lower floor of ratings", { minimum_counterparty_ar: 0.49 }, "minimum_counterparty_ar"],
    ["no floor of ratings", { minimum_counterparty_ar: null }, "minimum_counterparty_ar"],
  ])("with %s is refused", async (_name, scope, field) => {
    const reply = await delegate(scope);
    expect([reply.status, reply.body.code]).toEqual([422, "validation_failed"]);
    expect(faultsOf(reply)).toEqual([[`scope.${field}`, "scope_exceeds_delegator"]]);
  });

  it("that is wider in everything hears of everything", async () => {
    const reply = await delegate({ capabilities: ["z"], max_transaction_value: null, minimum_counterparty_ar: 0 });
    expect(faultsOf(reply)).toHaveLength(3);
  });

  it("of another principal's agent, of another platform's, is refused", async () => {
    const foreign = await createWorld();
    const [sibling, stranger] = [await world.consumer(), await foreign.consumer()];
    const by = (delegated_by: string) => register(bodyOf("CONSUMER", { delegated_by }));
    expect(faultsOf(await by(sibling.did))).toEqual([["delegated_by", "invalid_value"]]);
    expect(faultsOf(await by(stranger.did))).toEqual([["delegated_by", "not_found"]]);
  });

  it.each(["DRAFT", "SUSPENDED", "TERMINATED", "REVOKED", "FUNDING"])(
    "of an agent that is %s is refused",
    async (status) => {
      const { did } = await world.agent("CONSUMER", { principal_id: principalId });
      await env.DB.prepare("update agents set status = ? where did = ?").bind(status, did).run();
      expect(faultsOf(await register(bodyOf("CONSUMER", { delegated_by: did })))).toEqual([
        ["delegated_by", "invalid_value"],
      ]);
    },
  );

  it("of a delegate, and so on, is at most five deep", async () => {
    let by: string | undefined;
    for (let depth = 0; depth <= 5; depth++) {
      const body: Body = { principal_id: principalId, ...(by !== undefined && { delegated_by: by }) };
      by = (await world.agent("CONSUMER", body)).did;
    }
    expect(faultsOf(await register(bodyOf("CONSUMER", { delegated_by: by })))).toEqual([
      ["delegated_by", "invalid_value"],
    ]);
  });
});

describe("the listing of agents", () => {
  const list = async (of: World, query = "", key = of.key) =>
    expectStatus(await of.call("GET", `/v1/agents${query}`, { key }), 200);
  const dids = (page: Json): string[] => page.data.map((agent: Json) => agent.did);

  it("shows each agent once, newest first, while others are being registered", async () => {
    const fresh = await createWorld();
    const principal_id = await fresh.principal();
    const registered: string[] = [];
    for (let i = 0; i < 7; i++) registered.push((await fresh.draft("CONSUMER", { principal_id })).did);
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page: Json = await list(fresh, `?limit=3${cursor === null ? "" : `&cursor=${cursor}`}`);
      seen.push(...dids(page));
      cursor = page.next_cursor;
      await fresh.draft("CONSUMER", { principal_id });
    } while (cursor !== null);
    expect(new Set(seen).size).toBe(seen.length);
    expect([...seen].sort()).toEqual([...registered].sort());
  });

  it("narrows to a principal, a role and the status that counts, and stays in its platform and environment", async () => {
    const fresh = await createWorld();
    const consumer = await fresh.consumer();
    const provider = await fresh.agent("PROVIDER");
    const draft = await fresh.draft("CONSUMER");
    const live = expectStatus(
      await register(bodyOf("CONSUMER", { principal_id: fresh.tenantPrincipalId }), fresh, fresh.liveKey),
      201,
    );
    expect(dids(await list(fresh, `?principal_id=${consumer.principalId}`))).toEqual([consumer.did]);
    expect(dids(await list(fresh, "?economic_role=PROVIDER"))).toEqual([provider.did]);
    expect(dids(await list(fresh, "?status=DRAFT"))).toEqual([draft.did]);
    expect(dids(await list(fresh, "", fresh.liveKey))).toEqual([live.did]);
    expect(dids(await list(world, `?principal_id=${consumer.principalId}`))).toEqual([]);
    await env.DB.prepare("update principals set status = 'SUSPENDED' where principal_id = ?")
      .bind(consumer.principalId)
      .run();
    expect(dids(await list(fresh, "?status=ACTIVE"))).toEqual([provider.did]);
    await env.DB.prepare("update agents set status = 'SUSPENDED' where did = ?").bind(consumer.did).run();
    expect(dids(await list(fresh, "?status=SUSPENDED"))).toEqual([consumer.did]);
  });
});
