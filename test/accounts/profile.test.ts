// The account as its own key reads it, its states, and the conditions of the next state (ACC-1 to ACC-3, ACC-7).
import { eq } from "drizzle-orm";
import { beforeAll, describe, expect, it } from "vitest";
import { PLATFORM_STATUSES } from "../../src/core/vocabulary.ts";
import { platforms } from "../../src/db/tables/accounts.ts";
import { createWorld, expectStatus, principalBody, type World } from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const read = async () => expectStatus(await world.call("GET", "/v1/platform"), 200);
const store = (set: Partial<typeof platforms.$inferInsert>) =>
  world.deps.db.update(platforms).set(set).where(eq(platforms.platformId, world.platformId));

describe("GET /v1/platform", () => {
  it("answers the account of the presented key, in the key's environment", async () => {
    expect(await read()).toMatchObject({
      platform_id: world.platformId,
      platform_status: "ACCREDITED",
      tenant_principal_id: world.tenantPrincipalId,
      environment: "sandbox",
      registered_address: null,
      requirements: { currently_due: [], pending_verification: [], errors: [] },
    });
    expect((await world.call("GET", "/v1/platform", { key: world.liveKey })).body.environment).toBe("production");
  });

  it("names the missing profile fields", async () => {
    await store({ status: "PROFILE_PENDING" });
    expect((await read()).requirements.currently_due).toEqual([
      "registration_number",
      "registered_address",
      "admin_contact_email",
    ]);
    const registeredAddress = { line1: "Hauptstr. 1", city: "Berlin", postal_code: "10115", country: "DE" };
    await store({ registrationNumber: "HRB 1", registeredAddress, adminContactEmail: "ops@platform.test" });
    const profile = await read();
    expect(profile.requirements.currently_due).toEqual([]);
    expect(profile.registered_address).toEqual(registeredAddress);
  });

  it("names the documents that a verification needs, and those in review", async () => {
    await store({ status: "KYB_PENDING" });
    expect((await read()).requirements.currently_due).toContain("certificate_of_incorporation");
    await store({ status: "IN_REVIEW" });
    expect((await read()).requirements).toMatchObject({ currently_due: [], errors: [] });
    expect((await read()).requirements.pending_verification).toHaveLength(4);
  });
});

describe("the state of an account", () => {
  const WORKING = ["EMAIL_PENDING", "PROFILE_PENDING", "KYB_PENDING", "IN_REVIEW", "ACCREDITED"] as const;
  const STOPPED = ["SUSPENDED", "CLOSED"] as const;

  it("is one of seven", () => {
    expect(PLATFORM_STATUSES).toEqual([...WORKING, ...STOPPED]);
  });

  it.each(WORKING)("%s permits everything in the sandbox, which never waits for a review", async (status) => {
    world = await createWorld();
    await store({ status });
    expect((await read()).platform_status).toBe(status);
    const [consumer, provider] = [await world.consumer(), await world.provider()];
    expect((await world.intent(consumer, provider)).status).toBe("OPEN");
  });

  it.each([
    ["SUSPENDED", [403, "account_suspended"], [403, "account_suspended"]],
    // As if the credentials had never existed.
    ["CLOSED", [401, "invalid_credentials"], [401, "aeap_verification_failed"]],
  ] as const)("%s stops the sandbox too", async (status, byKey, byAgent) => {
    world = await createWorld();
    const consumer = await world.consumer();
    await store({ status });
    const reply = await world.call("POST", "/v1/principals", { body: principalBody() });
    expect([reply.status, reply.body.code]).toEqual(byKey);
    const task = await world.as(consumer, "GET", "/v1/tasks/tsk_none");
    expect([task.status, task.body.code]).toEqual(byAgent);
  });
});

describe("the operator's list", () => {
  it("is paged, filtered by status, and refused to a management key", async () => {
    await createWorld();
    const { inject } = await import("vitest");
    const headers = { Authorization: `Bearer ${inject("operatorKey")}` };
    const page = expectStatus(await world.call("GET", "/v1/operator/platforms?limit=1", { key: null, headers }), 200);
    expect(page).toMatchObject({ has_more: true, data: [{ platform_status: "ACCREDITED" }] });
    const next = await world.call("GET", `/v1/operator/platforms?limit=1&cursor=${page.next_cursor}`, {
      key: null,
      headers,
    });
    expect(next.body.data[0].platform_id).not.toBe(page.data[0].platform_id);
    expect((await world.call("GET", "/v1/operator/platforms")).body.code).toBe("invalid_credentials");
  });

  it("reads only the columns that it shows", async () => {
    const { inject } = await import("vitest");
    const headers = { Authorization: `Bearer ${inject("operatorKey")}` };
    world.meter.reset();
    expectStatus(await world.call("GET", "/v1/operator/platforms?limit=1", { key: null, headers }), 200);
    const [read = ""] = (world.meter.reading.sql.at(-1) ?? "").split(" from ");
    expect(read).toContain('"registered_address"');
    for (const hidden of ["*", "clock_offset_ms", "updated_at"]) expect(read).not.toContain(hidden);
  });
});
