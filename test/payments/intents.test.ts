// Opening a payment intent, its market, and reading it (PAY-1, PAY-2, PAY-17, MKT-3, MKT-4).
import { eq } from "drizzle-orm";
import { beforeAll, describe, expect, it } from "vitest";
import { hashDid, hashIntent } from "../../src/chain/hashes.ts";
import { paymentIntents } from "../../src/db/tables/money.ts";
import { type Agent, createWorld, type World } from "../support/world.ts";
import { buyer, dailyLimit, grantMarket, orderOf, seller, spendState, WALLET } from "./support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const open = (caller: Agent, order: Record<string, unknown>, headers?: Record<string, string>) =>
  world.as(caller, "POST", "/v1/payment-intents", order, headers);

describe("opening an intent", () => {
  it("answers everything that is needed to pay, and no other fields (PAY-2)", async () => {
    const [consumer, provider] = [await buyer(world), await seller(world)];
    const begun = world.now();
    const reply = await open(consumer, orderOf(consumer, provider));
    const [chain] = world.deps.config.networks;
    expect(reply.status).toBe(201);
    expect(reply.body).toEqual({
      intent_id: expect.stringMatching(/^pin_[0-9A-HJKMNP-TV-Z]{26}$/),
      status: "OPEN",
      amount: "10.00",
      amount_base_units: "10000000",
      contract: chain?.settlement_contract,
      token: chain?.token,
      chain_id: 84532,
      currency: "USDC",
      decimals: 6,
      network: "base-sepolia",
      caip2: "eip155:84532",
      provider_did: provider.did,
      consumer_did: consumer.did,
      operational_wallet: WALLET,
      provider_did_hash: hashDid(provider.did),
      consumer_did_hash: hashDid(consumer.did),
      intent_hash: hashIntent(reply.body.intent_id),
      settlement_key: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      expires_at: expect.any(String),
      payment: null,
      hold_released: false,
      cancelled_at: null,
      payer: null,
      call: null,
      task_id: null,
      confirm_by: null,
    });
    const expiresAt = Date.parse(reply.body.expires_at);
    expect(expiresAt).toBeGreaterThanOrEqual(begun + 300_000);
    expect(expiresAt).toBeLessThanOrEqual(world.now() + 300_000);
  });

  it("is allowed to either party: the provider may open it", async () => {
    const [consumer, provider] = [await buyer(world), await seller(world)];
    expect((await open(provider, orderOf(consumer, provider))).status).toBe(201);
  });

  it("is refused to a third agent: 403 forbidden, and nothing changes", async () => {
    const [consumer, provider, other] = [await buyer(world), await seller(world), await buyer(world)];
    const reply = await open(other, orderOf(consumer, provider));
    expect([reply.status, reply.body.code]).toEqual([403, "forbidden"]);
    expect((await spendState(world, consumer.did))[0]?.intents).toEqual([]);
  });

  it("accepts an amount as a number or in exponent form, read as decimal text", async () => {
    const [consumer, provider] = [await buyer(world), await seller(world)];
    const rawBody = JSON.stringify(orderOf(consumer, provider)).replace('"10.00"', "0.1");
    const proof = await world.prove(consumer, "POST", "/v1/payment-intents", rawBody);
    const asNumber = await world.call("POST", "/v1/payment-intents", { key: null, headers: proof, rawBody });
    expect(asNumber.body.amount_base_units).toBe("100000");
    expect((await open(consumer, orderOf(consumer, provider, { amount: "1e-06" }))).body.amount_base_units).toBe("1");
  });

  it("makes two trips to the database and writes only the intent and its hold", async () => {
    const [consumer, provider] = [await buyer(world, dailyLimit("100.00")), await seller(world)];
    world.meter.reset();
    expect((await open(consumer, orderOf(consumer, provider))).status).toBe(201);
    const { trips, rowsRead, rowsWritten } = world.meter.reading;
    expect(trips).toBe(2);
    expect(rowsRead).toBeLessThanOrEqual(30);
    // The intent with its six indexes, the sum, and the hold.
    expect(rowsWritten).toBeLessThanOrEqual(9);
  });

  it("answers a retry under its Idempotency-Key with the first intent, and holds the amount once", async () => {
    const [consumer, provider] = [await buyer(world), await seller(world)];
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    const first = await open(consumer, orderOf(consumer, provider), headers);
    const again = await open(consumer, orderOf(consumer, provider), headers);
    expect(again.status).toBe(201);
    expect(again.body).toEqual(first.body);
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    const other = await open(consumer, orderOf(consumer, provider, { amount: "11.00" }), headers);
    expect([other.status, other.body.code]).toEqual([422, "idempotency_key_reused"]);
    const [state] = await spendState(world, consumer.did);
    expect([state?.intents.length, state?.open]).toEqual([1, 10_000_000]);
  });
});

describe("the credential", () => {
  it("must be an agent's: a management key gives 401 certificate_required on each of the three routes", async () => {
    const body = { consumer_did: "a", provider_did: "b", amount: "1", currency: "USDC" };
    const replies = [
      await world.call("POST", "/v1/payment-intents", { body }),
      await world.call("GET", "/v1/payment-intents/pin_x"),
      await world.call("GET", "/v1/payment-address?market=DE-USDC&network=base-sepolia"),
    ];
    for (const { status, body: refusal } of replies)
      expect([status, refusal.code]).toEqual([401, "certificate_required"]);
  });

  it("counts once: the same proof again gives 401 aeap_verification_failed, type replay", async () => {
    const [consumer, provider] = [await buyer(world), await seller(world)];
    const rawBody = JSON.stringify(orderOf(consumer, provider));
    const headers = await world.prove(consumer, "POST", "/v1/payment-intents", rawBody);
    expect((await world.call("POST", "/v1/payment-intents", { key: null, headers, rawBody })).status).toBe(201);
    const again = await world.call("POST", "/v1/payment-intents", { key: null, headers, rawBody });
    expect([again.status, again.body.code, again.body.type]).toEqual([401, "aeap_verification_failed", "replay"]);
    expect((await spendState(world, consumer.did))[0]?.intents.length).toBe(1);
  });

  it("does not count when it is the consumer's proof bound to the provider", async () => {
    const [consumer, provider] = [await buyer(world), await seller(world)];
    const headers = await world.proveBound(consumer, provider.did);
    const reply = await world.call("POST", "/v1/payment-intents", {
      key: null,
      headers,
      body: orderOf(consumer, provider),
    });
    expect([reply.status, reply.body.code]).toEqual([401, "aeap_verification_failed"]);
  });

  it("signs the body: another amount under the same proof is 401", async () => {
    const [consumer, provider] = [await buyer(world), await seller(world)];
    const signed = JSON.stringify(orderOf(consumer, provider));
    const headers = await world.prove(consumer, "POST", "/v1/payment-intents", signed);
    const rawBody = signed.replace("10.00", "99.00");
    expect((await world.call("POST", "/v1/payment-intents", { key: null, headers, rawBody })).status).toBe(401);
  });
});

describe("faults of the values are answered with 422, all together", () => {
  let consumer: Agent;
  let provider: Agent;
  beforeAll(async () => {
    consumer = await buyer(world);
    provider = await seller(world);
  });

  const STRANGER = "did:aeap:00000000-0000-4000-8000-000000000000";
  const CASES: [string, Record<string, unknown>, string, string][] = [
    ["an unknown provider", { provider_did: STRANGER }, "provider_did", "not_found"],
    ["an agent that pays itself", { provider_did: "self" }, "provider_did", "invalid_value"],
    ["an amount of zero", { amount: "0.000000" }, "amount", "too_small"],
    ["an amount finer than the token", { amount: "0.0000001" }, "amount", "invalid_format"],
    ["an amount above 2^53-1 base units", { amount: "9007199254.740992" }, "amount", "too_big"],
    ["an amount that is no number", { amount: "ten" }, "amount", "invalid_format"],
    ["a negative amount", { amount: "-1" }, "amount", "invalid_format"],
    ["an unknown network", { network: "ropsten" }, "network", "invalid_value"],
    ["an unknown network in CAIP-2", { network: "eip155:1" }, "network", "invalid_value"],
    ["a currency that no network settles", { currency: "EURC" }, "currency", "invalid_value"],
    ["an unknown field", { memo: "thanks" }, "memo", "unknown_field"],
  ];
  for (const [name, broken, field, code] of CASES) {
    it(`${name}: ${field} ${code}`, async () => {
      const order = { ...orderOf(consumer, provider), ...broken };
      const body = order.provider_did === "self" ? { ...order, provider_did: consumer.did } : order;
      const before = await spendState(world, consumer.did);
      const reply = await open(consumer, body);
      expect([reply.status, reply.body.code]).toEqual([422, "validation_failed"]);
      expect(reply.body.field_errors).toContainEqual(expect.objectContaining({ field, code }));
      expect(await spendState(world, consumer.did)).toEqual(before);
    });
  }

  it("an unknown consumer, asked by the provider: consumer_did not_found", async () => {
    const reply = await open(provider, { ...orderOf(consumer, provider), consumer_did: STRANGER });
    expect(reply.body.field_errors).toEqual([expect.objectContaining({ field: "consumer_did", code: "not_found" })]);
  });

  it("several at once are reported together", async () => {
    const reply = await open(
      consumer,
      orderOf(consumer, provider, { provider_did: STRANGER, amount: "0", network: "x" }),
    );
    expect(reply.body.field_errors.map((fault: { field: string }) => fault.field).sort()).toEqual([
      "amount",
      "network",
      "provider_did",
    ]);
  });
});

describe("the market", () => {
  const buyerFrom = async (country: string) => {
    const principal_id = await world.principal({ country });
    return buyer(world, {}, { principal_id });
  };
  const stored = async (intentId: string) =>
    (await world.deps.db.select().from(paymentIntents).where(eq(paymentIntents.intentId, intentId)))[0];

  for (const [country, market, covered] of [
    ["US", "US-USDC", true],
    ["FR", "EU-USDC", true],
    ["FR", "GLOBAL-USDC", true],
    ["US", "EU-USDC", false],
    ["CH", "EU-USDC", false],
    ["US", "DE-USDC", false],
    ["US", "US-EURC", false],
  ] as const) {
    it(`a buyer from ${country} is ${covered ? "" : "not "}covered by ${market}`, async () => {
      const [consumer, provider] = [await buyerFrom(country), await seller(world, { market })];
      const reply = await open(consumer, orderOf(consumer, provider));
      if (covered) return expect((await stored(reply.body.intent_id))?.market).toBe(market);
      expect([reply.status, reply.body.code]).toEqual([409, "market_not_authorized"]);
      expect(reply.body.detail).toEqual({ market: `${country}-USDC` });
    });
  }

  it("is the narrowest of several that cover the buyer", async () => {
    const [consumer, provider] = [await buyerFrom("FR"), await seller(world)];
    await grantMarket(world, provider.did, "FR-USDC");
    await grantMarket(world, provider.did, "EU-USDC");
    expect((await stored((await open(consumer, orderOf(consumer, provider))).body.intent_id))?.market).toBe("FR-USDC");
  });

  it("is on the network where the provider has it, if the order names none", async () => {
    const [consumer, provider] = [await buyer(world), await seller(world, { network: "base" })];
    const { body } = await open(consumer, orderOf(consumer, provider));
    expect([body.network, body.chain_id]).toEqual(["base", 8453]);
  });

  it("is on the testnet in the sandbox, if the provider has several", async () => {
    const [consumer, provider] = [await buyer(world), await seller(world, { network: "base" })];
    await grantMarket(world, provider.did, "GLOBAL-USDC", "base-sepolia");
    expect((await open(consumer, orderOf(consumer, provider))).body.network).toBe("base-sepolia");
  });

  it("counts on the named network, given by name or CAIP-2", async () => {
    const [consumer, provider] = [await buyer(world), await seller(world)];
    await grantMarket(world, provider.did, "DE-USDC", "base");
    for (const network of ["base", "eip155:8453"]) {
      expect((await open(consumer, orderOf(consumer, provider, { network }))).body.network).toBe("base");
    }
  });

  it("does not count on another network than the named one: 409 market_not_authorized names both", async () => {
    const [consumer, provider] = [await buyer(world), await seller(world)];
    const reply = await open(consumer, orderOf(consumer, provider, { network: "base" }));
    expect([reply.status, reply.body.code]).toEqual([409, "market_not_authorized"]);
    expect(reply.body.detail).toEqual({ market: "DE-USDC", network: "base" });
  });
});

describe("reading an intent", () => {
  it("is allowed to its two parties, in one trip", async () => {
    const [consumer, provider] = [await buyer(world), await seller(world)];
    const intent = await world.intent(consumer, provider);
    for (const party of [consumer, provider]) {
      world.meter.reset();
      const reply = await world.as(party, "GET", `/v1/payment-intents/${intent.intent_id}`);
      expect([reply.status, reply.body, world.meter.reading.trips]).toEqual([200, intent, 1]);
    }
  });
});
