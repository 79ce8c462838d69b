// A provider's own intents for a consumer are bounded, or refused (PAY-6), because each holds a part of the consumer's window.
import { eq } from "drizzle-orm";
import { describe, expect, it } from "vitest";
import { PROVIDER_INTENTS_MAX } from "../../src/core/limits.ts";
import { paymentIntents } from "../../src/db/tables/money.ts";
import { payOnChain } from "../support/chain.ts";
import { type Agent, expectStatus, type Json, type World } from "../support/world.ts";
import { buyer, dailyLimit, orderOf, seller, spendState, useSeller } from "./support.ts";

const PATH = "/v1/payment-intents";
let world: World;
let provider: Agent;
useSeller((made, seller) => {
  world = made;
  provider = seller;
});

const open = (caller: Agent, consumer: Agent, from = provider, extra = {}) =>
  world.as(caller, "POST", PATH, orderOf(consumer, from, extra));
const openAddress = (caller: Agent, consumer: Agent, from = provider) => {
  const parties = { consumer_did: consumer.did, provider_did: from.did };
  const query = new URLSearchParams({ market: "DE-USDC", network: "base-sepolia", ...parties, amount: "10.0" });
  return world.as(caller, "GET", `/v1/payment-address?${query}`);
};
async function openThree(consumer: Agent, from = provider): Promise<Json[]> {
  const intents: Json[] = [];
  for (let i = 0; i < 3; i++) intents.push(expectStatus(await open(from, consumer, from), 201));
  return intents;
}
/** Expects the refusal, and that nothing is held. */
async function refusedBy(consumer: Agent, act: () => ReturnType<typeof open>, status: number, code: string) {
  const before = await spendState(world, consumer.did);
  const reply = await act();
  expect([reply.status, reply.body.code]).toEqual([status, code]);
  expect(await spendState(world, consumer.did)).toEqual(before);
  return reply.body;
}

describe("a provider's own intents for one consumer", () => {
  it("are at most three: the fourth is 409 invalid_status, and for AEA/P clients a 403 that names it", async () => {
    const consumer = await buyer(world);
    await openThree(consumer);
    const { detail } = await refusedBy(consumer, () => open(provider, consumer), 409, "invalid_status");
    expect(detail).toEqual({ open: 3, limit: PROVIDER_INTENTS_MAX });
    const act = () => openAddress(provider, consumer);
    expect((await refusedBy(consumer, act, 403, "spend_policy_violation")).detail.failed_check).toBe("invalid_status");
  });

  it("in the form for AEA/P clients count with the others", async () => {
    const consumer = await buyer(world);
    for (let i = 0; i < 3; i++) expectStatus(await openAddress(provider, consumer), 200);
    await refusedBy(consumer, () => open(provider, consumer), 409, "invalid_status");
  });

  it("do not restrict the consumer or another pair", async () => {
    const consumer = await buyer(world, dailyLimit("40.00"));
    await openThree(consumer);
    expectStatus(await open(consumer, consumer), 201);
    const other = await seller(world);
    expectStatus(await open(provider, await buyer(world)), 201);
    // The window is full now, and is the only reason for the refusal.
    await refusedBy(consumer, () => open(other, consumer, other), 403, "spend_policy_violation");
  });

  it("do not include intents that the consumer opened", async () => {
    const consumer = await buyer(world);
    for (let i = 0; i < 4; i++) expectStatus(await open(consumer, consumer), 201);
    await openThree(consumer);
    await refusedBy(consumer, () => open(provider, consumer), 409, "invalid_status");
  });

  it("count while they are open, and no longer from the instant of their end", async () => {
    const consumer = await buyer(world);
    const [first] = await openThree(consumer);
    const { db } = world.deps;
    const endAt = (expiresAt: number) =>
      db.update(paymentIntents).set({ expiresAt }).where(eq(paymentIntents.intentId, first.intent_id));
    await endAt(world.now() + 60_000);
    await refusedBy(consumer, () => open(provider, consumer), 409, "invalid_status");
    await endAt(world.now() - 1);
    expectStatus(await open(provider, consumer), 201);
    await refusedBy(consumer, () => open(provider, consumer), 409, "invalid_status");
  });

  it("no longer count once they are settled", async () => {
    const consumer = await buyer(world);
    const paidFor = await world.provider();
    const [first] = await openThree(consumer, paidFor);
    const payment_tx = await payOnChain(consumer.did, paidFor.did, 10_000_000, { intentId: first.intent_id });
    const body = { intent_id: first.intent_id, payment_tx };
    expectStatus(await world.as(paidFor, "POST", "/v1/facilitate", body), 200);
    expectStatus(await open(paidFor, consumer, paidFor), 201);
    await refusedBy(consumer, () => open(paidFor, consumer, paidFor), 409, "invalid_status");
  });

  it("are at most three as well if they are opened at once", async () => {
    const consumer = await buyer(world);
    const replies = await Promise.all(Array.from({ length: 20 }, () => open(provider, consumer)));
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(3);
    const others = replies.filter(({ status }) => status !== 201).map(({ status, body }) => `${status} ${body.code}`);
    expect(new Set(others)).toEqual(new Set(["409 invalid_status"]));
    const [state] = await spendState(world, consumer.did);
    expect([state?.intents.length, state?.open]).toEqual([3, 30_000_000]);
  });
});

describe("scope.intents_from", () => {
  const closed = () => buyer(world, { intents_from: "self" });

  it("of a delegator also applies to its delegates, whose intents count in its window", async () => {
    const parent = await closed();
    const delegate = await world.consumer({ principal_id: parent.principalId, delegated_by: parent.did });
    await refusedBy(delegate, () => open(provider, delegate), 403, "forbidden");
    expectStatus(await open(delegate, delegate), 201);
  });

  it("refuses a provider's intent with 403 forbidden and its detail if it is self, but not the consumer's own", async () => {
    const consumer = await closed();
    const { detail } = await refusedBy(consumer, () => open(provider, consumer), 403, "forbidden");
    expect(detail).toEqual({ intents_from: "self" });
    const address = await refusedBy(consumer, () => openAddress(provider, consumer), 403, "spend_policy_violation");
    expect(address.detail).toMatchObject({ failed_check: "forbidden", intents_from: "self" });
    expectStatus(await open(consumer, consumer), 201);
    expectStatus(await openAddress(consumer, consumer), 200);
  });

  it("is anyone by default, and applies from the moment it is changed", async () => {
    const consumer = await buyer(world);
    expectStatus(await open(provider, consumer), 201);
    const scope = `/v1/agents/${consumer.did}/scope`;
    const patched = expectStatus(await world.call("PATCH", scope, { body: { intents_from: "self" } }), 200);
    expect(patched.scope.intents_from).toBe("self");
    await refusedBy(consumer, () => open(provider, consumer), 403, "forbidden");
    expectStatus(await world.call("PATCH", scope, { body: { intents_from: "anyone" } }), 200);
    expectStatus(await open(provider, consumer), 201);
  });

  it("belongs to consumers: on a provider it is field_not_allowed_for_role", async () => {
    const path = `/v1/agents/${provider.did}/scope`;
    const reply = await world.call("PATCH", path, { body: { intents_from: "self" } });
    expect([reply.status, reply.body.code]).toEqual([422, "field_not_allowed_for_role"]);
  });
});
