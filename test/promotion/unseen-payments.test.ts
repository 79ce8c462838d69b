// A promotion waits for payments of the sandbox that it would lose (AGT-34): an intent is open until no payment in time is possible any longer, and a
// paid one until it is facilitated.
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { DAY_MS, MINUTE_MS, SECOND_MS } from "../../src/core/limits.ts";
import { asProvider, type Paid, type Pair, paid, pairOf } from "../facilitation/support.ts";
import { follow } from "../follower/support.ts";
import { openIntent, seller } from "../payments/support.ts";
import { rpc } from "../support/chain.ts";
import { moveClock } from "../support/clock.ts";
import { withDeps } from "../support/variants.ts";
import { createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { outcome, promote, promoted, rows } from "./support.ts";

const AFTER_THE_END = 6 * MINUTE_MS;

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterEach(() => {
  world.offset = 0;
});

/** Moves six minutes ahead: the present intents have ended, and no network was read since. */
async function afterTheEnd(): Promise<void> {
  world.offset = AFTER_THE_END;
  await rows("update followers set read_through = read_through - ?", AFTER_THE_END);
}
/** Ends the intent of a payment one millisecond after the payment's block. Returns the world at an instant after that. */
async function endAfterPayment({ intent, tx }: Paid): Promise<World> {
  const { blockNumber } = await rpc<Json>("base-sepolia", "eth_getTransactionReceipt", [tx]);
  const { timestamp } = await rpc<Json>("base-sepolia", "eth_getBlockByNumber", [blockNumber, false]);
  const end = Number(timestamp) * SECOND_MS + 1;
  for (const table of ["payment_intents", "spend_holds"])
    await rows(`update ${table} set expires_at = ? where intent_id = ?`, end, intent.intent_id);
  // The chain may be ahead of real time, so this clock agrees with the chain's.
  const now = Math.max(Date.now(), end + 1);
  return withDeps(world, { ...world.deps, clock: { now: () => now, ahead: () => 0 } });
}
/** The details with which a promotion of each party is refused. */
async function refusals({ consumer, provider }: Pair, at = world): Promise<Json[]> {
  const replies = [await promote(at, consumer.did), await promote(at, provider.did)];
  for (const reply of replies) expect(outcome(reply)).toEqual([409, "invalid_status"]);
  return replies.map(({ body }) => body.detail);
}
const both = (open: Json): Json[] => [{ open }, { open }];
const AN_INTENT = both({ intents: 1, tasks: 0, disputes: 0 });
const A_TASK = both({ intents: 0, tasks: 1, disputes: 0 });

describe("a promotion of either party", () => {
  it("waits until a payment that was seen is facilitated", async () => {
    const purchase = await paid(world, await pairOf(world));
    await follow(world);
    world.offset = DAY_MS;
    expect(await refusals(purchase)).toEqual(AN_INTENT);
    expectStatus(await asProvider(world, purchase), 200);
    expect(await refusals(purchase)).toEqual(A_TASK);
  });

  it("waits for a payment that is on the chain, but was not seen when its intent ended", async () => {
    const purchase = await paid(world, await pairOf(world));
    const later = await endAfterPayment(purchase);
    expect(await refusals(purchase, later)).toEqual(AN_INTENT);
    await follow(later);
    expect(await refusals(purchase, later)).toEqual(AN_INTENT);
    expectStatus(await asProvider(later, purchase), 200);
    expect(await refusals(purchase, later)).toEqual(A_TASK);
  });

  it("waits after the end of an unpaid intent until the chain was read to it, and no longer", async () => {
    const pair = { consumer: await world.consumer(), provider: await seller(world) };
    expectStatus(await openIntent(world, pair.consumer, pair.provider, "1.00"), 201);
    await afterTheEnd();
    const { body } = await world.call("GET", `/v1/agents/${pair.consumer.did}/overview`);
    expect(body.open).toEqual({ intents: 0, tasks: 0, disputes: 0 });
    expect(await refusals(pair)).toEqual(AN_INTENT);
    await follow(world);
    await promoted(world, pair.consumer.did);
    expect(outcome(await promote(world, pair.provider.did))).toEqual([409, "market_not_authorized"]);
  });

  it("waits for a cancelled intent until the chain was read to 30 seconds later", async () => {
    const pair = { consumer: await world.consumer(), provider: await seller(world) };
    const { intent_id } = expectStatus(await openIntent(world, pair.consumer, pair.provider, "1.00"), 201);
    expectStatus(await world.as(pair.consumer, "POST", `/v1/payment-intents/${intent_id}/cancel`), 200);
    for (const { did } of [pair.consumer, pair.provider])
      expect(outcome(await promote(world, did))).toEqual([409, "invalid_status"]);
    world.offset = 30_001;
    await follow(world);
    await promoted(world, pair.consumer.did);
    expect(outcome(await promote(world, pair.provider.did))).toEqual([409, "market_not_authorized"]);
  });

  it("goes by the clock that rules each intent, its consumer's (ACC-9)", async () => {
    const ahead = await createWorld();
    await moveClock(ahead, 10 * DAY_MS);
    const pair = { consumer: await ahead.consumer(), provider: await seller(world) };
    expectStatus(
      await ahead.as(pair.consumer, "POST", "/v1/payment-intents", {
        consumer_did: pair.consumer.did,
        provider_did: pair.provider.did,
        amount: "1.00",
        currency: "USDC",
      }),
      201,
    );
    expect(outcome(await promote(world, pair.provider.did))).toEqual([409, "invalid_status"]);
    world.offset = AFTER_THE_END;
    await follow(world);
    expect(outcome(await promote(world, pair.provider.did))).toEqual([409, "market_not_authorized"]);
  });
});
