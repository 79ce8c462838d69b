// Revoking an agent, and the effect of its end on unpaid intents (AGT-31). However an agent ends, earlier payments are still settled.
import { eq } from "drizzle-orm";
import { beforeAll, describe, expect, it } from "vitest";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../src/core/limits.ts";
import { agents } from "../../src/db/tables/agents.ts";
import { abandonIntents } from "../../src/payments/abandon.ts";
import { rateAbandonedIntents } from "../../src/payments/rate.ts";
import { autoConfirmTasks } from "../../src/tasks/confirm.ts";
import { asConsumer, asProvider, confirm, facilitated, paid, pairOf } from "../facilitation/support.ts";
import { follow } from "../follower/support.ts";
import { buyer, dailyLimit, delegateOf, intentOf, openIntent, seller, spendState } from "../payments/support.ts";
import { playEveryOrder } from "../support/orders.ts";
import { dumpDatabase } from "../support/variants.ts";
import { type Agent, createWorld, expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import { agentIn, readAgent, STATES } from "./support.ts";

const UNRATED = { ratingInteractions: 0, ratingWeight: 0 };
let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const revoke = (did: string, body: unknown = { reason: "Sanctioned." }, of = world, key = of.key): Promise<Reply> =>
  of.call("POST", `/v1/agents/${did}/revoke`, { body, key });
const terminate = (did: string): Promise<Reply> =>
  world.call("PATCH", `/v1/agents/${did}/status`, { body: { status: "TERMINATED" } });
const ratingOf = async (did: string) => {
  const { ratingInteractions, ratingWeight } = agents;
  const found = await world.deps.db
    .select({ ratingInteractions, ratingWeight })
    .from(agents)
    .where(eq(agents.did, did));
  return found[0];
};
const outcome = ({ status, body }: Reply): [number, string] => [status, body?.code];
const publicly = async (path: string): Promise<Json> => expectStatus(await world.call("GET", path, { key: null }), 200);
const eventsOf = async (did: string, type: string): Promise<Json[]> => {
  const { data } = expectStatus(await world.call("GET", `/v1/platform/activity?subject_id=${did}&limit=50`), 200);
  return data.filter(({ action }: Json) => action === type);
};

describe("a revocation", () => {
  it.each(STATES.map((state) => [state, state === "REVOKED" || state === "TERMINATED" ? "invalid_status" : "passes"]))(
    "of an agent that is %s results in %s",
    async (state, expected) => {
      const did = await agentIn(world, state as (typeof STATES)[number]);
      const before = await dumpDatabase();
      const reply = await revoke(did);
      if (expected === "passes") {
        const shown = { did, status: "REVOKED", status_reason: "Sanctioned.", suspension_reason: null };
        expect(expectStatus(reply, 200)).toMatchObject(shown);
        expect(await readAgent(world, did)).toMatchObject(shown);
      } else {
        expect(outcome(reply)).toEqual([409, expected]);
        expect(reply.body.detail).toEqual({ status: state });
        expect(await dumpDatabase()).toEqual(before);
      }
    },
  );

  it("needs a reason and accepts nothing else", async () => {
    const { did } = await world.consumer();
    for (const [body, fields] of [
      [{}, { reason: "required" }],
      [{ reason: "" }, { reason: "too_short" }],
      [{ reason: "x".repeat(501) }, { reason: "too_long" }],
      [{ reason: 7 }, { reason: "invalid_type" }],
      [{ reason: "x", status: "ACTIVE" }, { status: "unknown_field" }],
    ] as const) {
      const reply = await revoke(did, body);
      const faults = Object.fromEntries(reply.body.field_errors.map(({ field, code }: Json) => [field, code]));
      expect([reply.status, faults]).toEqual([422, fields]);
    }
    expect((await readAgent(world, did)).status).toBe("ACTIVE");
  });

  it("is limited to the platform's own agents in the key's environment", async () => {
    const { did } = await world.consumer();
    const other = await createWorld();
    for (const reply of [await revoke(did, undefined, other), await revoke(did, undefined, world, world.liveKey)]) {
      expect(outcome(reply)).toEqual([404, "not_found"]);
    }
    expect((await readAgent(world, did)).status).toBe("ACTIVE");
  });

  it("shows at once on every surface, and ends the agent's permissions", async () => {
    const agent = await world.consumer();
    const { version } = await readAgent(world, agent.did);
    expectStatus(await revoke(agent.did), 200);
    expect(await publicly(`/v1/agents/${agent.did}/status`)).toMatchObject({ status: "REVOKED" });
    const aid = await publicly(`/v1/agents/${agent.did}/aid`);
    expect([aid.live.status, aid.version]).toEqual(["REVOKED", version]);
    expect((await publicly(`/v1/agents/${agent.did}/did.json`)).verificationMethod).toEqual([]);
    expect(outcome(await world.as(agent, "GET", "/v1/payment-intents/pin_none"))).toEqual([
      401,
      "aeap_verification_failed",
    ]);
    const edits: [string, string, unknown][] = [
      ["PATCH", "", { endpoint_url: "https://moved.example" }],
      ["PATCH", "/scope", { capabilities: ["x"] }],
    ];
    for (const [method, path, body] of edits) {
      const refused = await world.call(method, `/v1/agents/${agent.did}${path}`, { body });
      expect(outcome(refused)).toEqual([409, "agent_status_not_mutable"]);
    }
    for (const path of ["/certificate", "/activate", "/rotate-key"]) {
      expect(outcome(await world.call("POST", `/v1/agents/${agent.did}${path}`))).toEqual([409, "invalid_status"]);
    }
    expect(await eventsOf(agent.did, "agent.revoked")).toMatchObject([
      { changes: { status: { from: "ACTIVE", to: "REVOKED" } } },
    ]);
  });
});

describe.each([
  ["a revocation", (did: string) => revoke(did)],
  ["a termination", (did: string) => terminate(did)],
])("by %s", (_name, end) => {
  it("the agent's delegates are stopped, although they have not ended themselves", async () => {
    const shop = await seller(world);
    const head = await world.consumer();
    const delegate = await delegateOf(world, head);
    expectStatus(await openIntent(world, delegate, shop, "1.00"), 201);
    expectStatus(await end(head.did), 200);
    expect(outcome(await openIntent(world, delegate, shop, "1.00"))).toEqual([409, "agent_not_active"]);
    expect((await readAgent(world, delegate.did)).status).toBe("ACTIVE");
  });

  const isAbandoned = async (consumer: Agent, intent: Json): Promise<string> =>
    expectStatus(await world.as(consumer, "GET", `/v1/payment-intents/${intent.intent_id}`), 200).status;

  it("unpaid intents of a provider end at once, are reported once, and do not change a rating", async () => {
    const shop = await seller(world);
    const [one, two] = [await world.consumer(), await world.consumer()];
    const bystander = await seller(world);
    const intents = [await world.intent(one, shop), await world.intent(two, shop)];
    const kept = await world.intent(one, bystander);
    expectStatus(await end(shop.did), 200);
    expect([await isAbandoned(one, intents[0]), await isAbandoned(two, intents[1])]).toEqual([
      "ABANDONED",
      "ABANDONED",
    ]);
    expect(await isAbandoned(one, kept)).toBe("OPEN");
    // Until the chain has been read up to that instant, an earlier payment may still appear.
    await world.run(abandonIntents);
    expect(await intentOf(world, intents[0]?.intent_id)).toMatchObject({ status: "OPEN" });
    world.advance(MINUTE_MS);
    await follow(world);
    await world.run(abandonIntents);
    world.advance(-MINUTE_MS);
    for (const { intent_id } of intents) {
      expect(await intentOf(world, intent_id)).toMatchObject({ status: "ABANDONED", abandonRated: true });
    }
    // The consumer is not rated for an intent that ended with its provider.
    world.advance(DAY_MS + HOUR_MS);
    await world.run(rateAbandonedIntents);
    expect(await ratingOf(one.did)).toEqual(UNRATED);
    world.advance(-DAY_MS - HOUR_MS);
  });

  it("unpaid intents of a consumer end at once, and their holds stay until no payment can have been made in time", async () => {
    const shop = await seller(world);
    const consumer = await buyer(world, dailyLimit("100"));
    const intent = await world.intent(consumer, shop, "10.00");
    const holdsOf = async () => (await spendState(world, consumer.did)).map(({ intents: _, ...held }) => held);
    const held = await holdsOf();
    expectStatus(await end(consumer.did), 200);
    expect((await intentOf(world, intent.intent_id)).expiresAt).toBeLessThanOrEqual(world.now());
    expect(expectStatus(await world.as(shop, "GET", `/v1/payment-intents/${intent.intent_id}`), 200).status).toBe(
      "ABANDONED",
    );
    await world.run(abandonIntents);
    expect(await holdsOf()).toEqual(held);
  });

  it("an earlier payment is still settled", async () => {
    const purchase = await paid(world, await pairOf(world));
    expectStatus(await end(purchase.provider.did), 200);
    expect(expectStatus(await asConsumer(world, purchase), 200)).toMatchObject({
      status: "settled",
      intent_id: purchase.intent.intent_id,
    });
    const bought = await paid(world, await pairOf(world));
    expectStatus(await end(bought.consumer.did), 200);
    expect(expectStatus(await asProvider(world, bought), 200).status).toBe("settled");
  });
});

const close = async ({ did, principalId }: Agent): Promise<Reply> => {
  expectStatus(await world.call("PATCH", `/v1/agents/${did}/status`, { body: { status: "SUSPENDED" } }), 200);
  return world.call("POST", `/v1/principals/${principalId}/close`);
};

describe.each([
  ["its revocation", ({ did }: Agent) => revoke(did)],
  ["its termination", ({ did }: Agent) => terminate(did)],
  ["the closing of its principal", close],
])("after %s", (_name, end) => {
  it("the task of a provider waits for its consumer, whose answer rates both", async () => {
    const { consumer, provider, task } = await facilitated(world);
    expectStatus(await end(provider), 200);
    expect(expectStatus(await confirm(world, consumer, task), 200)).toMatchObject({ status: "confirmed" });
    for (const { did } of [consumer, provider]) expect(await ratingOf(did)).toMatchObject({ ratingInteractions: 1 });
  });

  it("the task of a consumer, which can no longer answer, ends with its window and rates both", async () => {
    const purchase = await paid(world, await pairOf(world));
    const { consumer, provider } = purchase;
    const { task_id: task } = expectStatus(await asConsumer(world, purchase), 200);
    expectStatus(await end(consumer), 200);
    expect(outcome(await confirm(world, consumer, task))).toEqual([401, "aeap_verification_failed"]);
    expect(expectStatus(await world.as(provider, "GET", `/v1/tasks/${task}`), 200).status).toBe("open");
    world.advance(4 * DAY_MS);
    try {
      await world.run(autoConfirmTasks);
    } finally {
      world.advance(-4 * DAY_MS);
    }
    expect(expectStatus(await world.as(provider, "GET", `/v1/tasks/${task}`), 200).status).toBe("auto_confirmed");
    for (const { did } of [consumer, provider]) expect(await ratingOf(did)).toMatchObject({ ratingInteractions: 1 });
  });

  it("the markets and the escrow of a provider stay as they are, and no agent can buy from it", async () => {
    const { consumer, provider } = await facilitated(world, undefined, "200.00");
    const before = await readAgent(world, provider.did);
    expect([before.markets.length, before.escrow[0].balance]).toEqual([1, "15.00"]);
    expectStatus(await end(provider), 200);
    const { markets, escrow, escrow_state } = await readAgent(world, provider.did);
    expect({ markets, escrow, escrow_state }).toEqual({
      markets: before.markets,
      escrow: before.escrow,
      escrow_state: before.escrow_state,
    });
    expect(outcome(await openIntent(world, consumer, provider, "1.00"))).toEqual([409, "agent_not_active"]);
  });
});

describe("a revocation and an intent at the same moment", () => {
  it.each([
    ["the provider", "the revocation"],
    ["the provider", "the intent"],
    ["the consumer", "the revocation"],
    ["the consumer", "the intent"],
  ] as const)("of %s never leave an open intent, whatever %s is played between", async (victim, between) => {
    type Stage = { readonly shop: Agent; readonly consumer: Agent };
    const acts = {
      "the revocation": (of: World, { shop, consumer }: Stage) =>
        revoke((victim === "the provider" ? shop : consumer).did, undefined, of),
      "the intent": (of: World, { shop, consumer }: Stage) => openIntent(of, consumer, shop, "1.00"),
    };
    const outcomes = new Set<string>();
    await playEveryOrder(world, between, acts, {
      set: async (): Promise<Stage> => ({ shop: await seller(world), consumer: await world.consumer() }),
      check: async (_stage, { "the revocation": ended, "the intent": opened }) => {
        expect(ended.status).toBe(200);
        expect([201, 401, 409]).toContain(opened.status);
        outcomes.add(opened.status === 201 ? "opened" : "refused");
        if (opened.status !== 201) return;
        // The intent was opened first: the revocation ended it, or did not read it and was then refused and decided again.
        expect((await intentOf(world, opened.body.intent_id)).expiresAt).toBeLessThanOrEqual(world.now());
      },
    });
    expect([...outcomes].sort()).toEqual(["opened", "refused"]);
  });
});
