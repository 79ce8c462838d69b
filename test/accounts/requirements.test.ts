// `requirements` names the conditions of an account's next state, from the account's row alone (ACC-3, ACC-18).
import { eq } from "drizzle-orm";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { PLATFORM_STATUSES, REQUIRED_DOCUMENTS } from "../../src/core/vocabulary.ts";
import { platforms } from "../../src/db/tables/accounts.ts";
import { createWorld, expectStatus, type World } from "../support/world.ts";
import { type Account, bearer, logIn, PROFILE, patch, readAccount, register, signUp } from "./support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const store = ({ platformId }: Pick<Account, "platformId">, set: Partial<typeof platforms.$inferInsert>) =>
  world.deps.db.update(platforms).set(set).where(eq(platforms.platformId, platformId));
const requirements = async ({ key }: Account) => (await readAccount(world, key)).requirements;

const NOTHING = { currently_due: [], pending_verification: [], errors: [] };
const documentsOf = (types: readonly string[]) => Object.fromEntries(types.map((type) => [type, `doc_${type}`]));
const ALL = documentsOf(REQUIRED_DOCUMENTS);

async function complete(): Promise<Account> {
  const account = await signUp(world);
  expectStatus(await patch(world, account.key, PROFILE), 200);
  return account;
}

describe("the requirement of an account", () => {
  it("is its address, before the address is verified", async () => {
    expect((await register(world)).requirements).toEqual({ ...NOTHING, currently_due: ["email_verification"] });
  });

  it("is each missing member of the profile, with the address as one member", async () => {
    const account = await signUp(world);
    const members = ["legal_name", "registration_number", "country", "registered_address"];
    for (const [i, member] of members.entries()) {
      expect(await requirements(account)).toEqual({ ...NOTHING, currently_due: members.slice(i) });
      await patch(world, account.key, { [member]: PROFILE[member as keyof typeof PROFILE] });
    }
    expect((await requirements(account)).currently_due).toEqual(REQUIRED_DOCUMENTS);
  });

  it("is each missing document, and then the submission", async () => {
    const account = await complete();
    for (const [i] of REQUIRED_DOCUMENTS.entries()) {
      await store(account, { documents: documentsOf(REQUIRED_DOCUMENTS.slice(0, i)) });
      expect(await requirements(account)).toEqual({ ...NOTHING, currently_due: REQUIRED_DOCUMENTS.slice(i) });
    }
    await store(account, { documents: ALL });
    expect(await requirements(account)).toEqual({ ...NOTHING, currently_due: ["verification_submission"] });
  });

  it("is the review of its documents, once they are submitted", async () => {
    const account = await complete();
    await store(account, { documents: ALL, status: "IN_REVIEW", submittedAt: 1 });
    expect(await requirements(account)).toEqual({ ...NOTHING, pending_verification: REQUIRED_DOCUMENTS });
  });

  it("is another submission after a rejection, whose reason is shown until then", async () => {
    const account = await complete();
    const rejected = { decision: "reject", decisionReason: "The deed is not signed.", decidedAt: 2 } as const;
    await store(account, { documents: ALL, status: "KYB_PENDING", ...rejected });
    const reason = "The deed is not signed.";
    expect(await requirements(account)).toEqual({
      currently_due: ["verification_submission"],
      pending_verification: [],
      errors: [{ requirement: "verification", code: "verification_rejected", reason }],
    });
    await store(account, { status: "IN_REVIEW" });
    expect((await requirements(account)).errors).toEqual([]);
  });

  it.each(["ACCREDITED", "SUSPENDED", "CLOSED"] as const)("is empty when it is %s", async (status) => {
    const account = await complete();
    await store(account, { status });
    const headers = { Authorization: `Bearer ${inject("operatorKey")}` };
    const listed = await world.call("GET", `/v1/operator/platforms?status=${status}`, { key: null, headers });
    const [own] = listed.body.data.filter(
      ({ platform_id }: { platform_id: string }) => platform_id === account.platformId,
    );
    expect(own.requirements).toEqual(NOTHING);
  });
});

describe("an operator", () => {
  it("lists accounts of every state, also without a name and a country", async () => {
    const unnamed = await register(world);
    const headers = { Authorization: `Bearer ${inject("operatorKey")}` };
    const list = async (query: string) =>
      expectStatus(await world.call("GET", `/v1/operator/platforms?${query}`, { key: null, headers }), 200).data;
    expect((await list("status=EMAIL_PENDING"))[0]).toMatchObject({
      platform_id: unnamed.platform_id,
      legal_name: null,
      country: null,
      tenant_principal_id: null,
    });
    for (const status of PLATFORM_STATUSES) {
      const found = await list(`status=${status}`);
      expect(found.map((one: { platform_status: string }) => one.platform_status)).toEqual(found.map(() => status));
    }
  });
});

describe("a read of the account", () => {
  it("costs one trip and at most five rows, for a key and for a session", async () => {
    const account = await complete();
    await store(account, { documents: ALL });
    const headers = bearer(await logIn(world, account.email));
    await readAccount(world, account.key);
    for (const options of [{ key: account.key }, { key: null, headers }]) {
      world.meter.reset();
      expectStatus(await world.call("GET", "/v1/platform", options), 200);
      const { trips, rowsRead, rowsWritten } = world.meter.reading;
      expect([trips, rowsWritten]).toEqual([1, 0]);
      expect(rowsRead).toBeLessThanOrEqual(5);
    }
  });
});
