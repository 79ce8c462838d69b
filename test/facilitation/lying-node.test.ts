// A node that is slow or lies neither refuses a payment for good nor credits one twice (FAC-10, CHN-9): the payment is real, and counts as soon as
// the node tells the truth. Only this file uses the node in front of base-sepolia.
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { createChainGateway } from "../../src/chain/evm.ts";
import { createRpc } from "../../src/chain/rpc.ts";
import { follow } from "../follower/support.ts";
import { rows } from "../promotion/support.ts";
import { chainOf, lyingNode, payOnChain, rpc } from "../support/chain.ts";
import type { Spoil } from "../support/spoiling-node.ts";
import { withDeps } from "../support/variants.ts";
import { createWorld, env, expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import { asClient, asConsumer, asProvider, PATH, type Paid, paid, pairOf, refused, stateOf } from "./support.ts";

const NETWORK = "base-sepolia";
const RECEIPT = "eth_getTransactionReceipt";
/** A read is retried once, so both tries have to fail. */
const TRIES = 2;
/** How long the slow node withholds an answer. A time limit ends each of these calls earlier. */
const NEVER_MS = 600_000;

/** A world that asks only the lying node, and a world that also has an honest node to fall back on. */
let world: World;
let backed: World;
beforeAll(async () => {
  const networks = (fallback: Json) =>
    JSON.stringify(
      (JSON.parse(env.NETWORKS) as Json[])
        .filter(({ network }) => network === NETWORK)
        .map((network) => ({ ...network, rpc_url: lyingNode(), ...fallback })),
    );
  world = await createWorld({ NETWORKS: networks({}) });
  backed = await createWorld({ NETWORKS: networks({ fallback_rpc_url: chainOf(NETWORK).rpc_url }) });
});

const lie = (...spoils: readonly Spoil[]) => fetch(lyingNode(), { method: "PUT", body: JSON.stringify(spoils) });
afterEach(() => lie());
const always = (method: string, result: unknown): Spoil => ({ method, times: 99, how: "answer", result });

const FORMS = [
  ["with the consumer's proof", asConsumer],
  ["by the provider itself", asProvider],
  ["in the client form", asClient],
] as const;
type Facilitate = (typeof FORMS)[number][1];

const toldOf = ({ tx }: Paid): Promise<Json[]> =>
  rows("select kind, seen from alerts where subject = ?", `${tx} on ${NETWORK}`);
const receiptOf = (tx: string) => rpc<Json>(NETWORK, RECEIPT, [tx]);
/**
 * Returns the same world, but the time limit passes at once for each of the next `calls` calls to the lying node, and for no other call. `asked`
 * holds the calls that it ended.
 */
function impatient(of: World, calls: number): { world: World; asked: string[] } {
  const asked: string[] = [];
  const fetcher: typeof fetch = (url, init) => {
    if (String(url) !== lyingNode() || !String(init?.body).includes(RECEIPT) || asked.length >= calls)
      return fetch(url, init);
    asked.push(String(url));
    return fetch(url, { ...init, signal: AbortSignal.abort() });
  };
  const chain = createChainGateway(of.deps.config.networks, createRpc(fetcher));
  return { world: withDeps(of, { ...of.deps, chain }), asked };
}

/** Expects the refusal, and that nothing changed. */
const no = (of: World, { provider, consumer }: Paid, act: () => Promise<Reply>, status: number, code: string) =>
  refused(of, [provider.did, consumer.did], act, status, code);
/** Expects that the truth settles the payment once. */
async function settles(of: World, purchase: Paid, facilitate: Facilitate): Promise<void> {
  await lie();
  const { intent, tx } = purchase;
  expect(expectStatus(await facilitate(of, purchase), 200)).toMatchObject({ intent_id: intent.intent_id, tx_hash: tx });
  const { transactions } = await stateOf(of, purchase.provider.did);
  expect(transactions.map(({ txHash }) => txHash)).toEqual([tx]);
}

describe.each(FORMS)("a payment that is facilitated %s", (_form, facilitate) => {
  it("is 503 if the node is slow: it is asked twice within the time limit, and the payment settles afterwards", async () => {
    const purchase = await paid(world, await pairOf(world));
    await lie({ method: RECEIPT, times: TRIES, how: "slow", ms: NEVER_MS });
    const { world: hasty, asked } = impatient(world, TRIES);
    await no(world, purchase, () => facilitate(hasty, purchase), 503, "chain_unavailable");
    expect(asked).toHaveLength(TRIES);
    await settles(world, purchase, facilitate);
  });

  it("settles at once if there is another node besides the slow one", async () => {
    const purchase = await paid(backed, await pairOf(backed));
    await lie({ method: RECEIPT, times: 1, how: "slow", ms: NEVER_MS });
    const { world: hasty, asked } = impatient(backed, 1);
    expectStatus(await facilitate(hasty, purchase), 200);
    expect(asked).toHaveLength(1);
  });

  it("is not found if the node does not know it, and settles under the same proof afterwards", async () => {
    const { provider, consumer, intent, tx } = await paid(world, await pairOf(world));
    const named = { intent_id: intent.intent_id, payment_tx: tx };
    const client = { provider_did: provider.did, consumer_did: consumer.did, tx_hash: tx, network: NETWORK };
    const body = facilitate === asClient ? client : named;
    const headers =
      facilitate === asConsumer
        ? await world.proveBound(consumer, provider.did)
        : await world.prove(provider, "POST", PATH, JSON.stringify(body));
    const send = () => world.call("POST", PATH, { key: null, headers, body });
    const purchase = { provider, consumer, intent, tx };
    await lie(always(RECEIPT, null), always("eth_getTransactionByHash", null));
    const unknown = await no(world, purchase, send, 409, "payment_not_found");
    expect(unknown.detail).toMatchObject({ state: "unknown", confirmations: 0 });
    await lie(always(RECEIPT, null));
    expect((await no(world, purchase, send, 409, "payment_not_found")).detail.state).toBe("pending");
    await settles(world, purchase, send);
  });

  it("that the node reports as reverted or empty is refused, and settles once the node tells the truth", async () => {
    const purchase = await paid(world, await pairOf(world));
    const receipt = await receiptOf(purchase.tx);
    for (const [told, check] of [
      [{ ...receipt, status: "0x0", logs: [] }, "reverted"],
      [{ ...receipt, logs: [] }, "no_settlement"],
    ] as const) {
      await lie(always(RECEIPT, told));
      const said = await no(world, purchase, () => facilitate(world, purchase), 409, "settlement_verification_failed");
      expect(said.detail).toEqual({ failed_check: check });
    }
    await settles(world, purchase, facilitate);
  });

  it("that the node shows with another amount is refused, and settles once the node tells the truth", async () => {
    const purchase = await paid(world, await pairOf(world));
    await lie(always(RECEIPT, otherAmount(await receiptOf(purchase.tx))));
    const said = await no(world, purchase, () => facilitate(world, purchase), 409, "amount_mismatch");
    expect(said.detail).toEqual({ expected: "10.00", settled: "9.00" });
    await settles(world, purchase, facilitate);
  });

  it("is refused only by both nodes if there are two: a lie of the first is 503, and the truth of both is final", async () => {
    const purchase = await paid(backed, await pairOf(backed));
    const receipt = await receiptOf(purchase.tx);
    for (const told of [{ ...receipt, status: "0x0", logs: [] }, { ...receipt, logs: [] }, otherAmount(receipt)]) {
      await lie(always(RECEIPT, told));
      await no(backed, purchase, () => facilitate(backed, purchase), 503, "chain_unavailable");
    }
    expect(await toldOf(purchase)).toEqual([{ kind: "network", seen: 3 }]);
    await lie();
    const wrong = await payOnChain(purchase.consumer.did, purchase.provider.did, 9_000_000, {
      intentId: purchase.intent.intent_id,
    });
    const less = () => facilitate(backed, { ...purchase, tx: wrong });
    await no(backed, purchase, less, 409, "amount_mismatch");
    await settles(backed, purchase, facilitate);
  });

  it("that the follower has read is not refused by a later answer of the node: 503, with an alert", async () => {
    const purchase = await paid(world, await pairOf(world));
    await follow(world);
    const receipt = await receiptOf(purchase.tx);
    for (const told of [{ ...receipt, status: "0x0", logs: [] }, { ...receipt, logs: [] }, otherAmount(receipt)]) {
      await lie(always(RECEIPT, told));
      await no(world, purchase, () => facilitate(world, purchase), 503, "chain_unavailable");
    }
    expect(await toldOf(purchase)).toEqual([{ kind: "network", seen: 3 }]);
    await settles(world, purchase, facilitate);
  });

  it("for which the node shows another transaction's receipt is 503", async () => {
    const purchase = await paid(world, await pairOf(world));
    const other = await payOnChain(purchase.consumer.did, purchase.provider.did, 1_000_000);
    await lie(always(RECEIPT, await receiptOf(other)));
    await no(world, purchase, () => facilitate(world, purchase), 503, "chain_unavailable");
    await settles(world, purchase, facilitate);
  });
});

/** Returns the receipt with 9.00 instead of 10.00. */
function otherAmount(receipt: Json): Json {
  const word = (units: number) => units.toString(16).padStart(64, "0");
  const text = JSON.stringify(receipt).replaceAll(word(10_000_000), word(9_000_000));
  expect(text).not.toBe(JSON.stringify(receipt));
  return JSON.parse(text);
}

describe("a node that answers twice differently", () => {
  it("credits one payment once, whichever of its answers comes first", async () => {
    const pair = await pairOf(world);
    const purchase = await paid(world, pair);
    const other: Paid = { ...purchase, intent: await world.intent(pair.consumer, pair.provider, "10.00") };
    const receipt = await receiptOf(purchase.tx);
    // The node answers twice with another block hash, and then with the truth.
    const moved = JSON.parse(JSON.stringify(receipt).replaceAll(receipt.blockHash, `0x${"ab".repeat(32)}`));
    await lie({ method: RECEIPT, times: 2, how: "answer", result: moved });
    const calls = [asProvider, asConsumer, asClient, asProvider, asConsumer, asClient];
    const replies = await Promise.all(calls.map((facilitate) => facilitate(world, purchase)));
    const settled = replies.map((reply) => expectStatus(reply, 200));
    expect(new Set(settled.map(({ transaction_id }) => transaction_id)).size).toBe(1);
    await no(world, purchase, () => asProvider(world, other), 409, "settlement_verification_failed");
    const { transactions, escrows, events } = await stateOf(world, pair.provider.did);
    expect(transactions).toHaveLength(1);
    expect(escrows[0]?.contributed).toBe(transactions[0]?.escrow);
    const told = events.filter(
      (event) => event.type === "transaction.settled" && JSON.stringify(event).includes(purchase.tx),
    );
    expect(told).toHaveLength(1);
  });
});
