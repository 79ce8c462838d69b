// A call under a sandbox's moved clock (ACC-9): the first trip reads the ruling offset, and if it differs from the offset that the call began with,
// the call runs once more. An unmoved sandbox and production pay no trip for it.
import { eq } from "drizzle-orm";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "../../src/core/limits.ts";
import { managementKeys } from "../../src/db/tables/accounts.ts";
import { certificates } from "../../src/db/tables/agents.ts";
import { idempotencyOutcomes } from "../../src/db/tables/journal.ts";
import { principals } from "../../src/db/tables/principals.ts";
import { defineRoute } from "../../src/http/route.ts";
import { type Headers, prove, secondsAway } from "../auth/support.ts";
import { buyer, orderOf, seller } from "../payments/support.ts";
import { attested, moveClock, stopped } from "../support/clock.ts";
import { send, withConfig, withRoute } from "../support/variants.ts";
import {
  type Agent,
  agentBody,
  createWorld,
  expectStatus,
  type Json,
  principalBody,
  type Reply,
  type World,
} from "../support/world.ts";

/** Longer than the life of an intent and of the attestations in these tests. */
const MOVED = 100 * HOUR_MS;

type Met = { status: number; trips: number };
async function met(world: World, act: () => Promise<Reply>): Promise<Met> {
  world.meter.reset();
  const { status } = await act();
  return { status, trips: world.meter.reading.trips };
}

type Stage = { world: World; provider: Agent; consumer: Agent; live: Agent; intent: Json };

/** An agent in the platform's production, under the tenant principal. */
async function liveAgent(world: World): Promise<Agent> {
  const live = Object.assign(Object.create(world) as World, { key: world.liveKey });
  return live.consumer({ principal_id: world.tenantPrincipalId });
}

async function openStage(): Promise<Stage> {
  const world = await createWorld();
  const [provider, consumer] = [await seller(world), await buyer(world)];
  const intent = await world.intent(consumer, provider);
  return { world, provider, consumer, live: await liveAgent(world), intent };
}

describe("a call under a moved clock", () => {
  let still: Stage;
  let moved: Stage;
  beforeAll(async () => {
    [still, moved] = [await openStage(), await openStage()];
    await moveClock(moved.world, MOVED);
  });

  const CALLS: readonly [name: string, status: number, trips: number, act: (stage: Stage) => Promise<Reply>][] = [
    ["a platform's reading", 200, 1, ({ world, provider }) => world.call("GET", `/v1/agents/${provider.did}`)],
    ["a page", 200, 1, ({ world }) => world.call("GET", "/v1/principals?limit=2")],
    ["a body with faults", 422, 1, ({ world }) => world.call("POST", "/v1/principals", { body: {} })],
    ["a registration", 201, 2, ({ world }) => world.call("POST", "/v1/principals", { body: principalBody() })],
    [
      "a registration under an Idempotency-Key",
      201,
      2,
      ({ world }) =>
        world.call("POST", "/v1/principals", {
          body: principalBody(),
          headers: { "Idempotency-Key": crypto.randomUUID() },
        }),
    ],
    [
      "a change under its agent's lock",
      200,
      2,
      ({ world, provider }) =>
        world.call("PATCH", `/v1/agents/${provider.did}/scope`, { body: { dispute_window_days: 15 } }),
    ],
    [
      "an agent's reading",
      200,
      1,
      ({ world, consumer, intent }) => world.as(consumer, "GET", `/v1/payment-intents/${intent.intent_id}`),
    ],
    [
      "an agent's order",
      201,
      2,
      ({ world, consumer, provider }) =>
        world.as(consumer, "POST", "/v1/payment-intents", orderOf(consumer, provider, { amount: "1.00" })),
    ],
  ];
  it.each(CALLS)("costs one more trip for %s", async (_name, status, trips, act) => {
    expect(await met(still.world, () => act(still))).toEqual({ status, trips });
    expect(await met(moved.world, () => act(moved))).toEqual({ status, trips: trips + 1 });
  });

  const UNMOVED: typeof CALLS = [
    ["production, a reading", 200, 1, ({ world }) => world.call("GET", "/v1/principals", { key: world.liveKey })],
    [
      "production, a change",
      200,
      2,
      ({ world, live }) =>
        world.call("PATCH", `/v1/agents/${live.did}/scope`, {
          key: world.liveKey,
          body: { max_transaction_value: "7" },
        }),
    ],
    ["an agent of production", 422, 1, ({ world, live }) => world.as(live, "GET", "/v1/payment-address?network=none")],
    [
      "a public reading",
      200,
      1,
      ({ world, provider }) => world.call("GET", `/v1/agents/${provider.did}/status`, { key: null }),
    ],
  ];
  it.each(UNMOVED)("costs no further trip for %s", async (_name, status, trips, act) => {
    expect(await met(still.world, () => act(still))).toEqual({ status, trips });
    expect(await met(moved.world, () => act(moved))).toEqual({ status, trips });
  });

  it("replays a stored outcome in one trip, because no clock rules it", async () => {
    const { world } = moved;
    const request = { body: principalBody(), headers: { "Idempotency-Key": crypto.randomUUID() } };
    const first = expectStatus(await world.call("POST", "/v1/principals", request), 201);
    world.meter.reset();
    const again = await world.call("POST", "/v1/principals", request);
    expect([expectStatus(again, 201), world.meter.reading.trips]).toEqual([first, 1]);
  });
});

describe("a handler that reads twice", () => {
  const probing = (world: World, clocks: readonly number[]) =>
    withRoute(
      world,
      defineRoute({
        operationId: "probe",
        method: "get",
        path: "/v1/probe",
        surfaces: ["management"],
        status: 200,
        errors: [],
        handle: async (call) => {
          for (const clock of clocks) await call.read({}, { clock: () => clock });
          return { ahead: call.ahead };
        },
      }),
    );
  const probe = async (world: World, clocks: readonly number[]) => {
    world.meter.reset();
    const headers = { "Service-Api-Key": world.key };
    const { response, body } = await send(probing(world, clocks), "/v1/probe", { headers });
    return [response.status, body.ahead ?? body.code, world.meter.reading.trips];
  };

  it("runs again only at the first read, if both reads name one clock", async () => {
    expect(await probe(await createWorld(), [MOVED, MOVED])).toEqual([200, MOVED, 3]);
  });

  it("fails if they name two clocks, and does not read for ever", async () => {
    const log = vi.spyOn(console, "error").mockImplementation(() => undefined);
    const [status, code] = await probe(await createWorld(), [MOVED, 0]);
    expect([status, code, String(log.mock.calls)]).toEqual([
      500,
      "internal_error",
      expect.stringContaining("each reading of the call named another clock"),
    ]);
    log.mockRestore();
  });
});

describe("the handler of a call under a moved clock", () => {
  it("sees that an attestation which ends within the offset has ended, for the principal and its agents", async () => {
    const world = await createWorld();
    const principalId = await world.principal(attested(1));
    const agent = await buyer(world, {}, { principal_id: principalId });
    const draft = await world.draft("CONSUMER", { principal_id: principalId });
    const other = await seller(world);
    const order = () => world.as(agent, "POST", "/v1/payment-intents", orderOf(agent, other));
    const read = async (path: string) => expectStatus(await world.call("GET", path), 200);
    const shown = async () => [
      (await read(`/v1/principals/${principalId}`)).status,
      (await read("/v1/principals?status=ACTIVE")).data.length,
      (await read(`/v1/agents/${agent.did}`)).status,
      (await read("/v1/agents?status=ACTIVE")).data.map(({ did }: Json) => did),
      (await order()).status,
    ];
    expect(await shown()).toEqual(["ACTIVE", 2, "ACTIVE", [other.did, agent.did], 201]);
    await moveClock(world, HOUR_MS - MINUTE_MS);
    expect(await shown()).toEqual(["ACTIVE", 2, "ACTIVE", [other.did, agent.did], 201]);
    await moveClock(world, HOUR_MS);
    expect(await shown()).toEqual(["ATTESTATION_EXPIRED", 1, "SUSPENDED", [other.did], 409]);
    // Refused before the handler, where the detail names only the caller.
    const { code, detail } = (await order()).body;
    expect([code, detail]).toEqual(["agent_not_active", { did: agent.did, status: "SUSPENDED" }]);
    const refused = await world.call("POST", `/v1/agents/${draft.did}/activate`);
    expect([refused.status, refused.body.code]).toEqual([409, "invalid_status"]);
  });

  it("judges an attestation by it, in both directions", async () => {
    const [still, moved] = [await createWorld(), await createWorld()];
    await moveClock(moved, MOVED);
    const register = (world: World, attestation: Json) =>
      world.call("POST", "/v1/principals", { body: principalBody(attestation) });
    const ended = attested(1);
    const ahead = attested(MOVED / HOUR_MS + 1);
    ahead.verification_attestation.issued_at = new Date(Date.now() + HOUR_MS).toISOString();
    const statuses = async (world: World) => [
      (await register(world, ended)).status,
      (await register(world, ahead)).status,
    ];
    expect(await statuses(still)).toEqual([201, 422]);
    expect(await statuses(moved)).toEqual([422, 201]);
  });

  it("dates its rows by it", async () => {
    const { world, consumer, provider } = await openStage();
    await moveClock(world, MOVED);
    const before = Date.now();
    const life = world.deps.config.intentLifeSeconds * SECOND_MS;
    const opened = Date.parse((await world.intent(consumer, provider, "2.00")).expires_at) - life;
    const principal = expectStatus(await world.call("POST", "/v1/principals", { body: principalBody() }), 201);
    for (const at of [opened, Date.parse(principal.created_at)]) {
      expect(at).toBeGreaterThanOrEqual(before + MOVED);
      expect(at).toBeLessThanOrEqual(Date.now() + MOVED);
    }
  });

  it("does not use it for production of the same platform", async () => {
    const world = await createWorld();
    const live = await liveAgent(world);
    await world.deps.db
      .update(principals)
      .set({ attestationExpiresAt: Date.now() + HOUR_MS })
      .where(eq(principals.principalId, world.tenantPrincipalId));
    await moveClock(world, MOVED);
    const reply = await world.call("GET", `/v1/agents/${live.did}`, { key: world.liveKey });
    expect(expectStatus(reply, 200).status).toBe("ACTIVE");
    // The agent itself, past the check of its status.
    expect((await world.as(live, "GET", "/v1/payment-intents/pin_none")).body.code).toBe("not_found");
    const before = Date.now();
    const options = { key: world.liveKey, body: { ...agentBody("CONSUMER"), principal_id: world.tenantPrincipalId } };
    const registered = Date.parse(expectStatus(await world.call("POST", "/v1/agents", options), 201).live.as_of);
    expect(registered).toBeGreaterThanOrEqual(before);
    expect(registered).toBeLessThanOrEqual(Date.now());
  });
});

describe("a moved clock", () => {
  it("does not move proofs: a proof is signed at real time, and used once", async () => {
    const { world, consumer, intent } = await openStage();
    const path = `/v1/payment-intents/${intent.intent_id}`;
    const attempt = { method: "GET", path, rawBody: "" };
    const headers = await prove(consumer, attempt);
    const ask = async (sent: Headers) => {
      const { status, body } = await world.call("GET", path, { key: null, headers: sent });
      return status === 200 ? 200 : [status, body.detail.reason];
    };
    await moveClock(world, DAY_MS);
    expect(await ask(headers)).toBe(200);
    await moveClock(world, MOVED);
    expect(await ask(headers)).toEqual([401, "replay"]);
    const moved = await prove(consumer, attempt, { at: secondsAway(MOVED / SECOND_MS) });
    expect(await ask(moved)).toEqual([401, "timestamp_in_future"]);
  });

  it("does not move the end of a key or of a replaced certificate", async () => {
    const { world, consumer, intent } = await openStage();
    const { db } = world.deps;
    const end = Date.now() + HOUR_MS;
    await db.update(managementKeys).set({ expiresAt: end }).where(eq(managementKeys.platformId, world.platformId));
    await db.update(certificates).set({ replacedAt: end }).where(eq(certificates.did, consumer.did));
    await moveClock(world, MOVED);
    expectStatus(await world.call("GET", "/v1/platform"), 200);
    expectStatus(await world.as(consumer, "GET", `/v1/payment-intents/${intent.intent_id}`), 200);
  });

  it("does not move a quota, which a call that reads twice uses once", async () => {
    const windowSeconds = DAY_MS / SECOND_MS;
    const world = stopped(await createWorld());
    const small = withConfig(world, { rate: { credentialQuota: 3, addressQuota: 3, windowSeconds } });
    const left: number[] = [];
    for (let days = 0; days < 4; days++) {
      await moveClock(world, days * DAY_MS);
      const { status, headers } = await small.call("GET", "/v1/platform");
      left.push(status, Number(/r=(\d+)/.exec(headers.get("ratelimit") ?? "")?.[1]));
    }
    expect(left).toEqual([200, 2, 200, 1, 200, 0, 429, 0]);
  });

  it("does not move a stored outcome, which answers for 24 hours of real time", async () => {
    const world = await createWorld();
    const request = (name: string) => ({ body: principalBody(), headers: { "Idempotency-Key": name } });
    const [before, during] = [request("before"), request("during")];
    const post = async (sent: typeof before) => expectStatus(await world.call("POST", "/v1/principals", sent), 201);
    const first = await post(before);
    await moveClock(world, MOVED);
    const second = await post(during);
    await moveClock(world, 2 * MOVED);
    expect([await post(before), await post(during)]).toEqual([first, second]);
    const stored = await world.deps.db
      .select({ expiresAt: idempotencyOutcomes.expiresAt })
      .from(idempotencyOutcomes)
      .where(eq(idempotencyOutcomes.platformId, world.platformId));
    expect(stored.map(({ expiresAt }) => expiresAt <= Date.now() + DAY_MS)).toEqual([true, true]);
  });
});
