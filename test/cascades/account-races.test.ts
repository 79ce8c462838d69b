// A call that races the suspension or the closing of an account either comes before it or is refused: nothing is written for the account after that
// commit, and all that was written before it is stopped (ACC-27, ACC-25, AGT-18).
import { and, eq } from "drizzle-orm";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { finishCascades } from "../../src/cascades/cascades.ts";
import { managementKeys, platforms, sessions } from "../../src/db/tables/accounts.ts";
import { agentMarkets, agents, certificates } from "../../src/db/tables/agents.ts";
import { activityEntries } from "../../src/db/tables/journal.ts";
import { escrows, paymentIntents } from "../../src/db/tables/money.ts";
import { walks } from "../../src/db/tables/walks.ts";
import { CERTIFICATE_STATUS } from "../../src/protocol/status-list.ts";
import { asClient, asConsumer, type Paid, paid } from "../facilitation/support.ts";
import { openIntent, seller } from "../payments/support.ts";
import { agentBody, createWorld, expectStatus, principalBody, type Reply, type World } from "../support/world.ts";
import {
  accountOf,
  cascadesLeft,
  close,
  crowd,
  dieBefore,
  entriesOf,
  givePassword,
  inStatus,
  outcome,
  PASSWORD,
  principalsOf,
  reinstate,
  revocations,
  storedAgent,
  suspend,
} from "./account-support.ts";
import { createSlicedWorld, SLICE } from "./slices.ts";

let world: World;
let other: World;
beforeAll(async () => {
  other = await createWorld();
});
beforeEach(async () => {
  world = await createSlicedWorld();
  await givePassword(world);
  // The first use of the key and of the session takes an extra trip.
  await world.call("GET", "/v1/platform");
  await world.person("GET", "/v1/platform");
  // Removes cascades that an earlier test left unfinished.
  await world.deps.db.delete(walks);
});

const entries = () =>
  world.deps.db.select().from(activityEntries).where(eq(activityEntries.platformId, world.platformId));

type Mutation = {
  readonly name: string;
  readonly prepare?: () => Promise<string>;
  readonly act: (of: string) => Promise<Reply>;
};
/** Each call reads in its first trip and writes in its second. */
const MUTATIONS: readonly Mutation[] = [
  {
    name: "registers a principal",
    act: () => world.call("POST", "/v1/principals", { body: principalBody() }),
  },
  {
    name: "registers a principal by a session",
    act: () => world.person("POST", "/v1/principals", { body: principalBody() }),
  },
  {
    name: "registers an agent",
    prepare: () => world.principal(),
    act: (principal_id) => world.call("POST", "/v1/agents", { body: { ...agentBody("CONSUMER"), principal_id } }),
  },
  {
    name: "activates an agent",
    prepare: async () => (await world.draft("CONSUMER")).did,
    act: (did) => world.call("POST", `/v1/agents/${did}/activate`),
  },
  {
    name: "rotates a key",
    act: () => world.call("POST", "/v1/platform/keys/rotate", { body: {} }),
  },
  {
    name: "promotes the account",
    // The world's account is promoted already, so its production key is removed first.
    prepare: async () => {
      const { platformId, environment } = managementKeys;
      const own = and(eq(platformId, world.platformId), eq(environment, "production"));
      await world.deps.db.delete(managementKeys).where(own);
      await world.deps.db.update(platforms).set({ promotedAt: null }).where(eq(platforms.platformId, world.platformId));
      return "";
    },
    act: () => world.call("POST", "/v1/platform/promote"),
  },
  {
    name: "logs in",
    act: async () => {
      const { email } = (await accountOf(world)) ?? { email: "" };
      return world.call("POST", "/v1/platform/sessions", { key: null, body: { email, password: PASSWORD } });
    },
  },
];

const STOPS = [
  ["suspended", () => suspend(world), 403, "account_suspended", ["account.suspended"]],
  ["closed", () => close(world), 401, "invalid_credentials", ["account.closed", "agent.revoked", "principal.closed"]],
] as const;

describe.each(STOPS)("a call that was decided before the account was %s", (_how, stop, status, code, written) => {
  it.each(MUTATIONS)("and $name writes nothing after that", async ({ prepare, act }) => {
    const of = (await prepare?.()) ?? "";
    const before = (await entries()).length;
    let stopped: Reply | undefined;
    world.meter.beforeBatch(2, async () => {
      stopped = await stop();
    });
    const reply = await act(of);
    expect(stopped?.status).toBe(200);
    expect(outcome(reply)).toEqual([status, code]);
    const added = (await entries()).slice(before).map(({ action }) => action);
    expect(added.filter((action) => !(written as readonly string[]).includes(action))).toEqual([]);
    // Every principal has the account's stop.
    const known = new Set((await principalsOf(world)).map(({ accountStopped }) => accountStopped));
    expect(known).toEqual(new Set([(await accountOf(world))?.status]));
    if (status === 401) {
      const left = await world.deps.db.select().from(sessions).where(eq(sessions.platformId, world.platformId));
      expect(left).toEqual([]);
    }
  });
});

describe("a change of an agent that was decided before its account was closed", () => {
  it("is refused if the first slice has reached the agent, and otherwise the agent is revoked later", async () => {
    const { first, dids } = await crowd(world, SLICE + 1);
    // The activated agent comes last, after the first slice.
    const last = { status: "SUSPENDED", suspensionReason: "platform", suspendedFrom: "ACTIVE" } as const;
    await world.deps.db.update(agents).set(last).where(eq(agents.did, first.did));
    const reissue = (did: string) => world.call("POST", `/v1/agents/${did}/certificate`);
    world.meter.beforeBatch(2, async () => {
      dieBefore(world, 3);
      expectStatus(await close(world), 200);
    });
    const reply = await reissue(first.did);
    expect([200, 401]).toContain(reply.status);
    await world.run(finishCascades);
    expect(await inStatus(world, "REVOKED")).toEqual(dids);
    const issued = await world.deps.db.select().from(certificates).where(eq(certificates.did, first.did));
    expect(new Set(issued.map(({ listedStatus }) => listedStatus))).toEqual(new Set([CERTIFICATE_STATUS.invalid]));
    expect(outcome(await reissue(first.did))).toEqual([401, "invalid_credentials"]);
  });
});

describe("20 registrations at the same time as a closing", () => {
  it("of agents are refused or end as REVOKED", async () => {
    const principal_id = await world.principal();
    const drafts = await Promise.all(Array.from({ length: 5 }, () => world.draft("CONSUMER", { principal_id })));
    const calls = Array.from({ length: 20 }, (_, i) => {
      if (i % 4 === 0) return world.call("POST", `/v1/agents/${drafts[i / 4]?.did}/activate`);
      return world.call("POST", "/v1/agents", { body: { ...agentBody("CONSUMER"), principal_id } });
    });
    const [closed, ...replies] = await Promise.all([close(world), ...calls]);
    expect(closed.status).toBe(200);
    const good = replies.filter(({ status }) => status < 300).length;
    expect(replies.filter(({ status }) => status === 401)).toHaveLength(20 - good);
    await world.run(finishCascades);
    const dids = await inStatus(world, "DRAFT", "ACTIVE", "SUSPENDED", "FUNDING");
    expect(dids).toEqual([]);
    const revoked = await inStatus(world, "REVOKED");
    expect((await revocations(world)).log).toEqual(revoked);
    expect(await entriesOf(world, "agent.registered")).toHaveLength(revoked.length);
    expect(await cascadesLeft(world)).toEqual([]);
  });

  it("of principals are refused or end as CLOSED", async () => {
    const calls = Array.from({ length: 20 }, () => world.call("POST", "/v1/principals", { body: principalBody() }));
    const [closed, ...replies] = await Promise.all([close(world), ...calls]);
    expect(closed.status).toBe(200);
    await world.run(finishCascades);
    const rows = await principalsOf(world);
    const good = replies.filter(({ status }) => status === 201);
    expect(rows).toHaveLength(1 + good.length);
    expect(new Set(rows.map(({ status }) => status))).toEqual(new Set(["CLOSED"]));
    expect(await entriesOf(world, "principal.closed")).toHaveLength(rows.length);
  });
});

describe("an agent that is registered between the reading and the commit of a closing", () => {
  it("is revoked by the cascade, and the closing is not refused for it", async () => {
    const principal_id = await world.principal();
    const body = { ...agentBody("CONSUMER"), principal_id };
    let did = "";
    world.meter.beforeBatch(2, async () => {
      ({ did } = expectStatus(await world.call("POST", "/v1/agents", { body }), 201));
    });
    expectStatus(await close(world), 200);
    expect((await storedAgent(world, did))?.status).toBe("DRAFT");
    expect(await cascadesLeft(world)).toMatchObject([{ trigger: "principal_closes" }]);
    expect(await world.run(finishCascades)).toBe(1);
    expect((await storedAgent(world, did))?.status).toBe("REVOKED");
  });
});

describe.each([
  ["suspended", suspend, "account_suspended", 403],
  ["closed", close, "aeap_verification_failed", 401],
] as const)("an intent that was decided before the account of a party was %s", (_what, stop, code, status) => {
  it("is refused if the provider belongs to the account, and holds nothing", async () => {
    const [consumer, provider] = [await other.consumer(), await seller(world)];
    const before = await world.deps.db.select().from(paymentIntents);
    other.meter.beforeBatch(2, async () => void expectStatus(await stop(world), 200));
    expect(outcome(await openIntent(other, consumer, provider, "10.00"))).toEqual([409, "agent_not_active"]);
    expect(await world.deps.db.select().from(paymentIntents)).toEqual(before);
  });

  it("is refused if the consumer belongs to the account, and holds nothing", async () => {
    const [consumer, provider] = [await world.consumer(), await seller(other)];
    const before = await world.deps.db.select().from(paymentIntents);
    world.meter.beforeBatch(2, async () => void expectStatus(await stop(world), 200));
    expect(outcome(await openIntent(world, consumer, provider, "10.00"))).toEqual([status, code]);
    expect(await world.deps.db.select().from(paymentIntents)).toEqual(before);
  });
});

describe("a facilitation in production at the same time as the closing of the provider's account", () => {
  /** A paid intent of production. The rows are moved there directly, without a promotion. */
  async function paidInProduction(): Promise<Paid> {
    const { db } = world.deps;
    const pair = { consumer: await other.consumer(), provider: await world.provider() };
    for (const { did } of [pair.consumer, pair.provider]) {
      for (const table of [agents, agentMarkets, escrows]) {
        await db.update(table).set({ environment: "production" }).where(eq(table.did, did));
      }
    }
    return paid(world, pair);
  }

  it("blocks the closing if it comes first, although the closing has read an empty escrow", async () => {
    const purchase = await paidInProduction();
    world.meter.beforeBatch(2, async () => void expectStatus(await asConsumer(other, purchase), 200));
    const reply = await close(world);
    expect(outcome(reply)).toEqual([409, "close_blocked_escrow"]);
    expect(reply.body.detail).toMatchObject({ did: purchase.provider.did });
    expect((await accountOf(world))?.status).toBe("ACCREDITED");
    expect(await entriesOf(world, "account.closed")).toEqual([]);
    expectStatus(await world.call("GET", "/v1/platform"), 200);
  });

  it("is recorded for the side that paid if it comes later, because the money has moved", async () => {
    const purchase = await paidInProduction();
    other.meter.beforeBatch(2, async () => void expectStatus(await close(world), 200));
    expectStatus(await asConsumer(other, purchase), 200);
    expect((await accountOf(world))?.status).toBe("CLOSED");
    // The closed side itself is refused.
    expect(outcome(await asClient(world, purchase))).toEqual([401, "aeap_verification_failed"]);
  });
});

describe("an agent that its platform reactivates while the account is being suspended", () => {
  it("is refused at the commit", async () => {
    const { did } = await world.consumer();
    const path = `/v1/agents/${did}/status`;
    expectStatus(await world.call("PATCH", path, { body: { status: "SUSPENDED" } }), 200);
    world.meter.beforeBatch(2, async () => void expectStatus(await suspend(world), 200));
    const reply = await world.call("PATCH", path, { body: { status: "ACTIVE" } });
    expect(outcome(reply)).toEqual([403, "account_suspended"]);
    expect(await storedAgent(world, did)).toMatchObject({ status: "SUSPENDED", suspensionReason: "platform" });
    expectStatus(await reinstate(world), 200);
    expect((await storedAgent(world, did))?.status).toBe("SUSPENDED");
  });
});
