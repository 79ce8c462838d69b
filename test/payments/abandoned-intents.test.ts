// An unpaid intent ends at its expiry, before any job records it (PAY-11, PAY-13).
import { eq } from "drizzle-orm";
import { describe, expect, it, vi } from "vitest";
import { BEFORE_FIRST_DUE } from "../../src/core/clock.ts";
import { events } from "../../src/db/tables/journal.ts";
import { paymentIntents } from "../../src/db/tables/money.ts";
import { abandonIntents, findAbandoned } from "../../src/payments/abandon.ts";
import { follow } from "../follower/support.ts";
import { rows } from "../promotion/support.ts";
import { type Agent, createWorld, type World } from "../support/world.ts";
import { buyer, dailyLimit, delegateOf, intentOf, openIntent, orderOf, spendState, useSeller } from "./support.ts";

const DAY = 86_400_000;

let world: World;
let provider: Agent;
useSeller((made, seller) => {
  world = made;
  provider = seller;
});

const open = (consumer: Agent, amount: string) => openIntent(world, consumer, provider, amount);

describe("an unpaid intent", () => {
  it("reads as ABANDONED from its expiry on, before any cron", async () => {
    const consumer = await buyer(world);
    const { body } = await open(consumer, "5.00");
    world.offset = Date.parse(body.expires_at) - Date.now() + 1;
    const reply = await world.as(consumer, "GET", `/v1/payment-intents/${body.intent_id}`);
    expect(reply.body).toEqual({ ...body, status: "ABANDONED", hold_released: false });
  });

  it("releases the holds of its consumer and its delegators before any cron, once its network was read past its end", async () => {
    const top = await buyer(world, dailyLimit("10.00"));
    const consumer = await delegateOf(world, top, dailyLimit("10.00"));
    const sibling = await delegateOf(world, top, dailyLimit("10.00"));
    expect((await open(consumer, "10.00")).status).toBe(201);
    expect((await open(sibling, "10.00")).status).toBe(403);
    world.offset = 331_000;
    expect((await open(sibling, "10.00")).status).toBe(403);
    await follow(world);
    world.offset = 329_000;
    expect((await open(sibling, "10.00")).status).toBe(403);
    world.offset = 331_000;
    expect((await open(sibling, "10.00")).status).toBe(201);
    const [state] = await spendState(world, top.did);
    expect([state?.open, state?.holds.length]).toEqual([10_000_000, 1]);
  });

  it("becomes ABANDONED by the cron, which releases its holds and writes one event for each platform", async () => {
    const other = await createWorld();
    const consumer = await buyer(other, dailyLimit("10.00"));
    const { body } = await other.as(
      consumer,
      "POST",
      "/v1/payment-intents",
      orderOf(consumer, provider, { amount: "7.00" }),
    );
    expect(await sweep()).toBe(0);
    world.offset = 331_000;
    await rows("update followers set read_through = 0 where network = 'base-sepolia'");
    expect(await sweep()).toBe(0);
    await follow(world);
    expect(await sweep()).toBeGreaterThan(0);
    expect(await sweep()).toBe(0);
    expect((await intentOf(world, body.intent_id)).status).toBe("ABANDONED");
    const [state] = await spendState(world, consumer.did);
    expect([state?.open, state?.holds]).toEqual([0, []]);
    for (const platformId of [world.platformId, other.platformId]) {
      const reported = (await world.deps.db.select().from(events).where(eq(events.platformId, platformId))).filter(
        ({ type, object }) => type === "intent.abandoned" && object["intent_id"] === body.intent_id,
      );
      expect(reported.map(({ object }) => object)).toEqual([{ ...body, status: "ABANDONED", hold_released: true }]);
    }
  });

  it("is released once, even if the next intent released it before the cron", async () => {
    const consumer = await buyer(world, dailyLimit("10.00"));
    expect((await open(consumer, "6.00")).status).toBe(201);
    await follow(world);
    world.offset = 331_000;
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
    await follow(world);
    world.offset += 331_000;
    expect([await sweep(2), await sweep(2), await sweep(2), await sweep(2)]).toEqual([2, 2, 1, 0]);
    expect((await spendState(world, consumer.did))[0]?.open).toBe(0);
  });

  it("does not block the sweep if it cannot be shown: the intents before and after it are ended", async () => {
    const log = vi.spyOn(console, "error").mockImplementation(() => undefined);
    const consumer = await buyer(world);
    world.offset += 10 * DAY;
    while ((await sweep()) > 0);
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) {
      ids.push((await open(consumer, "1.00")).body.intent_id);
      world.offset += 1_000;
    }
    const [first = "", ...others] = ids;
    const { db } = world.deps;
    const spenders = (of: string[]) =>
      db.update(paymentIntents).set({ spenders: of }).where(eq(paymentIntents.intentId, first));
    await spenders({} as string[]);
    await follow(world);
    world.offset += 331_000;
    const ran = await (await findAbandoned(world.deps, BEFORE_FIRST_DUE, 2))?.run();
    expect(ran).toMatchObject({ done: 1, failed: [{ id: first, thrown: expect.any(Error) }] });
    expect(await world.run(abandonIntents)).toBe(3);
    expect(log.mock.calls.map(([text]) => JSON.parse(text))).toMatchObject([{ job: "abandon_intents", id: first }]);
    const statuses = async (of: readonly string[]) =>
      Promise.all(of.map(async (id) => (await intentOf(world, id))?.status));
    expect(await statuses([first, ...others])).toEqual(["OPEN", ...others.map(() => "ABANDONED")]);
    await spenders([consumer.did]);
    expect(await world.run(abandonIntents)).toBe(1);
    log.mockRestore();
  });

  const sweep = async (slice = 100) =>
    (await (await findAbandoned(world.deps, BEFORE_FIRST_DUE, slice))?.run())?.done ?? 0;
});
