// The promotion of an agent to production (AGT-34): the values that stay, the values that start at zero, and the records of it.
import { beforeAll, describe, expect, it } from "vitest";
import { DAY_MS } from "../../src/core/limits.ts";
import { SUBSCRIBERS } from "../../src/cron.ts";
import { deliverNextSlice } from "../../src/journal/events.ts";
import { readAgent } from "../agents/support.ts";
import { confirm, facilitated, pairOf } from "../facilitation/support.ts";
import { buyer, dailyLimit, openIntent } from "../payments/support.ts";
import { createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { handOn, livePrincipal, openLive, promote, promoted, rows, under } from "./support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const publicly = async (path: string): Promise<Json> => expectStatus(await world.call("GET", path, { key: null }), 200);
const admitted = async (agent: Parameters<World["as"]>[0]): Promise<boolean> =>
  (await world.as(agent, "GET", "/v1/payment-intents/pin_none")).status === 404;
const live = (path: string) => world.call("GET", path, { key: world.liveKey });

describe("a promotion", () => {
  it("keeps the DID, the key and the identity, in a new version under a new certificate", async () => {
    const agent = await world.consumer();
    const before = await readAgent(world, agent.did);
    const keys = await publicly(`/v1/agents/${agent.did}/did.json`);
    const answer = await promoted(world, agent.did);
    const { certificate, warnings, ...shown } = answer;
    expect(shown).toEqual({
      ...before,
      environment: "production",
      principal_id: world.tenantPrincipalId,
      certificate_expires_at: shown.certificate_expires_at,
      version: before.version + 1,
      updated_at: shown.updated_at,
    });
    expect(warnings).toEqual([]);
    expect(expectStatus(await live(`/v1/agents/${agent.did}`), 200)).toEqual(shown);
    expect(await publicly(`/v1/agents/${agent.did}/did.json`)).toEqual(keys);
    const aid = await publicly(`/v1/agents/${agent.did}/aid`);
    expect([aid.version, aid.identity.certificate, aid.identity.principal.id, aid.live.environment]).toEqual([
      before.version + 1,
      certificate,
      world.tenantPrincipalId,
      "production",
    ]);
    // The certificate of the sandbox ends at once. The agent's key continues under the new one.
    expect([await admitted(agent), await admitted(under(agent, answer))]).toEqual([false, true]);
    const checked = await world.call("POST", "/v1/verify/certificate", {
      key: null,
      body: { certificate: agent.certificate },
    });
    expect(checked.body).toMatchObject({ valid: false, reason: "replaced" });
  });

  it("leaves the sandbox: its keys no longer find the agent, and it sells to no agent there", async () => {
    const [consumer, provider] = [await world.consumer(), await world.provider()];
    await openLive(world, provider.did);
    await promoted(world, provider.did);
    expect((await world.call("GET", `/v1/agents/${provider.did}`)).status).toBe(404);
    expect((await world.call("GET", `/v1/agents/${provider.did}/scope/authorized_markets`)).status).toBe(404);
    const refused = await openIntent(world, consumer, provider, "1.00");
    expect([refused.status, refused.body.code]).toEqual([409, "environment_mismatch"]);
    await handOn(world);
    // Markets are not carried over: the agent has those that production's key has opened.
    expect(await rows("select environment, market from agent_markets where did = ?", provider.did)).toEqual([
      { environment: "production", market: "GLOBAL-USDC" },
    ]);
  });

  it("drops a sandbox market that is still PROVISIONING at once", async () => {
    const { did } = await world.provider();
    await openLive(world, did);
    const waiting = `insert into agent_markets (did, environment, market, network, operational_wallet, status, created_at, updated_at)
      select did, environment, 'DE-USDC', 'base', operational_wallet, 'PROVISIONING', created_at, updated_at from agent_markets
      where did = ? and environment = 'sandbox'`;
    await rows(waiting, did);
    await promoted(world, did);
    const left = await rows("select status from agent_markets where did = ? and environment = 'sandbox'", did);
    expect(left).toEqual([]);
  });

  it("is reported in the feeds of both environments, once in the events of production, and once in the log", async () => {
    const agent = await world.consumer();
    const { did } = agent;
    const principalId = await livePrincipal(world);
    const { updated_at, ...answer } = await promoted(world, did, { principal_id: principalId });
    const feed = await rows(
      "select environment, change_type from directory_changes where did = ? order by 1, seq",
      did,
    );
    expect(feed).toEqual([
      { environment: "production", change_type: "registered" },
      { environment: "sandbox", change_type: "registered" },
      { environment: "sandbox", change_type: "revoked" },
    ]);
    const told = await rows(
      "select environment, object from events where agent_did = ? and type = 'agent.promoted'",
      did,
    );
    const { certificate: _c, warnings: _w, ...shown } = answer;
    expect(told.map(({ environment, object }) => [environment, JSON.parse(object)])).toEqual([
      ["production", { ...shown, updated_at }],
    ]);
    const log = expectStatus(await live(`/v1/platform/activity?subject_id=${did}&action=agent.promoted`), 200).data;
    expect(log).toEqual([
      expect.objectContaining({
        environment: "production",
        changes: {
          environment: { from: "sandbox", to: "production" },
          principal_id: { from: agent.principalId, to: principalId },
        },
      }),
    ]);
  });

  it("moves the count of selling agents to the principal in production", async () => {
    const provider = await world.provider();
    await openLive(world, provider.did);
    const principalId = await livePrincipal(world);
    const counts = async () =>
      (
        await rows(
          "select providers from principals where principal_id in (?, ?) order by environment",
          provider.principalId,
          principalId,
        )
      ).map(({ providers }) => providers);
    expect(await counts()).toEqual([0, 1]);
    await promoted(world, provider.did, { principal_id: principalId });
    // The event may be delivered several times.
    const delivery = () => deliverNextSlice(world.deps, SUBSCRIBERS);
    await Promise.allSettled([delivery(), delivery(), delivery()]);
    await handOn(world);
    expect(await counts()).toEqual([1, 0]);
  });

  it("changes no count of a principal that was closed before the delivery", async () => {
    const [one, other] = [await world.provider(), await world.provider()];
    for (const { did } of [one, other]) await openLive(world, did);
    const principalId = await livePrincipal(world);
    await promoted(world, one.did, { principal_id: principalId });
    await promoted(world, other.did, { principal_id: principalId });
    await rows("update principals set closed = 1, providers = 0 where principal_id = ?", one.principalId);
    await handOn(world);
    const counted = async (id: string) =>
      (await rows("select providers from principals where principal_id = ?", id))[0]?.providers;
    expect([await counted(one.principalId), await counted(other.principalId), await counted(principalId)]).toEqual([
      0, 0, 2,
    ]);
  });

  it("gets the same answer again under its Idempotency-Key, and is made once", async () => {
    const { did } = await world.consumer();
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    const [first, again] = [await promote(world, did, {}, { headers }), await promote(world, did, {}, { headers })];
    expect(expectStatus(again, 200)).toEqual(expectStatus(first, 200));
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect(await rows("select jti from certificates where did = ?", did)).toHaveLength(2);
  });
});

describe("earnings in test money", () => {
  it("do not count: rating, interactions, counterparties, volume and spend start at zero", async () => {
    const consumer = await buyer(world, dailyLimit("10.00"));
    const provider = await world.provider();
    const { task } = await facilitated(world, { consumer, provider }, "10.00");
    expectStatus(await confirm(world, consumer, task), 200);
    const rated = await publicly(`/v1/agents/${provider.did}/rating`);
    expect([rated.agent_rating === null, rated.interactions, rated.counterparties]).toEqual([false, 1, 1]);

    await openLive(world, provider.did);
    await promoted(world, provider.did);
    const moved = under(consumer, await promoted(world, consumer.did));
    for (const { did } of [provider, consumer]) {
      const { as_of: _, ...rating } = await publicly(`/v1/agents/${did}/rating`);
      const none = {
        agent_rating: null,
        interactions: 0,
        counterparties: 0,
        sums: { weight: 0, weighted: 0 },
        heaviest: [],
      };
      expect(rating).toEqual({ did, ...none, method: expect.any(Object) });
      const { performance } = await publicly(`/v1/agents/${did}/aid`);
      expect(performance).toMatchObject({ agent_rating: null, interactions: 0, settled_volume: [] });
    }
    // The spending limit of the day is free again, and counts from here on.
    await world.deps.db.run(`update agents set status = 'ACTIVE' where did = '${provider.did}'`);
    expect((await openIntent(world, moved, provider, "10.01")).body.code).toBe("spend_policy_violation");
    expectStatus(await openIntent(world, moved, provider, "10.00"), 201);
    const held = await openIntent(world, moved, provider, "0.01");
    expect(held.body.detail).toMatchObject({ failed_check: "spending_limit" });
  });

  it("stay readable in the sandbox, with the sandbox key alone", async () => {
    const pair = await pairOf(world);
    const { task, fac } = await facilitated(world, pair);
    expectStatus(await confirm(world, pair.consumer, task), 200);
    const { did } = pair.consumer;
    await promoted(world, did);
    const list = async (name: string, key: string): Promise<Json[]> =>
      expectStatus(await world.call("GET", `/v1/agents/${did}/${name}`, { key }), 200).data;
    expect((await list("tasks", world.key)).map(({ task_id }) => task_id)).toEqual([task]);
    expect((await list("transactions", world.key)).map((one) => one.transaction_id)).toEqual([fac.transaction_id]);
    const told = (await list("events", world.key)).map(({ type }) => type);
    expect(told).toEqual(expect.arrayContaining(["agent.activated", "task.closed", "transaction.settled"]));
    expect([await list("tasks", world.liveKey), await list("transactions", world.liveKey)]).toEqual([[], []]);
    expect((await list("events", world.liveKey)).map(({ type }) => type)).toEqual(["agent.promoted"]);
    expect((await world.call("GET", `/v1/agents/${did}/overview`)).status).toBe(404);
    const other = await createWorld();
    expect((await other.call("GET", `/v1/agents/${did}/tasks`)).status).toBe(404);
  });

  it("are not added later: a window that ended before the promotion, but is recorded after it, rates the other side alone", async () => {
    const pair = await pairOf(world);
    const { task } = await facilitated(world, pair);
    world.advance(4 * DAY_MS);
    try {
      await promoted(world, pair.consumer.did);
      expect((await confirm(world, pair.consumer, task)).status).toBe(401);
      const { autoConfirmTasks } = await import("../../src/tasks/confirm.ts");
      await world.run(autoConfirmTasks);
    } finally {
      world.offset = 0;
    }
    expect((await rows("select status from tasks where task_id = ?", task))[0]?.status).toBe("auto_confirmed");
    const [one, other] = await Promise.all(
      [pair.consumer, pair.provider].map(({ did }) => publicly(`/v1/agents/${did}/rating`)),
    );
    expect([one.interactions, other.interactions]).toEqual([0, 1]);
  });
});
