// The form of AEA/P clients: where to pay, and an intent with it (PAY-18, PAY-19).
import { describe, expect, it } from "vitest";
import { signToText } from "../../src/protocol/ecdsa.ts";
import type { Agent, World } from "../support/world.ts";
import { buyer, dailyLimit, orderOf, seller, setAgent, spendState, useSeller } from "./support.ts";

let world: World;
let provider: Agent;
useSeller((made, seller) => {
  world = made;
  provider = seller;
});

const PLACE = "market=DE-USDC&network=base-sepolia";
const ask = (agent: Agent, query: string) => world.as(agent, "GET", `/v1/payment-address?${query}`);
const orderQuery = (consumer: { did: string }, amount = "1.0", extra: Record<string, string> = {}) =>
  new URLSearchParams({
    market: "DE-USDC",
    network: "base-sepolia",
    consumer_did: consumer.did,
    provider_did: provider.did,
    amount,
    ...extra,
  }).toString();

describe("market and network alone", () => {
  it("answer where to pay, in one trip, and open nothing", async () => {
    world.meter.reset();
    const reply = await ask(provider, PLACE);
    const [chain] = world.deps.config.networks;
    expect(reply.status).toBe(200);
    expect(reply.body).toEqual({
      contract: chain?.settlement_contract,
      token: chain?.token,
      chain_id: 84532,
      currency: "USDC",
      decimals: 6,
      network: "base-sepolia",
      caip2: "eip155:84532",
    });
    expect([world.meter.reading.trips, world.meter.reading.rowsWritten]).toEqual([1, 0]);
  });

  it("with an unknown network are 422 validation_failed", async () => {
    const reply = await ask(provider, "market=DE-USDC&network=ropsten");
    expect([reply.status, reply.body.code]).toEqual([422, "validation_failed"]);
  });
});

describe("with the parties and the amount", () => {
  it.each([
    ["nan", "Must be a decimal number of whole units, such as 10.50."],
    ["0.0000001", "Must have at most 6 decimals, as the token has."],
  ])("says what is wrong with the amount %s", async (amount, message) => {
    const { body } = await ask(provider, orderQuery(await buyer(world, dailyLimit("10.00")), amount));
    expect(body.detail.field_errors).toEqual([expect.objectContaining({ field: "amount", message })]);
  });

  it("answers the place to pay and an intent, which reads like one that POST opens", async () => {
    const consumer = await buyer(world);
    const reply = await ask(provider, orderQuery(consumer));
    expect(reply.status).toBe(200);
    const plain = await ask(provider, PLACE);
    expect(reply.body).toEqual({
      ...plain.body,
      intent_id: expect.stringMatching(/^pin_/),
      expires_at: expect.any(String),
    });
    const intent = await world.as(consumer, "GET", `/v1/payment-intents/${reply.body.intent_id}`);
    expect(intent.body).toMatchObject({ amount: "1.00", status: "OPEN", expires_at: reply.body.expires_at });
    expect((await spendState(world, consumer.did))[0]?.open).toBe(1_000_000);
  });

  for (const [printed, units] of [
    ["1.0", "1000000"],
    ["0.0001", "100"],
    ["1e-06", "1"],
    ["12.345678", "12345678"],
    ["1e+16", null],
  ] as const) {
    it(`reads the amount ${printed} as a Python float prints it`, async () => {
      const consumer = await buyer(world);
      const { status, body } = await ask(provider, orderQuery(consumer, printed));
      if (units === null) return expect([status, body.detail?.failed_check]).toEqual([403, "validation_failed"]);
      const intent = await world.as(provider, "GET", `/v1/payment-intents/${body.intent_id}`);
      expect(intent.body.amount_base_units).toBe(units);
    });
  }

  it("verifies the proof over the decoded pairs sorted by key, however the wire orders and encodes them", async () => {
    const consumer = await buyer(world);
    const pairs = {
      network: "base-sepolia",
      market: "DE-USDC",
      provider_did: provider.did,
      consumer_did: consumer.did,
      amount: "1.0",
    };
    // As urllib.parse.urlencode writes it: the DID's colons encoded; signed as the clients do it, by hand.
    const query = Object.entries(pairs)
      .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
      .join("&");
    const canonical = Object.entries(pairs)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, value]) => `${name}=${value}`)
      .join("&");
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(canonical));
    const hex = Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
    const timestamp = `${new Date().toISOString().slice(0, 19)}Z`;
    const text = `aeap-req:v1|${timestamp}|${provider.did}|GET|/v1/payment-address|${hex}`;
    const headers = {
      "AEAP-Certificate": provider.certificate,
      "AEAP-Timestamp": timestamp,
      "AEAP-Proof": await signToText(provider.privateKey, text, "der-base64"),
    };
    const reply = await world.call("GET", `/v1/payment-address?${query}`, { key: null, headers });
    expect([reply.status, typeof reply.body.intent_id]).toEqual([200, "string"]);
    const altered = await world.call("GET", `/v1/payment-address?${query.replace("1.0", "2.0")}`, {
      key: null,
      headers,
    });
    expect([altered.status, altered.body.code]).toEqual([401, "aeap_verification_failed"]);
  });
});

describe("every refusal of an intent is a 403 spend_policy_violation that names the POST's code", () => {
  const CASES: [string, string, (consumer: Agent) => Promise<string>, number][] = [
    [
      "a suspended consumer",
      "agent_not_active",
      async (consumer) => {
        await setAgent(world, consumer.did, { status: "SUSPENDED" });
        return orderQuery(consumer);
      },
      409,
    ],
    [
      "a market that the provider does not have",
      "market_not_authorized",
      async (consumer) => orderQuery(consumer, "1.0", { network: "base" }),
      409,
    ],
    [
      "an unknown consumer",
      "validation_failed",
      async () => orderQuery({ did: "did:aeap:00000000-0000-4000-8000-000000000000" }),
      422,
    ],
    ["an amount that is none", "validation_failed", async (consumer) => orderQuery(consumer, "nan"), 422],
    ["an amount of nothing", "validation_failed", async (consumer) => orderQuery(consumer, "0.0"), 422],
    [
      "an unknown network",
      "validation_failed",
      async (consumer) => orderQuery(consumer, "1.0", { network: "ropsten" }),
      422,
    ],
  ];
  for (const [name, code, spoil, posted] of CASES) {
    it(`${name}: ${code}`, async () => {
      const consumer = await buyer(world);
      const query = await spoil(consumer);
      const before = await spendState(world, consumer.did);
      const reply = await ask(provider, query);
      expect([reply.status, reply.body.code, reply.body.detail.failed_check]).toEqual([
        403,
        "spend_policy_violation",
        code,
      ]);
      const { consumer_did, provider_did, amount, network } = Object.fromEntries(new URLSearchParams(query));
      const order = { consumer_did, provider_did, amount, network, currency: "USDC" };
      const post = await world.as(provider, "POST", "/v1/payment-intents", order);
      expect([post.status, post.body.code]).toEqual([posted, code]);
      expect(await spendState(world, consumer.did)).toEqual(before);
    });
  }

  it("a provider that is not ACTIVE itself: agent_not_active", async () => {
    const consumer = await buyer(world);
    const idle = await seller(world);
    await setAgent(world, idle.did, { status: "SUSPENDED" });
    const reply = await ask(idle, orderQuery(consumer, "1.0", { provider_did: idle.did }));
    expect([reply.status, reply.body.code, reply.body.detail.failed_check]).toEqual([
      403,
      "spend_policy_violation",
      "agent_not_active",
    ]);
  });

  it("an agent that is no party: forbidden", async () => {
    const [consumer, other] = [await buyer(world), await buyer(world)];
    const reply = await ask(other, orderQuery(consumer));
    expect([reply.status, reply.body.detail.failed_check]).toEqual([403, "forbidden"]);
  });

  it("an order that lacks a part: validation_failed, naming what is required", async () => {
    const reply = await ask(provider, `${PLACE}&amount=1.0`);
    expect([reply.status, reply.body.detail.failed_check]).toEqual([403, "validation_failed"]);
    expect(reply.body.detail.field_errors.map((fault: { field: string }) => fault.field)).toEqual([
      "consumer_did",
      "provider_did",
    ]);
  });

  it("a violation of the policy keeps its own check and numbers", async () => {
    const consumer = await buyer(world, dailyLimit("0.50"));
    const reply = await ask(provider, orderQuery(consumer));
    const post = await world.as(
      provider,
      "POST",
      "/v1/payment-intents",
      orderOf(consumer, provider, { amount: "1.0" }),
    );
    expect(reply.body.detail).toEqual({
      failed_check: "spending_limit",
      limit: "0.50",
      attempted: "1.00",
      remaining: "0.50",
    });
    expect([post.status, post.body.detail]).toEqual([403, reply.body.detail]);
  });

  it("but a proof that does not verify stays 401", async () => {
    const consumer = await buyer(world);
    const headers = await world.prove(provider, "GET", `/v1/payment-address?${PLACE}`);
    const reply = await world.call("GET", `/v1/payment-address?${orderQuery(consumer)}`, { key: null, headers });
    expect([reply.status, reply.body.code]).toEqual([401, "aeap_verification_failed"]);
  });
});
