// The window counts settled and open intents, two concurrent ones never overspend it, and its cost does not grow with the history (PAY-10, AGT-26).
import { describe, expect, it } from "vitest";
import { formatAmount } from "../../src/core/text.ts";
import { commit } from "../../src/db/batch.ts";
import { spendLedger } from "../../src/db/tables/spending.ts";
import { stopped } from "../support/clock.ts";
import { isWhole } from "../support/scale.ts";
import { type Agent, env, type Reply, type World } from "../support/world.ts";
import {
  buyer,
  dailyLimit,
  delegateOf,
  intentOf,
  openIntent,
  orderOf,
  setSpend,
  settle,
  settlementOf,
  spendState,
  useSeller,
} from "./support.ts";

const DAY = 86_400_000;
const HOUR = DAY / 24;
const AT_ONCE = isWhole() ? 200 : 40;

let world: World;
let provider: Agent;
useSeller((made, seller) => {
  world = made;
  provider = seller;
});

const open = (consumer: Agent, amount: string) => openIntent(world, consumer, provider, amount);

const opened = <R extends Reply>(replies: readonly R[]): R[] => replies.filter(({ status }) => status === 201);

/** Expects that only a window refused the intents that were not opened. */
function expectRefusedByWindow(replies: readonly Reply[]): void {
  for (const { status, body } of replies)
    if (status !== 201) expect([status, body.detail?.failed_check]).toEqual([403, "spending_limit"]);
}

/** Writes settlements from before the test: one ledger row for each entry. */
async function history(did: string, entries: readonly { at: number; amount: number }[]) {
  let total = 0;
  const rows = entries.map(({ at, amount }) => {
    total += amount;
    return { did, environment: "sandbox" as const, currency: "USDC", at, total };
  });
  const { db } = world.deps;
  await commit(
    db,
    rows.map((row) => db.insert(spendLedger).values(row)),
  );
  await setSpend(world, did, { settled: total });
}

describe("the window", () => {
  it("no longer counts a settlement that is exactly as old as the window is long, and counts one a millisecond younger", async () => {
    const frozen = stopped(world);
    const now = frozen.now();
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

  it("counts settled and open amounts together, to the last base unit", async () => {
    const consumer = await buyer(world, dailyLimit("10.00"));
    const first = await open(consumer, "4.00");
    await settle(world, first.body.intent_id);
    expect((await open(consumer, "3.000000")).status).toBe(201);
    const over = await open(consumer, "3.000001");
    expect([over.status, over.body.detail]).toEqual([
      403,
      { failed_check: "spending_limit", limit: "10.00", attempted: "3.000001", remaining: "3.00" },
    ]);
    expect((await open(consumer, "3")).status).toBe(201);
    expect((await open(consumer, "0.000001")).body.detail.remaining).toBe("0.00");
  });

  it("moves on: a settlement from before it no longer counts", async () => {
    const consumer = await buyer(world, dailyLimit("10.00"));
    await history(consumer.did, [
      { at: world.now() - 3 * DAY, amount: 9_000_000 },
      { at: world.now() - 2 * DAY, amount: 9_000_000 },
      { at: world.now() - HOUR, amount: 2_000_000 },
    ]);
    expect((await open(consumer, "8.000001")).body.detail.remaining).toBe("8.00");
    expect((await open(consumer, "8.00")).status).toBe(201);
  });

  it("is as long as the scope states now: a longer window includes the older history again", async () => {
    const consumer = await buyer(world, dailyLimit("10.00"));
    await history(consumer.did, [{ at: world.now() - 2 * DAY, amount: 9_000_000 }]);
    expect((await open(consumer, "5.00")).status).toBe(201);
    const patched = await world.call("PATCH", `/v1/agents/${consumer.did}/scope`, { body: dailyLimit("20.00", 7) });
    expect(patched.status).toBe(200);
    expect((await open(consumer, "6.000001")).body.detail.remaining).toBe("6.00");
  });

  it(`admits exactly ${AT_ONCE / 5} of ${AT_ONCE} concurrent intents if that many fit`, async () => {
    const fitting = AT_ONCE / 5;
    const consumer = await buyer(world, dailyLimit(`${10 * fitting}.00`));
    const replies = await Promise.all(Array.from({ length: AT_ONCE }, () => open(consumer, "10.00")));
    expect(opened(replies)).toHaveLength(fitting);
    expectRefusedByWindow(replies);
    const [state] = await spendState(world, consumer.did);
    expect([state?.open, state?.holds.length, state?.intents.length]).toEqual([10_000_000 * fitting, fitting, fitting]);
  });

  it(`admits those of ${AT_ONCE} concurrent intents of many amounts that fit: the rest is less than any refused amount`, async () => {
    const consumer = await buyer(world, dailyLimit(`${2.5 * AT_ONCE}.000000`));
    const amounts = Array.from(
      { length: AT_ONCE },
      (_, i) => 1_000_001 + ((i * 7_919) % AT_ONCE) * Math.floor(9_999_800 / AT_ONCE),
    );
    const replies = await Promise.all(
      amounts.map(async (units) => ({ units, ...(await open(consumer, formatAmount(units, 6))) })),
    );
    expectRefusedByWindow(replies);
    const [state] = await spendState(world, consumer.did);
    const held = opened(replies).reduce((sum, { units }) => sum + units, 0);
    expect([state?.open, state?.holds.length]).toEqual([held, opened(replies).length]);
    const remaining = 2_500_000 * AT_ONCE - held;
    expect(remaining).toBeGreaterThanOrEqual(0);
    const refused = replies.filter(({ status }) => status !== 201).map(({ units }) => units);
    expect(refused.length).toBeGreaterThan(0);
    expect(Math.min(...refused)).toBeGreaterThan(remaining);
  });

  it("costs the same after 1,000 settlements and after 20,000", async () => {
    const cost = async (rows: number) => {
      const consumer = await buyer(world, dailyLimit("100.00", 30));
      await env.DB.prepare(
        `insert into spend_ledger (did, environment, currency, at, total)
         with recursive n(i) as (select 1 union all select i + 1 from n where i < ?2)
         select ?1, 'sandbox', 'USDC', ?3 - (?2 - i) * 100000, i * 1000 from n`,
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
    const intent = await intentOf(world, intentId);
    world.meter.reset();
    await commit(world.deps.db, settlementOf(world, intent, world.now()));
    return figures();
  };
});

describe("delegation", () => {
  it("counts a delegate's spending in every delegator's window, and names the delegator whose window is full", async () => {
    const top = await buyer(world, dailyLimit("10.00"));
    const middle = await delegateOf(world, top, dailyLimit("10.00"));
    const [left, right] = [
      await delegateOf(world, middle, dailyLimit("8.00")),
      await delegateOf(world, top, dailyLimit("8.00")),
    ];
    const first = await open(left, "6.00");
    await settle(world, first.body.intent_id);
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

  it(`admits exactly as many of ${AT_ONCE} concurrent intents of several delegates as fit their delegator's window`, async () => {
    const [wide, narrow] = [dailyLimit(`${2.5 * AT_ONCE}.00`), dailyLimit(`${2 * AT_ONCE}.00`)];
    const top = await buyer(world, wide);
    const middle = await delegateOf(world, top, narrow);
    const below = await Promise.all([1, 2].map(() => delegateOf(world, middle, narrow)));
    const spenders = [top, middle, ...below, await delegateOf(world, top, wide)];
    const each = AT_ONCE / spenders.length;
    const replies = await Promise.all(
      spenders.flatMap((one) => Array.from({ length: each }, async () => ({ one, ...(await open(one, "10.00")) }))),
    );
    expect(opened(replies)).toHaveLength(AT_ONCE / 4);
    expectRefusedByWindow(replies);
    const heldBy = (own: readonly Agent[]) => opened(replies).filter(({ one }) => own.includes(one)).length;
    const state = await spendState(world, top.did, middle.did, ...below.map(({ did }) => did));
    expect(state.map(({ open: held, holds }) => [held, holds.length])).toEqual(
      [spenders, [middle, ...below], ...below.map((one) => [one])].map((own) => [
        heldBy(own) * 10_000_000,
        heldBy(own),
      ]),
    );
    // The answer names the delegator if the delegator's window is full, and no agent if it is the spender's own.
    for (const { one, status, body } of replies)
      if (status !== 201) expect(body.detail?.delegator).toBe(one === top ? undefined : top.did);
  });

  it("admits what fits both a delegate's and its delegator's window, when both are spent at once", async () => {
    const top = await buyer(world, dailyLimit("1000.00"));
    const delegates = await Promise.all(["30.00", "70.00"].map((limit) => delegateOf(world, top, dailyLimit(limit))));
    const replies = await Promise.all(
      delegates.flatMap((one) =>
        Array.from({ length: AT_ONCE / 4 }, async () => ({ one, ...(await open(one, "10.00")) })),
      ),
    );
    expect(delegates.map((own) => opened(replies).filter(({ one }) => one === own).length)).toEqual([3, 7]);
    expectRefusedByWindow(replies);
    const state = await spendState(world, top.did, ...delegates.map(({ did }) => did));
    expect(state.map(({ open: held }) => held)).toEqual([100_000_000, 30_000_000, 70_000_000]);
  });

  it("counts a delegate's payment once, even if the delegate ended before the settlement", async () => {
    const top = await buyer(world, dailyLimit("10.00"));
    const delegate = await delegateOf(world, top, dailyLimit("10.00"));
    const { body } = await open(delegate, "6.00");
    const ended = await world.call("PATCH", `/v1/agents/${delegate.did}/status`, { body: { status: "TERMINATED" } });
    expect(ended.status).toBe(200);
    expect((await open(top, "4.000001")).body.detail.remaining).toBe("4.00");
    await settle(world, body.intent_id);
    expect((await spendState(world, top.did))[0]).toMatchObject({ open: 0, settled: 6_000_000, holds: [] });
    expect((await open(top, "4.00")).status).toBe(201);
  });

  it("applies a delegator's lower ceiling to its delegates at once", async () => {
    const top = await buyer(world);
    const consumer = await delegateOf(world, top);
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
