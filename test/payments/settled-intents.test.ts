// Settling counts an intent once (PAY-16), and a payment that names no intent finds its own (FAC-8).
import { describe, expect, it } from "vitest";
import { updateAgent } from "../../src/agents/store.ts";
import { commit, readBatch } from "../../src/db/batch.ts";
import { paymentIntents } from "../../src/db/tables/money.ts";
import { findPublicAgent } from "../../src/identity/store.ts";
import { findOpenIntentOf } from "../../src/intents/find-store.ts";
import { abandonIntents } from "../../src/payments/abandon.ts";
import { follow } from "../follower/support.ts";
import type { Agent, World } from "../support/world.ts";
import { buyer, delegateOf, intentOf, openIntent, settle, settlementOf, spendState, useSeller } from "./support.ts";

const DAY = 86_400_000;

let world: World;
let provider: Agent;
useSeller((made, seller) => {
  world = made;
  provider = seller;
});

const open = (consumer: Agent, amount: string) => openIntent(world, consumer, provider, amount);

describe("settling", () => {
  it("turns the hold into a settled amount, with one ledger row for each spender", async () => {
    const top = await buyer(world);
    const consumer = await delegateOf(world, top);
    const { body } = await open(consumer, "5.00");
    const now = world.now();
    await settle(world, body.intent_id, now);
    expect((await intentOf(world, body.intent_id)).status).toBe("SETTLED");
    for (const state of await spendState(world, top.did, consumer.did)) {
      expect(state).toMatchObject({ open: 0, settled: 5_000_000, holds: [], ledger: [{ at: now, total: 5_000_000 }] });
    }
  });

  it("gives every settlement an instant of its own, in order, even within one millisecond", async () => {
    const consumer = await buyer(world);
    const opened = [await open(consumer, "1.00"), await open(consumer, "2.00"), await open(consumer, "3.00")];
    const now = world.now();
    for (const { body } of opened) await settle(world, body.intent_id, now);
    const [state] = await spendState(world, consumer.did);
    expect(state?.ledger.map(({ at, total }) => [at - now, total])).toEqual([
      [0, 1_000_000],
      [1, 3_000_000],
      [2, 6_000_000],
    ]);
  });

  it("happens once: a second settlement of the same read is refused, and nothing changes", async () => {
    const consumer = await buyer(world);
    const { body } = await open(consumer, "5.00");
    const read = await intentOf(world, body.intent_id);
    await settle(world, body.intent_id);
    const before = await spendState(world, consumer.did);
    await expect(commit(world.deps.db, settlementOf(world, read, world.now()))).rejects.toThrow();
    await expect(settle(world, body.intent_id)).rejects.toThrow();
    expect(await spendState(world, consumer.did)).toEqual(before);
  });

  for (const swept of [false, true]) {
    it(`releases nothing twice if it comes late for an ended intent that ${swept ? "was swept" : "was not swept yet"}`, async () => {
      const consumer = await buyer(world);
      const { body } = await open(consumer, "5.00");
      await follow(world);
      world.offset = 331_000;
      if (swept) await world.run(abandonIntents);
      const kept = await open(consumer, "2.00");
      await settle(world, body.intent_id);
      const [state] = await spendState(world, consumer.did);
      expect([state?.open, state?.settled]).toEqual([2_000_000, 5_000_000]);
      expect(state?.holds.map(({ intentId }) => intentId)).toEqual([kept.body.intent_id]);
    });
  }

  it("counts once if the job runs at the same time, and the sums agree", async () => {
    const consumer = await buyer(world);
    const opened = await Promise.all([1, 2, 3, 4].map(() => open(consumer, "1.00")));
    await follow(world);
    world.offset = 331_000;
    const settling = opened
      .slice(0, 2)
      .map(({ body }) => settle(world, body.intent_id).catch(() => settle(world, body.intent_id)));
    await Promise.all([...settling, world.run(abandonIntents)]);
    const [state] = await spendState(world, consumer.did);
    expect([state?.open, state?.settled, state?.holds]).toEqual([0, 2_000_000, []]);
  });

  it("survives an edit of the agent that was decided on an older row, and so does opening", async () => {
    const consumer = await buyer(world);
    const { db } = world.deps;
    const { found } = await readBatch(db, { found: findPublicAgent(db, consumer.did) });
    if (!found) throw new Error("no such agent");
    expect((await open(consumer, "5.00")).status).toBe(201);
    await commit(
      db,
      updateAgent(db, found.agent, { displayName: "Renamed" }, { documented: true, owner: found.principal }),
    );
    expect((await spendState(world, consumer.did))[0]?.open).toBe(5_000_000);
  });
});

describe("the intent for a payment that names none", () => {
  const find = async (consumer: Agent, amount: number, minedAt?: number) => {
    const by = { consumerDid: consumer.did, providerDid: provider.did, network: "base-sepolia", amount };
    const { db } = world.deps;
    const { intent } = await readBatch(db, {
      intent: findOpenIntentOf(db, minedAt === undefined ? by : { ...by, minedAt }, world.now()),
    });
    return intent?.intentId ?? null;
  };

  it("is the newest open one of the pair with exactly the amount", async () => {
    const consumer = await buyer(world);
    const [older, other] = [await open(consumer, "5.00"), await open(consumer, "6.00")];
    world.offset = 5;
    const newer = await open(consumer, "5.00");
    expect(await find(consumer, 5_000_000)).toBe(newer.body.intent_id);
    expect(await find(consumer, 6_000_000)).toBe(other.body.intent_id);
    expect(await find(consumer, 5_000_001)).toBeNull();
    await settle(world, newer.body.intent_id);
    expect(await find(consumer, 5_000_000)).toBe(older.body.intent_id);
  });

  it("is found for 24 hours after its end if the payment was mined before, swept or not", async () => {
    const consumer = await buyer(world);
    const { body } = await open(consumer, "5.00");
    const expiresAt = Date.parse(body.expires_at);
    world.offset = 301_000;
    expect(await find(consumer, 5_000_000, expiresAt - 1_000)).toBe(body.intent_id);
    expect(await find(consumer, 5_000_000, expiresAt + 29_999)).toBe(body.intent_id);
    expect(await find(consumer, 5_000_000, expiresAt + 30_000)).toBeNull();
    await world.run(abandonIntents);
    expect(await find(consumer, 5_000_000, expiresAt - 1_000)).toBe(body.intent_id);
    world.offset = 301_000 + DAY;
    expect(await find(consumer, 5_000_000, expiresAt - 1_000)).toBeNull();
  });

  it("is not a newer one that was opened long after the payment was mined", async () => {
    const consumer = await buyer(world);
    const first = await open(consumer, "5.00");
    const minedAt = world.now() + 1_000;
    world.offset = 120_000;
    const second = await open(consumer, "5.00");
    expect(await find(consumer, 5_000_000, minedAt)).toBe(first.body.intent_id);
    expect(await find(consumer, 5_000_000, world.now())).toBe(second.body.intent_id);
  });

  it("costs the same however many intents of the pair were settled or abandoned before", async () => {
    const cost = async (rows: number) => {
      const consumer = await buyer(world);
      const { body } = await open(consumer, "5.00");
      const intent = await intentOf(world, body.intent_id);
      const { db } = world.deps;
      for (let done = 0; done < rows; done += 50) {
        await db.batch(
          Array.from({ length: 50 }, (_, i) =>
            db.insert(paymentIntents).values({
              ...intent,
              intentId: `${intent.intentId}-${done + i}`,
              intentHash: `${intent.intentHash}-${done + i}`,
              status: i % 2 === 0 ? "SETTLED" : "ABANDONED",
              createdAt: intent.createdAt - 3 * DAY - done - i,
              expiresAt: intent.expiresAt - 3 * DAY - done - i,
            }),
          ) as never,
        );
      }
      world.meter.reset();
      expect(await find(consumer, 5_000_000)).toBe(body.intent_id);
      return world.meter.reading.rowsRead;
    };
    expect(await cost(500)).toBe(await cost(50));
  });
});
