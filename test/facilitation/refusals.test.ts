// Refusals of facilitation; each of them changes nothing (FAC-2 to FAC-7, FAC-13).
import { eq } from "drizzle-orm";
import { beforeAll, describe, expect, it } from "vitest";
import { agents } from "../../src/db/tables/agents.ts";
import { payOnChain } from "../support/chain.ts";
import { type Agent, createWorld, expectStatus, type World } from "../support/world.ts";
import { asClient, asProvider, facilitated, PATH, type Pair, paid, pairOf, refused } from "./support.ts";

let world: World;
let provider: Agent;
beforeAll(async () => {
  world = await createWorld();
  provider = await world.provider();
});

describe("refusals, which change nothing", () => {
  let pair: Pair;
  beforeAll(async () => {
    pair = await pairOf(world);
  });
  const no = (act: () => ReturnType<typeof asProvider>, status: number, code: string) =>
    refused(world, [pair.provider.did, pair.consumer.did], act, status, code);

  it("an unknown intent is 404", async () => {
    const purchase = await paid(world, pair);
    await no(
      () => asProvider(world, { ...purchase, intent: { intent_id: "pin_00000000000000000000000000" } }),
      404,
      "not_found",
    );
  });

  it("an unknown transaction, or one on another network, is payment_not_found with its detail", async () => {
    const purchase = await paid(world, pair);
    const unknown = await no(
      () => asProvider(world, { ...purchase, tx: `0x${"ab".repeat(32)}` }),
      409,
      "payment_not_found",
    );
    expect(unknown.detail).toEqual({ state: "unknown", confirmations: 0, required: 1, retry_after: 2 });
    const elsewhere = await no(
      () => asClient(world, { ...purchase, tx: `0x${"ab".repeat(32)}` }),
      409,
      "payment_not_found",
    );
    expect(elsewhere.detail.state).toBe("unknown");
    expectStatus(await asProvider(world, purchase), 200);
  });

  it("another amount is amount_mismatch for a named intent, and finds no intent in the client form", async () => {
    const intent = await world.intent(pair.consumer, pair.provider, "7.77");
    const tx = await payOnChain(pair.consumer.did, pair.provider.did, 7_770_001);
    const mismatch = await no(() => asProvider(world, { ...pair, intent, tx }), 409, "amount_mismatch");
    expect(mismatch.detail).toEqual({ expected: "7.77", settled: "7.770001" });
    await no(() => asClient(world, { ...pair, intent, tx }), 409, "settlement_verification_failed");
    const named = await payOnChain(pair.consumer.did, pair.provider.did, 7_770_002, { intentId: intent.intent_id });
    const less = await no(() => asClient(world, { ...pair, intent, tx: named }), 409, "amount_mismatch");
    expect(less.detail).toEqual({ expected: "7.77", settled: "7.770002" });
  });

  it("a payment of another pair, or one that names another intent, does not settle this intent", async () => {
    const intent = await world.intent(pair.consumer, pair.provider, "3.00");
    const other = await world.consumer();
    const stray = await payOnChain(other.did, pair.provider.did, 3_000_000);
    await no(() => asProvider(world, { ...pair, intent, tx: stray }), 409, "settlement_verification_failed");
    const named = await payOnChain(pair.consumer.did, pair.provider.did, 3_000_000, { intentId: "pin_2" });
    expect(
      (await no(() => asProvider(world, { ...pair, intent, tx: named }), 409, "settlement_verification_failed")).detail
        .failed_check,
    ).toBe("other_intent");
    const byPayment = () => asClient(world, { ...pair, intent, tx: named });
    expect((await no(byPayment, 409, "settlement_verification_failed")).detail.failed_check).toBe("no_matching_intent");
  });

  it("a payment that names the intent of another pair settles neither", async () => {
    const others = await pairOf(world);
    const intent = await world.intent(others.consumer, others.provider, "4.00");
    const tx = await payOnChain(pair.consumer.did, pair.provider.did, 4_000_000, { intentId: intent.intent_id });
    for (const parties of [pair, others]) {
      const act = () => asClient(world, { ...parties, intent, tx });
      expect((await no(act, 409, "settlement_verification_failed")).detail.failed_check).toBe("other_parties");
    }
  });

  it("one transaction for two intents, or two transactions for one, is refused", async () => {
    const done = await facilitated(world, pair);
    const second = await paid(world, pair);
    await no(() => asProvider(world, { ...done, intent: second.intent }), 409, "settlement_verification_failed");
    await no(() => asProvider(world, { ...done, tx: second.tx }), 409, "settlement_verification_failed");
  });

  it("a network that is unknown or not the intent's is refused", async () => {
    const purchase = await paid(world, pair);
    const say = (network: string) => () =>
      world.as(pair.provider, "POST", PATH, { intent_id: purchase.intent.intent_id, payment_tx: purchase.tx, network });
    await no(say("base"), 409, "settlement_verification_failed");
    await no(say("atlantis"), 409, "settlement_verification_failed");
    expectStatus(await say("eip155:84532")(), 200);
  });

  it("a proof that is bound to another agent, or stale, is proof_invalid", async () => {
    const purchase = await paid(world, pair);
    const bound = await world.proveBound(pair.consumer, provider.did);
    const body = { intent_id: purchase.intent.intent_id, payment_tx: purchase.tx };
    await no(() => world.call("POST", PATH, { key: null, headers: bound, body }), 401, "proof_invalid");
    const stale = {
      ...(await world.proveBound(pair.consumer, pair.provider.did)),
      "AEAP-Timestamp": String(Math.floor(Date.now() / 1000) - 31),
    };
    await no(() => world.call("POST", PATH, { key: null, headers: stale, body }), 401, "proof_invalid");
  });

  it("a certificate alone, which is public, causes no request to the chain and reveals nothing", async () => {
    const purchase = await paid(world, pair);
    const chain = world.deps.chain as { readSettlement: typeof world.deps.chain.readSettlement };
    const read = chain.readSettlement;
    let asked = 0;
    chain.readSettlement = (...input) => {
      asked += 1;
      return read(...input);
    };
    try {
      const client = {
        provider_did: pair.provider.did,
        consumer_did: pair.consumer.did,
        tx_hash: purchase.tx,
        network: "base-sepolia",
      };
      const named = { intent_id: purchase.intent.intent_id, payment_tx: purchase.tx };
      for (const body of [client, named]) {
        for (const agent of [pair.provider, pair.consumer, provider]) {
          const headers = { ...(await world.proveBound(agent, provider.did)), "AEAP-Proof": "MEUCIQ==" };
          await no(() => world.call("POST", PATH, { key: null, headers, body }), 401, "proof_invalid");
        }
      }
      expect(asked).toBe(0);
    } finally {
      chain.readSettlement = read;
    }
  });

  it("a body that names another agent than the certificate is 401, and a stranger is 403", async () => {
    const purchase = await paid(world, pair);
    await no(() => asClient(world, purchase, { provider_did: provider.did }), 401, "aeap_verification_failed");
    const named = { intent_id: purchase.intent.intent_id, payment_tx: purchase.tx };
    await no(
      () => world.as(pair.provider, "POST", PATH, { ...named, provider_did: provider.did }),
      401,
      "aeap_verification_failed",
    );
    await no(() => world.as(provider, "POST", PATH, named), 403, "forbidden");
  });

  it("a call without a certificate, or with a management key, is certificate_required", async () => {
    await no(
      () => world.call("POST", PATH, { body: { intent_id: "pin_x", payment_tx: `0x${"1".repeat(64)}` } }),
      401,
      "certificate_required",
    );
  });

  it("the answer names every field that the chosen form is missing", async () => {
    const fields = async (body: unknown) =>
      (await world.as(pair.provider, "POST", PATH, body)).body.field_errors?.map(
        (fault: { field: string; code: string }) => `${fault.field} ${fault.code}`,
      );
    expect(await fields({})).toEqual(["intent_id required", "payment_tx required"]);
    expect(await fields({ provider_did: pair.provider.did })).toEqual([
      "consumer_did required",
      "network required",
      "tx_hash required",
    ]);
    expect(await fields({ intent_id: "pin_x", payment_tx: "0x12" })).toEqual(["payment_tx invalid_format"]);
    expect(await fields({ intent_id: "pin_x", payment_tx: `0x${"1".repeat(64)}`, more: 1 })).toEqual([
      "more unknown_field",
    ]);
  });

  it("agents of two environments are environment_mismatch", async () => {
    const purchase = await paid(world, await pairOf(world));
    await world.deps.db.update(agents).set({ environment: "production" }).where(eq(agents.did, purchase.consumer.did));
    await refused(world, [purchase.provider.did], () => asProvider(world, purchase), 409, "environment_mismatch");
    await refused(world, [purchase.provider.did], () => asClient(world, purchase), 409, "environment_mismatch");
  });
});
