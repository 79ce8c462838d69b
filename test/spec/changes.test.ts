// The records that every change leaves, in the batch of the change itself (EVT-1 to EVT-7, DIR-1 to DIR-3). No route reads them yet, so the tests
// read the rows.
import { and, eq } from "drizzle-orm";
import { beforeAll, describe, expect, it } from "vitest";
import { agentMarkets } from "../../src/db/tables/agents.ts";
import { directoryChanges } from "../../src/db/tables/directory.ts";
import { activityEntries, events } from "../../src/db/tables/journal.ts";
import { resumeProvisioning } from "../../src/markets/provision.ts";
import { account } from "../support/chain.ts";
import { deliver } from "../support/queue.ts";
import { createWorld, env, expectStatus, type Json, type Reply, type World } from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const eventsOf = async (did: string): Promise<string[]> => {
  const rows = await world.deps.db
    .select()
    .from(events)
    .where(eq(events.platformId, world.platformId))
    .orderBy(events.seq);
  return rows.filter((row) => row.object["did"] === did).map((row) => row.type);
};
const activityOf = async (did: string) => {
  const own = and(eq(activityEntries.platformId, world.platformId), eq(activityEntries.subjectId, did));
  return world.deps.db.select().from(activityEntries).where(own);
};
const feedOf = async (did: string): Promise<string[]> => {
  const rows = await world.deps.db.select().from(directoryChanges).where(eq(directoryChanges.did, did));
  return rows.sort((a, b) => a.seq - b.seq).map((row) => row.changeType);
};
const patch = (did: string, part: string, body: Json): Promise<Reply> =>
  world.call("PATCH", `/v1/agents/${did}/${part}`, { body });
const open = (did: string, markets: Json[], key?: string): Promise<Reply> =>
  world.call("POST", `/v1/agents/${did}/scope/authorized_markets`, { body: { markets }, ...(key && { key }) });
const market = (overrides: Json = {}): Json => ({
  market: "DE-USDC",
  network: "base-sepolia",
  operational_wallet: account(8),
  ...overrides,
});

describe("the records of an agent's life", () => {
  it("DIR-3: a DRAFT has no directory record; its registration is an event and an entry", async () => {
    const { did } = await world.draft("CONSUMER");
    expect(await eventsOf(did)).toEqual(["agent.registered"]);
    expect((await activityOf(did)).map((entry) => entry.action)).toEqual(["agent.registered"]);
    await patch(did, "scope", { capabilities: ["other"] });
    expect(await feedOf(did)).toEqual([]);
  });

  it("DIR-1: the first activation is `registered`, a suspension or reactivation `status_changed`, a termination `revoked`", async () => {
    const { did } = await world.agent("CONSUMER");
    await patch(did, "scope", { capabilities: ["other"] });
    for (const status of ["SUSPENDED", "ACTIVE", "TERMINATED"])
      expectStatus(await patch(did, "status", { status }), 200);
    expect(await feedOf(did)).toEqual(["registered", "updated", "status_changed", "status_changed", "revoked"]);
    expect((await eventsOf(did)).sort()).toEqual(
      ["agent.registered", "agent.activated", ...Array<string>(4).fill("agent.status_changed")].sort(),
    );
  });

  it("EVT-6: the actor is the management API by key prefix, the changes are the old and new value of each field", async () => {
    const { did } = await world.agent("CONSUMER");
    await patch(did, "scope", { capabilities: ["other"] });
    await patch(did, "status", { status: "SUSPENDED" });
    const entries = await activityOf(did);
    for (const { actorType, actorId, environment } of entries) {
      expect([actorType, environment]).toEqual(["management_api", "sandbox"]);
      expect(world.key.startsWith(actorId)).toBe(true);
      expect(actorId.length).toBeLessThan(30);
    }
    const changes = Object.fromEntries(entries.map((entry) => [entry.action, entry.changes]));
    expect(changes["agent.registered"]).toBeNull();
    expect(changes["agent.activated"]).toBeNull();
    expect(changes["agent.scope_changed"]).toEqual({
      "scope.capabilities": { from: ["translation"], to: ["other"] },
    });
    expect(changes["agent.suspended"]).toEqual({ status: { from: "ACTIVE", to: "SUSPENDED" } });
  });

  it("AGT-29: a refused change writes nothing", async () => {
    const { did } = await world.agent("CONSUMER");
    const before = [await eventsOf(did), await activityOf(did), await feedOf(did)];
    await patch(did, "scope", {});
    await patch(did, "status", { status: "ACTIVE" });
    await world.call("POST", `/v1/agents/${did}/activate`);
    expect([await eventsOf(did), await activityOf(did), await feedOf(did)]).toEqual(before);
  });
});

describe("authorized_markets", () => {
  it("EVT-3, EVT-7, DIR-1: writes an event, an entry and a directory record, and names the registration's transaction", async () => {
    const { did } = await world.agent("PROVIDER");
    const { markets } = expectStatus(await open(did, [market()]), 200);
    expect(markets[0].registration_tx).toMatch(/^0x[0-9a-f]{64}$/);
    expect(await eventsOf(did)).toContain("market.provisioned");
    expect(await feedOf(did)).toEqual(["registered", "updated"]);
    const entry = (await activityOf(did)).find(({ action }) => action === "agent.markets_changed");
    expect(entry?.changes).toEqual({
      authorized_markets: { from: [], to: ["DE-USDC"] },
      "operational_wallet.base-sepolia": { from: null, to: account(8).toLowerCase() },
    });
  });

  it("MKT-13: GET lists the same entries, DELETE removes one", async () => {
    const { did } = await world.agent("PROVIDER");
    const { markets } = expectStatus(await open(did, [market(), market({ market: "EU-USDC" })]), 200);
    const path = `/v1/agents/${did}/scope/authorized_markets`;
    expect(expectStatus(await world.call("GET", path), 200)).toEqual({
      data: markets,
      next_cursor: null,
      has_more: false,
    });
    expect((await world.call("DELETE", `${path}/EU-USDC?network=base-sepolia`)).status).toBe(204);
    const left = expectStatus(await world.call("GET", path), 200);
    expect(left.data.map((entry: Json) => entry.market)).toEqual(["DE-USDC"]);
  });

  it("MKT-11: a live key reaches sandbox agents, and its market is a production market that waits for the promotion", async () => {
    const { did } = await world.agent("PROVIDER");
    const { markets } = expectStatus(await open(did, [market({ network: "base" })], world.liveKey), 200);
    expect(markets).toEqual([
      expect.objectContaining({ network: "base", environment: "production", status: "ACTIVE" }),
    ]);
    const aid = expectStatus(await world.call("GET", `/v1/agents/${did}/aid`, { key: null }), 200);
    expect(aid.identity.authorized_markets).toEqual([]);
    expect(expectStatus(await world.call("GET", `/v1/agents/${did}`), 200).markets).toEqual([]);
    const other = await createWorld();
    expect((await open(did, [market({ network: "base" })], other.liveKey)).body.code).toBe("not_found");
    expect((await open(did, [market()], other.key)).body.code).toBe("not_found");
  });

  it("MKT-11: with a live key an unknown network is 409 market_not_authorized", async () => {
    const { did } = await world.agent("PROVIDER");
    const refused = await open(did, [market({ network: "solana" })], world.liveKey);
    expect([refused.status, refused.body.code]).toEqual([409, "market_not_authorized"]);
  });

  it("AGT-20: a TERMINATED agent opens no market: 409 agent_status_not_mutable", async () => {
    const { did } = await world.agent("PROVIDER");
    await patch(did, "status", { status: "TERMINATED" });
    const refused = await open(did, [market()]);
    expect([refused.status, refused.body.code]).toEqual([409, "agent_status_not_mutable"]);
  });

  it("MKT-8: a market that a crash left PROVISIONING is found by the cron and finished by the queue", async () => {
    const { did } = await world.agent("PROVIDER");
    const long = Date.now() - 3_600_000;
    await world.deps.db.insert(agentMarkets).values({
      did,
      environment: "sandbox",
      market: "DE-USDC",
      network: "base-sepolia",
      operationalWallet: account(8).toLowerCase(),
      status: "PROVISIONING",
      createdAt: long,
      updatedAt: long,
    });
    const sent: Json[] = [];
    const deps = {
      ...world.deps,
      env: { ...env, CHAIN_QUEUE: { send: async (job: Json) => void sent.push(job) } as never },
    };
    await world.run(resumeProvisioning, deps);
    const job = sent.find((one) => one.did === did);
    expect(job).toEqual({ kind: "provision_market", did, environment: "sandbox", network: "base-sepolia" });
    expect(await deliver(world, "chain", [job])).toEqual({ acknowledged: [0], retried: [] });
    const { data } = expectStatus(await world.call("GET", `/v1/agents/${did}/scope/authorized_markets`), 200);
    expect(data[0]).toMatchObject({ status: "ACTIVE", escrow_wallet: expect.stringMatching(/^0x/) });
  });
});
