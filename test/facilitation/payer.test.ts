// An intent that names its payer is paid by that address alone (PAY-25), and a payment from a wallet of the provider settles nothing (FAC-22).
import { encodeFunctionData } from "viem/utils";
import { beforeAll, describe, expect, it } from "vitest";
import { tokenAbi } from "../../scripts/chain/abi.ts";
import { type Hash, hashIntent } from "../../src/chain/hashes.ts";
import { byOperator, file, OPERATOR_PATH } from "../disputes/support.ts";
import { follow } from "../follower/support.ts";
import { buyer, dailyLimit, openIntent, orderOf, spendState } from "../payments/support.ts";
import { rows } from "../promotion/support.ts";
import { account, mintAbi, payOnChain, rpc, send } from "../support/chain.ts";
import { type Agent, createWorld, expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import {
  ageWallets,
  asClient,
  asConsumer,
  asProvider,
  type Paid,
  type Pair,
  paid,
  pairOf,
  refused,
} from "./support.ts";

const UNIT = 1_000_000;
const MOST = 2n ** 256n - 1n;
const PAYER = account(9);
const OTHER = account(6);
/** The wallet of every provider in this file. */
const OWN = account(8);
const FORMS = { asProvider, asConsumer, asClient };

let world: World;
beforeAll(async () => {
  world = await createWorld({ SANDBOX_MAINNET_A_DAY: "100", SANDBOX_MAINNET_IN_ALL: "100" });
});

const limitedPair = async (): Promise<Pair> => ({
  consumer: await buyer(world, dailyLimit("10.00")),
  provider: await world.provider(),
});
const pay = ({ consumer, provider }: Pair, from: string, intent: Json | null): Promise<string> =>
  payOnChain(consumer.did, provider.did, 10 * UNIT, {
    from,
    ...(intent && { intentId: intent.intent_id, payer: intent.payer }),
  });
const shown = async ({ consumer }: Pair, intent: Json): Promise<Json> =>
  expectStatus(await world.as(consumer, "GET", `/v1/payment-intents/${intent.intent_id}`), 200);
const failedBy = ({ status, body }: Reply) => [status, body.code, body.type, body.detail];
const unverified = (check: string, type?: string) => [
  409,
  "settlement_verification_failed",
  type,
  { failed_check: check },
];

describe("an intent that names its payer", () => {
  const namedBy = async (pair: Pair, payer = PAYER): Promise<Json> =>
    world.intent(pair.consumer, pair.provider, "10.00", { payer });

  it("commits to that address by its hash, and shows the ready call", async () => {
    const pair = await pairOf(world);
    const intent = await namedBy(pair);
    expect(intent).toMatchObject({
      payer: PAYER.toLowerCase(),
      intent_hash: hashIntent(intent.intent_id, PAYER),
      call: { to: intent.contract, value: "0" },
    });
    const { token } = intent;
    const mint = { abi: mintAbi, functionName: "mint", args: [PAYER as Hash, BigInt(10 * UNIT)] } as const;
    const approve = { abi: tokenAbi, functionName: "approve", args: [intent.contract, MOST] } as const;
    await send("base-sepolia", PAYER, token, encodeFunctionData(mint));
    await send("base-sepolia", PAYER, token, encodeFunctionData(approve));
    const tx = await send("base-sepolia", PAYER, intent.call.to, intent.call.data);
    await follow(world);
    expect(await shown(pair, intent)).toMatchObject({ status: "PAID", payment: { tx_hash: tx }, call: null });
    expectStatus(await asProvider(world, { ...pair, intent, tx }), 200);
  });

  it("cannot be used up by another payer: the contract refuses it, and the named one pays", async () => {
    const pair = await pairOf(world);
    const intent = await namedBy(pair);
    const tx = await pay(pair, OTHER, intent);
    expect((await rpc<Json>("base-sepolia", "eth_getTransactionReceipt", [tx])).status).toBe("0x0");
    expect(failedBy(await asProvider(world, { ...pair, intent, tx }))).toEqual(unverified("reverted"));
    expectStatus(await asConsumer(world, { ...pair, intent, tx: await pay(pair, PAYER, intent) }), 200);
  });

  it("does not accept another payer's unnamed payment, seen or not, and accepts its own payer's", async () => {
    const pair = await limitedPair();
    const intent = await namedBy(pair);
    const tx = await pay(pair, OTHER, null);
    expect(failedBy(await asProvider(world, { ...pair, intent, tx }))).toEqual(unverified("other_payer"));
    expect(failedBy(await asClient(world, { ...pair, intent, tx }))).toEqual(unverified("no_matching_intent"));
    await follow(world);
    expect((await shown(pair, intent)).status).toBe("OPEN");
    const own = await pay(pair, PAYER, null);
    await follow(world);
    expect(await shown(pair, intent)).toMatchObject({ status: "PAID", payment: { tx_hash: own } });
    expectStatus(await asClient(world, { ...pair, intent, tx: own }), 200);
  });

  it.each([
    ["the zero address", `0x${"0".repeat(40)}`, "invalid_value"],
    ["an invalid address", "0x12", "invalid_format"],
    ["a mistyped checksum", "0x0180680277302fa8f5f35FcaCd53E7Be5D63519F", "invalid_value"],
    ["the provider's wallet", OWN, "invalid_value"],
    ["a wallet that the provider has asked for on another network", OTHER, "invalid_value"],
  ])("is 422 with %s", async (_, payer, code) => {
    const { consumer, provider } = await pairOf(world);
    await ask(provider, OTHER);
    const answer = await world.as(consumer, "POST", "/v1/payment-intents", orderOf(consumer, provider, { payer }));
    expect([answer.status, answer.body.field_errors]).toEqual([
      422,
      [{ field: "payer", code, message: expect.any(String) }],
    ]);
  });
});

const marketsOf = ({ did }: Agent) => `/v1/agents/${did}/scope/authorized_markets`;
/** Asks for a wallet through the API. `base` is another chain than that of the payments. */
async function ask(provider: Agent, wallet: string, network = "base", market = "GLOBAL-USDC"): Promise<void> {
  const body = { markets: [{ market, network, operational_wallet: wallet }] };
  expectStatus(await world.call("POST", marketsOf(provider), { body }), 200);
}
async function askBefore(provider: Agent, wallet: string, network?: string): Promise<void> {
  await ask(provider, wallet, network);
  await ageWallets(provider.did);
}

describe("an intent of a client that asks where to pay", () => {
  const asked = ({ consumer, provider }: Pair, payer: string) => {
    const order = { consumer_did: consumer.did, provider_did: provider.did, amount: "10.00", payer };
    const query = new URLSearchParams({ market: "DE-USDC", network: "base-sepolia", ...order });
    return world.as(consumer, "GET", `/v1/payment-address?${query}`);
  };

  it("is paid only by the payer that it names", async () => {
    const pair = await limitedPair();
    const { intent_id } = expectStatus(await asked(pair, PAYER), 200);
    const [tx, own] = [await pay(pair, OTHER, null), await pay(pair, PAYER, null)];
    const intent = expectStatus(await world.as(pair.consumer, "GET", `/v1/payment-intents/${intent_id}`), 200);
    expect(intent.payer).toBe(PAYER.toLowerCase());
    expect(failedBy(await asClient(world, { ...pair, intent, tx }))).toEqual(unverified("no_matching_intent"));
    expect(expectStatus(await asClient(world, { ...pair, intent, tx: own }), 200).intent_id).toBe(intent_id);
  });

  it.each([
    ["an invalid address", "0x12"],
    ["a mistyped checksum", "0x0180680277302fa8f5f35FcaCd53E7Be5D63519F"],
    ["a wallet of the provider", OWN],
  ])("is refused as every order of such a client with %s", async (_, payer) => {
    const { status, body } = await asked(await pairOf(world), payer);
    expect([status, body.code, body.detail.failed_check]).toEqual([403, "spend_policy_violation", "validation_failed"]);
  });

  it("is an order, so a payer without the rest of it is refused", async () => {
    const query = new URLSearchParams({ market: "DE-USDC", network: "base-sepolia", payer: PAYER });
    const { status, body } = await world.as(await world.consumer(), "GET", `/v1/payment-address?${query}`);
    expect([status, body.detail.failed_check]).toEqual([403, "validation_failed"]);
  });
});

describe("a payment from a wallet of the provider", () => {
  const WALLETS: Readonly<Record<string, readonly [payer: string, (provider: Agent) => Promise<unknown>]>> = {
    "its present wallet": [OWN, ({ did }) => ageWallets(did)],
    "a wallet that it asked for on another network": [OTHER, (provider) => askBefore(provider, OTHER)],
    "its wallet before the present one": [OWN, (provider) => askBefore(provider, OTHER, "base-sepolia")],
    "a wallet whose market it removed": [
      OTHER,
      async (provider) => {
        await askBefore(provider, OTHER);
        expectStatus(await world.call("DELETE", `${marketsOf(provider)}/GLOBAL-USDC?network=base`), 204);
      },
    ],
  };

  it.each(Object.entries(WALLETS))(
    "settles no intent if it comes from %s, and every form says so",
    async (_, [by, arrange]) => {
      const pair = await limitedPair();
      await arrange(pair.provider);
      const intent = await world.intent(pair.consumer, pair.provider, "10.00");
      const agents = [pair.provider.did, pair.consumer.did];
      for (const named of [intent, null]) {
        const purchase: Paid = { ...pair, intent, tx: await pay(pair, by, named) };
        for (const [form, facilitate] of Object.entries(FORMS)) {
          const body = await refused(
            world,
            agents,
            () => facilitate(world, purchase),
            409,
            "settlement_verification_failed",
          );
          expect([form, body.type, body.detail]).toEqual([
            form,
            "paid_by_provider",
            { failed_check: "paid_by_provider" },
          ]);
        }
      }
    },
  );

  it.each(Object.keys(FORMS) as (keyof typeof FORMS)[])(
    "counts as the buyer's if the provider asks for its wallet after the block, facilitated by %s",
    async (form) => {
      const pair = await limitedPair();
      await ageWallets(pair.provider.did);
      const intent = await world.intent(pair.consumer, pair.provider, "10.00");
      const tx = await pay(pair, OTHER, intent);
      await ask(pair.provider, OTHER);
      await follow(world);
      expect(await shown(pair, intent)).toMatchObject({ status: "PAID", payment: { tx_hash: tx } });
      expectStatus(await FORMS[form](world, { ...pair, intent, tx }), 200);
    },
  );

  it.each(Object.keys(FORMS) as (keyof typeof FORMS)[])(
    "counts if the intent names its payer, whatever the provider has asked for since, facilitated by %s",
    async (form) => {
      const pair = await limitedPair();
      const intent = await world.intent(pair.consumer, pair.provider, "10.00", { payer: OTHER });
      await askBefore(pair.provider, OTHER);
      const tx = await pay(pair, OTHER, intent);
      await follow(world);
      expect(await shown(pair, intent)).toMatchObject({ status: "PAID", payment: { tx_hash: tx } });
      expectStatus(await FORMS[form](world, { ...pair, intent, tx }), 200);
    },
  );

  it("never settles a spoilt intent, even after its market was removed", async () => {
    const pair = await limitedPair();
    await askBefore(pair.provider, OTHER);
    const intent = await world.intent(pair.consumer, pair.provider, "10.00");
    const tx = await pay(pair, OTHER, intent);
    await follow(world);
    expect(await shown(pair, intent)).toMatchObject({ status: "ABANDONED", hold_released: true });
    expectStatus(await world.call("DELETE", `${marketsOf(pair.provider)}/GLOBAL-USDC?network=base`), 204);
    expect(failedBy(await asProvider(world, { ...pair, intent, tx }))).toEqual(
      unverified("paid_by_provider", "paid_by_provider"),
    );
  });

  it("releases a spoilt intent's hold at once, with one event and without rating the consumer", async () => {
    const pair = await limitedPair();
    await ageWallets(pair.provider.did);
    const intent = await world.intent(pair.consumer, pair.provider, "10.00");
    await pay(pair, OWN, intent);
    expect((await openIntent(world, pair.consumer, pair.provider, "1.00")).status).toBe(403);
    await follow(world);
    await follow(world);
    expect(await shown(pair, intent)).toMatchObject({ status: "ABANDONED", payment: null, hold_released: true });
    const told = (await rows("select object from events where type = 'intent.abandoned'"))
      .map(({ object }) => JSON.parse(object))
      .filter(({ intent_id }) => intent_id === intent.intent_id);
    expect(told).toHaveLength(1);
    const [{ abandon_rated }] = await rows(
      "select abandon_rated from payment_intents where intent_id = ?",
      intent.intent_id,
    );
    expect(abandon_rated).toBe(1);
    // The buyer's own payment for it settles the next intent.
    const next = expectStatus(await openIntent(world, pair.consumer, pair.provider, "10.00"), 201);
    const tx = await pay(pair, PAYER, null);
    expect(failedBy(await asProvider(world, { ...pair, intent, tx }))).toEqual([
      409,
      "intent_expired",
      undefined,
      undefined,
    ]);
    await follow(world);
    expect(expectStatus(await asClient(world, { ...pair, intent, tx }), 200).intent_id).toBe(next.intent_id);
    const [state] = await spendState(world, pair.consumer.did);
    expect([state?.open, state?.holds, state?.settled]).toEqual([0, [], 10 * UNIT]);
  });

  it("binds no intent if it names none, and the buyer's own payment binds one", async () => {
    const pair = await limitedPair();
    await ageWallets(pair.provider.did);
    const intent = await world.intent(pair.consumer, pair.provider, "10.00");
    await pay(pair, OWN, null);
    await follow(world);
    expect((await shown(pair, intent)).status).toBe("OPEN");
    const tx = await pay(pair, PAYER, intent);
    await follow(world);
    expect(await shown(pair, intent)).toMatchObject({ status: "PAID", payment: { tx_hash: tx } });
  });

  it("is shown to the arbiter of a dispute, and so is the wallet that gets refunds", async () => {
    const pair = await pairOf(world);
    const purchase = await paid(world, pair);
    const fac = expectStatus(await asProvider(world, purchase), 200);
    const dispute = expectStatus(await file(world, { ...purchase, fac, task: fac.task_id }), 201);
    const walletsOf = async () => {
      const { payer, refund_to } = expectStatus(
        await byOperator(world, "GET", `${OPERATOR_PATH}/${dispute.dispute_id}`),
        200,
      );
      return [payer, refund_to];
    };
    const paidBy = { address: PAYER.toLowerCase(), of_provider: false, of_provider_since: null };
    expect(await walletsOf()).toEqual([paidBy, paidBy]);
    await rows("update transactions set refund_to = ? where transaction_id = ?", OWN.toLowerCase(), fac.transaction_id);
    const own = { address: OWN.toLowerCase(), of_provider: true, of_provider_since: expect.any(String) };
    expect(await walletsOf()).toEqual([paidBy, own]);
  });
});
