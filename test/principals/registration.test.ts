// The registration of principals, with every fault of a body, and duplicates (PRN-1 to PRN-9).
import { eq } from "drizzle-orm";
import { beforeAll, describe, expect, it } from "vitest";
import { addMonths, toIso } from "../../src/core/clock.ts";
import { DAY_MS } from "../../src/core/limits.ts";
import type { Environment } from "../../src/core/vocabulary.ts";
import { customers } from "../../src/db/tables/principals.ts";
import { dumpDatabase, withDeps } from "../support/variants.ts";
import { createWorld, env, expectStatus, principalBody, type Reply, type World } from "../support/world.ts";

const NOW = Date.parse("2027-03-31T12:00:00.000Z");
let world: World;
/** The world at one instant, so that a test can meet a limit to the millisecond. */
let still: World;
beforeAll(async () => {
  world = await createWorld();
  still = withDeps(world, { ...world.deps, clock: { now: () => NOW } });
});

const register = (body: Record<string, unknown>, of = still, key = of.key) =>
  of.call("POST", "/v1/principals", { body, key });
const attestation = (overrides: Record<string, unknown> = {}) => ({
  attestation_id: "att_kyb_7781",
  verifier_id: "ver_acme",
  model: "kyb",
  issued_at: toIso(NOW - 30 * DAY_MS),
  expires_at: toIso(NOW + 300 * DAY_MS),
  ...overrides,
});
const attested = (overrides: Record<string, unknown> = {}) =>
  principalBody({ verification_attestation: attestation(overrides) });
type Fault = { field: string; code: string };
const faultsOf = (reply: Reply) => reply.body.field_errors?.map(({ field, code }: Fault) => [field, code]).sort();

async function customerOf(of: World, environment: Environment): Promise<string> {
  const customerId = `cus_${crypto.randomUUID()}`;
  const row = { customerId, platformId: of.platformId, environment, name: "Client", createdAt: NOW };
  await world.deps.db.insert(customers).values({ ...row, status: "ACTIVE" });
  return customerId;
}

describe("a principal", () => {
  it("is registered ACTIVE with the attestation as given, and a reading equals the answer", async () => {
    const body = attested({ tier: "TIER_2" });
    const principal = expectStatus(await register(body), 201);
    expect(principal).toEqual({
      principal_id: expect.stringMatching(/^prn_[0-9A-HJKMNP-TV-Z]{26}$/),
      legal_name: body["legal_name"],
      country: "DE",
      entity_type: "company",
      external_ref: body["external_ref"],
      customer_id: null,
      environment: "sandbox",
      status: "ACTIVE",
      status_reason: null,
      status_note: null,
      metadata: {},
      verification_attestation: { ...attestation({ tier: "TIER_2" }), signed: false },
      attested_tier: "TIER_2",
      required_tier: "TIER_1",
      created_at: toIso(NOW),
      updated_at: toIso(NOW),
    });
    expect(expectStatus(await still.call("GET", `/v1/principals/${principal.principal_id}`), 200)).toEqual(principal);
  });

  it("gets an activity entry by the key that registered it, in two trips", async () => {
    world.meter.reset();
    const { principal_id } = expectStatus(await register(attested()), 201);
    expect(world.meter.reading.trips).toBe(2);
    const { results } = await env.DB.prepare("select * from activity_entries where subject_id = ?")
      .bind(principal_id)
      .all();
    expect(results).toEqual([
      expect.objectContaining({
        action: "principal.registered",
        actor_type: "management_api",
        actor_id: world.key.slice(0, "service_sandbox_".length + 6),
        environment: "sandbox",
        platform_id: world.platformId,
      }),
    ]);
  });

  it("in the sandbox may have a placeholder, which becomes a full attestation of twelve months", async () => {
    const { verification_attestation: full } = expectStatus(await register(principalBody()), 201);
    expect(full).toMatchObject({ model: "kyb", issued_at: toIso(NOW), expires_at: toIso(addMonths(NOW, 12)) });
    expect(full.attestation_id).toMatch(/^att_/);
    const tiered = principalBody({ verification_attestation: { placeholder: true, tier: "TIER_1" } });
    expect(expectStatus(await register(tiered), 201).verification_attestation.tier).toBe("TIER_1");
  });

  it.each([
    ["an individual", { entity_type: "individual" }],
    ["without a customer", { customer_id: null }],
    ["with a name in another script", { legal_name: "株式会社ロボット" }],
  ])("may be %s", async (_name, overrides) => {
    expect((await register({ ...attested(), ...overrides, external_ref: crypto.randomUUID() })).status).toBe(201);
  });

  it("may belong to a customer of its platform and environment", async () => {
    const customer_id = await customerOf(world, "sandbox");
    expect(expectStatus(await register({ ...attested(), customer_id }), 201).customer_id).toBe(customer_id);
  });

  it("joins neither a suspended customer nor one of the other environment", async () => {
    const suspended = await customerOf(world, "sandbox");
    await world.deps.db.update(customers).set({ status: "SUSPENDED" }).where(eq(customers.customerId, suspended));
    const { status, body } = await register({ ...attested(), customer_id: suspended });
    expect([status, body.code, body.detail]).toEqual([409, "invalid_status", { customer_status: "SUSPENDED" }]);
    const foreign = await register({ ...attested(), customer_id: await customerOf(world, "production") });
    expect(faultsOf(foreign)).toEqual([["customer_id", "not_found"]]);
  });
});

describe("an attestation at its limits", () => {
  it.each([
    ["issued now", { issued_at: toIso(NOW) }],
    ["issued a millisecond less than twelve months ago", { issued_at: toIso(addMonths(NOW, -12) + 1) }],
    ["expiring in a millisecond", { expires_at: toIso(NOW + 1) }],
    ["with an offset", { issued_at: "2027-03-01T12:00:00+02:00" }],
    ["of the model kyc", { model: "kyc" }],
  ])("%s is accepted", async (_name, overrides) => {
    expect((await register(attested(overrides))).status).toBe(201);
  });

  it.each([
    ["issued in a millisecond", { issued_at: toIso(NOW + 1) }, "issued_at", "invalid_value"],
    ["issued exactly twelve months ago", { issued_at: toIso(addMonths(NOW, -12)) }, "issued_at", "invalid_value"],
    ["expiring now", { expires_at: toIso(NOW) }, "expires_at", "invalid_value"],
    ["whose id is a dot", { attestation_id: "." }, "attestation_id", "invalid_format"],
    ["whose id is two dots", { attestation_id: ".." }, "attestation_id", "invalid_format"],
    ["with a date alone", { issued_at: "2027-03-01" }, "issued_at", "invalid_format"],
    ["without a zone", { issued_at: "2027-03-01T12:00:00" }, "issued_at", "invalid_format"],
    ["on a day that does not exist", { issued_at: "2027-02-30T12:00:00Z" }, "issued_at", "invalid_format"],
    ["of an unknown model", { model: "kya" }, "model", "invalid_value"],
    ["of an unknown tier", { tier: "TIER_4" }, "tier", "invalid_value"],
    ["with an unknown field", { notes: "x" }, "notes", "unknown_field"],
    ["that is also a placeholder", { placeholder: true }, "placeholder", "unknown_field"],
  ])("%s is refused", async (_name, overrides, field, code) => {
    const reply = await register(attested(overrides));
    expect([reply.status, reply.body.code]).toEqual([422, "validation_failed"]);
    expect(faultsOf(reply)).toContainEqual([`verification_attestation.${field}`, code]);
  });

  it("that ends before it begins is refused", async () => {
    const reply = await register(attested({ issued_at: toIso(NOW - 1), expires_at: toIso(NOW - 2) }));
    expect(faultsOf(reply)).toContainEqual(["verification_attestation.expires_at", "invalid_value"]);
  });
});

describe("a body with one fault registers nothing", () => {
  it.each([
    ["no country", { country: undefined }, [["country", "required"]]],
    ["a country in lower case", { country: "de" }, [["country", "invalid_format"]]],
    ["an alpha-3 country", { country: "DEU" }, [["country", "invalid_format"]]],
    ["a country that the service does not operate in", { country: "KP" }, [["country", "invalid_value"]]],
    ["a country that does not exist", { country: "XX" }, [["country", "invalid_value"]]],
    ["no attestation", { verification_attestation: undefined }, [["verification_attestation", "required"]]],
    ["no legal name", { legal_name: undefined }, [["legal_name", "required"]]],
    ["a legal name of spaces", { legal_name: "   " }, [["legal_name", "too_short"]]],
    ["a legal name of 301 characters", { legal_name: "a".repeat(301) }, [["legal_name", "too_long"]]],
    ["a control character in its name", { legal_name: "A\u0000B" }, [["legal_name", "invalid_format"]]],
    ["another entity type", { entity_type: "robot" }, [["entity_type", "invalid_value"]]],
    ["no external_ref", { external_ref: undefined }, [["external_ref", "required"]]],
    ["an unknown customer", { customer_id: "cus_nobody" }, [["customer_id", "not_found"]]],
    [
      "a placeholder that is not true",
      { verification_attestation: { placeholder: false } },
      [["verification_attestation.placeholder", "invalid_value"]],
    ],
  ])("%s", async (_name, overrides, faults) => {
    const before = await dumpDatabase();
    const reply = await register({ ...attested(), ...overrides });
    expect([reply.status, reply.body.code]).toEqual([422, "validation_failed"]);
    expect(faultsOf(reply)).toEqual(faults);
    expect(await dumpDatabase()).toEqual(before);
  });

  it("for a placeholder in production, and for an attestation of an unregistered Verifier", async () => {
    expect(faultsOf(await register(principalBody(), still, world.liveKey))).toEqual([
      ["verification_attestation.placeholder", "invalid_value"],
    ]);
    expect(faultsOf(await register(attested(), still, world.liveKey))).toEqual([
      ["verification_attestation.verifier_id", "not_found"],
    ]);
  });
});

it("all faults of the values are reported together", async () => {
  const body = {
    ...attested({ issued_at: toIso(addMonths(NOW, -13)), expires_at: toIso(NOW - DAY_MS) }),
    country: "KP",
    customer_id: "cus_nobody",
  };
  expect(faultsOf(await register(body))).toEqual([
    ["country", "invalid_value"],
    ["customer_id", "not_found"],
    ["verification_attestation.expires_at", "invalid_value"],
    ["verification_attestation.issued_at", "invalid_value"],
  ]);
});

describe("a principal that is registered already", () => {
  const original = () => attested();

  it.each([
    ["the external_ref", (first: Record<string, unknown>) => ({ external_ref: first["external_ref"] }), "external_ref"],
    [
      "the legal name and country",
      (first: Record<string, unknown>) => ({ legal_name: first["legal_name"] }),
      "legal_name_and_country",
    ],
    [
      "the legal name in capitals and wider spaces",
      (first: Record<string, unknown>) => ({
        legal_name: ` ${String(first["legal_name"]).toUpperCase().replaceAll(" ", "   ")} `,
      }),
      "legal_name_and_country",
    ],
    [
      "the legal name in full-width letters",
      (first: Record<string, unknown>) => ({ legal_name: String(first["legal_name"]).replace("Acme", "Ａｃｍｅ") }),
      "legal_name_and_country",
    ],
  ])("is found by %s: 409 external_ref_exists, naming it, and nothing is registered", async (_name, same, matched) => {
    const first = original();
    const { principal_id } = expectStatus(await register(first), 201);
    const before = await dumpDatabase();
    const reply = await register({ ...original(), ...same(first) });
    expect([reply.status, reply.body.code]).toEqual([409, "external_ref_exists"]);
    expect(reply.body.detail).toEqual({ principal_id, matched });
    expect(await dumpDatabase()).toEqual(before);
  });

  it("counts as another one in another country and at another platform", async () => {
    const first = original();
    expectStatus(await register(first), 201);
    const { legal_name } = first;
    expect((await register({ ...original(), legal_name, country: "FR" })).status).toBe(201);
    const other = await createWorld();
    expect((await register(first, withDeps(other, still.deps))).status).toBe(201);
  });

  it("is registered once by twenty calls at the same time", async () => {
    const body = original();
    const replies = await Promise.all(Array.from({ length: 20 }, () => register(body)));
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(replies.filter(({ body: { code } }) => code === "external_ref_exists")).toHaveLength(19);
    const { results } = await env.DB.prepare("select * from principals where external_ref = ?")
      .bind(body["external_ref"])
      .all();
    expect(results).toHaveLength(1);
  });
});
