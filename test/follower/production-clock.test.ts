// Production goes by real time although sandbox clocks were moved (ACC-9), also in code that reads a clock offset with its rows.
import { beforeAll, describe, expect, it } from "vitest";
import { abandonIntents } from "../../src/payments/abandon.ts";
import { rateAbandonedIntents } from "../../src/payments/rate.ts";
import { asProvider, facilitated, type Pair, paid } from "../facilitation/support.ts";
import { rows } from "../promotion/support.ts";
import { moveClock } from "../support/clock.ts";
import { createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { follow, livePair, takenAway } from "./support.ts";

const DAY = 86_400_000;
const stored = async (table: string, key: string, id: string): Promise<Json> =>
  (await rows(`select * from ${table} where ${key} = ?`, id))[0];
const expectNow = (instant: number): void => expect(Math.abs(instant - Date.now())).toBeLessThan(DAY);

describe.each([30, 400])("with the sandbox %i days ahead", (days) => {
  let world: World;
  let pair: Pair;
  beforeAll(async () => {
    world = await createWorld();
    pair = await livePair(world);
    await moveClock(world, days * DAY);
  });

  it("sees a payment in time, holds its intent, rates no agent, and facilitates it", async () => {
    const purchase = await paid(world, pair, "10.00");
    const { intent_id } = purchase.intent;
    await follow(world);
    const intent = await stored("payment_intents", "intent_id", intent_id);
    expect(intent).toMatchObject({ environment: "production", status: "PAID", payment_tx: purchase.tx });
    expectNow(intent.paid_at);
    // If it had not been seen in time, the intent would have ended and rated its consumer.
    world.advance(3 * DAY);
    await world.run(abandonIntents);
    await world.run(rateAbandonedIntents);
    world.advance(-3 * DAY);
    expect((await stored("payment_intents", "intent_id", intent_id)).status).toBe("PAID");
    expect(await stored("agents", "did", pair.consumer.did)).toMatchObject({
      rating_interactions: 0,
      rating_weight: 0,
    });
    const { transaction_id } = expectStatus(await asProvider(world, purchase), 200);
    expectNow((await stored("transactions", "transaction_id", transaction_id)).settled_at);
  });

  it("dates a reversal after a reorg by real time", async () => {
    const { fac, task } = await facilitated(world, pair);
    await takenAway(world, fac.transaction_id);
    const reversed = await stored("transactions", "transaction_id", fac.transaction_id);
    expect(reversed.environment).toBe("production");
    expectNow(reversed.reversed_at);
    expectNow((await stored("tasks", "task_id", task)).closed_at);
    const told = await rows(
      "select occurred_at from events where type in ('transaction.reversed', 'task.closed') and object ->> 'task_id' = ?",
      task,
    );
    expect(told.length).toBeGreaterThan(0);
    for (const { occurred_at } of told) expectNow(occurred_at);
  });
});
