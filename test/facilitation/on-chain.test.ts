// Payments on a node that behaves as real ones do (FAC-6, FAC-7, FAC-10): missing blocks, failing and vanishing payments, and look-alike contracts.
// Only this file uses the network `lab`.

import { eq } from "drizzle-orm";
import { encodeFunctionData } from "viem/utils";
import { afterEach, beforeAll, describe, expect, inject, it, vi } from "vitest";
import { settlementAbi } from "../../scripts/chain/abi.ts";
import { hashDid, hashIntent } from "../../src/chain/hashes.ts";
import { paymentIntents } from "../../src/db/tables/money.ts";
import { account, asRole, chainOf, networksWith, type PayOptions, payOnChain, send } from "../support/chain.ts";
import { labOf } from "../support/lab.ts";
import { createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { asClient, asConsumer, asProvider, PATH, type Pair, refused, stateOf } from "./support.ts";

const LAB = "lab";
const CONFIRMATIONS = 3;
const DAY_MS = 86_400_000;
const [ADMIN, REGISTRAR] = [account(0), account(1)];

const { lab, mine } = labOf(LAB);
/** Sets the time of the next block, from which the chain's clock continues. */
const setClock = (ms: number) => lab("evm_setNextBlockTimestamp", Math.floor(ms / 1_000));

let world: World;
let pair: Pair;
beforeAll(async () => {
  world = await createWorld({ NETWORKS: networksWith(LAB) });
  pair = { consumer: await world.consumer(), provider: await world.provider({}, "GLOBAL-USDC", LAB) };
});
afterEach(async () => {
  await lab("evm_setAutomine", true);
});

type Purchase = Pair & { intent: Json; tx: string };
const openIntent = (amount: string) => world.intent(pair.consumer, pair.provider, amount, { network: LAB });
async function pay(intent: Json, options: PayOptions = {}): Promise<Purchase> {
  const named = { network: LAB, intentId: intent.intent_id, ...options };
  const tx = await payOnChain(pair.consumer.did, pair.provider.did, Number(intent.amount_base_units), named);
  return { ...pair, intent, tx };
}
const FORMS = {
  "the consumer's proof": (purchase: Purchase) => asConsumer(world, purchase),
  "the provider itself": (purchase: Purchase) => asProvider(world, purchase),
  "the client form": (purchase: Purchase) => asClient(world, purchase, { network: LAB }),
};
/** Pays and leaves the transaction in the node's pool. */
const payUnmined = (intent: Json): Promise<Purchase> =>
  pay(intent, { mined: false, prepared: () => lab("evm_setAutomine", false) });

/** Expects the refusal in every form, and that nothing changes. */
async function refuses(purchase: Purchase, code: string): Promise<Json> {
  const bodies: Json[] = [];
  for (const facilitate of Object.values(FORMS)) {
    bodies.push(await refused(world, [pair.provider.did, pair.consumer.did], () => facilitate(purchase), 409, code));
  }
  for (const body of bodies) expect(body.detail).toEqual(bodies[0].detail);
  return bodies[0].detail;
}
async function settles(purchase: Purchase): Promise<void> {
  await mine(CONFIRMATIONS - 1);
  const settled = expectStatus(await asProvider(world, purchase), 200);
  expect(settled).toMatchObject({ status: "settled", tx_hash: purchase.tx, network: LAB });
}

// This test comes first, while the chain's clock is still in the past, because that clock never moves back.
describe("a payment of two days ago", () => {
  it("is accepted for 24 hours after its intent's end and no longer, even if the end was recorded", async () => {
    const intent = await openIntent("10.00");
    await setClock(Date.now() - 2 * DAY_MS);
    const purchase = await pay(intent);
    await mine(CONFIRMATIONS - 1);
    const endedAt = (expiresAt: number) =>
      world.deps.db
        .update(paymentIntents)
        .set({ status: "ABANDONED", createdAt: world.now() - 3 * DAY_MS, expiresAt })
        .where(eq(paymentIntents.intentId, intent.intent_id));
    await endedAt(world.now() - DAY_MS);
    const agents = [pair.provider.did, pair.consumer.did];
    await refused(world, agents, () => asProvider(world, purchase), 409, "intent_expired");
    const client = () => asClient(world, purchase, { network: LAB });
    await refused(world, agents, client, 409, "intent_expired");
    await endedAt(world.now() - DAY_MS / 2);
    expectStatus(await client(), 200);
    await setClock(Date.now());
  });
});

describe("a payment", () => {
  it("that the contract refused is no settlement, and its intent can still be paid", async () => {
    const intent = await openIntent("11.00");
    const failed = await pay(intent, { approved: false });
    const receipt = await lab("eth_getTransactionReceipt", failed.tx);
    expect(receipt.status).toBe("0x0");
    await mine(CONFIRMATIONS - 1);
    expect(await refuses(failed, "settlement_verification_failed")).toEqual({ failed_check: "reverted" });
    await settles(await pay(intent));
  });

  it("counts once it has enough confirmations, block by block, and not before", async () => {
    const intent = await openIntent("12.00");
    const purchase = await payUnmined(intent);
    const missing = (confirmations: number) => ({
      state: "pending",
      confirmations,
      required: CONFIRMATIONS,
      retry_after: 2 * (CONFIRMATIONS - confirmations),
    });
    expect(await refuses(purchase, "payment_not_found")).toEqual(missing(0));
    for (let confirmations = 1; confirmations < CONFIRMATIONS; confirmations++) {
      await mine(1);
      expect(await refuses(purchase, "payment_not_found")).toEqual(missing(confirmations));
    }
    await mine(1);
    expectStatus(await asConsumer(world, purchase), 200);
  });

  it("that the node has dropped is not found", async () => {
    const intent = await openIntent("13.00");
    const dropped = await payUnmined(intent);
    await lab("anvil_dropTransaction", dropped.tx);
    await mine(CONFIRMATIONS);
    expect(await refuses(dropped, "payment_not_found")).toMatchObject({ state: "unknown", confirmations: 0 });
    await lab("evm_setAutomine", true);
    await settles(await pay(intent));
  });

  it("that a reorg removed from its block is no longer found", async () => {
    const intent = await openIntent("14.00");
    const purchase = await pay(intent);
    expect(await refuses(purchase, "payment_not_found")).toMatchObject({ state: "pending", confirmations: 1 });
    await lab("anvil_rollback", 1);
    await mine(CONFIRMATIONS);
    expect(await refuses(purchase, "payment_not_found")).toMatchObject({ confirmations: 0 });
    await settles(await pay(intent, { from: account(6) }));
  });

  it("through the same code at another address, or in another token, does not count", async () => {
    const { otherContract, otherAuthority, otherToken } = inject("lab");
    const token = chainOf(LAB).token;
    const split = (address: string) =>
      encodeFunctionData({
        abi: settlementAbi,
        functionName: "registerProvider",
        args: [hashDid(pair.provider.did), address as `0x${string}`, account(8) as `0x${string}`, 15_000_000n],
      });
    const allow = encodeFunctionData({
      abi: settlementAbi,
      functionName: "listToken",
      args: [otherToken as `0x${string}`, 15_000_000n],
    });
    const [to, data] = [otherAuthority, asRole(LAB, split(token), otherContract).data];
    await send(LAB, REGISTRAR, to, data);
    for (const [by, call] of [
      [ADMIN, asRole(LAB, allow)],
      [REGISTRAR, asRole(LAB, split(otherToken))],
    ] as const)
      await send(LAB, by, call.to, call.data);

    const intent = await openIntent("15.00");
    for (const [options, failed_check] of [
      [{ contract: otherContract }, "no_settlement"],
      [{ token: otherToken }, "other_parties"],
    ] as const) {
      const impostor = await pay(intent, options);
      const receipt = await lab("eth_getTransactionReceipt", impostor.tx);
      expect([receipt.status, receipt.logs.length > 0]).toEqual(["0x1", true]);
      await mine(CONFIRMATIONS - 1);
      for (const facilitate of [FORMS["the consumer's proof"], FORMS["the provider itself"]]) {
        const agents = [pair.provider.did, pair.consumer.did];
        const act = () => facilitate(impostor);
        const { detail } = await refused(world, agents, act, 409, "settlement_verification_failed");
        expect(detail).toEqual({ failed_check });
      }
      const client = () => FORMS["the client form"](impostor);
      await refused(world, [pair.provider.did], client, 409, "settlement_verification_failed");
    }
    await settles(await pay(intent));
  });

  it("through an earlier edition of the contract counts, and does not change the escrow of the present edition", async () => {
    const { otherContract, otherAuthority } = inject("lab");
    const earlier = { settlement_contract: otherContract, authority: otherAuthority };
    const networks = (JSON.parse(networksWith(LAB)) as Json[]).map((network) =>
      network.network === LAB ? { ...network, earlier_editions: [earlier] } : network,
    );
    const upgraded = await createWorld({ NETWORKS: JSON.stringify(networks) });
    const intent = await openIntent("17.00");
    const purchase = await pay(intent, { contract: otherContract });
    await mine(CONFIRMATIONS - 1);
    const escrows = async () => (await stateOf(world, pair.provider.did)).escrows;
    const before = await escrows();
    const settled = expectStatus(await asProvider(upgraded, purchase), 200);
    expect(settled).toMatchObject({ status: "settled", tx_hash: purchase.tx, escrow_state: before[0]?.state });
    expect(await escrows()).toEqual(before);
    const receipt = JSON.parse(Buffer.from(settled.receipt.split(".")[1], "base64url").toString());
    expect(receipt.contract).toBe(otherContract.toLowerCase());
    expect(Number(receipt.escrow_credited)).toBeGreaterThan(0);
  });

  it("finds the intent that it names, in the client form and two trips, among any number of the same amount", async () => {
    const [older, newer] = [await openIntent("18.00"), await openIntent("18.00")];
    const { db } = world.deps;
    const [row] = await db.select().from(paymentIntents).where(eq(paymentIntents.intentId, newer.intent_id));
    if (!row) throw new Error("no such intent");
    for (let n = 0; n < 100; n++) {
      const intentId = `${row.intentId}-${n}`;
      await db.insert(paymentIntents).values({ ...row, intentId, intentHash: hashIntent(intentId) });
    }
    const purchase = await pay(older);
    await mine(CONFIRMATIONS - 1);
    world.meter.reset();
    const settled = expectStatus(await FORMS["the client form"](purchase), 200);
    expect(settled.intent_id).toBe(older.intent_id);
    expect(world.meter.reading.trips).toBe(2);
    const other = await pay(newer);
    await mine(CONFIRMATIONS - 1);
    expect(expectStatus(await FORMS["the client form"](other), 200).intent_id).toBe(newer.intent_id);
  });

  it("on another network is unknown there", async () => {
    const intent = await openIntent("16.00");
    const { provider } = pair;
    const elsewhere = await world.provider();
    const tx = await payOnChain(pair.consumer.did, elsewhere.did, 16_000_000, { network: "base-sepolia" });
    expect(await refuses({ ...pair, provider, intent, tx }, "payment_not_found")).toMatchObject({ state: "unknown" });
    await settles(await pay(intent));
  });
});

describe("a call that came too early", () => {
  const MINUTE_MS = 60_000;
  type Sent = { headers: Record<string, string>; body: Json };
  const named = ({ intent, tx }: Purchase) => ({ intent_id: intent.intent_id, payment_tx: tx });
  const client = ({ provider, consumer, tx }: Purchase) => {
    return { provider_did: provider.did, consumer_did: consumer.did, tx_hash: tx, network: LAB };
  };
  const SIGNED: [string, (purchase: Purchase) => Promise<Sent>][] = [
    [
      "under the consumer's proof bound to the provider",
      async (purchase) => ({
        headers: await world.proveBound(purchase.consumer, purchase.provider.did),
        body: named(purchase),
      }),
    ],
    [
      "by the provider itself",
      async (purchase) => {
        const body = named(purchase);
        return { headers: await world.prove(purchase.provider, "POST", PATH, JSON.stringify(body)), body };
      },
    ],
    [
      "in the client form",
      async (purchase) => {
        const body = client(purchase);
        return { headers: await world.prove(purchase.provider, "POST", PATH, JSON.stringify(body)), body };
      },
    ],
    [
      "in the client form under the consumer's proof",
      async (purchase) => ({
        headers: await world.proveBound(purchase.consumer, purchase.provider.did),
        body: client(purchase),
      }),
    ],
  ];
  const send = ({ headers, body }: Sent) => world.call("POST", PATH, { key: null, headers, body });

  it.each(SIGNED)("is accepted again for ten minutes once the payment is there, %s", async (_, sign) => {
    const intent = await openIntent("19.00");
    const purchase = await payUnmined(intent);
    const unused = await sign(purchase);
    const sent = await sign(purchase);
    expect((await send(sent)).body.code).toBe("payment_not_found");
    // Anything else under the same bound proof is a replay, even while the payment is awaited; a proof of the request does not verify.
    const other = { ...sent, body: { ...sent.body, ...(sent.body.intent_id && { payment_tx: intent.intent_hash }) } };
    if (sent.body.tx_hash) other.body.tx_hash = intent.intent_hash;
    const elsewhere = await send(other);
    const isBound = sent.headers["AEAP-Certificate"] === purchase.consumer.certificate;
    const refusal = isBound ? ["aeap_verification_failed", "replay"] : ["proof_invalid", undefined];
    expect([elsewhere.status, elsewhere.body.code, elsewhere.body.type]).toEqual([401, ...refusal]);

    const real = Date.now;
    const at = (ahead: number) => vi.spyOn(Date, "now").mockImplementation(() => real() + ahead);
    try {
      at(5 * MINUTE_MS);
      expect((await send(sent)).body.code).toBe("payment_not_found");
      await mine(CONFIRMATIONS);
      // After its window, a proof counts only for the act that it was used for.
      expect((await send(unused)).status).toBe(401);
      at(10 * MINUTE_MS + 1_000);
      expect((await send(sent)).status).toBe(401);
      at(5 * MINUTE_MS);
      const settled = expectStatus(await send(sent), 200);
      expect(settled).toMatchObject({ intent_id: intent.intent_id, tx_hash: purchase.tx });
      expect(expectStatus(await send(sent), 200)).toEqual(settled);
    } finally {
      vi.restoreAllMocks();
    }
  });
});

describe("a node that does not answer", () => {
  it("is 503, and the intent stays as it was", async () => {
    const networks = JSON.parse(networksWith(LAB)) as { rpc_url: string }[];
    const silent = networks.map((network) => ({ ...network, rpc_url: "http://127.0.0.1:9" }));
    const deaf = await createWorld({ NETWORKS: JSON.stringify(silent) });
    const intent = await openIntent("17.00");
    const purchase = await pay(intent);
    await mine(CONFIRMATIONS - 1);
    for (const facilitate of [asConsumer, asProvider]) {
      const agents = [pair.provider.did, pair.consumer.did];
      await refused(deaf, agents, () => facilitate(deaf, purchase), 503, "chain_unavailable");
    }
    const client = () => asClient(deaf, purchase, { network: LAB });
    await refused(deaf, [pair.provider.did], client, 503, "chain_unavailable");
    expectStatus(await asProvider(world, purchase), 200);
  });
});
