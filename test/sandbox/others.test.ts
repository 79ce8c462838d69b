// Effects that a sandbox clock never has (ACC-9, ACC-28, TSK-18): on reads of another platform's agents, on signals to them, and on production's
// answers and cost.
import { beforeAll, describe, expect, it } from "vitest";
import { byOperator } from "../disputes/support.ts";
import { confirm, facilitated } from "../facilitation/support.ts";
import { rows } from "../promotion/support.ts";
import { attested } from "../support/clock.ts";
import { type Agent, createWorld, expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import { advanced, DAY_S } from "./support.ts";

const DAY = DAY_S * 1_000;

describe("another platform's agent (TSK-18)", () => {
  let [buying, selling] = [] as unknown as [World, World];
  let provider: Agent;
  let consumer: Agent;
  beforeAll(async () => {
    [buying, selling] = [await createWorld(), await createWorld()];
    // This attestation has expired on the buyer's clock, but not on the seller's own.
    const principal_id = await selling.principal(attested(100 * 24));
    [provider, consumer] = [await selling.provider({ principal_id }), await buying.consumer()];
  });
  const signalOf = async (task: string): Promise<Json> =>
    (await rows("select status, provider_rated_at, closed_at from tasks where task_id = ?", task))[0];

  it("looks the same to every reader, however far its buyer's clock went", async () => {
    const { task } = await facilitated(selling, { consumer, provider });
    expectStatus(await confirm(buying, consumer, task), 200);
    const shown = async () => {
      const { as_of, ...rating } = expectStatus(
        await buying.call("GET", `/v1/agents/${provider.did}/rating`, { key: null }),
        200,
      );
      expect(Math.abs(Date.parse(as_of) - Date.now())).toBeLessThan(DAY);
      const aid = expectStatus(await buying.call("GET", `/v1/agents/${provider.did}/aid`, { key: null }), 200);
      const { as_of: _now, ...status } = expectStatus(
        await buying.call("GET", `/v1/agents/${provider.did}/status`, { key: null }),
        200,
      );
      const own = expectStatus(await selling.call("GET", `/v1/agents/${provider.did}`), 200);
      return { rating, aid: { ...aid, live: null }, status, own: { ...own, live: null } };
    };
    const floorOf = async () => {
      const body = { provider_did: provider.did, amount: "1.00", currency: "USDC" };
      const path = `/v1/agents/${consumer.did}/spend-policy/evaluate`;
      const { checks } = expectStatus(await buying.call("POST", path, { body }), 200);
      return checks.find(({ check }: Json) => check === "minimum_counterparty_ar");
    };
    const before = await shown();
    const setFloor = async (rating: number | null) => {
      const body = { minimum_counterparty_ar: rating };
      expectStatus(await buying.call("PATCH", `/v1/agents/${consumer.did}/scope`, { body }), 200);
    };
    // The provider's rating just reaches this floor.
    await setFloor(before.rating.agent_rating);
    const floor = await floorOf();
    expect(floor.passed).toBe(true);
    await advanced(buying, 300 * DAY_S);
    expect(await shown()).toEqual(before);
    expect(await floorOf()).toEqual(floor);
    await setFloor(null);
  });

  it("is rated at its own clock's instant, even if both clocks were moved, and also by an answer", async () => {
    await advanced(selling, 50 * DAY_S);
    const { task } = await facilitated(selling, { consumer, provider });
    const before = Date.now();
    const { closed_at } = expectStatus(await confirm(buying, consumer, task), 200);
    const { provider_rated_at, ...stored } = await signalOf(task);
    expect(stored).toEqual({ status: "confirmed", closed_at: Date.parse(closed_at) });
    expect(stored.closed_at).toBeGreaterThanOrEqual(before + 300 * DAY);
    expect(provider_rated_at).toBeGreaterThanOrEqual(before + 50 * DAY);
    expect(provider_rated_at).toBeLessThanOrEqual(Date.now() + 50 * DAY);
  });

  it("has the same rating for the arbiter as for every other reader", async () => {
    const { fac } = await facilitated(selling, { consumer, provider });
    const body = { transaction_id: fac.transaction_id, reason: "other", disputed_amount: "1.00" };
    const { dispute_id } = expectStatus(await buying.as(consumer, "POST", "/v1/disputes", body), 201);
    const { ratings } = expectStatus(await byOperator(selling, "GET", `/v1/operator/disputes/${dispute_id}`), 200);
    const published = async ({ did }: Agent) =>
      expectStatus(await buying.call("GET", `/v1/agents/${did}/rating`, { key: null }), 200).agent_rating;
    expect(ratings).toEqual({ provider: await published(provider), consumer: await published(consumer) });
  });
});

describe("production of a platform whose sandbox runs ahead (ACC-9)", () => {
  let world: World;
  let live: Agent;
  beforeAll(async () => {
    world = await createWorld();
    const inProduction = Object.assign(Object.create(world) as World, { key: world.liveKey });
    live = await inProduction.consumer({ principal_id: world.tenantPrincipalId });
  });
  const manage = (method: string, path: string, body?: unknown) =>
    world.call(method, path, { key: world.liveKey, ...(body !== undefined && { body }) });
  const CALLS: Readonly<Record<string, () => Promise<Reply>>> = {
    "its principals": () => manage("GET", "/v1/principals"),
    "its agents": () => manage("GET", "/v1/agents"),
    "an agent": () => manage("GET", `/v1/agents/${live.did}`),
    "its tasks": () => manage("GET", "/v1/tasks"),
    "a change": () => manage("PATCH", `/v1/agents/${live.did}/scope`, { max_transaction_value: "7" }),
    "a call of an agent": () => world.as(live, "GET", "/v1/payment-intents/pin_none"),
  };

  it("answers with as many trips, statements and rows as before, and in real time", async () => {
    const costs = async () => {
      const all: Json = {};
      for (const [name, act] of Object.entries(CALLS)) {
        world.meter.reset();
        const { status, headers } = await act();
        const { trips, statements, rowsRead, rowsWritten } = world.meter.reading;
        all[name] = { status, clock: headers.get("service-clock"), trips, statements, rowsRead, rowsWritten };
      }
      return all;
    };
    await costs();
    const before = await costs();
    await advanced(world, 400 * DAY_S);
    expect(await costs()).toEqual(before);
    expect(Object.values(before).map((cost) => (cost as Json).clock)).toEqual(Object.keys(CALLS).map(() => null));
  });
});
