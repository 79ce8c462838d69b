// Customers over HTTP: creation, lists, patches and deletion, with their refusals, limits and owners (PRN-23).
import { beforeAll, describe, expect, it } from "vitest";
import { stopped } from "../support/clock.ts";
import { createWorld, expectStatus, type Json, type Reply, type World } from "../support/world.ts";

const PATH = "/v1/customers";
let world: World;
let other: World;
beforeAll(async () => {
  world = await createWorld();
  other = await createWorld();
});

const post = (body: unknown, of = world, key = of.key) => of.call("POST", PATH, { body, key });
const created = async (body: object = {}, of = world, key = of.key): Promise<Json> =>
  expectStatus(await post({ name: "Client", ...body }, of, key), 201);
const at = ({ customer_id }: Json): string => `${PATH}/${customer_id}`;
const read = async (customer: Json, of = world): Promise<Json> => expectStatus(await of.call("GET", at(customer)), 200);
const patch = (customer: Json, body: unknown, of = world, key = of.key) =>
  of.call("PATCH", at(customer), { body, key });
const list = async (query = "", of = world): Promise<Json> =>
  expectStatus(await of.call("GET", `${PATH}${query}`), 200);
const idsOf = ({ data }: Json): string[] => data.map(({ customer_id }: Json) => customer_id);
const reference = (): string => `client-${crypto.randomUUID()}`;
type Fault = { field: string; code: string };
const faultsOf = ({ body }: Reply) => body.field_errors?.map(({ field, code }: Fault) => [field, code]).sort();
const entriesOf = async ({ customer_id }: Json): Promise<Json[]> =>
  expectStatus(await world.call("GET", `/v1/platform/activity?subject_type=customer&subject_id=${customer_id}`), 200)
    .data;
const pairs = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`name ${i}`, "x"]));

describe("a customer", () => {
  it("is created ACTIVE and empty, and a reading equals the answer", async () => {
    const external_ref = reference();
    const customer = await created({ name: " Lumière Group ", external_ref, metadata: { manager: "Ada" } });
    expect(customer).toEqual({
      customer_id: expect.stringMatching(/^cus_[0-9A-HJKMNP-TV-Z]{26}$/),
      name: "Lumière Group",
      external_ref,
      status: "ACTIVE",
      status_note: null,
      principal_count: 0,
      metadata: { manager: "Ada" },
      environment: "sandbox",
      created_at: expect.any(String),
      updated_at: customer.created_at,
    });
    expect(await read(customer)).toEqual(customer);
    const [entry] = await entriesOf(customer);
    expect([entry.action, entry.actor.type]).toEqual(["customer.created", "management_api"]);
  });

  it.each([{}, { external_ref: null }])("has no reference and no metadata if none are given: %j", async (given) => {
    const [one, two] = [await created(given), await created(given)];
    expect([one.external_ref, one.metadata]).toEqual([null, {}]);
    expect(two.customer_id).not.toBe(one.customer_id);
  });

  it("is created once under an Idempotency-Key", async () => {
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    const body = { name: "Once", external_ref: reference() };
    const create = () => world.call("POST", PATH, { headers, body });
    const [first, second] = [await create(), await create()];
    expect(second.body).toEqual(expectStatus(first, 201));
    expect(second.headers.get("Idempotent-Replayed")).toBe("true");
    const changed = await world.call("POST", PATH, { headers, body: { ...body, name: "Twice" } });
    expect([changed.status, changed.body.code]).toEqual([422, "idempotency_key_reused"]);
  });

  it.each([
    ["without a name", {}, [["name", "required"]]],
    ["with an empty name", { name: " " }, [["name", "too_short"]]],
    ["with a long name", { name: "x".repeat(201) }, [["name", "too_long"]]],
    ["with an invisible character in its name", { name: "a\u200bb" }, [["name", "invalid_format"]]],
    ["with a status", { name: "X", status: "ACTIVE" }, [["status", "unknown_field"]]],
    [
      "with several faults",
      { name: 7, external_ref: "", metadata: [] },
      [
        ["external_ref", "too_short"],
        ["metadata", "invalid_type"],
        ["name", "invalid_type"],
      ],
    ],
  ])("%s is refused", async (_what, body, faults) => {
    const reply = await post(body);
    expect([reply.status, reply.body.code, faultsOf(reply)]).toEqual([422, "validation_failed", faults]);
  });

  it("takes metadata up to their limits, in a creation and in a patch", async () => {
    const most = { ...pairs(19), ["n".repeat(40)]: "v".repeat(500) };
    const customer = await created({ metadata: most });
    expect(customer.metadata).toEqual(most);
    for (const [metadata, field, code] of [
      [pairs(21), "metadata", "too_long"],
      [{ ["n".repeat(41)]: "v" }, `metadata.${"n".repeat(41)}`, "too_long"],
      [{ n: "v".repeat(501) }, "metadata.n", "too_long"],
      [{ n: 1 }, "metadata.n", "invalid_type"],
    ] as const) {
      expect(faultsOf(await post({ name: "X", metadata }))).toEqual([[field, code]]);
      expect(faultsOf(await patch(customer, { metadata }))).toEqual([[field, code]]);
    }
  });
});

describe("a reference", () => {
  it("that another customer has is 409 and names that customer, in a creation and in a patch", async () => {
    const external_ref = reference();
    const first = await created({ external_ref });
    const second = await created();
    for (const reply of [await post({ name: "X", external_ref }), await patch(second, { external_ref })]) {
      expect([reply.status, reply.body.code]).toEqual([409, "external_ref_exists"]);
      expect(reply.body.detail).toEqual({ customer_id: first.customer_id });
      expect(reply.body.message).toMatch(/customer/);
    }
    expect((await read(second)).external_ref).toBeNull();
  });

  it("is free for other platforms, for the other environment, and for a principal", async () => {
    const external_ref = reference();
    await created({ external_ref });
    await created({ external_ref }, other);
    await created({ external_ref }, world, world.liveKey);
    await world.principal({ external_ref });
  });

  it("is free again once it was cleared, and once its customer was deleted", async () => {
    const external_ref = reference();
    const first = await created({ external_ref });
    expect(expectStatus(await patch(first, { external_ref: null }), 200).external_ref).toBeNull();
    const second = await created({ external_ref });
    expect((await world.call("DELETE", at(second))).status).toBe(204);
    expectStatus(await patch(first, { external_ref }), 200);
  });

  it("is taken once by many calls at once", async () => {
    const external_ref = reference();
    const replies = await Promise.all(Array.from({ length: 10 }, () => post({ name: "X", external_ref })));
    const [winner, ...more] = replies.filter(({ status }) => status === 201);
    expect(more).toEqual([]);
    const refused = replies.filter(({ status }) => status !== 201).map(({ body }) => [body.code, body.detail]);
    expect(refused).toEqual(Array(9).fill(["external_ref_exists", { customer_id: winner?.body.customer_id }]));
  });
});

describe("a customer of another platform, or of the other environment", () => {
  it("is not found, and not changed", async () => {
    const customer = await created();
    for (const [of, key] of [[other, other.key] as const, [world, world.liveKey] as const]) {
      const replies = [
        await of.call("GET", at(customer), { key }),
        await patch(customer, { name: "X" }, of, key),
        await of.call("DELETE", at(customer), { key }),
      ];
      expect(replies.map(({ status, body }) => [status, body.code])).toEqual(Array(3).fill([404, "not_found"]));
    }
    expect(await read(customer)).toEqual(customer);
  });
});

describe("the listing", () => {
  it("is newest first, in pages, and shows each customer once", async () => {
    const fresh = await createWorld();
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) ids.unshift((await created({}, fresh)).customer_id);
    const first = await list("?limit=3", fresh);
    expect([idsOf(first), first.has_more]).toEqual([ids.slice(0, 3), true]);
    await created({}, fresh);
    const second = await list(`?limit=3&cursor=${first.next_cursor}`, fresh);
    expect([idsOf(second), second.has_more, second.next_cursor]).toEqual([ids.slice(3), false, null]);
  });

  it("filters by reference and by status", async () => {
    const fresh = await createWorld();
    const external_ref = reference();
    const [one, two] = [await created({ external_ref }, fresh), await created({}, fresh)];
    await fresh.deps.env.DB.prepare("update customers set status = 'SUSPENDED' where customer_id = ?")
      .bind(two.customer_id)
      .run();
    const found = async (query: string) => idsOf(await list(query, fresh));
    expect(await found(`?external_ref=${external_ref}`)).toEqual([one.customer_id]);
    expect(await found("?external_ref=unknown")).toEqual([]);
    expect(await found("?status=ACTIVE")).toEqual([one.customer_id]);
    expect(await found("?status=SUSPENDED")).toEqual([two.customer_id]);
    expect(await found(`?status=SUSPENDED&external_ref=${external_ref}`)).toEqual([]);
    expect(faultsOf(await fresh.call("GET", `${PATH}?status=GONE&colour=red`))).toEqual([
      ["colour", "unknown_field"],
      ["status", "invalid_value"],
    ]);
  });
});

describe("a patch", () => {
  it("changes the members that it names, and its entry has the old and the new values", async () => {
    // No time passes, but the patch still gets a later instant.
    const still = stopped(world);
    const customer = await created({ external_ref: reference(), metadata: { a: "1", b: "2" } }, still);
    const external_ref = reference();
    const renamed = expectStatus(await patch(customer, { name: "Renamed" }, still), 200);
    expect(renamed).toEqual({ ...customer, name: "Renamed", updated_at: renamed.updated_at });
    expect(Date.parse(renamed.updated_at)).toBeGreaterThan(Date.parse(customer.updated_at));
    const last = expectStatus(await patch(customer, { external_ref, metadata: { c: "3" } }, still), 200);
    expect(last).toEqual({ ...renamed, external_ref, metadata: { c: "3" }, updated_at: last.updated_at });
    expect(await read(customer)).toEqual(last);
    const [newest, older] = await entriesOf(customer);
    expect([newest.action, older.action]).toEqual(["customer.updated", "customer.updated"]);
    expect(older.changes).toEqual({ name: { from: "Client", to: "Renamed" } });
    expect(newest.changes).toEqual({
      external_ref: { from: customer.external_ref, to: external_ref },
      metadata: { from: customer.metadata, to: { c: "3" } },
    });
  });

  it("that changes nothing is refused, whatever the order of the metadata", async () => {
    const customer = await created({ external_ref: reference(), metadata: { a: "1", b: "2" } });
    const { name, external_ref } = customer;
    const same = { name, external_ref, metadata: { b: "2", a: "1" } };
    for (const body of [{}, { name }, { external_ref }, same]) {
      const reply = await patch(customer, body);
      expect([reply.status, reply.body.code]).toEqual([400, "no_changes_requested"]);
    }
    expect(await read(customer)).toEqual(customer);
  });

  it("of another known member is invalid_field, and of anything else unknown_field", async () => {
    const customer = await created();
    const { name: _name, external_ref: _ref, metadata: _metadata, ...fixed } = customer;
    const reply = await patch(customer, { ...fixed, colour: "red", name: "" });
    expect([reply.status, reply.body.code]).toEqual([422, "validation_failed"]);
    const expected = [
      ...Object.keys(fixed).map((field) => [field, "invalid_field"]),
      ["colour", "unknown_field"],
      ["name", "too_short"],
    ];
    expect(faultsOf(reply)).toEqual(expected.sort());
  });

  it("is applied with all others that come at once", async () => {
    const customer = await created();
    const names = Array.from({ length: 4 }, (_, i) => `Name ${i}`);
    const replies = await Promise.all(names.map((name) => patch(customer, { name })));
    expect(replies.map(({ status }) => status)).toEqual(names.map(() => 200));
    const updates = (await entriesOf(customer)).filter(({ action }) => action === "customer.updated");
    const said = updates.map(({ changes }) => changes.name).reverse();
    // Each patch was decided on what the one before it had written.
    expect(said.map(({ from }) => from)).toEqual(["Client", ...said.slice(0, -1).map(({ to }) => to)]);
    expect((await read(customer)).name).toBe(said.at(-1).to);
  });
});

describe("a deletion", () => {
  it("returns an empty answer, writes its entry, and then the customer is not found", async () => {
    const customer = await created();
    const reply = await world.call("DELETE", at(customer));
    expect([reply.status, reply.text]).toEqual([204, ""]);
    const again = await Promise.all(["GET", "DELETE"].map((method) => world.call(method, at(customer))));
    for (const { status, body } of [...again, await patch(customer, { name: "X" })])
      expect([status, body.code]).toEqual([404, "not_found"]);
    expect(idsOf(await list("?limit=100"))).not.toContain(customer.customer_id);
    expect((await entriesOf(customer)).map(({ action }) => action)).toEqual(["customer.deleted", "customer.created"]);
  });
});
