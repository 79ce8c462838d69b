// A purchase over HTTP: the fields of each answer (PAY-1, PAY-2, PAY-7, FAC-11 to FAC-15, TSK-2, TSK-3). Every test names its rule.
import { createLocalJWKSet, jwtVerify } from "jose";
import { beforeAll, describe, expect, it } from "vitest";
import { hashDid, hashIntent } from "../../src/chain/hashes.ts";
import { account, chainOf, payOnChain } from "../support/chain.ts";
import { type Agent, createWorld, expectStatus, type Json, type World } from "../support/world.ts";

let world: World;
let provider: Agent;
let consumer: Agent;
let intent: Json;
/** The intent was opened between these instants. */
let opened: readonly [from: number, to: number];
let paymentTx: string;
let settled: Json;
beforeAll(async () => {
  world = await createWorld();
  provider = await world.provider();
  consumer = await world.consumer();
  const from = Date.now();
  intent = await world.intent(consumer, provider, "10.50");
  opened = [from, Date.now()];
  paymentTx = await payOnChain(consumer.did, provider.did, 10_500_000, { intentId: intent.intent_id });
  const claim = { intent_id: intent.intent_id, payment_tx: paymentTx };
  settled = expectStatus(await world.as(provider, "POST", "/v1/facilitate", claim), 200);
});

describe("the payment intent", () => {
  it("PAY-2, HTTP-7: has everything that is needed to pay, in whole units and base units, and both names of the network", () => {
    const { settlement_contract: contract, token } = chainOf();
    expect(intent).toEqual({
      intent_id: expect.stringMatching(/^pin_[0-7][0-9A-HJKMNP-TV-Z]{25}$/),
      status: "OPEN",
      amount: "10.50",
      amount_base_units: "10500000",
      currency: "USDC",
      decimals: 6,
      network: "base-sepolia",
      caip2: "eip155:84532",
      chain_id: 84532,
      contract,
      token,
      provider_did: provider.did,
      consumer_did: consumer.did,
      provider_did_hash: hashDid(provider.did),
      consumer_did_hash: hashDid(consumer.did),
      intent_hash: hashIntent(intent.intent_id),
      operational_wallet: account(8).toLowerCase(),
      settlement_key: JSON.parse(Buffer.from(settled.receipt.split(".")[1], "base64url").toString()).settlement_key,
      payment: null,
      hold_released: false,
      cancelled_at: null,
      payer: null,
      call: null,
      task_id: null,
      confirm_by: null,
      expires_at: expect.any(String),
    });
  });

  it("PAY-7: lives five minutes", () => {
    const from = Date.parse(intent.expires_at) - 300_000;
    expect(from).toBeGreaterThanOrEqual(opened[0]);
    expect(from).toBeLessThanOrEqual(opened[1]);
  });

  it("PAY-17: is readable for its parties; a third agent gets 403 forbidden, and an unknown intent is 404", async () => {
    const path = `/v1/payment-intents/${intent.intent_id}`;
    for (const party of [consumer, provider]) {
      expect(expectStatus(await world.as(party, "GET", path), 200)).toEqual({
        ...intent,
        status: "SETTLED",
        task_id: settled.task_id,
        confirm_by: settled.confirm_by,
      });
    }
    const third = await world.as(await world.consumer(), "GET", path);
    expect([third.status, third.body.code]).toEqual([403, "forbidden"]);
    const unknown = await world.as(consumer, "GET", "/v1/payment-intents/pin_nothing");
    expect([unknown.status, unknown.body.code]).toEqual([404, "not_found"]);
  });

  it("HTTP-4, HTTP-7: accepts a CAIP-2 name and a JSON number, which is never read as a binary float", async () => {
    const opened = await world.intent(consumer, provider, 1e-6 as never, { network: "eip155:84532" });
    expect([opened.amount, opened.amount_base_units, opened.network]).toEqual(["0.000001", "1", "base-sepolia"]);
  });

  it.each([
    ["more decimals than the token has", "0.0000001", "invalid_format"],
    ["nothing", "0", "too_small"],
    ["more than 2^53-1 base units", "9007199254.740992", "too_big"],
    ["less than nothing", "-1", "invalid_format"],
  ])("an amount of %s is 422", async (_name, amount, code) => {
    const order = { consumer_did: consumer.did, provider_did: provider.did, amount, currency: "USDC" };
    const refused = await world.as(consumer, "POST", "/v1/payment-intents", order);
    expect([refused.status, refused.body.code]).toEqual([422, "validation_failed"]);
    expect(refused.body.field_errors).toEqual([expect.objectContaining({ field: "amount", code })]);
  });
});

describe("facilitation", () => {
  it("FAC-11, CHN-1: answers its fields and no others, with a fee of 5 bps and 10 % of the net in escrow, rounded down", () => {
    expect(settled).toMatchObject({
      facilitation_id: expect.stringMatching(/^fac_/),
      intent_id: intent.intent_id,
      task_id: expect.stringMatching(/^tsk_/),
      status: "settled",
      gross_amt: "10.50",
      fee_amt: "0.00525",
      escrow_credited: "1.049475",
      operational_amt: "9.445275",
      currency: "USDC",
      escrow_state: "FUNDING",
      escrow_balance: "1.049475",
      dispute_window_days: 14,
      provider_aid_version: 3,
      tx_hash: paymentTx,
      network: "base-sepolia",
    });
    expect(settled.transaction_id).toBeDefined();
    const window = Date.parse(settled.dispute_window_closes_at) - Date.parse(settled.confirm_by);
    expect(window).toBe((14 - 3) * 86_400_000);
  });

  it("FAC-15: the receipt is a compact JWS by the CA key over the settlement's facts (typ: aeap-receipt+jwt)", async () => {
    const { keys } = expectStatus(await world.call("GET", "/.well-known/aeap-ca-jwks", { key: null }), 200);
    const { payload, protectedHeader } = await jwtVerify<Json>(settled.receipt, createLocalJWKSet({ keys }));
    expect(protectedHeader.typ).toBe("aeap-receipt+jwt");
    expect(payload).toMatchObject({
      intent_id: intent.intent_id,
      provider_did: provider.did,
      consumer_did: consumer.did,
      tx_hash: paymentTx,
      gross_amt: "10.50",
      provider_aid_version: 3,
    });
  });

  it("FAC-12: a later change of the provider's dispute window does not affect settled transactions", async () => {
    const path = `/v1/agents/${provider.did}/scope`;
    expectStatus(await world.call("PATCH", path, { body: { dispute_window_days: 0 } }), 200);
    const claim = { intent_id: intent.intent_id, payment_tx: paymentTx };
    expect(expectStatus(await world.as(provider, "POST", "/v1/facilitate", claim), 200)).toEqual(settled);
    expectStatus(await world.call("PATCH", path, { body: { dispute_window_days: 14 } }), 200);
  });
});

describe("the task", () => {
  it("TSK-2, TSK-3: is open for 72 hours, and confirm → {task_id, status, outcome, score, …_r_i, …_ar, closed_at}", async () => {
    const path = `/v1/tasks/${settled.task_id}`;
    const task = expectStatus(await world.as(provider, "GET", path), 200);
    expect(task).toMatchObject({ status: "open", outcome: null, score: null, closed_at: null });
    expect(Date.parse(task.confirm_by) - Date.parse(task.opened_at)).toBe(72 * 3_600_000);
    const closed = expectStatus(
      await world.as(consumer, "POST", `${path}/confirm`, { outcome: "partial", score: 0.5, note: "half" }),
      200,
    );
    expect(closed).toEqual({
      task_id: settled.task_id,
      status: "confirmed",
      outcome: "partial",
      score: 0.5,
      provider_r_i: 0.5,
      consumer_r_i: 1,
      provider_ar: 0.5,
      consumer_ar: expect.any(Number),
      closed_at: expect.any(String),
    });
    // w = log10(11.5); (w·1 + 2·0.5) / (w + 2), two decimals.
    const weight = Math.log10(11.5);
    expect(closed.consumer_ar).toBeCloseTo((weight + 1) / (weight + 2), 2);
    for (const [agent, rating] of [
      [provider, closed.provider_ar],
      [consumer, closed.consumer_ar],
    ] as const) {
      const shown = expectStatus(await world.call("GET", `/v1/agents/${agent.did}/rating`, { key: null }), 200);
      expect(shown).toMatchObject({ did: agent.did, agent_rating: rating, interactions: 1 });
    }
  });
});
