// The tenant principal stands for the platform's own company (ACC-6): it is made when the profile names the company, follows the profile, and does
// not restrict other principals.
import { eq } from "drizzle-orm";
import { beforeAll, describe, expect, it } from "vitest";
import { attestations, principals } from "../../src/db/tables/principals.ts";
import { agentBody, createWorld, expectStatus, type Json, principalBody, type World } from "../support/world.ts";
import {
  type Account,
  bearer,
  freshAddress,
  mailedToken,
  PASSWORD,
  PROFILE,
  patch,
  post,
  readAccount,
  signUp,
} from "./support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const tenantOf = async ({ key }: Pick<Account, "key">): Promise<string | null> =>
  (await readAccount(world, key)).tenant_principal_id;
const principal = async (key: string, id: string): Promise<Json> =>
  expectStatus(await world.call("GET", `/v1/principals/${id}`, { key }), 200);
const named = { legal_name: PROFILE.legal_name, country: PROFILE.country };

/** An account whose tenant principal exists. */
async function withTenant(profile: object = named): Promise<Account & { tenant: string }> {
  const account = await signUp(world);
  const { tenant_principal_id } = expectStatus(await patch(world, account.key, profile), 200);
  return { ...account, tenant: tenant_principal_id };
}

describe("the tenant principal is made", () => {
  it.each([
    ["the name comes last", ["country", "legal_name"]],
    ["the country comes last", ["legal_name", "country"]],
  ] as const)("by the patch that makes name and country known: %s", async (_when, [first, second]) => {
    const account = await signUp(world);
    expectStatus(await patch(world, account.key, { [first]: named[first] }), 200);
    expect(await tenantOf(account)).toBeNull();
    const patched = expectStatus(await patch(world, account.key, { [second]: named[second] }), 200);
    expect(patched.tenant_principal_id).toMatch(/^prn_/);
    expect(await principal(account.key, patched.tenant_principal_id)).toMatchObject({
      ...named,
      entity_type: "company",
      external_ref: `tenant:${account.platformId}`,
      customer_id: null,
      environment: "sandbox",
      status: "ACTIVE",
      verification_attestation: { verifier_id: "sandbox-placeholder", model: "kyb", tier: "TIER_3" },
    });
  });

  it("also if the sign-up gave the name", async () => {
    const email = freshAddress();
    const body = { email, password: PASSWORD, legal_name: PROFILE.legal_name };
    expectStatus(await post(world, "/v1/platform/register", body), 201);
    const verified = await post(world, "/v1/platform/verify-email", {
      token: mailedToken(world, email),
      password: PASSWORD,
    });
    const key = expectStatus(verified, 200).api_key.raw_key;
    expect(await tenantOf({ key })).toBeNull();
    const { tenant_principal_id } = expectStatus(await patch(world, key, { country: "DE" }), 200);
    expect(await principal(key, tenant_principal_id)).toMatchObject({ legal_name: PROFILE.legal_name });
  });

  it("once, with its attestation", async () => {
    const { tenant, platformId, key } = await withTenant();
    expectStatus(await patch(world, key, { ...PROFILE, legal_name: "Another GmbH" }), 200);
    const { db } = world.deps;
    const own = await db.select().from(principals).where(eq(principals.platformId, platformId));
    expect(own.map(({ principalId }) => principalId)).toEqual([tenant]);
    const [recorded] = await db.select().from(attestations).where(eq(attestations.principalId, tenant));
    expect(recorded?.attestationId).toBe(own[0]?.attestationId);
  });

  it("once by 20 simultaneous patches", async () => {
    const account = await signUp(world);
    const calls = Array.from({ length: 20 }, (_, i) =>
      patch(world, account.key, { ...named, legal_name: `Startup ${i} GmbH` }),
    );
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual(calls.map(() => 200));
    const own = await world.deps.db.select().from(principals).where(eq(principals.platformId, account.platformId));
    expect(own).toHaveLength(1);
    expect(own[0]?.legalName).toBe((await readAccount(world, account.key)).legal_name);
  });
});

describe("the tenant principal follows", () => {
  it.each([
    ["the name", { legal_name: "Renamed Robotics GmbH" }],
    ["the country", { country: "FR" }],
    ["both", { legal_name: "Renamed Robotics SARL", country: "FR" }],
  ])("%s of the profile", async (_what, change) => {
    const { key, tenant } = await withTenant();
    const before = await principal(key, tenant);
    expectStatus(await patch(world, key, change), 200);
    const { updated_at, ...after } = await principal(key, tenant);
    const { updated_at: earlier, ...same } = { ...before, ...change };
    expect(after).toEqual(same);
    expect(Date.parse(updated_at)).toBeGreaterThan(Date.parse(earlier));
  });

  it("no other member of the profile", async () => {
    const { key, tenant } = await withTenant();
    const before = await principal(key, tenant);
    expectStatus(await patch(world, key, { trading_name: "Startup", registration_number: "HRB 2" }), 200);
    expect(await principal(key, tenant)).toEqual(before);
  });
});

describe("the tenant principal", () => {
  it("is in no list", async () => {
    const { key } = await withTenant();
    for (const filter of ["", "?status=ACTIVE", "?customer_id=none"]) {
      const { data } = expectStatus(await world.call("GET", `/v1/principals${filter}`, { key }), 200);
      expect(data).toEqual([]);
    }
  });

  it("is read by its id in both environments", async () => {
    const { tenantPrincipalId, key, liveKey } = world;
    for (const own of [key, liveKey]) {
      expect(await principal(own, tenantPrincipalId)).toMatchObject({ principal_id: tenantPrincipalId });
    }
  });

  it("leaves its name, country and reference to a registered one", async () => {
    const { key, platformId } = await withTenant();
    const body = principalBody({ ...named, external_ref: `tenant:${platformId}` });
    expectStatus(await world.call("POST", "/v1/principals", { key, body }), 201);
  });

  it("takes the name and the country of a registered one, when it is made and by a change", async () => {
    const account = await signUp(world);
    const other = { legal_name: "Renamed Robotics SARL", country: "FR" };
    for (const taken of [named, other]) {
      expectStatus(await world.call("POST", "/v1/principals", { key: account.key, body: principalBody(taken) }), 201);
    }
    expectStatus(await patch(world, account.key, named), 200);
    expectStatus(await patch(world, account.key, other), 200);
    expect(await principal(account.key, String(await tenantOf(account)))).toMatchObject(other);
  });
});

describe("agents of the tenant principal", () => {
  it("are registered and activated like any other", async () => {
    const { key, tenant } = await withTenant();
    const body = { ...agentBody("PROVIDER"), principal_id: tenant };
    const { did, identity } = expectStatus(await world.call("POST", "/v1/agents", { key, body }), 201);
    expect(identity.principal).toMatchObject({ id: tenant, name: named.legal_name, country: named.country });
    expectStatus(await world.call("POST", `/v1/agents/${did}/activate`, { key }), 200);
    const status = expectStatus(await world.call("GET", `/v1/agents/${did}/status`, { key: null }), 200);
    expect(status).toMatchObject({ status: "ACTIVE", principal_status: "ACTIVE" });
  });

  it("are registered by a person in the sandbox too", async () => {
    const { email, tenant } = await withTenant();
    const { session_token } = expectStatus(
      await post(world, "/v1/platform/sessions", { email, password: PASSWORD }),
      201,
    );
    const body = { ...agentBody("CONSUMER"), principal_id: tenant };
    const options = { key: null, headers: bearer(session_token), body };
    expectStatus(await world.call("POST", "/v1/agents", options), 201);
  });
});
