// Contract section 6: the window counts settled and open intents, two concurrent ones never overspend it, and its cost does
// not grow with the history.
import { eq } from "drizzle-orm";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { updateAgent } from "../../src/agents/store.ts";
import { commit, readBatch } from "../../src/db/batch.ts";
import { events } from "../../src/db/tables/journal.ts";
import { type IntentRow, paymentIntents, spendLedger } from "../../src/db/tables/money.ts";
import { findPublicAgent } from "../../src/identity/store.ts";
import { abandonIntents, abandonSlice } from "../../src/payments/abandon.ts";
import { spendStatements } from "../../src/payments/spend-store.ts";
import { findIntent, findOpenIntentOf, settleIntent } from "../../src/payments/store.ts";
import { type Agent, createWorld, env, type World } from "../support/world.ts";
import { buyer, dailyLimit, orderOf, seller, setSpend, spendState } from "./support.ts";

const DAY = 86_400_000;
const HOUR = DAY / 24;

let world: World;
let provider: Agent;
beforeAll(async () => {
  world = await createWorld();
  provider = await seller(world);
});
beforeEach(() => {
  world.offset = 0;
});

const open = (consumer: Agent, amount: string) =>
  world.as(consumer, "POST", "/v1/payment-intents", orderOf(consumer, provider, { amount }));
const intentOf = async (intentId: string): Promise<IntentRow> => {
  const { intent } = await readBatch(world.deps.db, { intent: findIntent(world.deps.db, intentId) });
  if (!intent) throw new Error("no such intent");
  return intent;
};
const settlementOf = (intent: IntentRow, now: number) => {
  const { db } = world.deps;
  return [...settleIntent(db, intent), ...spendStatements(db, intent, now)];
};
const settle = async (intentId: string, now = world.now()) =>
  commit(world.deps.db, settlementOf(await intentOf(intentId), now));
const delegateOf = (delegator: Agent, scope: Record<string, unknown> = {}) =>
  buyer(world, scope, { principal_id: delegator.principalId, delegated_by: delegator.did });

/** Settled before this test: one ledger row an entry. */
async function history(did: string, entries: readonly { at: number; amount: number }[]) {
  let total = 0;
  const rows = entries.map(({ at, amount }) => {
    total += amount;
    return { did, at, total };
  });
  const { db } = world.deps;
  await commit(
    db,
    rows.map((row) => db.insert(spendLedger).values(row)),
  );
  await setSpend(world, did, { settled: total });
}

describe("the window", () => {
  it("no longer counts a settlement of exactly its length ago, and counts one a millisecond younger", async () => {
    // The clock stands still, so that the edge is exact.
    const now = Date.now();
    const clock = { now: () => now };
    const frozen = Object.assign(Object.create(Object.getPrototypeOf(world)) as World, world);
    const { createApp } = await import("../../src/app.ts");
    Object.assign(frozen, { app: createApp({ ...world.deps, clock }), now: () => now });
    for (const [age, remaining] of [
      [DAY, "10.00"],
      [DAY - 1, "4.00"],
    ] as const) {
      const consumer = await buyer(world, dailyLimit("10.00"));
      await history(consumer.did, [{ at: now - age, amount: 6_000_000 }]);
      const order = orderOf(consumer, provider, { amount: "10.000001" });
      const reply = await frozen.as(consumer, "POST", "/v1/payment-intents", order);
      expect([age, reply.body.detail?.remaining]).toEqual([age, remaining]);
      const fitting = await frozen.as(consumer, "POST", "/v1/payment-intents", { ...order, amount: remaining });
      expect(fitting.status).toBe(201);
    }
  });

  it("counts what is settled and what is open together, to the last base unit", async () => {
    const consumer = await buyer(world, dailyLimit("10.00"));
    const first = await open(consumer, "4.00");
    await settle(first.body.intent_id);
    expect((await open(consumer, "3.000000")).status).toBe(201);
    const over = await open(consumer, "3.000001");
    expect([over.status, over.body.detail]).toEqual([
      403,
      { failed_check: "spending_limit", limit: "10.00", attempted: "3.000001", remaining: "3.00" },
    ]);
    expect((await open(consumer, "3")).status).toBe(201);
    expect((await open(consumer, "0.000001")).body.detail.remaining).toBe("0.00");
  });

  it("moves on: what was settled before it counts no more", async () => {
    const consumer = await buyer(world, dailyLimit("10.00"));
    await history(consumer.did, [
      { at: world.now() - 3 * DAY, amount: 9_000_000 },
      { at: world.now() - 2 * DAY, amount: 9_000_000 },
      { at: world.now() - HOUR, amount: 2_000_000 },
    ]);
    expect((await open(consumer, "8.000001")).body.detail.remaining).toBe("8.00");
    expect((await open(consumer, "8.00")).status).toBe(201);
  });

  it("is as long as the scope says now: a longer one takes the older history in again", async () => {
    const consumer = await buyer(world, dailyLimit("10.00"));
    await history(consumer.did, [{ at: world.now() - 2 * DAY, amount: 9_000_000 }]);
    expect((await open(consumer, "5.00")).status).toBe(201);
    const patched = await world.call("PATCH", `/v1/agents/${consumer.did}/scope`, { body: dailyLimit("20.00", 7) });
    expect(patched.status).toBe(200);
    expect((await open(consumer, "6.000001")).body.detail.remaining).toBe("6.00");
  });

  it("admits exactly 10 of 50 concurrent intents where 10 fit", async () => {
    const consumer = await buyer(world, dailyLimit("100.00"));
    const replies = await Promise.all(Array.from({ length: 50 }, () => open(consumer, "10.00")));
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(10);
    const refused = replies.filter(({ status }) => status !== 201);
    for (const { status, body } of refused)
      expect([status, body.detail?.failed_check]).toEqual([403, "spending_limit"]);
    const [state] = await spendState(world, consumer.did);
    expect([state?.open, state?.holds.length, state?.intents.length]).toEqual([100_000_000, 10, 10]);
  });

  it("costs the same after 1,000 settlements and after 20,000", async () => {
    const cost = async (rows: number) => {
      const consumer = await buyer(world, dailyLimit("100.00", 30));
      await env.DB.prepare(
        `insert into spend_ledger (did, at, total)
         with recursive n(i) as (select 1 union all select i + 1 from n where i < ?2)
         select ?1, ?3 - (?2 - i) * 100000, i * 1000 from n`,
      )
        .bind(consumer.did, rows, world.now() - 1_000)
        .run();
      await setSpend(world, consumer.did, { settled: rows * 1_000 });
      world.meter.reset();
      const reply = await open(consumer, "1.00");
      expect(reply.status).toBe(201);
      const opened = figures();
      const settled = await settleMetered(reply.body.intent_id);
      return { opened, settled };
    };
    expect(await cost(20_000)).toEqual(await cost(1_000));
  });

  const figures = () => {
    const { trips, statements, rowsRead, rowsWritten } = world.meter.reading;
    return { trips, statements, rowsRead, rowsWritten };
  };
  const settleMetered = async (intentId: string) => {
    const intent = await intentOf(intentId);
    world.meter.reset();
    await commit(world.deps.db, settlementOf(intent, world.now()));
    return figures();
  };
});

describe("delegation", () => {
  it("counts a delegate's spending in every delegator's window, and names the delegator whose window is full", async () => {
    const top = await buyer(world, dailyLimit("10.00"));
    const middle = await delegateOf(top, dailyLimit("10.00"));
    const [left, right] = [await delegateOf(middle, dailyLimit("8.00")), await delegateOf(top, dailyLimit("8.00"))];
    const first = await open(left, "6.00");
    await settle(first.body.intent_id);
    const refused = await open(right, "5.00");
    expect([refused.status, refused.body.detail]).toEqual([
      403,
      { failed_check: "spending_limit", limit: "10.00", attempted: "5.00", remaining: "4.00", delegator: top.did },
    ]);
    expect((await open(right, "4.00")).status).toBe(201);
    const state = await spendState(world, top.did, middle.did, left.did, right.did);
    expect(state.map(({ open: held, settled }) => [held, settled])).toEqual([
      [4_000_000, 6_000_000],
      [0, 6_000_000],
      [0, 6_000_000],
      [4_000_000, 0],
    ]);
  });

  it("admits exactly as many concurrent intents of several delegates as fit their delegator's window", async () => {
    const top = await buyer(world, dailyLimit("50.00"));
    const delegates = await Promise.all([1, 2, 3].map(() => delegateOf(top, dailyLimit("50.00"))));
    const replies = await Promise.all(delegates.flatMap((one) => Array.from({ length: 6 }, () => open(one, "10.00"))));
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(5);
    expect((await spendState(world, top.did))[0]?.open).toBe(50_000_000);
  });

  it("narrowing a delegator narrows what its delegates may do at once", async () => {
    const top = await buyer(world);
    const consumer = await delegateOf(top);
    expect((await open(consumer, "5.00")).status).toBe(201);
    await world.call("PATCH", `/v1/agents/${top.did}/scope`, { body: { max_transaction_value: "4.00" } });
    const refused = await open(consumer, "5.00");
    expect(refused.body.detail).toMatchObject({
      failed_check: "max_transaction_value",
      limit: "4.00",
      delegator: top.did,
    });
  });
});

describe("an intent that nobody paid", () => {
  it("reads as ABANDONED from its expiry on, before any cron", async () => {
    const consumer = await buyer(world);
    const { body } = await open(consumer, "5.00");
    world.offset = Date.parse(body.expires_at) - Date.now() + 1;
    const reply = await world.as(consumer, "GET", `/v1/payment-intents/${body.intent_id}`);
    expect(reply.body).toEqual({ ...body, status: "ABANDONED" });
  });

  it("lets go of what it held at its expiry, for the consumer and its delegators, before any cron", async () => {
    const top = await buyer(world, dailyLimit("10.00"));
    const consumer = await delegateOf(top, dailyLimit("10.00"));
    const sibling = await delegateOf(top, dailyLimit("10.00"));
    expect((await open(consumer, "10.00")).status).toBe(201);
    expect((await open(sibling, "10.00")).status).toBe(403);
    world.offset = 301_000;
    expect((await open(sibling, "10.00")).status).toBe(201);
    const [state] = await spendState(world, top.did);
    expect([state?.open, state?.holds.length]).toEqual([10_000_000, 1]);
  });

  it("is ABANDONED by the cron, its holds let go, and both platforms are told once", async () => {
    const other = await createWorld();
    const consumer = await buyer(other, dailyLimit("10.00"));
    const { body } = await other.as(
      consumer,
      "POST",
      "/v1/payment-intents",
      orderOf(consumer, provider, { amount: "7.00" }),
    );
    expect(await sweep()).toBe(0);
    world.offset = 301_000;
    expect(await sweep()).toBeGreaterThan(0);
    expect(await sweep()).toBe(0);
    expect((await intentOf(body.intent_id)).status).toBe("ABANDONED");
    const [state] = await spendState(world, consumer.did);
    expect([state?.open, state?.holds]).toEqual([0, []]);
    for (const platformId of [world.platformId, other.platformId]) {
      const told = (await world.deps.db.select().from(events).where(eq(events.platformId, platformId))).filter(
        ({ type, object }) => type === "intent.abandoned" && object["intent_id"] === body.intent_id,
      );
      expect(told.map(({ object }) => object)).toEqual([{ ...body, status: "ABANDONED" }]);
    }
  });

  it("is let go once, also where the next intent wrote that down before the cron did", async () => {
    const consumer = await buyer(world, dailyLimit("10.00"));
    expect((await open(consumer, "6.00")).status).toBe(201);
    world.offset = 301_000;
    expect((await open(consumer, "9.00")).status).toBe(201);
    await sweep();
    const [state] = await spendState(world, consumer.did);
    expect([state?.open, state?.intents.map(({ status }) => status).sort()]).toEqual([
      9_000_000,
      ["ABANDONED", "OPEN"],
    ]);
  });

  it("is swept in slices, each in one batch", async () => {
    const consumer = await buyer(world);
    world.offset = 10 * DAY;
    while ((await sweep()) > 0);
    for (let i = 0; i < 5; i++) await open(consumer, "1.00");
    world.offset += 301_000;
    expect([await sweep(2), await sweep(2), await sweep(2), await sweep(2)]).toEqual([2, 2, 1, 0]);
    expect((await spendState(world, consumer.did))[0]?.open).toBe(0);
  });

  const sweep = (slice = 100) => abandonSlice(world.deps, slice);
});

describe("settling", () => {
  it("moves what was held into what is settled, with one ledger row for each spender", async () => {
    const top = await buyer(world);
    const consumer = await delegateOf(top);
    const { body } = await open(consumer, "5.00");
    const now = world.now();
    await settle(body.intent_id, now);
    expect((await intentOf(body.intent_id)).status).toBe("SETTLED");
    for (const state of await spendState(world, top.did, consumer.did)) {
      expect(state).toMatchObject({ open: 0, settled: 5_000_000, holds: [], ledger: [{ at: now, total: 5_000_000 }] });
    }
  });

  it("gives every settlement an instant of its own, in order, also within one millisecond", async () => {
    const consumer = await buyer(world);
    const opened = [await open(consumer, "1.00"), await open(consumer, "2.00"), await open(consumer, "3.00")];
    const now = world.now();
    for (const { body } of opened) await settle(body.intent_id, now);
    const [state] = await spendState(world, consumer.did);
    expect(state?.ledger.map(({ at, total }) => [at - now, total])).toEqual([
      [0, 1_000_000],
      [1, 3_000_000],
      [2, 6_000_000],
    ]);
  });

  it("happens once: a second settlement of what was read before is refused, and nothing changes", async () => {
    const consumer = await buyer(world);
    const { body } = await open(consumer, "5.00");
    const read = await intentOf(body.intent_id);
    await settle(body.intent_id);
    const before = await spendState(world, consumer.did);
    await expect(commit(world.deps.db, settlementOf(read, world.now()))).rejects.toThrow();
    await expect(settle(body.intent_id)).rejects.toThrow();
    expect(await spendState(world, consumer.did)).toEqual(before);
  });

  for (const swept of [false, true]) {
    it(`late, of an intent that has ended ${swept ? "and was swept" : "and was not swept yet"}, releases nothing twice`, async () => {
      const consumer = await buyer(world);
      const { body } = await open(consumer, "5.00");
      world.offset = 301_000;
      if (swept) await world.run(abandonIntents);
      const kept = await open(consumer, "2.00");
      await settle(body.intent_id);
      const [state] = await spendState(world, consumer.did);
      expect([state?.open, state?.settled]).toEqual([2_000_000, 5_000_000]);
      expect(state?.holds.map(({ intentId }) => intentId)).toEqual([kept.body.intent_id]);
    });
  }

  it("races the sweep: one of the two counts, and the sums agree with it", async () => {
    const consumer = await buyer(world);
    const opened = await Promise.all([1, 2, 3, 4].map(() => open(consumer, "1.00")));
    world.offset = 301_000;
    const settling = opened.slice(0, 2).map(({ body }) => settle(body.intent_id).catch(() => settle(body.intent_id)));
    await Promise.all([...settling, world.run(abandonIntents)]);
    const [state] = await spendState(world, consumer.did);
    expect([state?.open, state?.settled, state?.holds]).toEqual([0, 2_000_000, []]);
  });

  it("and opening are not undone by an edit of the agent that was decided on an older row", async () => {
    const consumer = await buyer(world);
    const { db } = world.deps;
    const { found } = await readBatch(db, { found: findPublicAgent(db, consumer.did) });
    if (!found) throw new Error("no such agent");
    expect((await open(consumer, "5.00")).status).toBe(201);
    await commit(db, updateAgent(db, found.agent, { displayName: "Renamed" }, { documented: true }));
    expect((await spendState(world, consumer.did))[0]?.open).toBe(5_000_000);
  });
});

describe("the intent of a payment that names none", () => {
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
    await new Promise((resolve) => setTimeout(resolve, 5));
    const newer = await open(consumer, "5.00");
    expect(await find(consumer, 5_000_000)).toBe(newer.body.intent_id);
    expect(await find(consumer, 6_000_000)).toBe(other.body.intent_id);
    expect(await find(consumer, 5_000_001)).toBeNull();
    await settle(newer.body.intent_id);
    expect(await find(consumer, 5_000_000)).toBe(older.body.intent_id);
  });

  it("is found for 24 hours after it ended, for a payment that was mined before, swept or not", async () => {
    const consumer = await buyer(world);
    const { body } = await open(consumer, "5.00");
    const expiresAt = Date.parse(body.expires_at);
    world.offset = 301_000;
    expect(await find(consumer, 5_000_000, expiresAt - 1_000)).toBe(body.intent_id);
    expect(await find(consumer, 5_000_000, expiresAt)).toBeNull();
    await world.run(abandonIntents);
    expect(await find(consumer, 5_000_000, expiresAt - 1_000)).toBe(body.intent_id);
    world.offset = 301_000 + DAY;
    expect(await find(consumer, 5_000_000, expiresAt - 1_000)).toBeNull();
  });

  it("is not a newer one, opened long after the payment was mined", async () => {
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
      const intent = await intentOf(body.intent_id);
      const { db } = world.deps;
      for (let done = 0; done < rows; done += 50) {
        await db.batch(
          Array.from({ length: 50 }, (_, i) =>
            db.insert(paymentIntents).values({
              ...intent,
              intentId: `${intent.intentId}-${done + i}`,
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
