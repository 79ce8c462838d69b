// An agent lists its own intents in their state at this instant (PAY-22).
import { beforeAll, describe, expect, it } from "vitest";
import { asProvider, type Pair, paid, pairOf } from "../facilitation/support.ts";
import { follow } from "../follower/support.ts";
import { rows } from "../promotion/support.ts";
import { type Agent, createWorld, expectStatus, type Json, type Reply, type World } from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const list = (agent: Agent, query: Record<string, string> = {}, of = world): Promise<Reply> =>
  of.as(agent, "GET", `/v1/payment-intents?${new URLSearchParams(query)}`);
const listed = async (agent: Agent, query: Record<string, string> = {}, of = world): Promise<Json[]> =>
  expectStatus(await list(agent, query, of), 200).data;
const idsOf = (intents: readonly Json[]): string[] => intents.map(({ intent_id }) => intent_id);
const read = async (agent: Agent, { intent_id }: Json): Promise<Json> =>
  expectStatus(await world.as(agent, "GET", `/v1/payment-intents/${intent_id}`), 200);

describe("the list of an agent's intents", () => {
  it("has the intents of either side, newest first, each as a read of it alone shows it", async () => {
    const pair = await pairOf(world);
    const purchase = await paid(world, pair, "2.00");
    const settled = expectStatus(await asProvider(world, purchase), 200);
    const open = await world.intent(pair.consumer, pair.provider, "3.00");
    // An intent of other agents.
    await world.intent(await world.consumer(), await world.provider(), "3.00");
    for (const agent of [pair.consumer, pair.provider]) {
      const intents = await listed(agent);
      expect(idsOf(intents)).toEqual(idsOf([open, purchase.intent]));
      expect(intents).toEqual([await read(agent, open), await read(agent, purchase.intent)]);
      expect(intents[1]).toMatchObject({
        status: "SETTLED",
        task_id: settled.task_id,
        confirm_by: settled.confirm_by,
      });
      expect(intents[0]).toMatchObject({ task_id: null, confirm_by: null, cancelled_at: null });
    }
    expect(idsOf(await listed(pair.consumer, { role: "consumer" }))).toHaveLength(2);
    expect(await listed(pair.consumer, { role: "provider" })).toEqual([]);
  });

  it("filters by the status at this instant, on the clock that rules each intent", async () => {
    const pair = await pairOf(world);
    const settled = await paid(world, pair, "1.00");
    expectStatus(await asProvider(world, settled), 200);
    const seen = await paid(world, pair, "2.00");
    await follow(world);
    const open = await world.intent(pair.consumer, pair.provider, "3.00");
    const byStatus = async (agent: Agent) => {
      const each = ["OPEN", "PAID", "SETTLED", "ABANDONED"].map((status) => listed(agent, { status }));
      return (await Promise.all(each)).map(idsOf);
    };
    const ofIntents = (...each: Json[][]) => each.map(idsOf);
    const now = ofIntents([open], [seen.intent], [settled.intent], []);
    expect([await byStatus(pair.consumer), await byStatus(pair.provider)]).toEqual([now, now]);
    try {
      world.offset = 301_000;
      const later = ofIntents([], [seen.intent], [settled.intent], [open]);
      expect([await byStatus(pair.consumer), await byStatus(pair.provider)]).toEqual([later, later]);
    } finally {
      world.offset = 0;
    }
  });

  it("judges a seller's intents by the clocks of its buyers", async () => {
    const other = await createWorld();
    const pair: Pair = { consumer: await other.consumer(), provider: await world.provider() };
    const intent = await world.intent(pair.consumer, pair.provider, "1.00");
    await rows("update platforms set clock_offset_ms = 301000 where platform_id = ?", other.platformId);
    for (const agent of [pair.consumer, pair.provider]) {
      const [one] = await listed(agent, { status: "ABANDONED" });
      expect(one).toMatchObject({ intent_id: intent.intent_id, status: "ABANDONED" });
      expect(await listed(agent, { status: "OPEN" })).toEqual([]);
    }
  });

  it("continues page by page, even if few of many fit", async () => {
    const pair = await pairOf(world);
    const opened: Json[] = [];
    for (let n = 0; n < 7; n++) opened.unshift(await world.intent(pair.consumer, pair.provider, "1.00"));
    const pages: string[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const query: Record<string, string> = { limit: "3", status: "OPEN", ...(cursor && { cursor }) };
      const page: Json = expectStatus(await list(pair.provider, query), 200);
      pages.push(...idsOf(page.data));
      cursor = page.next_cursor;
      expect(page.has_more).toBe(cursor !== null);
    }
    expect(pages).toEqual(idsOf(opened));
  });

  it("refuses an unknown status, side or parameter, and another list's cursor", async () => {
    const { consumer, provider } = await pairOf(world);
    await world.intent(consumer, provider, "1.00");
    await world.intent(consumer, provider, "1.00");
    const { next_cursor } = expectStatus(await list(consumer, { limit: "1" }), 200);
    const faults: Record<string, string>[] = [
      { status: "open" },
      { role: "buyer" },
      { did: consumer.did },
      { limit: "101" },
      { cursor: "none" },
      { cursor: next_cursor, status: "OPEN" },
    ];
    for (const query of faults) {
      const answer = await list(consumer, query);
      expect([answer.status, answer.body.code]).toEqual([422, "validation_failed"]);
    }
    expect((await list(provider, { cursor: next_cursor })).status).toBe(422);
    expect((await world.call("GET", "/v1/payment-intents")).body.code).toBe("certificate_required");
  });
});
