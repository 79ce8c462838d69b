// A change of the tenant principal's name or country is restated in the documents of its agents (ACC-19), also when agents are registered or changed
// at the same moment. Slices are tested in restate-slices.test.ts.
import { eq } from "drizzle-orm";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { finishRestatements } from "../../src/cascades/restate-agents.ts";
import { agents, certificates } from "../../src/db/tables/agents.ts";
import { activityEntries, events } from "../../src/db/tables/journal.ts";
import { SLICE } from "../../src/jobs/walk.ts";
import { isWhole } from "../support/scale.ts";
import { agentBody, expectStatus, type Json, type World } from "../support/world.ts";
import {
  agentRows,
  aid,
  dyingRename,
  many,
  nameIn,
  ofTenant,
  RENAMED,
  readPublic,
  rename,
  restatementsLeft,
  storeStatus,
  updatesOf,
  usedWorld,
  version,
} from "./restate-support.ts";
import { patch } from "./support.ts";

vi.spyOn(console, "error").mockImplementation(() => undefined);

let world: World;
beforeEach(async () => {
  world = await usedWorld();
});

describe("a change of the platform's name", () => {
  it("is in a new version of its agents' documents, and the previous one stays as it was signed", async () => {
    const { did } = await world.consumer(ofTenant(world));
    const before = await aid(world, did);
    await rename(world);
    const after = await aid(world, did);
    expect([before.version, after.version, after.revision]).toEqual([2, 3, before.revision + 1]);
    expect([nameIn(before), nameIn(after)]).toEqual([`Platform ${world.platformId}`, RENAMED]);
    expect(nameIn(await version(world, did, 2))).toBe(nameIn(before));
    expect(nameIn(await version(world, did, 3))).toBe(RENAMED);
    const status = await readPublic(world, `/v1/agents/${did}/status`);
    expect([status.aid_version, status.aid_revision]).toEqual([after.version, after.revision]);
    const judged = await world.call("POST", "/v1/verify/aid", { key: null, body: { aid: after } });
    expect(expectStatus(judged, 200)).toMatchObject({ valid: true, version: 3 });
  });

  it("reaches agents of both environments and of every state, each once", async () => {
    const { key, liveKey } = world;
    const consumer = await world.consumer(ofTenant(world));
    const provider = await world.provider(ofTenant(world));
    const { did: draft } = await world.draft("CONSUMER", ofTenant(world));
    const ended = await world.consumer(ofTenant(world));
    await world.call("PATCH", `/v1/agents/${ended.did}/status`, { body: { status: "TERMINATED" } });
    await storeStatus(world, "ACCREDITED");
    const body = { ...agentBody("CONSUMER"), ...ofTenant(world) };
    const { did: live } = expectStatus(await world.call("POST", "/v1/agents", { key: liveKey, body }), 201);
    expectStatus(await world.call("POST", `/v1/agents/${live}/activate`, { key: liveKey }), 200);
    await storeStatus(world, "KYB_PENDING");
    const dids = [consumer.did, provider.did, draft, ended.did, live];
    const before = new Map((await agentRows(world)).map((row) => [row.did, row]));
    const updated = await updatesOf(world);
    await rename(world);
    for (const row of await agentRows(world)) {
      const { version: was, revision, status } = before.get(row.did) ?? {};
      expect([row.version, row.revision, row.status]).toEqual([Number(was) + 1, Number(revision) + 1, status]);
    }
    for (const did of dids) expect(nameIn(await aid(world, did))).toBe(RENAMED);
    expect((await aid(world, provider.did)).identity.authorized_markets).toEqual(["GLOBAL-USDC"]);
    expect((await version(world, provider.did, 4)).identity.authorized_markets).toEqual(["GLOBAL-USDC"]);
    // A DRAFT is in no directory, and is never signed.
    const counted = (await updatesOf(world)).reduce((sum, n) => sum + n, 0) - updated.reduce((sum, n) => sum + n, 0);
    expect(counted).toBe(4);
    expect((await aid(world, draft)).proof).toBeNull();
    expect((await world.call("GET", `/v1/agents/${draft}/aid?version=2`, { key: null })).status).toBe(404);
    expect((await world.call("GET", `/v1/agents/${live}`, { key })).status).toBe(404);
  });

  it("leaves agents of other principals, and writes nothing about agents into the log or the outbox", async () => {
    const own = await world.consumer(ofTenant(world));
    const other = await world.consumer();
    const { db } = world.deps;
    const journal = async () => [
      await db.select().from(events).where(eq(events.platformId, world.platformId)),
      await db.select().from(activityEntries).where(eq(activityEntries.subjectId, own.did)),
    ];
    const before = [await aid(world, other.did), await journal()];
    await rename(world);
    const { live: _now, ...same } = await aid(world, other.did);
    const { live: _then, ...was } = before[0] as Json;
    expect(same).toEqual(was);
    expect(await journal()).toEqual(before[1]);
  });

  it("keeps certificates valid: they name the principal by its id, and by its name at their issue", async () => {
    const agent = await world.consumer(ofTenant(world));
    const { db } = world.deps;
    const issued = () => db.select().from(certificates).where(eq(certificates.did, agent.did));
    const before = await issued();
    await rename(world);
    expect(await issued()).toEqual(before);
    const { certificate } = agent;
    const check = await world.call("POST", "/v1/verify/certificate", { key: null, body: { certificate } });
    expect(expectStatus(check, 200)).toMatchObject({ valid: true });
    expect((await aid(world, agent.did)).identity.certificate).toBe(certificate);
    const renewed = await world.call("POST", `/v1/agents/${agent.did}/certificate`);
    const [, claims = ""] = String(expectStatus(renewed, 200).certificate).split(".");
    const { aeap } = JSON.parse(atob(claims.replaceAll("-", "+").replaceAll("_", "/")));
    expect([aeap.principal_id, aeap.principal_name]).toEqual([world.tenantPrincipalId, RENAMED]);
  });

  it.each([
    ["makes a new version if the country changes", 3, "FR", { country: "FR" }],
    ["makes none if anything else changes", 2, "DE", { trading_name: "Startup", registration_number: "HRB 2" }],
  ])("%s", async (_what, expected, country, change) => {
    const { did } = await world.consumer(ofTenant(world));
    expectStatus(await patch(world, world.key, change), 200);
    const { identity, governance, ...document } = await aid(world, did);
    expect([document.version, identity.principal.country, governance.jurisdiction]).toEqual([
      expected,
      country,
      country,
    ]);
  });

  it("takes two trips", async () => {
    await world.consumer(ofTenant(world));
    await rename(world, "Once GmbH");
    world.meter.reset();
    await rename(world);
    expect(world.meter.reading.trips).toBe(2);
  });
});

describe("a change leaves consistent documents at the same moment as", () => {
  const register = async () =>
    expectStatus(
      await world.call("POST", "/v1/agents", { body: { ...agentBody("CONSUMER"), ...ofTenant(world) } }),
      201,
    );
  const consistent = async () => {
    for (const { did, version: newest, status } of await agentRows(world)) {
      expect(nameIn(await aid(world, did))).toBe(RENAMED);
      if (status !== "DRAFT") expect(nameIn(await version(world, did, newest))).toBe(RENAMED);
    }
    expect(await restatementsLeft(world)).toEqual([]);
  };

  it("a registration that happens between its read and its commit", async () => {
    await world.consumer(ofTenant(world));
    let answered: Json;
    world.meter.beforeBatch(2, async () => {
      answered = await register();
    });
    await rename(world);
    expect(nameIn(answered)).toBe(`Platform ${world.platformId}`);
    expect((await aid(world, answered.did)).version).toBe(answered.version + 1);
    await consistent();
  });

  it("the registration and activation of an agent there, also with an earlier date", async () => {
    await world.consumer(ofTenant(world));
    world.meter.beforeBatch(2, async () => {
      const { did } = await world.consumer(ofTenant(world));
      await world.deps.db.update(agents).set({ createdAt: 1 }).where(eq(agents.did, did));
    });
    await rename(world);
    await consistent();
  });

  it("a registration that was decided on the old name: its answer states the new one", async () => {
    world.meter.beforeBatch(2, () => rename(world));
    expect(nameIn(await register())).toBe(RENAMED);
    await consistent();
  });

  it("an activation that was decided on the old name: its certificate states the new one", async () => {
    const { did } = await world.draft("CONSUMER", ofTenant(world));
    world.meter.beforeBatch(2, () => rename(world));
    const { certificate } = expectStatus(await world.call("POST", `/v1/agents/${did}/activate`), 200);
    expect(atob(certificate.split(".")[1].replaceAll("-", "+").replaceAll("_", "/"))).toContain(RENAMED);
    await consistent();
  });

  it("an activation of an agent that is not reached yet", async () => {
    const { did } = await world.draft("CONSUMER", ofTenant(world));
    await many(world, SLICE);
    // The last of all, after the first slice.
    await world.deps.db
      .update(agents)
      .set({ createdAt: Date.now() + 1e9 })
      .where(eq(agents.did, did));
    world.meter.beforeBatch(2, () => dyingRename(world));
    const { certificate } = expectStatus(await world.call("POST", `/v1/agents/${did}/activate`), 200);
    expect(atob(certificate.split(".")[1].replaceAll("-", "+").replaceAll("_", "/"))).toContain(RENAMED);
    expect(nameIn(await version(world, did, 2))).toBe(RENAMED);
    await world.run(finishRestatements);
    // It already states the new name.
    expect((await aid(world, did)).version).toBe(2);
  });

  it("an edit of an agent that it reads", async () => {
    const { did } = await world.consumer(ofTenant(world));
    world.meter.beforeBatch(2, async () => {
      const body = { capabilities: ["translation", "summary"] };
      expectStatus(await world.call("PATCH", `/v1/agents/${did}/scope`, { body }), 200);
    });
    await rename(world);
    const after = await aid(world, did);
    expect([after.version, after.identity.scope.capabilities]).toEqual([4, ["translation", "summary"]]);
    await consistent();
  });

  it("other changes and registrations", async () => {
    await world.consumer(ofTenant(world));
    const names = Array.from({ length: isWhole() ? 20 : 5 }, (_, i) => `Startup ${i} GmbH`);
    const body = { ...agentBody("CONSUMER"), ...ofTenant(world) };
    const replies = await Promise.all(
      names.flatMap((legal_name) => [
        patch(world, world.key, { legal_name }),
        world.call("POST", "/v1/agents", { body }),
      ]),
    );
    const statuses = replies.map(({ status }) => status);
    expect(statuses.filter((_, i) => i % 2 === 0)).toEqual(names.map(() => 200));
    expect(statuses.filter((status) => ![200, 201].includes(status))).toEqual([]);
    const { legal_name } = (await world.call("GET", "/v1/platform")).body;
    for (const { did } of await agentRows(world)) expect(nameIn(await aid(world, did))).toBe(legal_name);
  });
});
