// Registering an agent, with every fault of a body (AGT-1 to AGT-9).
import { beforeAll, describe, expect, it, vi } from "vitest";
import { isPayableDid } from "../../src/chain/hashes.ts";
import { dumpDatabase } from "../support/variants.ts";
import { agentBody, createWorld, env, expectStatus, type Json, type World } from "../support/world.ts";
import { type Body, faultsOf, type Role, registerAgent, registrationOf, rowsOf } from "./support.ts";

let world: World;
let principalId: string;
beforeAll(async () => {
  world = await createWorld();
  principalId = await world.principal();
});

const bodyOf = (role: Role, overrides: Body = {}): Body => registrationOf(principalId, role, overrides);
const register = (body: Body, of = world, key = of.key) => registerAgent(of, body, key);

describe("a capability", () => {
  it.each(["Translation", "text to speech", "übersetzen", "x"])("may be %s", async (capability) => {
    const scope = { authorized_actions: ["purchase"], capabilities: [capability] };
    const { did } = await world.draft("CONSUMER", { scope });
    const view = expectStatus(await world.call("GET", `/v1/agents/${did}`), 200);
    expect(view.scope.capabilities).toEqual([capability]);
  });

  it.each(["a,b", " a", "a ", "", "a\n", "x".repeat(101)])("may not be %j", async (capability) => {
    const scope = { authorized_actions: ["purchase"], capabilities: [capability] };
    const body = { ...agentBody("CONSUMER"), principal_id: await world.principal(), scope };
    const reply = await world.call("POST", "/v1/agents", { body });
    expect([reply.status, reply.body.field_errors[0].field]).toEqual([422, "scope.capabilities.0"]);
  });
});

describe("an agent", () => {
  it("gets a DID that AEA/P clients can pay: a DID whose hash begins with a zero nibble is drawn again", async () => {
    const draw = (isPayable: boolean) => {
      let uuid = crypto.randomUUID();
      while (isPayableDid(`did:aeap:${uuid}`) !== isPayable) uuid = crypto.randomUUID();
      return uuid;
    };
    const payable = draw(true);
    const draws = [draw(false), draw(false), payable];
    const real = crypto.randomUUID.bind(crypto);
    vi.spyOn(crypto, "randomUUID").mockImplementation(() => draws.shift() ?? real());
    try {
      expect(expectStatus(await register(bodyOf("PROVIDER")), 201).did).toBe(`did:aeap:${payable}`);
    } finally {
      vi.restoreAllMocks();
    }
  });

  it("is registered as DRAFT without key, certificate or signature, and leaves an event and an activity entry, in two trips", async () => {
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
  ])("%s with tier %s gets %s", async (role, cert_tier, expected) => {
    const aid = expectStatus(await register(bodyOf(role, cert_tier === undefined ? {} : { cert_tier })), 201);
    expect(aid.identity.cert_tier).toBe(expected);
  });

  it("shows catalog_url as null for a consumer, and has no escrow", async () => {
    const aid = expectStatus(await register(bodyOf("CONSUMER", { profile: { catalog_url: null } })), 201);
    expect([aid.identity.profile.catalog_url, aid.escrow]).toEqual([null, null]);
  });

  it("has a dispute window of 14 days by default, and accepts 0 to 365", async () => {
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
  it.each(cases)("%s is refused", async (_name, role, overrides, code, faults) => {
    const before = await dumpDatabase();
    const reply = await register(bodyOf(role, overrides));
    expect([reply.status, reply.body.code]).toEqual([422, code]);
    expect(faultsOf(reply)).toEqual(faults);
    expect(await dumpDatabase()).toEqual(before);
  });

  it.each(["SUSPENDED", "ATTESTATION_EXPIRED", "CLOSED"])(
    "a principal that is %s is refused as 409 invalid_status",
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

  it.each(["CONSUMER", "PROVIDER"] as const)("a principal closed before a %s is written is refused", async (role) => {
    const principal_id = await world.principal();
    const close = () => world.call("POST", `/v1/principals/${principal_id}/close`);
    world.meter.beforeBatch(2, async () => expectStatus(await close(), 200));
    const reply = await register(bodyOf(role, { principal_id }));
    expect([reply.status, reply.body.code]).toEqual([409, "invalid_status"]);
    expect(await rowsOf("agents", "principal_id", principal_id)).toEqual([]);
  });

  it.each<[string, Role, string, number]>([
    ["TIER_1", "PROVIDER", "TIER_2", 403],
    ["TIER_2", "PROVIDER", "TIER_3", 403],
    ["TIER_2", "CONSUMER", "TIER_3", 403],
    ["TIER_2", "PROVIDER", "TIER_2", 201],
    ["TIER_1", "CONSUMER", "TIER_1", 201],
  ])("a platform accredited to %s registers a %s of %s: %i", async (accreditation, role, cert_tier, status) => {
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

  it("a principal's own tier decides nothing: its platform has to ensure that it suffices (PRN-10)", async () => {
    const verification_attestation = { placeholder: true, tier: "TIER_1" };
    const principal_id = await world.principal({ verification_attestation });
    const aid = expectStatus(await register(bodyOf("PROVIDER", { principal_id, cert_tier: "TIER_2" })), 201);
    expect([aid.identity.cert_tier, aid.identity.principal.verification.tier]).toEqual(["TIER_2", "TIER_1"]);
  });
});
