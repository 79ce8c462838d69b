// The review (ACC-21, ACC-24): submitted by the account, decided once by an operator.
import { beforeAll, describe, expect, it } from "vitest";
import { addMonths } from "../../src/core/clock.ts";
import { REQUIRED_DOCUMENTS } from "../../src/core/vocabulary.ts";
import { playEveryOrder } from "../support/orders.ts";
import { dumpDatabase } from "../support/variants.ts";
import { agentBody, createWorld, env, expectStatus, type Json, type World } from "../support/world.ts";
import {
  accountOf,
  ask,
  complete,
  decide,
  inReview,
  operate,
  type Person,
  patchProfile,
  submit,
} from "./review-support.ts";
import { logIn, signUp } from "./support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const VERIFICATION = "/v1/platform/verification";
const REJECTION = { decision: "reject", reason: "The certificate is of another company." };
const rowsOf = async (table: string, platformId: string): Promise<Json[]> =>
  ((await dumpDatabase())[table] ?? [])
    .map((row): Json => JSON.parse(row))
    .filter((row) => row.platform_id === platformId);
const eventsOf = async ({ platformId }: Person): Promise<Json[]> =>
  (await rowsOf("events", platformId)).filter(({ type }) => type === "platform.verification_decided");

describe("the submission", () => {
  it("takes a complete account into the review", async () => {
    const person = await complete(world);
    for (const type of REQUIRED_DOCUMENTS) await submit(world, person, type);
    const view = expectStatus(await ask(world, person, "POST", VERIFICATION), 200);
    expect(view).toMatchObject({
      platform_status: "IN_REVIEW",
      requirements: { currently_due: [], pending_verification: [...REQUIRED_DOCUMENTS], errors: [] },
    });
    expect(await accountOf(world, person)).toEqual(view);
    const entries = await rowsOf("activity_entries", person.platformId);
    expect(entries.filter(({ action }) => action === "account.verification_submitted")).toMatchObject([
      { actor_type: "dashboard_admin", actor_id: person.email },
    ]);
  });

  it("names every missing document", async () => {
    const person = await complete(world);
    await submit(world, person, "director_identification");
    await submit(world, person, "supporting");
    const before = await dumpDatabase();
    const reply = await ask(world, person, "POST", VERIFICATION);
    expect([reply.status, reply.body.code]).toEqual([422, "validation_failed"]);
    expect(reply.body.field_errors.map(({ field, code }: Json) => [field, code])).toEqual([
      ["certificate_of_incorporation", "missing_fields"],
      ["proof_of_registered_address", "missing_fields"],
      ["ownership_and_control_structure", "missing_fields"],
    ]);
    expect(await dumpDatabase()).toEqual(before);
  });

  it.each([
    [
      "PROFILE_PENDING",
      "invalid_status",
      async () => {
        const account = await signUp(world);
        return { ...account, session: await logIn(world, account.email) };
      },
    ],
    ["IN_REVIEW", "kyb_in_progress", () => inReview(world)],
    [
      "ACCREDITED",
      "verification_already_accredited",
      async () => {
        const person = await inReview(world);
        await decide(world, person, { decision: "approve" });
        return person;
      },
    ],
  ])("of an account that is %s is 409 %s", async (_state, code, make) => {
    const person = await make();
    const before = await dumpDatabase();
    const reply = await ask(world, person, "POST", VERIFICATION);
    expect([reply.status, reply.body.code]).toEqual([409, code]);
    expect(await dumpDatabase()).toEqual(before);
  });

  it("is made once by 10 simultaneous calls", async () => {
    const person = await complete(world);
    for (const type of REQUIRED_DOCUMENTS) await submit(world, person, type);
    const replies = await Promise.all(Array.from({ length: 10 }, () => ask(world, person, "POST", VERIFICATION)));
    expect(replies.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 9 }, () => 409)]);
  });
});

describe("an approval", () => {
  it("accredits at TIER_2, attests the tenant principal for twelve months, and reports it once everywhere", async () => {
    const person = await inReview(world);
    const before = world.now();
    const view = expectStatus(await decide(world, person, { decision: "approve" }), 200);
    expect(view).toMatchObject({
      platform_status: "ACCREDITED",
      accreditation_tier: "TIER_2",
      review: { decision: "approve", reason: null },
    });
    expect(expectStatus(await operate(world, "GET", `/v1/operator/platforms/${person.platformId}`), 200)).toEqual(view);
    const account = await accountOf(world, person);
    expect(account.requirements).toEqual({ currently_due: [], pending_verification: [], errors: [] });
    const principal = expectStatus(
      await world.call("GET", `/v1/principals/${account.tenant_principal_id}`, { key: person.key }),
      200,
    );
    const { verification_attestation: attestation } = principal;
    expect(attestation).toMatchObject({ verifier_id: "operator", model: "kyb", tier: "TIER_2" });
    const issuedAt = Date.parse(attestation.issued_at);
    expect(issuedAt).toBeGreaterThanOrEqual(before);
    expect(Date.parse(attestation.expires_at)).toBe(addMonths(issuedAt, 12));
    const { attestations = [] } = await dumpDatabase();
    const attested = attestations.filter((row) => row.includes(principal.principal_id));
    // The placeholder stays in the history.
    expect(attested).toHaveLength(2);
    // The account has a key only in the sandbox.
    const [event, ...others] = await eventsOf(person);
    expect([event.environment, others]).toEqual(["sandbox", []]);
    expect(JSON.parse(event.object)).toEqual(account);
    const notices = (await rowsOf("notices", person.platformId)).filter(
      ({ kind }) => kind === "customer.verification_decided",
    );
    expect(notices).toMatchObject([{ recipient: person.email }]);
    const said = { decision: "approve", accreditationTier: "TIER_2", reason: null };
    expect(JSON.parse(notices[0].data)).toMatchObject(said);
    const entries = await rowsOf("activity_entries", person.platformId);
    expect(entries.filter(({ action }) => action === "account.verification_decided")).toMatchObject([
      { actor_type: "operator" },
    ]);
    const acts = await rowsOf("operator_entries", person.platformId);
    expect(acts.map(({ action }) => action)).toEqual(["platform.verification_decided"]);
  });

  it("sets the highest tier that agents may have", async () => {
    const [low, high] = [await inReview(world), await inReview(world)];
    expectStatus(await decide(world, low, { decision: "approve", accreditation_tier: "TIER_1" }), 200);
    expectStatus(
      await decide(world, high, { decision: "approve", accreditation_tier: "TIER_3", reason: "All is well." }),
      200,
    );
    const register = async (person: Person, cert_tier: string) => {
      const { tenant_principal_id: principal_id } = await accountOf(world, person);
      const body = { ...agentBody("CONSUMER"), principal_id, cert_tier };
      const reply = await world.call("POST", "/v1/agents", { key: person.key, body });
      return [reply.status, reply.body.code];
    };
    expect(await register(low, "TIER_1")).toEqual([201, undefined]);
    expect(await register(low, "TIER_2")).toEqual([403, "tier_exceeds_accreditation"]);
    expect(await register(high, "TIER_3")).toEqual([201, undefined]);
  });

  it("makes the documents of the tenant principal's agents show the new attestation, under a new revision", async () => {
    const person = await inReview(world);
    const { tenant_principal_id: principal_id } = await accountOf(world, person);
    const call = (method: string, path: string, body?: unknown) =>
      world.call(method, path, { key: person.key, ...(body !== undefined && { body }) });
    const { did } = expectStatus(await call("POST", "/v1/agents", { ...agentBody("CONSUMER"), principal_id }), 201);
    expectStatus(await call("POST", `/v1/agents/${did}/activate`), 200);
    const aid = async () => expectStatus(await world.call("GET", `/v1/agents/${did}/aid`, { key: null }), 200);
    const before = await aid();
    expect(before.identity.principal.verification.verifier_id).toBe("sandbox-placeholder");
    expectStatus(await decide(world, person, { decision: "approve" }), 200);
    const after = await aid();
    expect(after.identity.principal.verification).toMatchObject({ verifier_id: "operator", tier: "TIER_2" });
    expect([after.version, after.revision]).toEqual([before.version, before.revision + 1]);
    const checked = expectStatus(await world.call("POST", "/v1/verify/aid", { key: null, body: { aid: after } }), 200);
    expect(checked).toMatchObject({ valid: true, revision: after.revision });
  });
});

describe("a rejection", () => {
  it("shows its reason in the profile, and permits another submission", async () => {
    const person = await inReview(world);
    expectStatus(await decide(world, person, REJECTION), 200);
    const rejected = await accountOf(world, person);
    expect(rejected).toMatchObject({
      platform_status: "KYB_PENDING",
      accreditation_tier: "TIER_2",
      requirements: { errors: [{ reason: REJECTION.reason }] },
    });
    expect(await eventsOf(person)).toHaveLength(1);
    const notices = await rowsOf("notices", person.platformId);
    const notice = notices.find(({ kind }) => kind === "customer.verification_decided");
    expect(JSON.parse(notice.data)).toMatchObject(REJECTION);
    await submit(world, person, "certificate_of_incorporation");
    const again = expectStatus(await ask(world, person, "POST", VERIFICATION), 200);
    expect(again).toMatchObject({ platform_status: "IN_REVIEW", requirements: { errors: [] } });
    expectStatus(await decide(world, person, { decision: "approve" }), 200);
    expect(await eventsOf(person)).toHaveLength(2);
  });

  it.each([
    ["no reason", { decision: "reject" }, "reason", "required"],
    ["an empty reason", { decision: "reject", reason: " " }, "reason", "too_short"],
    ["a tier", { ...REJECTION, accreditation_tier: "TIER_1" }, "accreditation_tier", "invalid_field"],
    ["another decision", { decision: "maybe" }, "decision", "invalid_value"],
    ["another tier", { decision: "approve", accreditation_tier: "TIER_9" }, "accreditation_tier", "invalid_value"],
  ])("with %s is refused", async (_what, body, field, code) => {
    const person = await inReview(world);
    const before = await dumpDatabase();
    const reply = await decide(world, person, body);
    expect([reply.status, reply.body.code, reply.body.field_errors]).toMatchObject([
      422,
      "validation_failed",
      [{ field, code }],
    ]);
    expect(await dumpDatabase()).toEqual(before);
  });
});

describe("a decision", () => {
  it("about an unknown account is 404, before the faults of its body", async () => {
    for (const path of ["decision", "attestation"]) {
      const reply = await operate(world, "POST", `/v1/operator/platforms/plt_nothing/${path}`, { nonsense: 1 });
      expect([reply.status, reply.body.code]).toEqual([404, "not_found"]);
    }
    expect((await operate(world, "GET", "/v1/operator/platforms/plt_nothing")).status).toBe(404);
  });

  it.each([
    ["before a submission", () => complete(world)],
    [
      "a second time",
      async () => {
        const person = await inReview(world);
        await decide(world, person, { decision: "approve" });
        return person;
      },
    ],
    [
      "after a rejection",
      async () => {
        const person = await inReview(world);
        await decide(world, person, REJECTION);
        return person;
      },
    ],
  ])("%s is 409 invalid_status", async (_what, make) => {
    const person = await make();
    const before = await dumpDatabase();
    for (const body of [REJECTION, { decision: "approve" }]) {
      const reply = await decide(world, person, body);
      expect([reply.status, reply.body.code]).toEqual([409, "invalid_status"]);
    }
    expect(await dumpDatabase()).toEqual(before);
  });

  it("is made by one of 10 simultaneous calls, with one event, one notice and one entry", async () => {
    const person = await inReview(world);
    const bodies = Array.from({ length: 10 }, (_, i) => (i % 2 === 0 ? REJECTION : { decision: "approve" }));
    const replies = await Promise.all(bodies.map((body) => decide(world, person, body)));
    expect(replies.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 9 }, () => 409)]);
    expect(await eventsOf(person)).toHaveLength(1);
    const counted = async (table: string, column: string, value: string) =>
      (await rowsOf(table, person.platformId)).filter((row) => row[column] === value).length;
    expect(await counted("notices", "kind", "customer.verification_decided")).toBe(1);
    expect(await counted("activity_entries", "action", "account.verification_decided")).toBe(1);
    expect(await counted("operator_entries", "action", "platform.verification_decided")).toBe(1);
  });

  it.each(["the decision", "the submission"] as const)(
    "and a simultaneous submission end in one of the two orders, wherever %s is played",
    async (between) => {
      const acts = {
        "the decision": (of: World, person: Person) => decide(of, person, { decision: "approve" }),
        "the submission": (of: World, person: Person) => ask(of, person, "POST", VERIFICATION),
      };
      const outcomes = new Set<string>();
      await playEveryOrder(world, between, acts, {
        set: async () => {
          const person = await inReview(world);
          await decide(world, person, REJECTION);
          return person;
        },
        check: async (person, { "the decision": decided, "the submission": submitted }) => {
          const { platform_status } = await accountOf(world, person);
          expect(submitted.status).toBe(200);
          expect([
            [409, "IN_REVIEW"],
            [200, "ACCREDITED"],
          ]).toContainEqual([decided.status, platform_status]);
          expect(await eventsOf(person)).toHaveLength(platform_status === "ACCREDITED" ? 2 : 1);
          outcomes.add(platform_status);
        },
      });
      expect([...outcomes].sort()).toEqual(["ACCREDITED", "IN_REVIEW"]);
    },
  );

  it("is reported in each environment in which the account has a key", async () => {
    const person = await inReview(world);
    await env.DB.prepare(
      "insert into management_keys (key_hash, key_id, platform_id, environment, key_prefix, created_at) values (?, ?, ?, 'production', 'service_live_x', 0)",
    )
      .bind(person.platformId, person.platformId, person.platformId)
      .run();
    expectStatus(await decide(world, person, { decision: "approve" }), 200);
    const events = await eventsOf(person);
    expect(events.map(({ environment }) => environment).sort()).toEqual(["production", "sandbox"]);
    for (const { environment, object } of events) expect(JSON.parse(object).environment).toBe(environment);
  });

  it("succeeds together with a simultaneous change of the profile", async () => {
    const person = await inReview(world);
    const [decided, renamed] = await Promise.all([
      decide(world, person, { decision: "approve" }),
      patchProfile(world, person, { trading_name: "Renamed" }),
    ]);
    expect([decided.status, renamed.status]).toEqual([200, 200]);
    expect((await accountOf(world, person)).trading_name).toBe("Renamed");
    const { tenant_principal_id } = await accountOf(world, person);
    const principal = expectStatus(
      await world.call("GET", `/v1/principals/${tenant_principal_id}`, { key: person.key }),
      200,
    );
    expect(principal.verification_attestation.verifier_id).toBe("operator");
  });
});
