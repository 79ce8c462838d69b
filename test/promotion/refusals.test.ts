// The refusals of promotions and their order. A refused promotion changes nothing (AGT-34).
import { beforeAll, describe, expect, it } from "vitest";
import { agentIn, STATES } from "../agents/support.ts";
import { facilitated, pairOf } from "../facilitation/support.ts";
import { market, marketsPath } from "../markets/support.ts";
import { delegateOf, openIntent, seller } from "../payments/support.ts";
import { dumpDatabase } from "../support/variants.ts";
import { createWorld, expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import { livePrincipal, openLive, outcome, promote, promoted, rows } from "./support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

/** Expects the refusal, and that nothing changed. */
async function refused(act: () => Promise<Reply>, status: number, code: string): Promise<Json> {
  const before = await dumpDatabase();
  const reply = await act();
  expect(outcome(reply)).toEqual([status, code]);
  expect(await dumpDatabase()).toEqual(before);
  return reply.body;
}

const faultsOf = ({ field_errors }: Json) =>
  Object.fromEntries(field_errors.map(({ field, code }: Json) => [field, code]));

describe("a promotion is refused", () => {
  it("for an agent that is unknown or belongs to another platform, before anything else", async () => {
    const { did } = await world.consumer();
    const other = await createWorld();
    const unknown = `did:aeap:${crypto.randomUUID()}`;
    await refused(() => promote(world, unknown), 404, "not_found");
    await refused(() => promote(world, unknown, {}, { key: world.key }), 404, "not_found");
    await refused(() => promote(other, did), 404, "not_found");
    await refused(() => promote(other, did, { colour: "red" }), 404, "not_found");
    // The sandbox key no longer finds an agent that has left the sandbox.
    await promoted(world, did);
    await refused(() => promote(world, did, {}, { key: world.key }), 404, "not_found");
  });

  it("for a faulty body, with all its faults", async () => {
    const { did } = await world.consumer();
    const body = await refused(
      () => promote(world, did, { environment: "sandbox", principal_id: "prn_none", colour: "red" }),
      422,
      "validation_failed",
    );
    expect(faultsOf(body)).toEqual({
      environment: "invalid_value",
      principal_id: "not_found",
      colour: "unknown_field",
    });
    const empty = await refused(
      () => world.call("POST", `/v1/agents/${did}/environment`, { body: {} }),
      422,
      "validation_failed",
    );
    expect(faultsOf(empty)).toEqual({ environment: "required" });
  });

  it("with the sandbox key, and by a session in the sandbox", async () => {
    const { did } = await world.consumer();
    expectStatus(await world.person("GET", "/v1/platform"), 200);
    await refused(() => promote(world, did, {}, { key: world.key }), 409, "environment_mismatch");
    await refused(
      () => world.person("POST", `/v1/agents/${did}/environment`, { body: { environment: "production" } }),
      409,
      "environment_mismatch",
    );
  });

  it.each([
    ["before the accreditation", "not_accredited", "update platforms set status = 'IN_REVIEW', promoted_at = null"],
    ["before the account's own promotion", "production_locked", "update platforms set promoted_at = null"],
  ] as const)("%s: %s", async (_when, code, sql) => {
    const early = await createWorld();
    const { did } = await early.consumer();
    const headers = { "Service-Environment": "production" };
    const body = { environment: "production" };
    const path = (of: string) => `/v1/agents/${of}/environment`;
    expectStatus(await early.person("GET", "/v1/platform"), 200);
    await rows(`${sql} where platform_id = ?`, early.platformId);
    await refused(() => early.person("POST", path(did), { headers, body }), 409, code);
    const unknown = `did:aeap:${crypto.randomUUID()}`;
    await refused(() => early.person("POST", path(unknown), { headers, body }), 404, "not_found");
  });

  it.each(STATES.filter((state) => state !== "ACTIVE"))("for an agent that is %s in the sandbox", async (state) => {
    const did = await agentIn(world, state);
    const { detail } = await refused(() => promote(world, did), 409, "invalid_status");
    expect(detail).toEqual({ status: state });
  });

  it.each(STATES)("for a consumer that is %s in production", async (state) => {
    const agent = await world.consumer();
    await promoted(world, agent.did);
    await rows("update agents set status = ? where did = ?", state, agent.did);
    // A consumer has no escrow to wait for, so only a row that was set directly can be FUNDING.
    const code = state === "FUNDING" ? "escrow_below_threshold" : "invalid_status";
    await refused(() => promote(world, agent.did), 409, code);
  });

  it("for an agent whose principal is not ACTIVE in the sandbox", async () => {
    const { did, principalId } = await world.consumer();
    expectStatus(await world.call("POST", `/v1/principals/${principalId}/suspend`), 200);
    const { detail } = await refused(() => promote(world, did), 409, "invalid_status");
    expect(detail).toEqual({ status: "SUSPENDED", principal_status: "SUSPENDED" });
  });

  it("while an intent or a task of it is open, on either side", async () => {
    const pair = { consumer: await world.consumer(), provider: await seller(world) };
    expectStatus(await openIntent(world, pair.consumer, pair.provider, "1.00"), 201);
    for (const { did } of [pair.consumer, pair.provider]) {
      const { detail } = await refused(() => promote(world, did), 409, "invalid_status");
      expect(detail).toEqual({ open: { intents: 1, tasks: 0, disputes: 0 } });
    }
    const settled = await facilitated(world, await pairOf(world));
    for (const { did } of [settled.consumer, settled.provider]) {
      const { detail } = await refused(() => promote(world, did), 409, "invalid_status");
      expect(detail).toEqual({ open: { intents: 0, tasks: 1, disputes: 0 } });
    }
  });

  it("while a dispute of it is open", async () => {
    const { did } = await world.consumer();
    await rows("update agents set disputes_open = 2 where did = ?", did);
    const { detail } = await refused(() => promote(world, did), 409, "invalid_status");
    expect(detail).toEqual({ open: { intents: 0, tasks: 0, disputes: 2 } });
  });

  it.each(["disputed", "owed"])("while its vault reserves an amount that is %s (DSP-15)", async (column) => {
    const { did } = await world.provider();
    await rows(`update escrows set ${column} = 1 where did = ?`, did);
    const { detail } = await refused(() => promote(world, did), 409, "invalid_status");
    expect(detail).toEqual({ open: { intents: 0, tasks: 0, disputes: 1 } });
  });

  it("before its delegator's, and under another principal than its delegator's", async () => {
    const head = await world.consumer();
    const delegate = await delegateOf(world, head);
    const { detail } = await refused(() => promote(world, delegate.did), 409, "invalid_status");
    expect(detail).toEqual({ delegator: head.did });
    const principalId = await livePrincipal(world);
    await promoted(world, head.did, { principal_id: principalId });
    const other = await refused(
      () => promote(world, delegate.did, { principal_id: world.tenantPrincipalId }),
      409,
      "invalid_status",
    );
    expect(other.detail).toEqual({ delegator: head.did, principal_id: principalId });
    expect((await promoted(world, delegate.did)).principal_id).toBe(principalId);
  });

  it("under a principal that is not ACTIVE or not in production", async () => {
    const { did, principalId } = await world.consumer();
    const stopped = await livePrincipal(world);
    const suspend = await world.call("POST", `/v1/principals/${stopped}/suspend`, { key: world.liveKey });
    expectStatus(suspend, 200);
    const { detail } = await refused(() => promote(world, did, { principal_id: stopped }), 409, "invalid_status");
    expect(detail).toEqual({ principal_id: stopped, principal_status: "SUSPENDED" });
    const other = await createWorld();
    const foreign = await livePrincipal(other);
    for (const principal_id of [principalId, foreign, other.tenantPrincipalId, "prn_none"]) {
      const { request_id: _, ...body } = await refused(
        () => promote(world, did, { principal_id }),
        422,
        "validation_failed",
      );
      expect(body).toEqual({
        code: "validation_failed",
        error: "validation_failed",
        message: expect.any(String),
        status: 422,
        field_errors: [{ field: "principal_id", code: "not_found", message: expect.any(String) }],
      });
      expect(JSON.stringify(body)).not.toContain(principal_id);
    }
  });

  it("if another agent in production has its external_ref", async () => {
    const [first, second] = [await world.consumer(), await world.consumer()];
    const named = (did: string) => world.call("PATCH", `/v1/agents/${did}`, { body: { external_ref: "agent-7" } });
    expectStatus(await named(first.did), 200);
    await promoted(world, first.did);
    expectStatus(await named(second.did), 200);
    const { detail } = await refused(() => promote(world, second.did), 409, "external_ref_exists");
    expect(detail).toEqual({ did: first.did, matched: "external_ref" });
  });

  it("for a provider without an open market in production", async () => {
    const { did } = await world.provider();
    const { detail } = await refused(() => promote(world, did), 409, "market_not_authorized");
    expect(detail).toEqual({ markets: [] });
    const row = { did, environment: "production", market: "DE-USDC", network: "base" };
    await rows(
      `insert into agent_markets (did, environment, market, network, operational_wallet, status, created_at, updated_at)
       values (?, ?, ?, ?, ?, 'PROVISIONING', ?, ?)`,
      ...Object.values(row),
      market().operational_wallet,
      Date.now(),
      Date.now(),
    );
    const waiting = await refused(() => promote(world, did), 409, "market_not_authorized");
    expect(waiting.detail).toEqual({ markets: [{ market: "DE-USDC", network: "base", status: "PROVISIONING" }] });
  });

  it("in this order: environment, account, status, what is open, delegator, principal, reference, market", async () => {
    const early = await createWorld();
    const [head, provider] = [await early.agent("PROVIDER"), await early.provider()];
    expectStatus(await openIntent(early, await early.consumer(), provider, "1.00"), 201);
    const stopped = await livePrincipal(early);
    const { did } = provider;
    const set = (assignment: string) => rows(`update agents set ${assignment} where did = ?`, did);
    await rows("update principals set status = 'SUSPENDED' where principal_id = ?", stopped);
    await rows("update agents set environment = 'production', external_ref = 'taken' where did = ?", head.did);
    await set(`status = 'SUSPENDED', external_ref = 'taken', delegators = '["${(await early.consumer()).did}"]'`);
    const attempt = (key: string) => promote(early, did, { principal_id: stopped }, { key });
    expect(outcome(await attempt(early.key))).toEqual([409, "environment_mismatch"]);
    const next = async () => (await attempt(early.liveKey)).body;
    expect((await next()).detail).toEqual({ status: "SUSPENDED" });
    await set("status = 'ACTIVE'");
    expect((await next()).detail).toHaveProperty("open");
    await rows("update payment_intents set status = 'ABANDONED' where provider_did = ?", did);
    expect((await next()).detail).toHaveProperty("delegator");
    await set("delegators = '[]'");
    expect((await next()).detail).toEqual({ principal_id: stopped, principal_status: "SUSPENDED" });
    await rows("update principals set status = 'ACTIVE' where principal_id = ?", stopped);
    expect((await next()).code).toBe("external_ref_exists");
    await set("external_ref = 'free'");
    expect((await next()).code).toBe("market_not_authorized");
    await openLive(early, did);
    expect(expectStatus(await attempt(early.liveKey), 200).status).toBe("FUNDING");
  });
});

describe("the principal in production", () => {
  it("is the one with the reference of the agent's principal in the sandbox, else the tenant principal", async () => {
    const external_ref = `crm-${crypto.randomUUID()}`;
    const own = await world.principal({ external_ref });
    const [first, second] = [await world.consumer({ principal_id: own }), await world.consumer({ principal_id: own })];
    expect((await promoted(world, first.did)).principal_id).toBe(world.tenantPrincipalId);
    const same = await livePrincipal(world, { external_ref });
    expect((await promoted(world, second.did)).principal_id).toBe(same);
  });

  it("is the named one, with a warning if its attestation is below the agent's role", async () => {
    const provider = await world.provider();
    await openLive(world, provider.did);
    const low = await livePrincipal(world);
    await rows("update principals set attestation_tier = 'TIER_1' where principal_id = ?", low);
    const answer = await promoted(world, provider.did, { principal_id: low });
    expect([answer.principal_id, answer.warnings.map(({ code }: Json) => code)]).toEqual([
      low,
      ["attestation_tier_below_role"],
    ]);
  });

  it("is the tenant principal for an agent that was its platform's own", async () => {
    const { did } = await world.consumer({ principal_id: world.tenantPrincipalId });
    expect((await promoted(world, did)).principal_id).toBe(world.tenantPrincipalId);
  });
});

describe("a delegation that is promoted from the top", () => {
  it("stops the delegate that stays in the sandbox, until it follows", async () => {
    const head = await world.consumer();
    const delegate = await delegateOf(world, head);
    const shop = await seller(world);
    await promoted(world, head.did);
    const left = await openIntent(world, delegate, shop, "1.00");
    expect([...outcome(left), left.body.detail]).toEqual([
      409,
      "agent_not_active",
      { did: head.did, environment: "production" },
    ]);
    await promoted(world, delegate.did);
    expect(expectStatus(await world.call("GET", marketsPath(shop.did)), 200).data).toHaveLength(1);
  });
});
