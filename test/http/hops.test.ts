// Counts the hops of a caller far from the database: a read takes one, a mutation two, whatever else is requested in parallel with the trips.
import { createExecutionContext, runInDurableObject, waitOnExecutionContext } from "cloudflare:test";
import { beforeAll, describe, expect, it } from "vitest";
import { generateManagementKey } from "../../src/accounts/keys.ts";
import { takeLock } from "../../src/objects/locks.ts";
import { asClient, asConsumer, asProvider, confirm, facilitated, PATH, paid } from "../facilitation/support.ts";
import { interceptDatabases, type Step } from "../support/bindings.ts";
import { type FarWorld, farFrom } from "../support/hops.ts";
import { withVars } from "../support/variants.ts";
import {
  type Agent,
  agentBody,
  BRANDS,
  createWorld,
  env,
  expectStatus,
  ISSUER,
  principalBody,
  type Reply,
  type World,
} from "../support/world.ts";

let near: World;
let far: FarWorld;
let provider: Agent;
let consumer: Agent;
beforeAll(async () => {
  near = await createWorld();
  [provider, consumer] = [await near.provider(), await near.consumer()];
  far = farFrom(near);
});

const keyed = () => ({ "Idempotency-Key": crypto.randomUUID() });
const path = () => `/v1/agents/${provider.did}`;

describe("a far caller", () => {
  it("waits one hop for a read", async () => {
    expectStatus(await far.world.call("GET", path()), 200);
    expect(far.hops()).toBe(1);
  });

  it("waits one hop for the public status", async () => {
    expectStatus(await far.world.call("GET", `${path()}/status`, { key: null }), 200);
    expect(far.hops()).toBe(1);
  });

  it("waits two hops for a registration, under its Idempotency-Key's lock", async () => {
    expectStatus(await far.world.call("POST", "/v1/principals", { body: principalBody(), headers: keyed() }), 201);
    expect(far.hops()).toBe(2);
    const body = { ...agentBody("PROVIDER"), principal_id: provider.principalId };
    expectStatus(await far.world.call("POST", "/v1/agents", { body, headers: keyed() }), 201);
    expect(far.hops()).toBe(2);
  });

  it("waits two hops for an intent, whose proof is recorded in parallel with the read", async () => {
    const body = { consumer_did: consumer.did, provider_did: provider.did, amount: "1.00", currency: "USDC" };
    expectStatus(await far.world.as(consumer, "POST", "/v1/payment-intents", body, keyed()), 201);
    expect(far.hops()).toBe(2);
  });

  it("waits two hops for an activation, under the locks of its agent and of its Idempotency-Key", async () => {
    const { did } = await near.draft("PROVIDER");
    expectStatus(await far.world.call("POST", `/v1/agents/${did}/activate`, { headers: keyed() }), 200);
    expect(far.hops()).toBe(2);
  });

  it("waits two hops for a change of the scope, the status or the certificate, under its agent's lock", async () => {
    const { did } = await near.consumer();
    const change = (method: string, part: string, body?: object) =>
      far.world.call(method, `/v1/agents/${did}/${part}`, body && { body });
    const hops: number[] = [];
    for (const [method, part, body] of [
      ["PATCH", "scope", { dispute_window_days: 3 }],
      ["POST", "certificate"],
      ["PATCH", "status", { status: "SUSPENDED" }],
    ] as const) {
      expectStatus(await change(method, part, body), 200);
      hops.push(far.hops());
    }
    expect(hops).toEqual([2, 2, 2]);
  });

  it("waits two hops for the removal of a market, under its agent's lock", async () => {
    const { did } = await near.provider();
    const market = `/v1/agents/${did}/scope/authorized_markets/GLOBAL-USDC?network=base-sepolia`;
    expectStatus(await far.world.call("DELETE", market), 204);
    expect(far.hops()).toBe(2);
  });
});

describe("a far party of a purchase", () => {
  const hopsOf = async (act: Promise<Reply>): Promise<number> => {
    expectStatus(await act, 200);
    return far.hops();
  };
  const payment = () => paid(near, { consumer, provider }, "1.00");

  it("waits two hops for its own facilitation, in either form", async () => {
    expect(await hopsOf(asProvider(far.world, await payment()))).toBe(2);
    expect(await hopsOf(asClient(far.world, await payment()))).toBe(2);
  });

  it("waits three hops for a facilitation under a proof bound to the provider, which is used up before its effect", async () => {
    expect(await hopsOf(asConsumer(far.world, await payment()))).toBe(3);
    const { tx } = await payment();
    const headers = await near.proveBound(consumer, provider.did);
    const body = { provider_did: provider.did, consumer_did: consumer.did, tx_hash: tx, network: "base-sepolia" };
    expect(await hopsOf(far.world.call("POST", PATH, { key: null, headers, body }))).toBe(3);
  });

  it("waits two hops for the confirmation of a task", async () => {
    const { task } = await facilitated(near, { consumer, provider }, "1.00");
    expect(await hopsOf(confirm(far.world, consumer, task))).toBe(2);
  });
});

describe("a call that finds its agent's lock held", () => {
  it("reads again once it has the lock, and ignores its first read", async () => {
    const { did } = await near.consumer();
    const held = await takeLock(env, did);
    near.meter.reset();
    // After the call has read the agent as ACTIVE, the holder suspends it and releases the lock.
    const suspend = env.DB.prepare(
      "update agents set status = 'SUSPENDED', suspended_from = 'ACTIVE' where did = ?",
    ).bind(did);
    let batches = 0;
    const step: Step = async (name, go) => {
      const result = await go();
      if (name === "DB.batch" && ++batches === 1) {
        await suspend.run();
        held?.[Symbol.dispose]();
      }
      return result;
    };
    const slow = withVars(near, interceptDatabases({ ...env, DB: near.meter.d1 }, step));
    const reply = await slow.call("PATCH", `/v1/agents/${did}/status`, { body: { status: "ACTIVE" } });
    expect(expectStatus(reply, 200).status).toBe("ACTIVE");
    expect(near.meter.reading.trips).toBe(3);
  });

  it("does not wait for released locks: consecutive changes take two trips each", async () => {
    const { did } = await near.consumer();
    for (let i = 0; i < 3; i++) {
      near.meter.reset();
      expectStatus(await near.call("PATCH", `/v1/agents/${did}/scope`, { body: { dispute_window_days: i } }), 200);
      expect(near.meter.reading.trips).toBe(2);
    }
  });

  it("is refused without the lock if it is not authorised", async () => {
    const { did } = await near.consumer();
    const held = await takeLock(env, did);
    const { rawKey } = await generateManagementKey("sandbox", BRANDS);
    const request = new Request(`${ISSUER}/v1/agents/${did}/activate`, {
      method: "POST",
      headers: { "Service-Api-Key": rawKey },
    });
    const context = createExecutionContext();
    const { status } = await near.app.fetch(request, { ...env, DB: near.meter.d1 }, context);
    const waiting = await runInDurableObject(
      env.AGENTS.get(env.AGENTS.idFromName(did)),
      (object) => (object as unknown as { holders: number }).holders,
    );
    expect([status, waiting]).toEqual([401, 2]);
    held?.[Symbol.dispose]();
    await waitOnExecutionContext(context);
  });
});
