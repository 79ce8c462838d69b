// Everything that fell due on a sandbox clock is recorded before the advance answers (ACC-28): each kind of row of this platform's sandbox, and none
// of another platform or of production.
import { beforeAll, describe, expect, it } from "vitest";
import { sweepSandboxes } from "../../src/sandbox/due.ts";
import { disputed } from "../disputes/support.ts";
import { asConsumer, confirm, facilitated, type Paid, paid, pairOf } from "../facilitation/support.ts";
import { follow } from "../follower/support.ts";
import { rows } from "../promotion/support.ts";
import { attested } from "../support/clock.ts";
import { withSilentChain } from "../support/variants.ts";
import { type Agent, createWorld, expectStatus, type Json, principalBody, type World } from "../support/world.ts";
import { advance, advanced, DAY_S, HOUR_S, offsetOf } from "./support.ts";

const DAY = DAY_S * 1_000;

const one = async (text: string, ...values: unknown[]): Promise<Json> => (await rows(text, ...values))[0];
const taskOf = (id: string) => one("select * from tasks where task_id = ?", id);
const intentOf = (id: string) => one("select * from payment_intents where intent_id = ?", id);
const agentOf = ({ did }: Agent) => one("select * from agents where did = ?", did);
const eventsOf = async ({ platformId }: World, type: string): Promise<number> =>
  (await rows("select id from events where platform_id = ? and type = ?", platformId, type)).length;

/** A purchase with the consumer's own proof, so that its auto-confirmation rates both. */
async function bought(world: World, pair: { consumer: Agent; provider: Agent }): Promise<Paid & { task: string }> {
  const purchase = await paid(world, pair);
  return { ...purchase, task: expectStatus(await asConsumer(world, purchase), 200).task_id };
}

describe("an advance records (ACC-28)", () => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld();
  });

  it("tasks whose window ended: auto-confirmed at that instant, with both sides rated", async () => {
    const { task, provider, consumer } = await bought(world, await pairOf(world));
    await advanced(world, 71 * HOUR_S);
    expect((await taskOf(task)).status).toBe("open");
    await advanced(world, HOUR_S + 60);
    const stored = await taskOf(task);
    expect([stored.status, stored.closed_at, stored.provider_rated_at]).toEqual([
      "auto_confirmed",
      stored.confirm_by,
      null,
    ]);
    for (const agent of [provider, consumer]) {
      const { rating_interactions, agent_rating } = await agentOf(agent);
      expect([rating_interactions, agent_rating]).toEqual([1, expect.any(Number)]);
    }
    const aid = expectStatus(await world.call("GET", `/v1/agents/${provider.did}/aid`, { key: null }), 200);
    expect(aid.performance.interactions).toBe(1);
    expect(await eventsOf(world, "task.closed")).toBeGreaterThan(0);
  });

  it("intents that ended: ABANDONED with their holds released, and a day later their consumer is rated", async () => {
    const { consumer, provider } = await pairOf(world);
    await facilitated(world, { consumer, provider });
    const { intent_id } = await world.intent(consumer, provider);
    await follow(world);
    await advanced(world, HOUR_S);
    expect((await intentOf(intent_id)).status).toBe("ABANDONED");
    expect(await rows("select * from spend_holds where intent_id = ?", intent_id)).toEqual([]);
    expect((await intentOf(intent_id)).abandon_rated).toBe(0);
    const before = await agentOf(consumer);
    await advanced(world, DAY_S);
    expect((await intentOf(intent_id)).abandon_rated).toBe(1);
    expect((await agentOf(consumer)).rating_weight).toBeGreaterThan(before.rating_weight);
  });

  it("no end of an intent that was paid before the move: its payment is read first, and settles it (PAY-14)", async () => {
    const purchase = await paid(world, await pairOf(world));
    await advanced(world, 301);
    expect(await intentOf(purchase.intent.intent_id)).toMatchObject({ status: "PAID", payment_tx: purchase.tx });
    expect(expectStatus(await asConsumer(world, purchase), 200).intent_id).toBe(purchase.intent.intent_id);
  });

  it("nothing while a chain with a possible payment cannot be read: the answer is 503, and the clock stays", async () => {
    const purchase = await paid(world, await pairOf(world));
    const before = await offsetOf(world);
    const answer = await advance(withSilentChain(world), { seconds: 301 });
    expect([answer.status, answer.body.code, answer.headers.get("retry-after")]).toEqual([
      503,
      "chain_unavailable",
      "2",
    ]);
    expect(await offsetOf(world)).toBe(before);
    await advanced(world, 301);
    expect((await intentOf(purchase.intent.intent_id)).status).toBe("PAID");
  });

  it("both steps if one advance passes the intent's end and the day after it", async () => {
    const { consumer, provider } = await pairOf(world);
    const { intent_id } = await world.intent(consumer, provider);
    await follow(world);
    await advanced(world, 2 * DAY_S);
    const { status, abandon_rated } = await intentOf(intent_id);
    expect([status, abandon_rated]).toEqual(["ABANDONED", 1]);
  });

  it("payments that were never facilitated: spent after 30 days", async () => {
    const { intent } = await paid(world, await pairOf(world));
    await follow(world);
    expect((await intentOf(intent.intent_id)).status).toBe("PAID");
    await advanced(world, 31 * DAY_S);
    expect((await intentOf(intent.intent_id)).spent_at).not.toBe(null);
  });

  it("attestations that ended: their principals expire, and their agents are suspended", async () => {
    const fresh = await createWorld();
    const principalId = await fresh.principal(attested(48));
    const [consumer, other] = [await fresh.consumer({ principal_id: principalId }), await fresh.consumer()];
    await advanced(fresh, DAY_S);
    expect((await agentOf(consumer)).status).toBe("ACTIVE");
    await advanced(fresh, DAY_S);
    const principal = await one("select status from principals where principal_id = ?", principalId);
    expect(principal.status).toBe("ATTESTATION_EXPIRED");
    expect([(await agentOf(consumer)).status, (await agentOf(other)).status]).toEqual(["SUSPENDED", "ACTIVE"]);
    const shown = expectStatus(await fresh.call("GET", `/v1/agents/${consumer.did}/status`, { key: null }), 200);
    expect(shown.status).toBe("SUSPENDED");
    expect(await rows("select * from walks where kind = 'cascade' and subject = ?", principalId)).toEqual([]);
  });

  it("the notices before the end of an attestation", async () => {
    const fresh = await createWorld();
    await fresh.principal(attested(60 * 24));
    await advanced(fresh, 29 * DAY_S);
    expect(await eventsOf(fresh, "principal.attestation_expiring")).toBe(0);
    await advanced(fresh, 2 * DAY_S);
    expect(await eventsOf(fresh, "principal.attestation_expiring")).toBe(1);
  });
});

describe("an advance leaves alone (ACC-28)", () => {
  it("another platform's tasks, intents, disputes, attestations and answers, even if its agent is the counterparty", async () => {
    const [world, other] = [await createWorld(), await createWorld()];
    const [provider, consumer] = [await world.provider(), await other.consumer()];
    const theirs = await bought(other, { consumer, provider });
    const { intent_id } = await other.intent(consumer, provider);
    const { id, task } = await disputed(other, { pair: { consumer, provider } });
    const principalId = await other.principal(attested(24));
    await follow(world);
    const read = async () => [
      await taskOf(theirs.task),
      await intentOf(intent_id),
      await taskOf(task),
      await one("select * from disputes where dispute_id = ?", id),
      await one("select * from principals where principal_id = ?", principalId),
      await agentOf(consumer),
      (await other.as(consumer, "GET", `/v1/payment-intents/${intent_id}`)).body,
      (await other.as(consumer, "GET", `/v1/tasks/${theirs.task}`)).body,
      (await other.as(consumer, "GET", `/v1/disputes/${id}`)).body,
      (await world.as(provider, "GET", `/v1/disputes/${id}`)).body,
    ];
    const before = await read();
    await advanced(world, 30 * DAY_S);
    expect(await read()).toEqual(before);
  });

  it("production of the same platform", async () => {
    const world = await createWorld();
    const live = Object.assign(Object.create(world) as World, { key: world.liveKey });
    const agent = await live.consumer({ principal_id: world.tenantPrincipalId });
    const end = Date.now() + DAY;
    await rows("update principals set attestation_expires_at = ? where principal_id = ?", end, world.tenantPrincipalId);
    const { task } = await bought(world, await pairOf(world));
    await rows("update tasks set environment = 'production' where task_id = ?", task);
    await rows("update transactions set environment = 'production' where task_id = ?", task);
    const read = async () => [
      await taskOf(task),
      await agentOf(agent),
      await one("select * from principals where principal_id = ?", world.tenantPrincipalId),
    ];
    const before = await read();
    await advanced(world, 30 * DAY_S);
    expect(await read()).toEqual(before);
  });
});

describe("the clock of the provider's platform (TSK-18)", () => {
  it("dates the provider's signal, whatever the clock of the task: no rating ages by another platform's clock", async () => {
    const [world, other] = [await createWorld(), await createWorld()];
    const [provider, consumer] = [await other.provider(), await world.consumer()];
    const { task } = await bought(world, { consumer, provider });
    const before = Date.now();
    await advanced(world, 100 * DAY_S);
    const stored = await taskOf(task);
    expect(stored.status).toBe("auto_confirmed");
    expect(stored.provider_rated_at).toBeGreaterThanOrEqual(before);
    expect(stored.provider_rated_at).toBeLessThanOrEqual(Date.now());
    const { agent_rating, rating_interactions } = await agentOf(provider);
    expect(rating_interactions).toBe(1);
    const shown = expectStatus(await other.call("GET", `/v1/agents/${provider.did}/rating`, { key: null }), 200);
    expect(shown.agent_rating).toBe(agent_rating);
    // The result is the same as if the consumer's clock had never been moved.
    const still = await createWorld();
    const same = await pairOf(still);
    const unmoved = await bought(still, same);
    still.advance(72 * HOUR_S * 1_000);
    await still.run((await import("../../src/tasks/confirm.ts")).autoConfirmTasks);
    expect((await taskOf(unmoved.task)).status).toBe("auto_confirmed");
    expect(agent_rating).toBeCloseTo((await agentOf(same.provider)).agent_rating, 1);
  });
});

describe("a rating in a sandbox that runs ahead (TSK-17, TSK-18)", () => {
  it("is the same for every reader: a signal in the sandbox's time has no more than its weight in real time", async () => {
    const world = await createWorld();
    await advanced(world, 399 * DAY_S);
    const { provider, task, consumer } = await facilitated(world);
    const closed = expectStatus(await confirm(world, consumer, task), 200);
    const read = async (path: string, key?: null) =>
      expectStatus(await world.call("GET", `/v1/agents/${provider.did}${path}`, key === null ? { key } : {}), 200);
    const [rating, status, own] = [await read("/rating", null), await read("/status", null), await read("")];
    expect([rating.agent_rating, status.agent_rating, own.agent_rating]).toEqual(Array(3).fill(closed.provider_ar));
    // The rating follows from the answer alone, which names the instant.
    expect(Math.abs(Date.parse(rating.as_of) - Date.parse(closed.closed_at))).toBeLessThan(DAY_S * 1_000);
  });
});

describe("the sweep of moved sandboxes (ACC-28)", () => {
  it("records each minute what fell due since on their own clocks, and continues where an advance has died", async () => {
    const world = await createWorld();
    const { task } = await bought(world, await pairOf(world));
    await rows(
      "update platforms set clock_offset_ms = ?, clock_moved_at = ?, clock_recorded_to = ? where platform_id = ?",
      3 * DAY + 1_000,
      Date.now(),
      Date.now() - DAY,
      world.platformId,
    );
    expect((await taskOf(task)).status).toBe("open");
    await world.run(sweepSandboxes);
    expect((await taskOf(task)).status).toBe("auto_confirmed");
  });

  it("records how far it came, but not in the minute after a move", async () => {
    const world = await createWorld();
    const recordedTo = async () =>
      (await one("select clock_recorded_to as at from platforms where platform_id = ?", world.platformId)).at;
    await follow(world);
    await advanced(world, DAY_S);
    const first = await recordedTo();
    await world.run(sweepSandboxes);
    expect(await recordedTo()).toBe(first);
    await rows("update platforms set clock_moved_at = ? where platform_id = ?", Date.now() - 61_000, world.platformId);
    await rows("update followers set read_through = ?", Date.now());
    await world.run(sweepSandboxes);
    expect(await recordedTo()).toBeGreaterThan(first + DAY);
    expect(await recordedTo()).toBeLessThan(Date.now() + DAY);
  });
});

it("more than 30 days at once are refused if more than 1,000 rows would fall due (ACC-28)", async () => {
  const world = await createWorld();
  const principalId = await world.principal(attested(24));
  const columns = (await rows("select name from pragma_table_info('principals')")).map(({ name }) => name);
  const copied = columns.map((name) =>
    name === "principal_id" || name === "external_ref" || name === "name_folded" ? `${name} || '-' || n.i` : name,
  );
  await rows(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000)
      insert into principals (${columns.join(", ")}) select ${copied.join(", ")} from principals, n where principal_id = ?`,
    principalId,
  );
  const body = { seconds: 30 * DAY_S + 1 };
  const refused = await world.call("POST", "/v1/sandbox/clock/advance", { body });
  expect([refused.status, refused.body.field_errors]).toEqual([
    422,
    [{ field: "seconds", code: "too_big", message: expect.stringContaining("More than 1000 rows") }],
  ]);
  expect((await one("select clock_offset_ms as ms from platforms where platform_id = ?", world.platformId)).ms).toBe(0);
  expect((await one("select status from principals where principal_id = ?", principalId)).status).toBe("ACTIVE");
  expectStatus(await world.call("POST", "/v1/principals", { body: principalBody() }), 201);
});
