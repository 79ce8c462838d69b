// Reinstatement reactivates the agents that the suspension of the account took, no others, and each once (ACC-26, PRN-17).
import { eq } from "drizzle-orm";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { finishCascades } from "../../src/cascades/cascades.ts";
import { endAttestations } from "../../src/cascades/expire.ts";
import { finishRestatements } from "../../src/cascades/restate-agents.ts";
import { PLATFORM_STATUSES, type PlatformStatus } from "../../src/core/vocabulary.ts";
import { platforms } from "../../src/db/tables/accounts.ts";
import { agents, certificates } from "../../src/db/tables/agents.ts";
import { directoryChanges } from "../../src/db/tables/directory.ts";
import { principals } from "../../src/db/tables/principals.ts";
import { walks } from "../../src/db/tables/walks.ts";
import { CERTIFICATE_STATUS } from "../../src/protocol/status-list.ts";
import { openIntent, seller } from "../payments/support.ts";
import { dumpDatabase } from "../support/variants.ts";
import { createWorld, expectStatus, type World } from "../support/world.ts";
import {
  accountOf,
  cascadesLeft,
  crowd,
  dieBefore,
  entriesOf,
  inStatus,
  noticesOf,
  outcome,
  principalsOf,
  publicly,
  reinstate,
  reported,
  returns,
  storedAgent,
  suspend,
  suspensions,
} from "./account-support.ts";
import { createSlicedWorld, SLICE } from "./slices.ts";

const COUNT = 2 * SLICE + SLICE / 2;
const HOUR_MS = 3_600_000;

let world: World;
let other: World;
beforeAll(async () => {
  other = await createWorld();
});
beforeEach(async () => {
  world = await createSlicedWorld();
  // Removes cascades that an earlier test left unfinished.
  await world.deps.db.delete(walks);
});

/** The records of given agents in the feeds of both environments. */
const recordsOf = async ({ deps }: World, dids: readonly string[]) =>
  (await deps.db.select().from(directoryChanges)).filter(({ did }) => dids.includes(did));

const placeOf = ({ environment, seq }: { environment: string; seq: number }) => `${environment} ${seq}`;

const attestedForAnHour = () => ({
  verification_attestation: {
    attestation_id: `att_${crypto.randomUUID()}`,
    verifier_id: "ver_1",
    model: "kyb",
    issued_at: new Date(world.now() - HOUR_MS).toISOString(),
    expires_at: new Date(world.now() + HOUR_MS).toISOString(),
  },
});

describe("reinstating an account", () => {
  it.each(["PROFILE_PENDING", "KYB_PENDING", "IN_REVIEW", "ACCREDITED"] as const)(
    "returns it to %s, the status before the suspension",
    async (status) => {
      await world.deps.db.update(platforms).set({ status }).where(eq(platforms.platformId, world.platformId));
      expectStatus(await suspend(world), 200);
      const answer = expectStatus(await reinstate(world, "The bank was wrong."), 200);
      expect(answer).toMatchObject({ platform_id: world.platformId, platform_status: status });
      expect(await accountOf(world)).toMatchObject({ status, suspendedFrom: null, suspensionReason: null });
      expect(await entriesOf(world, "account.reinstated")).toMatchObject([
        {
          actorType: "operator",
          changes: {
            platform_status: { from: "SUSPENDED", to: status },
            reason: { from: null, to: "The bank was wrong." },
          },
        },
      ]);
      const [notice] = (await noticesOf(world)).filter(({ kind }) => kind === "customer.account_reinstated");
      expect(notice?.data).toMatchObject({ reason: "The bank was wrong." });
      expect((await principalsOf(world)).map(({ accountStopped }) => accountStopped)).toEqual([null]);
      expectStatus(await world.call("GET", "/v1/platform"), 200);
      expectStatus(await world.person("GET", "/v1/platform"), 200);
    },
  );

  const OTHERS = PLATFORM_STATUSES.filter((status): status is PlatformStatus => status !== "SUSPENDED");
  it.each(OTHERS)("is refused if it is %s", async (status) => {
    await world.deps.db.update(platforms).set({ status }).where(eq(platforms.platformId, world.platformId));
    const before = await dumpDatabase();
    expect(outcome(await reinstate(world))).toEqual([409, "invalid_status"]);
    expect(await dumpDatabase()).toEqual(before);
  });
});

describe("a reinstatement", () => {
  it("reactivates every agent that the suspension took, in its earlier status, and reports each once", async () => {
    const { dids, first } = await crowd(world, COUNT);
    const funding = await inStatus(world, "FUNDING");
    expectStatus(await suspend(world), 200);
    expectStatus(await reinstate(world), 200);
    expect(await inStatus(world, "FUNDING")).toEqual(funding);
    expect(await inStatus(world, "ACTIVE", "FUNDING")).toEqual(dids);
    expect(await returns(world)).toEqual(dids);
    expect(await storedAgent(world, first.did)).toMatchObject({ suspensionReason: null, suspendedFrom: null });
    // One change into the suspension and one out of it. The first agent's earlier activation has another type.
    const { feed } = await reported(world, "agent.suspended", "status_changed", "SUSPENDED");
    expect(feed).toEqual([...dids, ...dids].sort());
    const issued = await world.deps.db.select().from(certificates).where(eq(certificates.did, first.did));
    expect(issued.map(({ listedStatus }) => listedStatus)).toEqual([CERTIFICATE_STATUS.valid]);
    expect(await publicly(world, `/v1/agents/${first.did}/status`)).toMatchObject({
      status: "ACTIVE",
      principal_status: "ACTIVE",
    });
    expectStatus(await openIntent(world, first, await seller(other), "10.00"), 201);
    expect(await cascadesLeft(world)).toEqual([]);
  });

  it("leaves an agent that the platform suspended, a DRAFT, and an agent that had ended", async () => {
    const paused = await world.consumer();
    const gone = await world.consumer();
    const draft = await world.draft("CONSUMER");
    for (const [{ did }, status] of [
      [paused, "SUSPENDED"],
      [gone, "TERMINATED"],
    ] as const) {
      expectStatus(await world.call("PATCH", `/v1/agents/${did}/status`, { body: { status, reason: "Ours." } }), 200);
    }
    const before = await Promise.all([paused, gone, draft].map(({ did }) => storedAgent(world, did)));
    expectStatus(await suspend(world), 200);
    expectStatus(await reinstate(world), 200);
    expect(await Promise.all([paused, gone, draft].map(({ did }) => storedAgent(world, did)))).toEqual(before);
    expect(await returns(world)).toEqual([]);
  });

  it.each([
    ["recorded meanwhile", true],
    ["over by its date alone", false],
  ])("leaves an agent SUSPENDED whose principal's attestation is %s, for that reason", async (_how, recorded) => {
    const principalId = await world.principal(attestedForAnHour());
    const ended = await world.consumer({ principal_id: principalId });
    const bystander = await world.consumer();
    expectStatus(await suspend(world), 200);
    world.advance(HOUR_MS);
    if (recorded) await world.run(endAttestations);
    expectStatus(await reinstate(world), 200);
    expect(await storedAgent(world, ended.did)).toMatchObject({
      status: "SUSPENDED",
      suspensionReason: "attestation",
      suspendedFrom: "ACTIVE",
    });
    expect(await storedAgent(world, bystander.did)).toMatchObject({ status: "ACTIVE" });
    expect(await returns(world)).toEqual([bystander.did]);
    if (!recorded) await world.run(endAttestations);
    // Its status did not change, so nothing else reports it.
    expect((await suspensions(world)).log.filter((did) => did === ended.did)).toHaveLength(1);
    const view = expectStatus(await world.call("GET", `/v1/agents/${ended.did}`), 200);
    expect(view).toMatchObject({ status: "SUSPENDED", suspension_reason: "attestation" });
    // Another attestation, as its operation would write it. Then the platform reactivates the agent itself.
    await world.deps.db
      .update(principals)
      .set({ status: "ACTIVE", statusReason: null, attestationExpiresAt: world.now() + HOUR_MS })
      .where(eq(principals.principalId, principalId));
    const back = await world.call("PATCH", `/v1/agents/${ended.did}/status`, { body: { status: "ACTIVE" } });
    expect(back.body).toMatchObject({ status: "ACTIVE", suspension_reason: null });
  });

  it("judges attestations on the sandbox's own clock", async () => {
    const principalId = await world.principal(attestedForAnHour());
    const { did } = await world.consumer({ principal_id: principalId });
    await world.deps.db
      .update(platforms)
      .set({ clockOffsetMs: 2 * HOUR_MS })
      .where(eq(platforms.platformId, world.platformId));
    expectStatus(await suspend(world), 200);
    expectStatus(await reinstate(world), 200);
    expect(await storedAgent(world, did)).toMatchObject({ status: "SUSPENDED", suspensionReason: "attestation" });
  });

  it("leaves an agent that an earlier stop of its principal suspended", async () => {
    const principalId = await world.principal(attestedForAnHour());
    const { did } = await world.consumer({ principal_id: principalId });
    world.advance(HOUR_MS);
    await world.run(endAttestations);
    expectStatus(await suspend(world), 200);
    expectStatus(await reinstate(world), 200);
    expect(await storedAgent(world, did)).toMatchObject({ status: "SUSPENDED", suspensionReason: "attestation" });
    expect(await returns(world)).toEqual([]);
  });
});

describe("a reinstatement that crashes", () => {
  it.each([
    ["before the second slice is read", 3, SLICE],
    ["before the second slice is written", 4, SLICE],
    ["before the third slice is written", 6, 2 * SLICE],
  ])("%s is continued by the job, which reports each agent once", async (_when, trip, before) => {
    const { dids } = await crowd(world, COUNT);
    expectStatus(await suspend(world), 200);
    dieBefore(world, trip);
    expectStatus(await reinstate(world), 200);
    expect(await inStatus(world, "ACTIVE", "FUNDING")).toHaveLength(before);
    // The account works from the first commit on, and so do the reactivated agents.
    expectStatus(await world.call("GET", "/v1/platform"), 200);
    expect(await cascadesLeft(world)).toMatchObject([{ trigger: "account_returns" }]);
    expect(await world.run(finishCascades)).toBe(1);
    expect(await inStatus(world, "ACTIVE", "FUNDING")).toEqual(dids);
    expect(await returns(world)).toEqual(dids);
    expect(await suspensions(world).then(({ log }) => log)).toEqual(dids);
    expect(await cascadesLeft(world)).toEqual([]);
  });

  it("allows the platform to reactivate an agent itself", async () => {
    const { dids } = await crowd(world, SLICE + 1);
    expectStatus(await suspend(world), 200);
    dieBefore(world, 3);
    expectStatus(await reinstate(world), 200);
    const [left] = (await inStatus(world, "SUSPENDED")) as [string];
    const key = (await storedAgent(world, left))?.environment === "production" ? world.liveKey : world.key;
    const path = `/v1/agents/${left}/status`;
    expectStatus(await world.call("PATCH", path, { key, body: { status: "ACTIVE" } }), 200);
    await world.run(finishCascades);
    expect(await returns(world)).toEqual(dids);
  });
});

describe("decisions that follow each other quickly", () => {
  it("a reinstatement takes over an unfinished suspension: agents that it had not reached were never suspended", async () => {
    const { dids } = await crowd(world, COUNT);
    dieBefore(world, 3);
    expectStatus(await suspend(world), 200);
    const taken = await inStatus(world, "SUSPENDED");
    expectStatus(await reinstate(world), 200);
    expect(await world.run(finishCascades)).toBe(0);
    expect(await inStatus(world, "ACTIVE", "FUNDING")).toEqual(dids);
    expect((await suspensions(world)).log).toEqual(taken);
    expect(await returns(world)).toEqual(taken);
    // A copy of the directory that was taken meanwhile shows them suspended, so the feed gets a record for each after the reinstatement (DIR-15).
    const before = new Set((await recordsOf(world, dids)).map(placeOf));
    expect(await world.run(finishRestatements)).toBeGreaterThan(0);
    const told = (await recordsOf(world, dids)).filter((one) => !before.has(placeOf(one)));
    expect(told.map(({ did }) => did).sort()).toEqual(dids);
    expect(new Set(told.map(({ changeType }) => changeType))).toEqual(new Set(["status_changed"]));
    expect(await world.deps.db.select().from(walks)).toEqual([]);
  });

  it("a suspension takes over an unfinished reinstatement: every agent is suspended, and later reactivated once", async () => {
    const { dids } = await crowd(world, COUNT);
    expectStatus(await suspend(world), 200);
    dieBefore(world, 3);
    expectStatus(await reinstate(world), 200);
    const back = await inStatus(world, "ACTIVE", "FUNDING");
    expect(back).toHaveLength(SLICE);
    expectStatus(await suspend(world), 200);
    expect(await world.run(finishCascades)).toBe(0);
    expect(await inStatus(world, "SUSPENDED")).toEqual(dids);
    expect((await suspensions(world)).log).toEqual([...dids, ...back].sort());
    expectStatus(await reinstate(world), 200);
    expect(await inStatus(world, "ACTIVE", "FUNDING")).toEqual(dids);
    expect(await returns(world)).toEqual([...dids, ...back].sort());
  });

  it("a slice of the suspension that was read before the reinstatement is not written after it", async () => {
    const { dids } = await crowd(world, COUNT);
    dieBefore(world, 3);
    expectStatus(await suspend(world), 200);
    // The job's trips: it finds cascades, reads a slice, and writes a slice.
    world.meter.beforeBatch(3, () => reinstate(world));
    await world.run(finishCascades);
    expect(await inStatus(world, "ACTIVE", "FUNDING")).toEqual(dids);
    expect(await cascadesLeft(world)).toEqual([]);
  });

  it("a slice of the reinstatement that was read before another suspension is not written after it", async () => {
    const { dids } = await crowd(world, COUNT);
    expectStatus(await suspend(world), 200);
    dieBefore(world, 3);
    expectStatus(await reinstate(world), 200);
    // The job's trips: it finds cascades, reads a slice for another trigger, reads a slice, and writes a slice.
    world.meter.beforeBatch(4, () => suspend(world));
    await world.run(finishCascades);
    expect(await inStatus(world, "SUSPENDED")).toEqual(dids);
    expect(await cascadesLeft(world)).toEqual([]);
  });

  it("a slice of the reinstatement that was read before a principal stopped leaves that principal's agents", async () => {
    const principalId = await world.principal(attestedForAnHour());
    const { did } = await world.consumer({ principal_id: principalId });
    await world.deps.db
      .update(agents)
      .set({ createdAt: world.now() + HOUR_MS })
      .where(eq(agents.did, did));
    const { dids } = await crowd(world, SLICE);
    expectStatus(await suspend(world), 200);
    dieBefore(world, 3);
    expectStatus(await reinstate(world), 200);
    // An hour later the attestation is over, and its end is recorded between the reading and the writing of the last slice.
    world.meter.beforeBatch(4, async () => {
      world.advance(HOUR_MS);
      await world.run(endAttestations);
    });
    await world.run(finishCascades);
    expect(await storedAgent(world, did)).toMatchObject({ status: "SUSPENDED", suspensionReason: "attestation" });
    expect(await inStatus(world, "ACTIVE", "FUNDING")).toEqual(dids);
    expect(await returns(world)).toEqual(dids);
  });

  it("ten decisions at once leave one status, in which rows and readings agree", async () => {
    const { dids, first } = await crowd(world, SLICE + SLICE / 2);
    await Promise.all(Array.from({ length: 10 }, (_, i) => (i % 2 === 0 ? suspend(world) : reinstate(world))));
    await world.run(finishCascades);
    const suspended = (await accountOf(world))?.status === "SUSPENDED";
    expect(await inStatus(world, ...(suspended ? (["SUSPENDED"] as const) : (["ACTIVE", "FUNDING"] as const)))).toEqual(
      dids,
    );
    const stopped = new Set((await principalsOf(world)).map(({ accountStopped }) => accountStopped));
    expect(stopped).toEqual(new Set([suspended ? "SUSPENDED" : null]));
    const shown = await publicly(world, `/v1/agents/${first.did}/status`);
    expect(shown.status).toBe(suspended ? "SUSPENDED" : "ACTIVE");
  });
});
