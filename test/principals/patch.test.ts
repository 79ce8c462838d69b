// A patch changes a principal's group, reference and metadata, and nothing else (PRN-20).
import { beforeAll, describe, expect, it } from "vitest";
import { customers } from "../../src/db/tables/principals.ts";
import { dumpDatabase } from "../support/variants.ts";
import { createWorld, env, expectStatus, type Json, principalBody, type Reply, type World } from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const patch = (principalId: string, body: unknown, of = world): Promise<Reply> =>
  of.call("PATCH", `/v1/principals/${principalId}`, { body });
const read = async (principalId: string): Promise<Json> =>
  expectStatus(await world.call("GET", `/v1/principals/${principalId}`), 200);
const faultsOf = ({ body }: Reply) =>
  body.field_errors.map(({ field, code }: { field: string; code: string }) => [field, code]).sort();

async function customer(status: "ACTIVE" | "SUSPENDED" = "ACTIVE", of = world): Promise<string> {
  const customerId = `cus_${crypto.randomUUID()}`;
  const { platformId, deps } = of;
  const row = { customerId, platformId, environment: "sandbox", name: "Acme", status, createdAt: of.now() } as const;
  await deps.db.insert(customers).values(row);
  return customerId;
}
const countOf = async (customerId: string): Promise<unknown> =>
  env.DB.prepare("select principal_count from customers where customer_id = ?")
    .bind(customerId)
    .first("principal_count");

describe("a patch of a principal", () => {
  it("changes its reference and its metadata as a whole, and the log has both values", async () => {
    const principalId = await world.principal();
    const before = await read(principalId);
    expect(before.metadata).toEqual({});
    const external_ref = `crm-${crypto.randomUUID()}`;
    const patched = expectStatus(await patch(principalId, { external_ref, metadata: { tier: "gold", a: "" } }), 200);
    expect(patched).toMatchObject({ external_ref, metadata: { tier: "gold", a: "" }, legal_name: before.legal_name });
    expect(await read(principalId)).toEqual(patched);
    expectStatus(await patch(principalId, { metadata: { b: "1" } }), 200);
    expect((await read(principalId)).metadata).toEqual({ b: "1" });
    const { data } = expectStatus(await world.call("GET", `/v1/platform/activity?subject_id=${principalId}`), 200);
    expect(data.slice(0, 2)).toMatchObject([
      { action: "principal.updated", changes: { metadata: { from: { tier: "gold", a: "" }, to: { b: "1" } } } },
      { action: "principal.updated", changes: { external_ref: { from: before.external_ref, to: external_ref } } },
    ]);
  });

  it("groups and ungroups it, and each customer's count follows", async () => {
    const principalId = await world.principal();
    const [one, two] = [await customer(), await customer()];
    expect(expectStatus(await patch(principalId, { customer_id: one }), 200).customer_id).toBe(one);
    expectStatus(await patch(principalId, { customer_id: two }), 200);
    expect([await countOf(one), await countOf(two)]).toEqual([0, 1]);
    expect(expectStatus(await patch(principalId, { customer_id: null }), 200).customer_id).toBeNull();
    expect([await countOf(one), await countOf(two)]).toEqual([0, 0]);
    const registered = await world.call("POST", "/v1/principals", { body: principalBody({ customer_id: two }) });
    expect([expectStatus(registered, 201).customer_id, await countOf(two)]).toEqual([two, 1]);
  });

  it.each([
    ["an empty body", {}],
    ["the same metadata in another order", { metadata: { b: "2", a: "1" } }],
    ["no customer where there is none", { customer_id: null }],
  ])("that changes nothing is refused: %s", async (_what, body) => {
    const principalId = await world.principal();
    await patch(principalId, { metadata: { a: "1", b: "2" } });
    const before = await dumpDatabase();
    const reply = await patch(principalId, body);
    expect([reply.status, reply.body.code]).toEqual([400, "no_changes_requested"]);
    expect(await dumpDatabase()).toEqual(before);
  });

  it("reports members that it cannot change, and every other fault, together", async () => {
    const principalId = await world.principal();
    const reply = await patch(principalId, {
      legal_name: "Other",
      country: "DE",
      status: "ACTIVE",
      colour: "red",
      external_ref: "",
      customer_id: "cus_nobody",
      metadata: { ["n".repeat(41)]: "x", long: "v".repeat(501), number: 1 },
    });
    expect([reply.status, reply.body.code]).toEqual([422, "validation_failed"]);
    expect(faultsOf(reply)).toEqual([
      ["colour", "unknown_field"],
      ["country", "invalid_field"],
      ["customer_id", "not_found"],
      ["external_ref", "too_short"],
      ["legal_name", "invalid_field"],
      ["metadata.long", "too_long"],
      [`metadata.${"n".repeat(41)}`, "too_long"],
      ["metadata.number", "invalid_type"],
      ["status", "invalid_field"],
    ]);
  });

  it.each([
    ["21 pairs", Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`k${n}`, "v"])), ["metadata", "too_long"]],
    ["a name of 41 characters", { ["n".repeat(41)]: "v" }, [`metadata.${"n".repeat(41)}`, "too_long"]],
    ["an empty name", { "": "v" }, ["metadata.", "too_short"]],
    ["a list", ["a"], ["metadata", "invalid_type"]],
  ])("refuses metadata of %s", async (_what, metadata, fault) => {
    const principalId = await world.principal();
    const reply = await patch(principalId, { metadata });
    expect([reply.status, faultsOf(reply)]).toEqual([422, [fault]]);
  });

  it("takes 20 pairs, with names of 40 and values of 500 characters, at a registration too", async () => {
    const metadata = Object.fromEntries(
      Array.from({ length: 20 }, (_, n) => [`${n}`.padStart(40, "n"), "v".repeat(500)]),
    );
    const body = principalBody({ metadata });
    expect(expectStatus(await world.call("POST", "/v1/principals", { body }), 201).metadata).toEqual(metadata);
    expect(expectStatus(await patch(await world.principal(), { metadata }), 200).metadata).toEqual(metadata);
  });

  it("refuses a reference that another principal has, and names that principal", async () => {
    const [one, two] = [await world.principal(), await world.principal()];
    const { external_ref } = await read(one);
    const reply = await patch(two, { external_ref });
    expect([reply.status, reply.body.code, reply.body.detail]).toEqual([
      409,
      "external_ref_exists",
      { principal_id: one, matched: "external_ref" },
    ]);
  });

  it("refuses a suspended customer, and one that does not exist", async () => {
    const principalId = await world.principal();
    const suspended = await patch(principalId, { customer_id: await customer("SUSPENDED") });
    expect([suspended.status, suspended.body.code]).toEqual([409, "invalid_status"]);
    const body = principalBody({ customer_id: await customer("SUSPENDED") });
    const registered = await world.call("POST", "/v1/principals", { body });
    expect([registered.status, registered.body.code]).toEqual([409, "invalid_status"]);
    expect(faultsOf(await patch(principalId, { customer_id: "cus_unknown" }))).toEqual([["customer_id", "not_found"]]);
  });

  it("takes a principal out of a suspended customer, which no longer stops it", async () => {
    const principalId = await world.principal();
    const customerId = await customer();
    expectStatus(await patch(principalId, { customer_id: customerId }), 200);
    // The state that the suspension of a customer leaves.
    await env.DB.batch([
      env.DB.prepare("update customers set status = 'SUSPENDED' where customer_id = ?").bind(customerId),
      env.DB.prepare("update principals set status = 'SUSPENDED', customer_stopped = 1 where principal_id = ?").bind(
        principalId,
      ),
    ]);
    expect(await read(principalId)).toMatchObject({ status: "SUSPENDED", status_reason: "customer" });
    const left = expectStatus(await patch(principalId, { customer_id: null }), 200);
    expect(left).toMatchObject({ status: "ACTIVE", status_reason: null, customer_id: null });
  });

  it("is refused for the tenant principal, whatever the field, and for a closed one", async () => {
    const { tenant_principal_id: tenant } = expectStatus(await world.call("GET", "/v1/platform"), 200);
    for (const body of [{ customer_id: null }, { metadata: { a: "1" } }, { legal_name: "Other" }]) {
      const reply = await patch(tenant, body);
      expect([reply.status, reply.body.code]).toEqual([409, "tenant_principal_field_locked"]);
    }
    const closed = await world.principal();
    expectStatus(await world.call("POST", `/v1/principals/${closed}/close`), 200);
    const reply = await patch(closed, { metadata: { a: "1" } });
    expect([reply.status, reply.body.code, reply.body.detail]).toEqual([409, "invalid_status", { status: "CLOSED" }]);
  });

  it("has an entry for each of 20 at once, and leaves the counts right", async () => {
    const principalId = await world.principal();
    const groups = await Promise.all(Array.from({ length: 4 }, () => customer()));
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, n) => patch(principalId, { customer_id: groups[n % 4] })),
    );
    const refused = replies.filter(({ status }) => status !== 200).map(({ body }) => body.code);
    expect(refused.every((code) => ["no_changes_requested", "conflict", "internal_error"].includes(code))).toBe(true);
    const { customer_id } = await read(principalId);
    const counts = await Promise.all(groups.map(countOf));
    expect(counts).toEqual(groups.map((group) => (group === customer_id ? 1 : 0)));
  });
});
