// A payment that names no intent finds one that it can pay among any number of its terms that it can't (PAY-21). Otherwise that intent would stay
// open and its hold would end, although the payment could still be facilitated.
import { beforeAll, describe, expect, it } from "vitest";
import { asProvider } from "../facilitation/support.ts";
import { buyer, dailyLimit, orderOf, spendState } from "../payments/support.ts";
import { rows } from "../promotion/support.ts";
import { account, payOnChain } from "../support/chain.ts";
import { copyRow } from "../support/copies.ts";
import { type Agent, createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { follow, followOnce } from "./support.ts";

const UNIT = 1_000_000;
const HIDING = 20;

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

type Pair = { readonly consumer: Agent; readonly provider: Agent };
const pairOf = async (limit: string): Promise<Pair> => {
  const pair = { consumer: await buyer(world, dailyLimit(limit)), provider: await world.provider() };
  await follow(world);
  return pair;
};
const open = async ({ consumer, provider }: Pair, more: Json = {}): Promise<Json> =>
  expectStatus(
    await world.as(consumer, "POST", "/v1/payment-intents", orderOf(consumer, provider, { amount: "1.00", ...more })),
    201,
  );
const pay = ({ consumer, provider }: Pair): Promise<string> => payOnChain(consumer.did, provider.did, UNIT);
const paymentOf = async ({ intent_id }: Json): Promise<unknown> =>
  (await rows("select payment_tx from payment_intents where intent_id = ?", intent_id))[0].payment_tx;
const statuses = async ({ consumer }: Pair): Promise<string[]> =>
  (await rows("select status from payment_intents where consumer_did = ?", consumer.did)).map(({ status }) => status);

/** Sets the instants of an intent, in seconds before now. */
const date = ({ intent_id }: Json, created: number, expires: number) =>
  rows(
    "update payment_intents set created_at = ?, expires_at = ? where intent_id = ?",
    ...[created, expires].map((seconds) => Date.now() - seconds * 1_000),
    intent_id,
  );

describe("a payment that names no intent", () => {
  const HIDDEN_BY: Readonly<Record<string, (pair: Pair) => Promise<Json>>> = {
    "were cancelled 40 seconds before it": async (pair) => {
      const intent = await open(pair);
      const path = `/v1/payment-intents/${intent["intent_id"]}/cancel`;
      expectStatus(await world.as(pair.consumer, "POST", path), 200);
      await date(intent, 50, 40);
      return intent;
    },
    "were opened 40 seconds after it": async (pair) => {
      const intent = await open(pair);
      await date(intent, -40, -340);
      return intent;
    },
    "name another payer": (pair) => open(pair, { payer: account(6) }),
    "are paid": async (pair) => {
      const intent = await open(pair);
      await rows("update payment_intents set status = 'PAID' where intent_id = ?", intent["intent_id"]);
      return intent;
    },
  };

  it.each(Object.entries(HIDDEN_BY))(
    "pays its intent although twenty newer intents of its terms %s",
    async (_, hide) => {
      const pair = await pairOf("24.00");
      const intent = await open(pair);
      await date(intent, 60, -240);
      const hiding = await hide(pair);
      const copied = { intent_id: "t.intent_id || i", intent_hash: "t.intent_hash || i" };
      await copyRow("payment_intents", `intent_id = '${hiding["intent_id"]}'`, copied, { to: HIDING });
      const tx = await pay(pair);
      await follow(world);
      expect(await paymentOf(intent)).toBe(tx);
      expectStatus(await asProvider(world, { ...pair, intent, tx }), 200);
    },
  );

  it("pays its intent that names the payer, a wallet of the provider, although twenty newer ones name none", async () => {
    const pair = await pairOf("24.00");
    const payer = account(9);
    const intent = await open(pair, { payer });
    await date(intent, 60, -240);
    const hiding = await open(pair);
    const copied = { intent_id: "t.intent_id || i", intent_hash: "t.intent_hash || i" };
    await copyRow("payment_intents", `intent_id = '${hiding["intent_id"]}'`, copied, { to: HIDING });
    const wallets = JSON.stringify([[payer.toLowerCase(), 0]]);
    await rows("update agents set wallets = ? where did = ?", wallets, pair.provider.did);
    const tx = await pay(pair);
    await follow(world);
    expect(await paymentOf(intent)).toBe(tx);
  });
});

describe("more payments of equal terms than intents are considered for one payment", () => {
  it("are all bound by one run, and their holds stay", async () => {
    const pair = await pairOf("22.00");
    const intents = [];
    for (let n = 0; n < HIDING + 2; n++) intents.push(await open(pair));
    const txs = [];
    for (const _ of intents) txs.push(await pay(pair));
    expect(await followOnce(world)).toBe(true);
    expect(await statuses(pair)).toEqual(intents.map(() => "PAID"));
    const paid = await Promise.all(intents.map(paymentOf));
    expect(paid.toSorted()).toEqual(txs.toSorted());
    const [state] = await spendState(world, pair.consumer.did);
    expect(state?.open).toBe((HIDING + 2) * UNIT);
  });
});
