// The account as its own key reads it, and the conditions of its next state (ACC-1, ACC-3, ACC-7).
import { eq } from "drizzle-orm";
import { beforeAll, describe, expect, it } from "vitest";
import { platforms } from "../../src/db/tables/accounts.ts";
import { createWorld, expectStatus, type World } from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const read = async () => expectStatus(await world.call("GET", "/v1/platform"), 200);
const store = (set: Partial<typeof platforms.$inferInsert>) =>
  world.deps.db.update(platforms).set(set).where(eq(platforms.platformId, world.platformId));

describe("GET /v1/platform", () => {
  it("is the account of the presented key, in the key's environment", async () => {
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

  it("names the profile fields that are missing, until they are there", async () => {
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

describe("the operator's list", () => {
  it("is paged, filtered by status and closed to a management key", async () => {
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
});
