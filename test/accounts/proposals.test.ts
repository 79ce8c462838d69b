// After its submission, an account's identity changes only by the operator's decision (ACC-30): a person proposes it, and signed content stays.
import { beforeAll, describe, expect, it } from "vitest";
import { stopped } from "../support/clock.ts";
import { agentBody, createWorld, env, expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import { accountOf, accredited, ask, complete, decide, inReview, operate, type Person } from "./review-support.ts";
import { patch, rowsOf } from "./support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const NEXT = "Renamed Robotics GmbH";
const nameOf = ({ platformId }: Person): string => `Company ${platformId}`;
const propose = (person: Person, body: unknown): Promise<Reply> =>
  ask(world, person, "PATCH", "/v1/platform", { body });
const proposed = async (person: Person, body: unknown = { legal_name: NEXT }): Promise<Json> =>
  expectStatus(await propose(person, body), 200);
const decideProfile = (person: Person, body: object): Promise<Reply> =>
  decide(world, person, { subject: "profile", ...body });
const codeOf = ({ status, body }: Reply) => [status, body.code];
const faultsOf = ({ body }: Reply) => body.field_errors.map(({ field, code }: Json) => [field, code]);
const last = async (table: string, { platformId }: Person): Promise<Json> => (await rowsOf(table, platformId)).at(-1);
const alertsOf = async ({ platformId }: Person): Promise<Json[]> => {
  const sql = "select kind, message from alerts where subject like ? order by raised_at, alert_id";
  return (await env.DB.prepare(sql).bind(`${platformId}%`).all()).results;
};
const kindsOf = async (person: Person): Promise<string[]> => (await alertsOf(person)).map(({ kind }) => kind);
/** A consumer of the tenant principal, certified. */
async function consumerOf(person: Person): Promise<string> {
  const { key } = person;
  const body = { ...agentBody("CONSUMER"), principal_id: (await accountOf(world, person)).tenant_principal_id };
  const { did } = expectStatus(await world.call("POST", "/v1/agents", { key, body }), 201);
  expectStatus(await world.call("POST", `/v1/agents/${did}/activate`, { key }), 200);
  return did;
}
const aidOf = async (did: string): Promise<Json> =>
  expectStatus(await world.call("GET", `/v1/agents/${did}/aid`, { key: null }), 200);

describe("a new name of an accredited account", () => {
  it("is a proposal: signed content, the principal and the account keep the approved name", async () => {
    const person = await accredited(world);
    const did = await consumerOf(person);
    const before = await accountOf(world, person);
    const aid = await aidOf(did);
    const answer = await proposed(person);
    const at = answer.pending_profile.proposed_at;
    const after = { ...before, pending_profile: { legal_name: NEXT, proposed_at: at } };
    expect(answer).toEqual(after);
    expect(await accountOf(world, person)).toEqual(after);
    expect(await aidOf(did)).toEqual({ ...aid, live: expect.anything() });
    const { body: principal } = await world.call("GET", `/v1/principals/${before.tenant_principal_id}`, {
      key: person.key,
    });
    expect(principal.legal_name).toBe(nameOf(person));
    const entry = await last("activity_entries", person);
    expect([entry.action, entry.actor_type]).toEqual(["account.profile_proposed", "dashboard_admin"]);
    expect(JSON.parse(entry.changes)).toEqual({
      pending_profile: { from: null, to: { legal_name: NEXT, proposed_at: at } },
    });
  });

  it("alerts the operator, without the proposed values", async () => {
    const person = await accredited(world);
    await proposed(person, { legal_name: NEXT, country: "FR", registration_number: "HRB 9" });
    const raised = (await alertsOf(person)).filter(({ message }) => message.startsWith("The account proposes"));
    expect(raised).toEqual([
      {
        kind: "review_waiting",
        message: expect.stringContaining(
          "The account proposes another legal_name, country, registration_number: see GET /v1/operator",
        ),
      },
    ]);
    expect(JSON.stringify(raised)).not.toContain(NEXT);
  });

  it.each([
    { legal_name: NEXT },
    { country: "FR" },
    { registration_number: "HRB 9" },
    { admin_contact_email: "x@y.example" },
  ])("is refused to a key, before the faults of its values: %j", async (change) => {
    const person = await accredited(world);
    const entries = (await rowsOf("activity_entries", person.platformId)).length;
    expect(codeOf(await patch(world, person.key, change))).toEqual([403, "forbidden"]);
    expect(codeOf(await patch(world, person.key, { ...change, website: 7 }))).toEqual([403, "forbidden"]);
    expect(await accountOf(world, person)).toMatchObject({ pending_profile: null, pending_admin_contact_email: null });
    expect(await rowsOf("activity_entries", person.platformId)).toHaveLength(entries);
  });

  it("stays proposed when a key names the approved name", async () => {
    const person = await accredited(world);
    const { pending_profile } = await proposed(person);
    expect(codeOf(await patch(world, person.key, { legal_name: nameOf(person) }))).toEqual([
      400,
      "no_changes_requested",
    ]);
    const patched = expectStatus(
      await patch(world, person.key, { legal_name: nameOf(person), trading_name: "Startup" }),
      200,
    );
    expect(patched).toMatchObject({ trading_name: "Startup", pending_profile });
  });

  it("is replaced by a further patch, and withdrawn by the approved value", async () => {
    const person = await accredited(world);
    await proposed(person);
    expect(codeOf(await propose(person, { legal_name: NEXT }))).toEqual([400, "no_changes_requested"]);
    const replaced = await proposed(person, { country: "FR", registration_number: "HRB 4711" });
    expect(replaced.pending_profile).toEqual({ country: "FR", proposed_at: expect.any(String) });
    expect((await proposed(person, { trading_name: "Startup" })).pending_profile).toEqual(replaced.pending_profile);
    expect((await proposed(person, { country: "DE" })).pending_profile).toBeNull();
    const entry = await last("activity_entries", person);
    expect(entry.action).toBe("account.profile_proposed");
    expect(JSON.parse(entry.changes)).toEqual({ pending_profile: { from: replaced.pending_profile, to: null } });
    expect(codeOf(await decideProfile(person, { decision: "approve" }))).toEqual([409, "invalid_status"]);
  });

  it("is judged like every country", async () => {
    const person = await accredited(world);
    expect(faultsOf(await propose(person, { country: "KP" }))).toEqual([["country", "invalid_value"]]);
  });
});

describe("the decision about it", () => {
  it("that approves changes the account, its principal and the documents of its agents, and reports all of it", async () => {
    const person = await accredited(world);
    expectStatus(await world.call("POST", "/v1/platform/promote", { key: person.key }), 200);
    const did = await consumerOf(person);
    const { version } = await aidOf(did);
    await proposed(person, { legal_name: NEXT, registration_number: "HRB 9" });
    await env.DB.prepare("delete from notices").run();
    const view = expectStatus(await decideProfile(person, { decision: "approve", reason: "Seen." }), 200);
    const changed = { legal_name: NEXT, registration_number: "HRB 9", country: "DE" };
    expect(view).toMatchObject({ ...changed, pending_profile: null, review: { reviewed: changed } });
    const account = await accountOf(world, person);
    expect(account).toMatchObject({ ...changed, pending_profile: null, platform_status: "ACCREDITED" });
    const after = await aidOf(did);
    expect([after.version, after.identity.principal.name]).toEqual([version + 1, NEXT]);
    const entry = (await rowsOf("activity_entries", person.platformId)).find(
      ({ action }) => action === "account.profile_decided",
    );
    expect(entry?.actor_type).toBe("operator");
    expect(JSON.parse(entry?.changes)).toMatchObject({
      legal_name: { from: nameOf(person), to: NEXT },
      registration_number: { from: "HRB 4711", to: "HRB 9" },
      pending_profile: { to: null },
    });
    const events = (await rowsOf("events", person.platformId)).filter(
      ({ type }) => type === "platform.profile_decided",
    );
    expect(events.map(({ environment }) => environment).toSorted()).toEqual(["production", "sandbox"]);
    for (const { object } of events) expect(JSON.parse(object).legal_name).toBe(NEXT);
    const [notice, ...others] = await rowsOf("notices", person.platformId);
    expect([others, notice.kind, notice.recipient]).toEqual([[], "customer.profile_decided", person.email]);
    expect(JSON.parse(notice.data)).toMatchObject({ decision: "approve", reason: "Seen.", account: NEXT });
    expect(await kindsOf(person)).not.toContain("account_renamed");
    const { data } = expectStatus(await operate(world, "GET", "/v1/operator/activity?limit=1"), 200);
    expect(data).toMatchObject([
      { action: "platform.profile_decided", detail: { decision: "approve", reason: "Seen." } },
    ]);
  });

  it("that rejects keeps the signed content, and gives the reason", async () => {
    const person = await accredited(world);
    const did = await consumerOf(person);
    const aid = await aidOf(did);
    await proposed(person);
    expect(faultsOf(await decideProfile(person, { decision: "reject" }))).toEqual([["reason", "required"]]);
    await env.DB.prepare("delete from notices").run();
    const view = expectStatus(await decideProfile(person, { decision: "reject", reason: "No such company." }), 200);
    expect(view).toMatchObject({ legal_name: nameOf(person), pending_profile: null, platform_status: "ACCREDITED" });
    expect(await aidOf(did)).toEqual({ ...aid, live: expect.anything() });
    const [notice] = await rowsOf("notices", person.platformId);
    expect(JSON.parse(notice.data)).toMatchObject({ decision: "reject", reason: "No such company." });
    expect(codeOf(await decideProfile(person, { decision: "approve" }))).toEqual([409, "invalid_status"]);
  });

  it("is 409 if nothing is proposed, and takes no tier", async () => {
    const person = await accredited(world);
    expect(codeOf(await decideProfile(person, { decision: "approve" }))).toEqual([409, "invalid_status"]);
    expect(faultsOf(await decideProfile(person, { decision: "approve", accreditation_tier: "TIER_3" }))).toEqual([
      ["accreditation_tier", "invalid_field"],
    ]);
    const other = { decision: "approve", proposed_at: "2026-01-01T00:00:00Z" };
    expect(faultsOf(await decide(world, person, other))).toEqual([["proposed_at", "invalid_field"]]);
  });

  it("concerns the proposal that was seen, even if it is replaced between its read and its commit", async () => {
    const person = await accredited(world);
    const { pending_profile: seen } = await proposed(person);
    const approve = { decision: "approve", proposed_at: seen.proposed_at };
    world.meter.beforeBatch(2, async () => {
      await proposed(person, { legal_name: "Other GmbH" });
    });
    expect(codeOf(await decideProfile(person, approve))).toEqual([409, "invalid_status"]);
    expect((await accountOf(world, person)).legal_name).toBe(nameOf(person));
    const { proposed_at } = (await accountOf(world, person)).pending_profile;
    expectStatus(await decideProfile(person, { decision: "approve", proposed_at }), 200);
    expect((await accountOf(world, person)).legal_name).toBe("Other GmbH");
  });

  it("concerns one proposal, even if two were made in the same millisecond", async () => {
    const person = await accredited(world);
    const still = stopped(world);
    const propose = async (legal_name: string) =>
      expectStatus(await ask(still, person, "PATCH", "/v1/platform", { body: { legal_name } }), 200).pending_profile;
    const [first, second] = [await propose("First GmbH"), await propose("Second GmbH")];
    expect(Date.parse(second.proposed_at)).toBeGreaterThan(Date.parse(first.proposed_at));
    const approve = { decision: "approve", proposed_at: first.proposed_at };
    expect(codeOf(await decideProfile(person, approve))).toEqual([409, "invalid_status"]);
  });

  it("counts once when two come at the same moment", async () => {
    const person = await accredited(world);
    await proposed(person);
    const replies = await Promise.all([
      decideProfile(person, { decision: "approve" }),
      decideProfile(person, { decision: "reject", reason: "No." }),
    ]);
    expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 409]);
  });
});

describe("near the review", () => {
  it("a change before the submission is made at once, by a key and by a person", async () => {
    const person = await complete(world);
    expect(expectStatus(await patch(world, person.key, { legal_name: "First GmbH" }), 200).legal_name).toBe(
      "First GmbH",
    );
    expect(await proposed(person, { legal_name: NEXT })).toMatchObject({ legal_name: NEXT, pending_profile: null });
  });

  it("the review decides on the submitted profile, and its approval leaves the proposal for a separate decision", async () => {
    const person = await inReview(world);
    await proposed(person);
    const view = expectStatus(await decide(world, person, { decision: "approve" }), 200);
    expect(view).toMatchObject({
      legal_name: nameOf(person),
      pending_profile: { legal_name: NEXT },
      review: { reviewed: { legal_name: nameOf(person) } },
    });
    expectStatus(await decideProfile(person, { decision: "approve" }), 200);
    expect((await accountOf(world, person)).legal_name).toBe(NEXT);
  });

  it("a rejection ends the proposal, because the profile is freely editable again", async () => {
    const person = await inReview(world);
    const { pending_profile } = await proposed(person);
    expectStatus(await decide(world, person, { decision: "reject", reason: "Blurred." }), 200);
    expect(await accountOf(world, person)).toMatchObject({ legal_name: nameOf(person), pending_profile: null });
    const entry = await last("activity_entries", person);
    expect(JSON.parse(entry.changes).pending_profile).toEqual({ from: pending_profile, to: null });
    expect((await proposed(person)).legal_name).toBe(NEXT);
  });
});
