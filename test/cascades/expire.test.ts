// An attestation ends at its instant, without grace, and the job records the end with all its consequences (PRN-12, PRN-13, PRN-16, PRN-17).
import { and, desc, eq } from "drizzle-orm";
import { beforeEach, describe, expect, it } from "vitest";
import { finishCascades } from "../../src/cascades/cascades.ts";
import { endAttestations } from "../../src/cascades/expire.ts";
import { agents } from "../../src/db/tables/agents.ts";
import { directoryChanges } from "../../src/db/tables/directory.ts";
import { activityEntries, events } from "../../src/db/tables/journal.ts";
import { principals } from "../../src/db/tables/principals.ts";
import { stopped } from "../support/clock.ts";
import { COPY_DID, copyRow } from "../support/copies.ts";
import { createWorld, expectStatus, type World } from "../support/world.ts";
import { withQueue } from "./customer-support.ts";

const HOUR_MS = 3_600_000;

let world: World;
beforeEach(async () => {
  world = stopped(await createWorld());
});

const attested = (hours: number): Record<string, unknown> => ({
  verification_attestation: {
    attestation_id: "att_short",
    verifier_id: "ver_1",
    model: "kyb",
    issued_at: new Date(world.now() - HOUR_MS).toISOString(),
    expires_at: new Date(world.now() + hours * HOUR_MS).toISOString(),
  },
});

const sweep = () => world.run(endAttestations);
const stored = async (did: string) => (await world.deps.db.select().from(agents).where(eq(agents.did, did)))[0];
const eventsOf = (type: string) =>
  world.deps.db
    .select()
    .from(events)
    .where(and(eq(events.platformId, world.platformId), eq(events.type, type)))
    .orderBy(events.seq);
const changesOf = (did: string) =>
  world.deps.db
    .select()
    .from(directoryChanges)
    .where(eq(directoryChanges.did, did))
    .orderBy(desc(directoryChanges.seq));
const entriesOf = (action: string) =>
  world.deps.db
    .select()
    .from(activityEntries)
    .where(and(eq(activityEntries.platformId, world.platformId), eq(activityEntries.action, action)));

describe("an attestation that ends", () => {
  it("counts to its last millisecond and not beyond, before and after the job", async () => {
    const principalId = await world.principal(attested(1));
    const agent = await world.consumer({ principal_id: principalId });
    const status = async () =>
      expectStatus(await world.call("GET", `/v1/agents/${agent.did}/status`, { key: null }), 200);
    expect(await status()).toMatchObject({ status: "ACTIVE", principal_status: "ACTIVE" });
    expect(await sweep()).toBe(0);
    world.advance(HOUR_MS - 1);
    expect(await status()).toMatchObject({ status: "ACTIVE", principal_status: "ACTIVE" });
    expect(await sweep()).toBe(0);
    world.advance(1);
    expect(await status()).toMatchObject({ status: "SUSPENDED", principal_status: "ATTESTATION_EXPIRED" });
    expect((await stored(agent.did))?.status).toBe("ACTIVE");
    expect(await sweep()).toBeGreaterThan(0);
    expect(await status()).toMatchObject({ status: "SUSPENDED", principal_status: "ATTESTATION_EXPIRED" });
    expect(await stored(agent.did)).toMatchObject({
      status: "SUSPENDED",
      suspensionReason: "attestation",
      suspendedFrom: "ACTIVE",
    });
  });

  it("is reported once for the principal and for every active agent, and for no other", async () => {
    const principalId = await world.principal(attested(1));
    const overrides = { principal_id: principalId };
    const provider = await world.provider(overrides);
    const consumer = await world.consumer(overrides);
    const paused = await world.consumer(overrides);
    await world.call("PATCH", `/v1/agents/${paused.did}/status`, { body: { status: "SUSPENDED" } });
    const draft = await world.draft("CONSUMER", overrides);
    const bystander = await world.consumer();
    const before = (await eventsOf("agent.status_changed")).length;
    world.advance(HOUR_MS);
    await world.run(endAttestations);
    await world.run(endAttestations);

    const view = expectStatus(await world.call("GET", `/v1/principals/${principalId}`), 200);
    expect(view).toMatchObject({ status: "ATTESTATION_EXPIRED", status_reason: "attestation_expired" });
    const reported = (await eventsOf("principal.status_changed")).map((event) => event.object);
    expect(reported).toEqual([view]);

    const changed = (await eventsOf("agent.status_changed")).slice(before).map((event) => event.object);
    const dids = changed.map((object) => object["did"]).sort();
    expect(dids).toEqual([provider.did, consumer.did].sort());
    for (const object of changed) {
      // The event holds the agent as the API returns it.
      const now = expectStatus(await world.call("GET", `/v1/agents/${object["did"]}`), 200);
      expect(object).toEqual(now);
      expect(object).toMatchObject({ status: "SUSPENDED", suspension_reason: "attestation" });
    }
    for (const agent of [provider, consumer]) {
      expect((await changesOf(agent.did))[0]?.changeType).toBe("status_changed");
    }
    expect((await changesOf(paused.did)).length).toBe(2);
    expect((await changesOf(draft.did)).length).toBe(0);
    expect((await stored(paused.did))?.suspensionReason).toBe("platform");
    expect((await stored(draft.did))?.status).toBe("DRAFT");
    expect((await stored(bystander.did))?.status).toBe("ACTIVE");

    const suspended = await entriesOf("agent.suspended");
    const bySystem = suspended.filter((entry) => entry.actorType === "system");
    expect(bySystem.map((entry) => entry.subjectId).sort()).toEqual(dids);
    expect(bySystem[0]).toMatchObject({
      actorId: "attestation_expiry",
      subjectType: "agent",
      changes: { status: { from: "ACTIVE", to: "SUSPENDED" } },
    });
    expect(await entriesOf("principal.attestation_expired")).toMatchObject([{ subjectId: principalId }]);
  });

  it("writes the records of the directory in one unbroken order", async () => {
    const principalId = await world.principal(attested(1));
    for (let i = 0; i < 3; i++) await world.consumer({ principal_id: principalId });
    const feed = () => world.deps.db.select().from(directoryChanges).where(eq(directoryChanges.environment, "sandbox"));
    const before = (await feed()).length;
    world.advance(HOUR_MS);
    await sweep();
    const seqs = (await feed()).map((change) => change.seq).sort((a, b) => a - b);
    expect(seqs).toEqual(seqs.map((_, i) => (seqs[0] ?? 0) + i));
    expect(seqs.length).toBeGreaterThanOrEqual(before + 3);
  });

  it("stops five hundred agents in slices of two hundred, with little more than a statement for each agent", async () => {
    const principalId = await world.principal(attested(1));
    const model = await world.consumer({ principal_id: principalId });
    const { db } = world.deps;
    await copyRow(
      "agents",
      `did = '${model.did}'`,
      {
        did: COPY_DID,
        status: "case when i % 5 = 0 then 'FUNDING' else 'ACTIVE' end",
      },
      { to: 500 },
    );
    world.advance(HOUR_MS);
    const events0 = (await eventsOf("agent.status_changed")).length;
    world.meter.reset();
    const { held } = withQueue(world);
    expect(await held.run(endAttestations, held.deps)).toBe(1);
    // The first slice leaves a cascade.
    expect(await world.run(finishCascades)).toBe(1);
    const { trips, statements, rowsWritten } = world.meter.reading;
    // Each job takes one trip to find what is due, and each slice one to read and one to write.
    expect(trips).toBe(2 + 2 * 3);
    expect(statements).toBeLessThan(501 + 3 * 25);
    expect(rowsWritten).toBeLessThanOrEqual(12 + 10 * 501);
    expect((await eventsOf("agent.status_changed")).length - events0).toBe(501);
    const left = await db.select().from(agents).where(eq(agents.principalId, principalId));
    expect(new Set(left.map((agent) => agent.status))).toEqual(new Set(["SUSPENDED"]));
    expect(left.filter((agent) => agent.suspendedFrom === "FUNDING")).toHaveLength(100);
  });

  it("stops no agent if it was renewed meanwhile", async () => {
    const principalId = await world.principal(attested(1));
    const agent = await world.consumer({ principal_id: principalId });
    world.advance(HOUR_MS);
    const { db } = world.deps;
    // The attestation is renewed between the job's reading and its commit.
    world.meter.beforeBatch(3, () =>
      db
        .update(principals)
        .set({ attestationExpiresAt: world.now() + HOUR_MS })
        .where(eq(principals.principalId, principalId)),
    );
    expect(await sweep()).toBe(0);
    expect((await stored(agent.did))?.status).toBe("ACTIVE");
    expect(await eventsOf("principal.status_changed")).toEqual([]);
    expect(await entriesOf("agent.suspended")).toEqual([]);
  });

  it("also stops an agent whose activation was decided before the end", async () => {
    const principalId = await world.principal(attested(1));
    const { did } = await world.draft("CONSUMER", { principal_id: principalId });
    // The cascade commits between the activation's two trips, while the activation's clock is still before the end.
    const ended = { ...world.deps, clock: { now: () => world.now() + HOUR_MS } };
    world.meter.beforeBatch(2, () => world.run(endAttestations, ended));
    const reply = await world.call("POST", `/v1/agents/${did}/activate`);
    expect([reply.status, reply.body.code]).toEqual([409, "invalid_status"]);
    expect((await stored(did))?.status).toBe("DRAFT");
  });

  it("also stops an agent that became active between the reading and the commit", async () => {
    const principalId = await world.principal(attested(1));
    const { did } = await world.draft("CONSUMER", { principal_id: principalId });
    const ended = { ...world.deps, clock: { now: () => world.now() + HOUR_MS } };
    world.meter.beforeBatch(3, async () => expectStatus(await world.call("POST", `/v1/agents/${did}/activate`), 200));
    expect(await world.run(endAttestations, ended)).toBe(0);
    expect((await stored(did))?.status).toBe("ACTIVE");
    expect(await world.run(endAttestations, ended)).toBe(1);
    expect((await stored(did))?.status).toBe("SUSPENDED");
  });

  it("leaves the agents SUSPENDED until each is reactivated", async () => {
    const principalId = await world.principal(attested(1));
    const agent = await world.consumer({ principal_id: principalId });
    world.advance(HOUR_MS);
    await sweep();
    const path = `/v1/agents/${agent.did}/status`;
    const early = await world.call("PATCH", path, { body: { status: "ACTIVE" } });
    expect([early.status, early.body.code]).toEqual([409, "invalid_status"]);
    // Another attestation, as its operation would write it.
    await world.deps.db
      .update(principals)
      .set({ status: "ACTIVE", statusReason: null, attestationExpiresAt: world.now() + HOUR_MS })
      .where(eq(principals.principalId, principalId));
    const waiting = expectStatus(await world.call("GET", path, { key: null }), 200);
    expect(waiting).toMatchObject({ status: "SUSPENDED", principal_status: "ACTIVE" });
    const back = expectStatus(await world.call("PATCH", path, { body: { status: "ACTIVE" } }), 200);
    expect(back).toMatchObject({ status: "ACTIVE", suspension_reason: null });
  });
});

describe("a list by status", () => {
  it("shows the principal and the agents of an ended attestation once the job has recorded it, and never as ACTIVE", async () => {
    const principalId = await world.principal(attested(1));
    const agent = await world.consumer({ principal_id: principalId });
    world.advance(HOUR_MS);
    const ids = async (path: string, name: string) =>
      expectStatus(await world.call("GET", path), 200).data.map((row: Record<string, string>) => row[name]);
    expect(await ids("/v1/agents?status=ACTIVE", "did")).not.toContain(agent.did);
    expect(await ids("/v1/principals?status=ACTIVE", "principal_id")).not.toContain(principalId);
    await sweep();
    expect(await ids("/v1/agents?status=SUSPENDED", "did")).toContain(agent.did);
    expect(await ids("/v1/principals?status=ATTESTATION_EXPIRED", "principal_id")).toContain(principalId);
  });
});
