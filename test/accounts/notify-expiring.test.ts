// The end of an attestation is announced 30, 7 and 1 days before, each once, by an event and a mail (PRN-26).
import { and, eq, inArray, isNotNull } from "drizzle-orm";
import { beforeEach, describe, expect, it } from "vitest";
import { mailNotices, notifyExpiring } from "../../src/accounts/notices.ts";
import { attestTenant, buildTenantReads } from "../../src/accounts/submit.ts";
import { endAttestations } from "../../src/cascades/expire.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../src/core/limits.ts";
import { commit, readBatch } from "../../src/db/batch.ts";
import { notices, platforms } from "../../src/db/tables/accounts.ts";
import { activityEntries, events } from "../../src/db/tables/journal.ts";
import { principals } from "../../src/db/tables/principals.ts";
import { setAccountStopped } from "../../src/principals/store.ts";
import { failingBatches, withDatabase } from "../support/variants.ts";
import { createWorld, env, expectStatus, type Json, principalBody, type World } from "../support/world.ts";

const TYPE = "principal.attestation_expiring";

let world: World;
beforeEach(async () => {
  world = await createWorld();
  // Each test sees only its own notices.
  await world.deps.db.delete(notices);
  await world.deps.db.update(principals).set({ expiryNoticeAt: null }).where(isNotNull(principals.expiryNoticeAt));
});

const attestation = (inMs: number) => ({
  verification_attestation: {
    attestation_id: `att_${crypto.randomUUID()}`,
    verifier_id: "ver_1",
    model: "kyb",
    issued_at: new Date(world.now() - HOUR_MS).toISOString(),
    expires_at: new Date(world.now() + inMs).toISOString(),
  },
});

/** A principal whose attestation ends in this many milliseconds, by the world's clock. */
async function ending(inMs: number): Promise<string> {
  const body = principalBody(attestation(inMs));
  return expectStatus(await world.call("POST", "/v1/principals", { body }), 201).principal_id;
}

const run = (): Promise<number> => world.run(notifyExpiring);
const eventsOf = async (of = world): Promise<Json[]> =>
  (
    await of.deps.db
      .select()
      .from(events)
      .where(and(eq(events.platformId, of.platformId), eq(events.type, TYPE)))
      .orderBy(events.seq)
  ).map(({ object }) => object);
const told = async (): Promise<[unknown, unknown][]> =>
  (await eventsOf()).map(({ principal_id, notice_days }) => [principal_id, notice_days]);
const waiting = (): Promise<Json[]> =>
  world.deps.db.select().from(notices).where(eq(notices.kind, "customer.attestation_expiring"));
const dueAt = async (principalId: string): Promise<number | null | undefined> =>
  (await world.deps.db.select().from(principals).where(eq(principals.principalId, principalId)))[0]?.expiryNoticeAt;
const read = async (principalId: string): Promise<Json> =>
  expectStatus(await world.call("GET", `/v1/principals/${principalId}`), 200);
const act = (principalId: string, verb: string) => world.call("POST", `/v1/principals/${principalId}/${verb}`);

describe("the end of an attestation", () => {
  it("is announced 30, 7 and 1 days before, each once, and never after it", async () => {
    const principalId = await ending(60 * DAY_MS);
    expect(await run()).toBe(0);
    const days: unknown[] = [];
    for (let day = 60; day >= -2; day--) {
      await run();
      await run();
      const said = (await told()).length - days.length;
      expect(said).toBe([30, 7, 1].includes(day) ? 1 : 0);
      if (said === 1) days.push(day);
      world.advance(DAY_MS);
    }
    expect(await told()).toEqual([30, 7, 1].map((days) => [principalId, days]));
    expect((await waiting()).map(({ data }) => data.ends[0].days).sort()).toEqual([1, 30, 7]);
    expect(await dueAt(principalId)).toBeNull();
  });

  it("is announced at its instant, and not a millisecond before", async () => {
    const principalId = await ending(31 * DAY_MS);
    const end = Date.parse((await read(principalId)).verification_attestation.expires_at);
    const at = (now: number) => world.run(notifyExpiring, { ...world.deps, clock: { now: () => now } });
    for (const days of [30, 7, 1]) {
      expect(await at(end - days * DAY_MS - 1)).toBe(0);
      expect(await at(end - days * DAY_MS)).toBe(1);
      expect(await at(end - days * DAY_MS)).toBe(0);
    }
    expect(await at(end)).toBe(0);
  });

  it("is an event with the principal as it is read, and the days; the log and the principal do not change", async () => {
    const principalId = await ending(30 * DAY_MS);
    const before = await read(principalId);
    expect(await run()).toBe(1);
    expect(await eventsOf()).toEqual([{ ...before, notice_days: 30 }]);
    expect(await read(principalId)).toEqual(before);
    const entries = await world.deps.db
      .select()
      .from(activityEntries)
      .where(eq(activityEntries.subjectId, principalId));
    expect(entries.map(({ action }) => action)).toEqual(["principal.registered"]);
  });

  it.each([
    [20, [30, 7, 1]],
    [5, [7, 1]],
    [0.5, [1]],
  ])(
    "that is %d days ahead when it is recorded is announced at once, only by the nearest notice",
    async (ahead, days) => {
      const principalId = await ending(ahead * DAY_MS);
      expect(await run()).toBe(1);
      expect(await told()).toEqual([[principalId, days[0]]]);
      for (let hour = 0; hour < ahead * 24; hour += 6) {
        world.advance(6 * HOUR_MS);
        await run();
      }
      expect(await told()).toEqual(days.map((each) => [principalId, each]));
    },
  );

  it("is announced only by the nearest notice when the job is late, and not after the end", async () => {
    const [late, tooLate] = [await ending(40 * DAY_MS), await ending(34 * DAY_MS)];
    world.advance(35 * DAY_MS);
    expect(await run()).toBe(2);
    expect(await told()).toEqual([[late, 7]]);
    expect(await dueAt(tooLate)).toBeNull();
    world.advance(10 * DAY_MS);
    expect(await run()).toBe(1);
    expect(await told()).toEqual([[late, 7]]);
    expect(await dueAt(late)).toBeNull();
  });

  it("is announced for a suspended principal, and for a suspended account", async () => {
    const principalId = await ending(30 * DAY_MS);
    expectStatus(await act(principalId, "suspend"), 200);
    expect(await run()).toBe(1);
    await commit(world.deps.db, [setAccountStopped(world.deps.db, world.platformId, "SUSPENDED")]);
    world.advance(23 * DAY_MS);
    expect(await run()).toBe(1);
    expect((await eventsOf()).map(({ status, notice_days }) => [status, notice_days])).toEqual([
      ["SUSPENDED", 30],
      ["SUSPENDED", 7],
    ]);
  });

  it("is not announced for a closed principal, a closed account or a revoked attestation", async () => {
    const [closed, taken, ofClosed] = [await ending(30 * DAY_MS), await ending(30 * DAY_MS), await ending(30 * DAY_MS)];
    expectStatus(await act(closed, "close"), 200);
    expect(await dueAt(closed)).toBeNull();
    const { db } = world.deps;
    await db
      .update(principals)
      .set({ status: "ATTESTATION_EXPIRED", attestationStop: "attestation_revoked" })
      .where(eq(principals.principalId, taken));
    await db.update(principals).set({ accountStopped: "CLOSED" }).where(eq(principals.principalId, ofClosed));
    await run();
    expect(await eventsOf()).toEqual([]);
    expect(await waiting()).toEqual([]);
    expect([await dueAt(taken), await dueAt(ofClosed)]).toEqual([null, null]);
  });

  it("is announced again for a renewed attestation, also for one that ends sooner", async () => {
    const principalId = await ending(30 * DAY_MS);
    expect(await run()).toBe(1);
    const renew = async (inMs: number) => {
      const { verification_attestation: body } = attestation(inMs);
      expectStatus(await world.call("POST", `/v1/principals/${principalId}/attestations`, { body }), 201);
    };
    await renew(60 * DAY_MS);
    expect(await run()).toBe(0);
    world.advance(30 * DAY_MS);
    expect(await run()).toBe(1);
    await renew(5 * DAY_MS);
    expect(await run()).toBe(1);
    expect((await told()).map(([, days]) => days)).toEqual([30, 30, 7]);
    // Also after its end.
    world.advance(6 * DAY_MS);
    await world.run(endAttestations);
    await renew(12 * HOUR_MS);
    expect(await run()).toBe(1);
    expect((await told()).map(([, days]) => days)).toEqual([30, 30, 7, 1]);
  });

  it("is announced for the account's own company, and again after the operator's renewal", async () => {
    const { db } = world.deps;
    const attest = async (expiresAt: number) => {
      const actor = { type: "operator", id: "op" } as const;
      const found = await readBatch(db, buildTenantReads(world.deps, world.platformId));
      const { statements } = await attestTenant(
        world.deps,
        found,
        { tier: "TIER_2", expiresAt, actor, entry: true },
        world.now(),
      );
      await commit(db, statements);
    };
    await attest(world.now() + 30 * DAY_MS);
    expect(await run()).toBe(1);
    await attest(world.now() + 60 * DAY_MS);
    expect(await run()).toBe(0);
    world.advance(30 * DAY_MS);
    expect(await run()).toBe(1);
    expect(await told()).toEqual([
      [world.tenantPrincipalId, 30],
      [world.tenantPrincipalId, 30],
    ]);
  });
});

describe("the mail", () => {
  const contact = (adminContactEmail: string | null) =>
    world.deps.db.update(platforms).set({ adminContactEmail }).where(eq(platforms.platformId, world.platformId));
  const mailed = async (): Promise<Json> => {
    await world.run(mailNotices);
    return world.mails.at(-1);
  };

  it("goes to the account's own address with the principal's name", async () => {
    await contact(null);
    const principalId = await ending(30 * DAY_MS);
    const { legal_name: name, verification_attestation } = await read(principalId);
    await run();
    const { to, subject, text } = await mailed();
    expect([to, subject]).toEqual([
      `ops-${world.platformId}@platform.test`,
      `The attestation of ${name} ends within 30 days`,
    ]);
    const instant = verification_attestation.expires_at.slice(0, 19).replace("T", " ");
    expect(text).toContain(`The attestation of ${name} (${principalId}) ends at ${instant} UTC.`);
  });

  it("is one for all ends of an account that are announced at once", async () => {
    await contact(null);
    await run();
    await world.run(mailNotices);
    const ids = [await ending(DAY_MS), await ending(DAY_MS), await ending(7 * DAY_MS)];
    await run();
    expect((await waiting()).length).toBe(ids.length);
    const before = world.mails.length;
    await world.run(mailNotices);
    const [mail, ...others] = world.mails.slice(before);
    expect([others, mail?.subject]).toEqual([[], "The attestations of 3 principals end within 7 days"]);
    for (const id of ids) expect(mail?.text).toContain(id);
    expect(await waiting()).toEqual([]);
  });
});

describe("a notice is given once", () => {
  it("by simultaneous runs", async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, () => ending(30 * DAY_MS)));
    await Promise.all([run(), run(), run()]);
    await run();
    expect((await told()).map(([id]) => id).sort()).toEqual(ids.toSorted());
    expect(await waiting()).toHaveLength(ids.length);
  });

  it.each(["before", "after"] as const)("by a run that dies %s its commit, and by the next one", async (moment) => {
    const principalId = await ending(30 * DAY_MS);
    // The batches of a run: the due rows, the read, the notice.
    const dying = failingBatches(env.DB, (batch) => (batch === 3 ? moment : "never"));
    await world.run(notifyExpiring, withDatabase(world, dying).deps);
    expect(await run()).toBe(moment === "before" ? 1 : 0);
    expect(await told()).toEqual([[principalId, 30]]);
    expect(await waiting()).toHaveLength(1);
  });

  it.each([
    ["a renewal", { attestationExpiresAt: 1, expiryNoticeAt: 1 }],
    ["a change", {}],
  ] as const)("and not by a run that %s has overtaken", async (_what, renewed) => {
    const principalId = await ending(30 * DAY_MS);
    const [row] = await world.deps.db.select().from(principals).where(eq(principals.principalId, principalId));
    const end = world.now() + 90 * DAY_MS;
    const set =
      "attestationExpiresAt" in renewed ? { attestationExpiresAt: end, expiryNoticeAt: end - 30 * DAY_MS } : {};
    world.meter.beforeBatch(3, () =>
      world.deps.db
        .update(principals)
        .set({ ...set, updatedAt: (row?.updatedAt ?? 0) + 1 })
        .where(eq(principals.principalId, principalId)),
    );
    expect(await run()).toBe(0);
    expect(await told()).toEqual([]);
    expect(await waiting()).toEqual([]);
    // The next run decides on the present state.
    expect(await run()).toBe("attestationExpiresAt" in renewed ? 0 : 1);
  });

  it.each([
    ["its principal", (id: string) => act(id, "close")],
    ["its account", () => commit(world.deps.db, [setAccountStopped(world.deps.db, world.platformId, "CLOSED")])],
  ] as const)("and not when %s is closed in between", async (_what, close) => {
    const principalId = await ending(30 * DAY_MS);
    world.meter.beforeBatch(3, () => close(principalId));
    expect(await run()).toBe(0);
    await run();
    expect(await eventsOf()).toEqual([]);
    expect(await waiting()).toEqual([]);
    expect(await dueAt(principalId)).toBeNull();
  });
});

describe("a run", () => {
  it("reads the due rows only by the index, however many principals wait", async () => {
    const ids = [];
    for (let n = 0; n < 30; n++) ids.push(await ending(300 * DAY_MS));
    world.meter.reset();
    expect(await run()).toBe(0);
    expect(world.meter.reading.rowsRead).toBeLessThanOrEqual(1);
    await world.deps.db
      .update(principals)
      .set({ expiryNoticeAt: world.now() - MINUTE_MS })
      .where(inArray(principals.principalId, ids.slice(0, 1)));
    // The attestation's end is not near yet, so nothing is announced, and the first notice is still to come.
    expect(await run()).toBe(1);
    expect(await eventsOf()).toEqual([]);
    expect(await dueAt(ids[0] ?? "")).toBeGreaterThan(world.now() + 269 * DAY_MS);
  });

  it("leaves the recording of the end to its own job", async () => {
    const principalId = await ending(HOUR_MS);
    expect(await run()).toBe(1);
    world.advance(HOUR_MS);
    expect(await world.run(endAttestations)).toBe(1);
    expect(await run()).toBe(0);
    expect((await read(principalId)).status).toBe("ATTESTATION_EXPIRED");
  });
});
