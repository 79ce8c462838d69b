// Registering agents over HTTP, and the code of each refusal (AGT-1 to AGT-10, AGT-24, AGT-25). Every test names its
// rule.
import { eq } from "drizzle-orm";
import { beforeAll, describe, expect, it } from "vitest";
import { platforms } from "../../src/db/tables/accounts.ts";
import { agentBody, createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { fieldCodes, patchAgent, type Role, registerAgent, scope } from "./support.ts";

let world: World;
let principalId: string;
beforeAll(async () => {
  world = await createWorld();
  principalId = await world.principal();
});

const register = (role: Role, overrides: Json = {}) => registerAgent(world, principalId, role, overrides);
const patch = (did: string, part: "scope" | "status", body: Json) => patchAgent(world, did, part, body);

describe("registration", () => {
  it("IDN-15: answers the five pillars identity, performance, escrow or null, disputes and governance", async () => {
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

  it("IDN-1: a DID is did:aeap:<uuid4>", async () => {
    const { did } = expectStatus(await register("CONSUMER"), 201);
    expect(did).toMatch(/^did:aeap:[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it("AGT-5: catalog_url is null on a CONSUMER, and setting it there is 422 catalog_url_not_permitted", async () => {
    expect(expectStatus(await register("CONSUMER"), 201).identity.profile.catalog_url).toBeNull();
    const profile = { display_name: "Shop", catalog_url: "https://shop.example/catalog.json" };
    const refused = await register("CONSUMER", { profile });
    expect([refused.status, refused.body.code]).toEqual([422, "catalog_url_not_permitted"]);
    expect(fieldCodes(refused)).toEqual({ "profile.catalog_url": "catalog_url_not_permitted" });
    const { identity } = expectStatus(await register("PROVIDER", { profile }), 201);
    expect(identity.profile.catalog_url).toBe(profile.catalog_url);
  });

  it("AGT-2: ENTERPRISE is invalid_economic_role", async () => {
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
    "AGT-6, AGT-7: fields of the other role are 422 field_not_allowed_for_role: %s with %j",
    async (role, fields) => {
      const refused = await register(role, scope(role, fields));
      expect([refused.status, refused.body.code]).toEqual([422, "field_not_allowed_for_role"]);
      expect(fieldCodes(refused)).toEqual({ [`scope.${Object.keys(fields)[0]}`]: "field_not_allowed_for_role" });
    },
  );

  it("AGT-8: dispute_window_days is 0 to 365, by default 14", async () => {
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

  it("HTTP-19: an id in a body that does not exist or is another platform's is not_found", async () => {
    const other = await createWorld();
    for (const principal_id of ["prn_nobody", await other.principal()]) {
      const refused = await register("PROVIDER", { principal_id });
      expect([refused.status, refused.body.code]).toEqual([422, "validation_failed"]);
      expect(fieldCodes(refused)).toEqual({ principal_id: "not_found" });
    }
  });

  it("ACC-6: agents are registered under the tenant principal as under any other", async () => {
    expect(expectStatus(await register("PROVIDER", { principal_id: world.tenantPrincipalId }), 201).status).toBe(
      "DRAFT",
    );
  });

  it("ACC-5: a cert_tier above the accreditation is 403 tier_exceeds_accreditation", async () => {
    const modest = await createWorld();
    const { db } = modest.deps;
    await db.update(platforms).set({ accreditationTier: "TIER_2" }).where(eq(platforms.platformId, modest.platformId));
    const body = { ...agentBody("PROVIDER"), principal_id: await modest.principal() };
    const refused = await modest.call("POST", "/v1/agents", { body: { ...body, cert_tier: "TIER_3" } });
    expect([refused.status, refused.body.code]).toEqual([403, "tier_exceeds_accreditation"]);
    expectStatus(await modest.call("POST", "/v1/agents", { body: { ...body, cert_tier: "TIER_2" } }), 201);
  });
});

describe("AGT-25: a delegate's scope is a part of its delegator's", () => {
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

  it("accepts the same scope and a narrower one", async () => {
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

  it("AGT-24: delegated_by names an ACTIVE agent of the same principal", async () => {
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

  it("AGT-24: a chain is at most five deep", async () => {
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

  it("is not widened beyond its delegator by a scope patch", async () => {
    const { did } = expectStatus(await delegate(delegator, {}), 201);
    const refused = await patch(did, "scope", { max_transaction_value: "100.01" });
    expect([refused.status, fieldCodes(refused)]).toEqual([422, { max_transaction_value: "scope_exceeds_delegator" }]);
  });
});
