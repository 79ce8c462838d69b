// A call that concerns two platforms runs on the clock of the consumer's platform, for both parties (ACC-9). A party's read costs one more trip if
// that clock is another than its own, or moved.
import { describe, expect, it } from "vitest";
import { HOUR_MS } from "../../src/core/limits.ts";
import { asClient, asConsumer, confirm, facilitated, paid } from "../facilitation/support.ts";
import { buyer, orderOf, seller } from "../payments/support.ts";
import { attested, moveClock } from "../support/clock.ts";
import { type Agent, createWorld, expectStatus, type World } from "../support/world.ts";

/** Longer than the life of an intent and the window of a task. */
const MOVED = 100 * HOUR_MS;

describe("on two platforms, the clock of the consumer's platform", () => {
  type Shared = { buying: World; selling: World; consumer: Agent; provider: Agent };
  async function openShared(market: (world: World) => Promise<Agent> = seller): Promise<Shared> {
    const [buying, selling] = [await createWorld(), await createWorld()];
    return { buying, selling, consumer: await buyer(buying), provider: await market(selling) };
  }
  /** An object as its consumer and as its provider sees it, with the trips of each read. */
  async function seen({ buying, selling, consumer, provider }: Shared, path: string) {
    const readings: [status: string, trips: number][] = [];
    for (const [world, agent] of [
      [buying, consumer],
      [selling, provider],
    ] as const) {
      world.meter.reset();
      const { status } = expectStatus(await world.as(agent, "GET", path), 200);
      readings.push([status, world.meter.reading.trips]);
    }
    return readings;
  }

  it("ends an intent for both parties at its instant", async () => {
    const shared = await openShared();
    const { intent_id } = await shared.buying.intent(shared.consumer, shared.provider);
    const path = `/v1/payment-intents/${intent_id}`;
    await moveClock(shared.selling, MOVED);
    expect(await seen(shared, path)).toEqual([
      ["OPEN", 1],
      ["OPEN", 1],
    ]);
    await moveClock(shared.selling, 0);
    await moveClock(shared.buying, MOVED);
    expect(await seen(shared, path)).toEqual([
      ["ABANDONED", 2],
      ["ABANDONED", 2],
    ]);
  });

  it("confirms a task for both parties after 72 hours, and the task can then not be confirmed", async () => {
    const shared = await openShared((world) => world.provider());
    const { buying, selling, consumer, provider } = shared;
    const { task } = await facilitated(selling, { consumer, provider });
    const path = `/v1/tasks/${task}`;
    await moveClock(selling, MOVED);
    expect(await seen(shared, path)).toEqual([
      ["open", 1],
      ["open", 1],
    ]);
    await moveClock(selling, 0);
    await moveClock(buying, MOVED);
    expect(await seen(shared, path)).toEqual([
      ["auto_confirmed", 2],
      ["auto_confirmed", 2],
    ]);
    const late = await confirm(buying, consumer, task);
    expect([late.status, late.body.code]).toEqual([409, "confirmation_window_closed"]);
  });

  it.each([
    ["by intent", asConsumer],
    ["by payment", asClient],
  ])("moves the block's time of a facilitation %s", async (_form, facilitate) => {
    const { buying, selling, consumer, provider } = await openShared((world) => world.provider());
    await moveClock(buying, MOVED);
    const before = Date.now();
    const purchase = await paid(buying, { consumer, provider });
    selling.meter.reset();
    const { confirm_by } = expectStatus(await facilitate(selling, purchase), 200);
    expect(selling.meter.reading.trips).toBe(3);
    const settledAt = Date.parse(confirm_by) - 72 * HOUR_MS;
    expect(settledAt).toBeGreaterThanOrEqual(before + MOVED);
    expect(settledAt).toBeLessThanOrEqual(Date.now() + MOVED);
  });
});

describe("the attestation of a principal", () => {
  it.each([
    ["counts while it has not ended on its own platform's clock", "buying", [201, "OPEN"]],
    ["ends on its own platform's clock", "selling", [409, "agent_not_active"]],
  ] as const)("%s, whichever clock rules the intent", async (_rule, ahead, expected) => {
    const worlds = { buying: await createWorld(), selling: await createWorld() };
    const principalId = await worlds.selling.principal(attested(1));
    const provider = await seller(worlds.selling, { overrides: { principal_id: principalId } });
    const consumer = await buyer(worlds.buying);
    await moveClock(worlds[ahead], MOVED);
    const { status, body } = await worlds.buying.as(
      consumer,
      "POST",
      "/v1/payment-intents",
      orderOf(consumer, provider),
    );
    expect([status, body.code ?? body.status]).toEqual(expected);
  });
});
