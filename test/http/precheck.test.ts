// All faults of one body are reported together, also those that only configuration, the clock or the database knows (HTTP-12). A foreign or unknown
// object of the path, or a stranger to it, comes before them (HTTP-18).
import { beforeAll, describe, expect, it } from "vitest";
import { ROUTES } from "../../src/app.ts";
import { account, payOnChain } from "../support/chain.ts";
import {
  type Agent,
  agentBody,
  createWorld,
  expectStatus,
  principalBody,
  type Reply,
  type World,
} from "../support/world.ts";

let world: World;
let provider: Agent;
let consumer: Agent;
beforeAll(async () => {
  world = await createWorld();
  provider = await world.provider();
  consumer = await world.consumer();
});

const faultsOf = ({ body }: Reply): Record<string, string> =>
  Object.fromEntries(
    (body.field_errors ?? []).map((fault: { field: string; code: string }) => [fault.field, fault.code]),
  );

describe("the faults of a body that the schema finds faulty", () => {
  it("include, for a principal, where the service operates, whose customer it is, and when it was attested", async () => {
    const reply = await world.call("POST", "/v1/principals", {
      body: principalBody({
        legal_name: 7,
        country: "KP",
        customer_id: "cus_nobody",
        verification_attestation: {
          attestation_id: "att_1",
          verifier_id: "ver_1",
          model: "rumour",
          issued_at: "2020-01-01T00:00:00Z",
          expires_at: "2019-01-01T00:00:00Z",
        },
      }),
    });
    expect([reply.status, reply.body.code]).toEqual([422, "validation_failed"]);
    expect(faultsOf(reply)).toEqual({
      legal_name: "invalid_type",
      country: "invalid_value",
      customer_id: "not_found",
      "verification_attestation.model": "invalid_value",
      "verification_attestation.issued_at": "invalid_value",
      "verification_attestation.expires_at": "invalid_value",
    });
  });

  it("include, for a principal in production, the Verifier and the placeholder", async () => {
    const attestation = {
      attestation_id: "att_1",
      verifier_id: "ver_1",
      model: "kyb",
      issued_at: "now",
      expires_at: 5,
    };
    const ask = (verification_attestation: unknown) =>
      world.call("POST", "/v1/principals", {
        key: world.liveKey,
        body: principalBody({ entity_type: "ghost", verification_attestation }),
      });
    expect(faultsOf(await ask(attestation))).toMatchObject({
      entity_type: "invalid_value",
      "verification_attestation.verifier_id": "not_found",
      "verification_attestation.issued_at": "invalid_format",
      "verification_attestation.expires_at": "invalid_type",
    });
    expect(faultsOf(await ask({ placeholder: true }))).toEqual({
      entity_type: "invalid_value",
      "verification_attestation.placeholder": "invalid_value",
    });
  });

  it("include, for an agent, its principal, its delegator, and a scope wider than the delegator's", async () => {
    const body = { ...agentBody("CONSUMER"), endpoint_url: "ftp://nowhere" };
    const unknown = await world.call("POST", "/v1/agents", {
      body: { ...body, principal_id: "prn_nobody", delegated_by: "did:aeap:nobody" },
    });
    expect(faultsOf(unknown)).toEqual({
      endpoint_url: "invalid_format",
      principal_id: "not_found",
      delegated_by: "not_found",
    });
    const scope = { authorized_actions: ["purchase"], capabilities: ["translation", "espionage"] };
    const wider = await world.call("POST", "/v1/agents", {
      body: { ...body, principal_id: consumer.principalId, delegated_by: consumer.did, scope },
    });
    expect(faultsOf(wider)).toEqual({
      endpoint_url: "invalid_format",
      "scope.capabilities": "scope_exceeds_delegator",
    });
  });

  it("include, for a scope, the fields that the role or the delegator does not have", async () => {
    const ofRole = await world.call("PATCH", `/v1/agents/${provider.did}/scope`, {
      body: { dispute_window_days: -1, max_transaction_value: "5" },
    });
    expect(faultsOf(ofRole)).toEqual({
      dispute_window_days: "too_small",
      max_transaction_value: "field_not_allowed_for_role",
    });
    const delegate = await world.consumer({ principal_id: consumer.principalId, delegated_by: consumer.did });
    const patch = (body: unknown) => world.call("PATCH", `/v1/agents/${delegate.did}/scope`, { body });
    const wider = await patch({ dispute_window_days: -1, capabilities: ["translation", "espionage"] });
    expect(faultsOf(wider)).toEqual({ dispute_window_days: "too_small", capabilities: "scope_exceeds_delegator" });
    // The schema finds no fault here: the faults of the role and of the delegator are still reported together.
    const both = await patch({ authorized_actions: ["sell"], capabilities: ["translation", "espionage"] });
    expect(both.status).toBe(422);
    expect(faultsOf(both)).toEqual({
      authorized_actions: "authorized_action_role_mismatch",
      capabilities: "scope_exceeds_delegator",
    });
  });

  it("include, for markets, jurisdiction, currency, network and wallet, each at its entry", async () => {
    const path = `/v1/agents/${provider.did}/scope/authorized_markets`;
    const wallet = account(8);
    const reply = await world.call("POST", path, {
      body: {
        markets: [
          { market: "de-usdc", network: "ropsten", operational_wallet: wallet },
          {
            market: "KP-USDC",
            network: "base-sepolia",
            operational_wallet: "0x70997970C51812dc3A010C7d01b50e0d17dc79c8",
          },
          { market: "DE-EURC", network: "base-sepolia", operational_wallet: 7 },
          "none",
        ],
      },
    });
    expect([reply.status, reply.body.code]).toEqual([422, "validation_failed"]);
    expect(faultsOf(reply)).toEqual({
      "markets.0.market": "invalid_market_format",
      "markets.0.network": "invalid_value",
      "markets.1.market": "invalid_value",
      "markets.1.operational_wallet": "invalid_format",
      "markets.2.market": "invalid_value",
      "markets.2.operational_wallet": "invalid_type",
      "markets.3": "invalid_type",
    });
  });

  it("include, for an intent, the network, the token's decimals, and the parties", async () => {
    const reply = await world.as(consumer, "POST", "/v1/payment-intents", {
      consumer_did: consumer.did,
      provider_did: "did:aeap:nobody",
      amount: "1.0000001",
      currency: "usdc",
      network: "ropsten",
    });
    expect(faultsOf(reply)).toMatchObject({
      currency: "invalid_format",
      network: "invalid_value",
      provider_did: "not_found",
    });
    const finer = await world.as(consumer, "POST", "/v1/payment-intents", {
      consumer_did: consumer.did,
      provider_did: provider.did,
      amount: "1.0000001",
      currency: "USDC",
      network: 7,
    });
    expect(faultsOf(finer)).toEqual({ network: "invalid_type", amount: "invalid_format" });
  });

  it("are found in one trip, and write nothing", async () => {
    world.meter.reset();
    const body = { ...agentBody("CONSUMER"), endpoint_url: 1, principal_id: "prn_nobody", delegated_by: consumer.did };
    await world.call("POST", "/v1/agents", { body });
    expect([world.meter.reading.trips, world.meter.reading.rowsWritten]).toEqual([1, 0]);
  });
});

describe("before any fault of a body, the answer is", () => {
  it("403 for markets of a consumer", async () => {
    const reply = await world.call("POST", `/v1/agents/${consumer.did}/scope/authorized_markets`, { body: {} });
    expect([reply.status, reply.body.code]).toEqual([403, "role_not_permitted"]);
  });

  it("403 for an agent that is no party to an intent", async () => {
    const stranger = await world.consumer();
    const reply = await world.as(stranger, "POST", "/v1/payment-intents", {
      consumer_did: consumer.did,
      provider_did: provider.did,
      amount: true,
    });
    expect([reply.status, reply.body.code]).toEqual([403, "forbidden"]);
  });

  it("403 for the provider that confirms its own task, and 404 for an unknown task", async () => {
    const intent = await world.intent(consumer, provider, "3.00");
    const tx_hash = await payOnChain(consumer.did, provider.did, 3_000_000, { intentId: intent.intent_id });
    const body = { provider_did: provider.did, consumer_did: consumer.did, tx_hash, network: "base-sepolia" };
    const { task_id } = expectStatus(await world.as(provider, "POST", "/v1/facilitate", body), 200);
    const confirm = (agent: Agent, id: string) =>
      world.as(agent, "POST", `/v1/tasks/${id}/confirm`, { outcome: "splendid" });
    expect((await confirm(provider, task_id)).body.code).toBe("forbidden");
    expect((await confirm(consumer, "tsk_nobody")).body.code).toBe("not_found");
    expect((await confirm(consumer, task_id)).body.code).toBe("validation_failed");
  });
});

describe("a refusal together with faults", () => {
  it("is not stored for its Idempotency-Key, so that the corrected request may use it", async () => {
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    const order = (consumer_did: string, amount: string) =>
      world.as(
        consumer,
        "POST",
        "/v1/payment-intents",
        { consumer_did, provider_did: provider.did, amount, currency: "USDC" },
        headers,
      );
    const stranger = await world.consumer();
    expect((await order(stranger.did, "abc")).body.code).toBe("forbidden");
    expect((await order(consumer.did, "1.00")).status).toBe(201);
  });
});

describe("a body that cannot be read", () => {
  it.each(["", "{", '{"a": 1, "a": 2}'])("(%s) is 404 and 403 before it is 400", async (rawBody) => {
    const other = await createWorld();
    const path = `/v1/agents/${provider.did}/status`;
    const patch = (from: World) => from.call("PATCH", path, rawBody === "" ? {} : { rawBody });
    expect((await patch(other)).body.code).toBe("not_found");
    expect((await patch(world)).body.code).toBe("invalid_request");
    const markets = `/v1/agents/${consumer.did}/scope/authorized_markets`;
    const reply = await world.call("POST", markets, rawBody === "" ? {} : { rawBody });
    expect([reply.status, reply.body.code]).toEqual([403, "role_not_permitted"]);
  });

  it("does not use up its Idempotency-Key", async () => {
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    const post = (options: object) => world.call("POST", "/v1/principals", { headers, ...options });
    expect((await post({ rawBody: "{" })).status).toBe(400);
    expect((await post({ body: principalBody() })).status).toBe(201);
    expect((await post({ rawBody: "{" })).status).toBe(400);
  });
});

describe("an order in the client form that the schema finds faulty", () => {
  const ask = (query: string) => world.as(provider, "GET", `/v1/payment-address?${query}`);
  const parties = () => `consumer_did=${consumer.did}&provider_did=${provider.did}`;

  it("is the 403 at which those clients stop, and names the faults", async () => {
    for (const [query, field] of [
      [`market=DE-USDC&network=base-sepolia&${parties()}&amount=${"9".repeat(300)}`, "amount"],
      [`network=base-sepolia&${parties()}&amount=1.0`, "market"],
      [`market=DE-USDC&${parties()}&amount=1.0`, "network"],
      [`market=DE-USDC&network=base-sepolia&${parties()}&amount=1.0&tip=1`, "tip"],
      [`market=DE-USDC&network=base-sepolia&${parties()}&amount=1.0&amount=2.0`, "amount"],
    ] as const) {
      const { status, body } = await ask(query);
      expect([status, body.code, body.detail?.failed_check]).toEqual([
        403,
        "spend_policy_violation",
        "validation_failed",
      ]);
      expect(body.detail.field_errors.map((fault: { field: string }) => fault.field)).toEqual([field]);
    }
  });

  it("of a caller that is SUSPENDED is the same 403", async () => {
    const paused = await world.consumer();
    await world.call("PATCH", `/v1/agents/${paused.did}/status`, { body: { status: "SUSPENDED" } });
    const query = `market=DE-USDC&network=base-sepolia&consumer_did=${paused.did}&provider_did=${provider.did}&amount=1.0`;
    for (const asked of [query, `${query}&tip=1`]) {
      const { status, body } = await world.as(paused, "GET", `/v1/payment-address?${asked}`);
      expect([status, body.code, body.detail?.failed_check]).toEqual([
        403,
        "spend_policy_violation",
        "agent_not_active",
      ]);
    }
  });

  it("is a plain 422 if no intent is requested", async () => {
    const { status, body } = await ask("network=base-sepolia");
    expect([status, body.code]).toEqual([422, "validation_failed"]);
  });
});

describe("the object that a path names", () => {
  const NAMED = ROUTES.filter(({ object, surfaces }) => object !== undefined && surfaces.includes("management"));

  it("is not found before the query is judged, on every route that declares it", async () => {
    const other = await createWorld();
    const { did } = await other.provider();
    expect(NAMED.length).toBeGreaterThan(30);
    for (const { method, path, operationId } of NAMED) {
      const unknown = path.replace("{did}", did).replaceAll(/\{\w+\}/g, "unknown");
      const { status, body } = await world.call(method.toUpperCase(), `${unknown}?tip=1`);
      expect([operationId, status, body.code]).toEqual([operationId, 404, "not_found"]);
    }
  });
});
