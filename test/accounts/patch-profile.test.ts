// A key or a session may patch the profile of an account in any state, and a complete profile takes the account to KYB_PENDING (ACC-18).
import { and, asc, eq } from "drizzle-orm";
import { beforeAll, describe, expect, it } from "vitest";
import type { PlatformStatus } from "../../src/core/vocabulary.ts";
import { platforms } from "../../src/db/tables/accounts.ts";
import { activityEntries } from "../../src/db/tables/journal.ts";
import { dumpDatabase } from "../support/variants.ts";
import { createWorld, env, expectStatus, type Reply, type World } from "../support/world.ts";
import { type Account, ADDRESS, bearer, logIn, PROFILE, patch, readAccount, signUp } from "./support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const entries = ({ platformId }: Pick<Account, "platformId">) =>
  world.deps.db
    .select()
    .from(activityEntries)
    .where(and(eq(activityEntries.platformId, platformId), eq(activityEntries.action, "account.profile_changed")))
    .orderBy(asc(activityEntries.seq));

const store = ({ platformId }: Pick<Account, "platformId">, set: Partial<typeof platforms.$inferInsert>) =>
  world.deps.db.update(platforms).set(set).where(eq(platforms.platformId, platformId));

const faultsOf = ({ body }: Reply) =>
  body.field_errors.map(({ field, code }: { field: string; code: string }) => [field, code]);

/** The answer, after a check that the call stored nothing. */
async function refused(account: Account, body: unknown): Promise<Reply> {
  // The last use of the key is written once a minute.
  await readAccount(world, account.key);
  const before = await dumpDatabase();
  const reply = await patch(world, account.key, body);
  expect(await dumpDatabase()).toEqual(before);
  return reply;
}

describe("a patch of the profile", () => {
  it.each([
    ["legal_name", "Startup GmbH"],
    ["trading_name", "Startup"],
    ["registration_number", "HRB 1"],
    ["country", "FR"],
    ["registered_address", ADDRESS],
    ["website", "https://startup.example/"],
  ])("changes only %s, and the log has both values", async (member, value) => {
    const account = await signUp(world);
    const before = await readAccount(world, account.key);
    const patched = expectStatus(await patch(world, account.key, { [member]: value }), 200);
    const { requirements, ...after } = await readAccount(world, account.key);
    const { requirements: _due, ...same } = { ...before, [member]: value };
    expect(after).toEqual(same);
    expect(patched).toEqual({ ...after, requirements });
    expect(await entries(account)).toMatchObject([
      {
        environment: "sandbox",
        actorType: "management_api",
        actorId: account.key.slice(0, "service_sandbox_".length + 6),
        subjectType: "platform",
        subjectId: account.platformId,
        changes: { [member]: { from: before[member], to: value } },
      },
    ]);
  });

  it("may be made by a person too, and the log names the address", async () => {
    const account = await signUp(world);
    const headers = bearer(await logIn(world, account.email));
    const body = { trading_name: "Startup" };
    const patched = expectStatus(await world.call("PATCH", "/v1/platform", { key: null, headers, body }), 200);
    expect(patched).toMatchObject({ trading_name: "Startup", environment: "sandbox" });
    expect(await entries(account)).toMatchObject([{ actorType: "dashboard_admin", actorId: account.email }]);
  });

  it("writes only the members that get another value into the log", async () => {
    const account = await signUp(world);
    await patch(world, account.key, { trading_name: "Startup", website: "https://startup.example/" });
    expectStatus(
      await patch(world, account.key, { trading_name: "Start-up", website: "https://startup.example/" }),
      200,
    );
    expect((await entries(account)).at(-1)?.changes).toEqual({ trading_name: { from: "Startup", to: "Start-up" } });
  });

  it("replaces the address as a whole", async () => {
    const account = await signUp(world);
    const whole = { ...ADDRESS, line2: "Hof", region: "BE" };
    expectStatus(await patch(world, account.key, { registered_address: whole }), 200);
    const patched = expectStatus(await patch(world, account.key, { registered_address: ADDRESS }), 200);
    expect(patched.registered_address).toEqual(ADDRESS);
    expect((await entries(account)).at(-1)?.changes).toEqual({ registered_address: { from: whole, to: ADDRESS } });
  });

  it("removes trading_name and website with null, but no member that the review needs", async () => {
    const account = await signUp(world);
    await patch(world, account.key, { ...PROFILE, trading_name: "Startup", website: "https://startup.example/" });
    const cleared = expectStatus(await patch(world, account.key, { trading_name: null, website: null }), 200);
    expect(cleared).toMatchObject({ trading_name: null, website: null, legal_name: PROFILE.legal_name });
    const members = Object.keys(PROFILE);
    const reply = await refused(account, Object.fromEntries(members.map((member) => [member, null])));
    expect([reply.status, reply.body.code]).toEqual([422, "validation_failed"]);
    expect(faultsOf(reply).sort()).toEqual(members.map((member) => [member, "invalid_type"]).sort());
  });

  it.each([
    ["an empty body", {}],
    ["the same values", PROFILE],
    [
      "the same address, written in another order",
      { registered_address: Object.fromEntries(Object.entries(ADDRESS).reverse()) },
    ],
    ["null for what is null", { trading_name: null }],
    ["the same name between spaces", { legal_name: ` ${PROFILE.legal_name} ` }],
  ])("that changes nothing is refused: %s", async (_what, body) => {
    const account = await signUp(world);
    await patch(world, account.key, PROFILE);
    const reply = await refused(account, body);
    expect([reply.status, reply.body.code]).toEqual([400, "no_changes_requested"]);
  });

  it("with a country where the service does not operate is a fault of the value", async () => {
    const account = await signUp(world);
    const reply = await refused(account, { country: "KP" });
    expect(reply.status).toBe(422);
    expect(faultsOf(reply)).toEqual([["country", "invalid_value"]]);
  });

  it("accepts a registered address in any country", async () => {
    const account = await signUp(world);
    const registered_address = { ...ADDRESS, country: "KP" };
    expectStatus(await patch(world, account.key, { registered_address }), 200);
  });

  it("names every fault at once, including that of the country", async () => {
    const account = await signUp(world);
    const reply = await refused(account, {
      legal_name: "",
      country: "KP",
      registered_address: { line1: "x", city: "y".repeat(101), country: "Germany", planet: "Earth" },
      website: "startup.example",
      admin_contact_email: "nobody",
      platform_status: "ACCREDITED",
    });
    expect([reply.status, reply.body.code]).toEqual([422, "validation_failed"]);
    expect(faultsOf(reply).sort()).toEqual([
      ["admin_contact_email", "invalid_format"],
      ["country", "invalid_value"],
      ["legal_name", "too_short"],
      ["platform_status", "unknown_field"],
      ["registered_address.city", "too_long"],
      ["registered_address.country", "invalid_format"],
      ["registered_address.planet", "unknown_field"],
      ["registered_address.postal_code", "required"],
      ["website", "invalid_format"],
    ]);
  });
});

describe("the operator's alert about a patch", () => {
  const raised = async ({ platformId }: Account): Promise<unknown[]> => {
    const sql =
      "select message from alerts where kind = 'account_renamed' and subject like ? order by raised_at, alert_id";
    const { results } = await env.DB.prepare(sql).bind(`${platformId}%`).all<{ message: string }>();
    return results.map(({ message }) => message);
  };

  it("is raised when the registered address differs from the reviewed one, once for each new address", async () => {
    const [one, other] = [
      { ...ADDRESS, line1: "First Street" },
      { ...ADDRESS, line1: "Second Street" },
    ];
    const account = await signUp(world);
    expectStatus(await patch(world, account.key, { ...PROFILE, registered_address: one }), 200);
    const reviewed = { ...PROFILE, registered_address: one };
    for (const status of ["IN_REVIEW", "ACCREDITED"] as const) {
      await env.DB.prepare("delete from alerts").run();
      await store(account, { status, reviewed });
      expectStatus(await patch(world, account.key, { trading_name: status }), 200);
      expect(await raised(account)).toEqual([]);
      expectStatus(await patch(world, account.key, { registered_address: other }), 200);
      expectStatus(await patch(world, account.key, { trading_name: "Other" }), 200);
      const shown = `GET /v1/operator/platforms/${account.platformId} shows both.`;
      expect(await raised(account)).toEqual([`The account changed since its review: registered_address. ${shown}`]);
      // Back to what was reviewed: nothing new to say.
      expectStatus(await patch(world, account.key, { registered_address: one }), 200);
      expect(await raised(account)).toHaveLength(1);
    }
  });

  it("is not raised before the submission", async () => {
    const account = await signUp(world);
    expectStatus(await patch(world, account.key, PROFILE), 200);
    expectStatus(await patch(world, account.key, { legal_name: "Other GmbH" }), 200);
    expect(await raised(account)).toEqual([]);
  });
});

describe("a complete profile", () => {
  it("takes the account to KYB_PENDING with its last member, not before", async () => {
    const account = await signUp(world);
    const members = Object.entries(PROFILE);
    const states: PlatformStatus[] = [];
    for (const [member, value] of members) {
      states.push(expectStatus(await patch(world, account.key, { [member]: value }), 200).platform_status);
    }
    expect(states).toEqual(["PROFILE_PENDING", "PROFILE_PENDING", "PROFILE_PENDING", "KYB_PENDING"]);
    const last = (await entries(account)).map(({ changes }) => changes?.["platform_status"]);
    expect(last).toEqual([undefined, undefined, undefined, { from: "PROFILE_PENDING", to: "KYB_PENDING" }]);
  });

  it("takes the account there in one call", async () => {
    const account = await signUp(world);
    expect(expectStatus(await patch(world, account.key, PROFILE), 200).platform_status).toBe("KYB_PENDING");
  });

  it.each(["KYB_PENDING", "IN_REVIEW", "ACCREDITED"] as const)("may be patched in %s, which stays", async (status) => {
    const account = await signUp(world);
    await patch(world, account.key, PROFILE);
    await store(account, { status });
    const patched = expectStatus(await patch(world, account.key, { trading_name: "Startup" }), 200);
    expect(patched).toMatchObject({ trading_name: "Startup", platform_status: status });
    expect((await entries(account)).at(-1)?.changes).toEqual({ trading_name: { from: null, to: "Startup" } });
  });

  it.each([
    ["SUSPENDED", 403, "account_suspended"],
    ["CLOSED", 401, "invalid_credentials"],
  ] as const)("is not patched in %s", async (status, answer, code) => {
    const account = await signUp(world);
    await store(account, { status });
    const before = await dumpDatabase();
    const reply = await patch(world, account.key, PROFILE);
    expect([reply.status, reply.body.code]).toEqual([answer, code]);
    expect(await dumpDatabase()).toEqual(before);
  });
});

describe("simultaneous patches", () => {
  it("of one member are each done, on the value of the previous one", async () => {
    const account = await signUp(world);
    const names = Array.from({ length: 20 }, (_, i) => `Startup ${i}`);
    const replies = await Promise.all(names.map((trading_name) => patch(world, account.key, { trading_name })));
    expect(replies.map(({ status }) => status)).toEqual(names.map(() => 200));
    const chain = new Map(
      (await entries(account)).map(({ changes }) => [changes?.["trading_name"]?.from, changes?.["trading_name"]?.to]),
    );
    let value: unknown = null;
    const passed: unknown[] = [];
    while (chain.has(value)) {
      value = chain.get(value);
      passed.push(value);
    }
    expect(passed.toSorted()).toEqual(names.toSorted());
    expect((await readAccount(world, account.key)).trading_name).toBe(value);
  });

  it("of all members leave each of them, one tenant principal and one change of state", async () => {
    const account = await signUp(world);
    const members = Object.entries({ ...PROFILE, trading_name: "Startup", website: "https://startup.example/" });
    const calls = members.map(([member, value]) => patch(world, account.key, { [member]: value }));
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual(members.map(() => 200));
    const after = await readAccount(world, account.key);
    expect(after).toMatchObject({ ...Object.fromEntries(members), platform_status: "KYB_PENDING" });
    const changes = (await entries(account)).flatMap((entry) => Object.keys(entry.changes ?? {}));
    expect(changes.filter((name) => name === "platform_status")).toHaveLength(1);
    expect(changes.filter((name) => name === "tenant_principal_id")).toHaveLength(1);
  });
});
