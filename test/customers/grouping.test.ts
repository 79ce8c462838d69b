// Principals join and leave customers: the count is right, a principal joins neither another platform's nor a suspended customer, and either a
// deletion or a principal that joins at the same moment wins (PRN-4, PRN-23).
import { beforeAll, describe, expect, it } from "vitest";
import { failingBatches, type Moment, withDatabase } from "../support/variants.ts";
import { createWorld, env, expectStatus, type Json, principalBody, type Reply, type World } from "../support/world.ts";

const RACES = 50;
let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const customer = async (of = world, key = of.key): Promise<string> =>
  expectStatus(await of.call("POST", "/v1/customers", { body: { name: "Client" }, key }), 201).customer_id;
const countOf = async (id: string): Promise<number> =>
  expectStatus(await world.call("GET", `/v1/customers/${id}`), 200).principal_count;
const register = (customer_id: string | null, of = world) =>
  of.call("POST", "/v1/principals", { body: principalBody({ customer_id }) });
const move = (principalId: string, customer_id: string | null) =>
  world.call("PATCH", `/v1/principals/${principalId}`, { body: { customer_id } });
const remove = (id: string) => world.call("DELETE", `/v1/customers/${id}`);
const faultsOf = ({ body }: Reply) => body.field_errors?.map(({ field, code }: Json) => [field, code]);
const suspend = (id: string) =>
  env.DB.prepare("update customers set status = 'SUSPENDED' where customer_id = ?").bind(id).run();

/** Principals whose customer is gone, and customers whose count is not the number of their principals. */
async function untrue(): Promise<Json[]> {
  const gone = env.DB.prepare(
    `select principal_id from principals where customer_id is not null
     and customer_id not in (select customer_id from customers)`,
  );
  const wrong = env.DB.prepare(
    `select customer_id, principal_count from customers c
     where principal_count <> (select count(*) from principals p where p.customer_id = c.customer_id)`,
  );
  const found = await env.DB.batch([gone, wrong]);
  return found.flatMap(({ results }) => results);
}

describe("the count of a customer's principals", () => {
  it("follows registrations, patches and closings", async () => {
    const [one, two] = [await customer(), await customer()];
    const counts = async () => [await countOf(one), await countOf(two)];
    const first = expectStatus(await register(one), 201).principal_id;
    const second = await world.principal();
    expect(await counts()).toEqual([1, 0]);
    expectStatus(await move(second, one), 200);
    expect(await counts()).toEqual([2, 0]);
    expectStatus(await move(second, two), 200);
    expect(await counts()).toEqual([1, 1]);
    // Neither the same group again nor another change counts a principal twice.
    expect((await move(second, two)).body.code).toBe("no_changes_requested");
    const body = { metadata: { a: "1" } };
    expectStatus(await world.call("PATCH", `/v1/principals/${second}`, { body }), 200);
    expect(await counts()).toEqual([1, 1]);
    expectStatus(await move(second, null), 200);
    expect(await counts()).toEqual([1, 0]);
    const closed = expectStatus(await world.call("POST", `/v1/principals/${first}/close`), 200);
    expect([closed.status, closed.customer_id]).toEqual(["CLOSED", null]);
    expect(await counts()).toEqual([0, 0]);
    expect(await untrue()).toEqual([]);
  });

  it("stays the same if a principal is suspended and reactivated", async () => {
    const id = await customer();
    const principal = expectStatus(await register(id), 201).principal_id;
    for (const act of ["suspend", "reactivate"]) {
      expectStatus(await world.call("POST", `/v1/principals/${principal}/${act}`), 200);
      expect(await countOf(id)).toBe(1);
    }
  });

  it("does not change the customer otherwise", async () => {
    const id = await customer();
    const before = expectStatus(await world.call("GET", `/v1/customers/${id}`), 200);
    expectStatus(await register(id), 201);
    expect(expectStatus(await world.call("GET", `/v1/customers/${id}`), 200)).toEqual({
      ...before,
      principal_count: 1,
    });
  });

  it("is right after principals join while the customer is renamed", async () => {
    const id = await customer();
    const joining = Array.from({ length: 10 }, () => register(id));
    const renaming = world.call("PATCH", `/v1/customers/${id}`, { body: { name: "Renamed" } });
    const [renamed, ...joined] = await Promise.all([renaming, ...joining]);
    expect([renamed.status, ...joined.map(({ status }) => status)]).toEqual([200, ...joining.map(() => 201)]);
    const last = expectStatus(await world.call("GET", `/v1/customers/${id}`), 200);
    expect([last.name, last.principal_count]).toEqual(["Renamed", 10]);
  });
});

describe("a customer that groups a principal", () => {
  it("is not deleted until the last one has left", async () => {
    const id = await customer();
    const [one, two] = [expectStatus(await register(id), 201), expectStatus(await register(id), 201)];
    const refused = await remove(id);
    expect([refused.status, refused.body.code, refused.body.detail]).toEqual([
      409,
      "customer_not_empty",
      { principal_count: 2 },
    ]);
    expectStatus(await move(one.principal_id, null), 200);
    expect((await remove(id)).status).toBe(409);
    expectStatus(await world.call("POST", `/v1/principals/${two.principal_id}/close`), 200);
    expect((await remove(id)).status).toBe(204);
  });

  it("is the filter for the principals that it groups", async () => {
    const id = await customer();
    const { principal_id } = expectStatus(await register(id), 201);
    const page = expectStatus(await world.call("GET", `/v1/principals?customer_id=${id}`), 200);
    expect(page.data.map((principal: Json) => principal.principal_id)).toEqual([principal_id]);
  });
});

describe("a principal cannot join", () => {
  it("a customer that does not exist, or that was deleted", async () => {
    const principal = await world.principal();
    const gone = await customer();
    expect((await remove(gone)).status).toBe(204);
    for (const id of ["cus_none", gone]) {
      for (const reply of [await register(id), await move(principal, id)]) {
        expect([reply.status, reply.body.code]).toEqual([422, "validation_failed"]);
        expect(faultsOf(reply)).toEqual([["customer_id", "not_found"]]);
      }
    }
    expect(await untrue()).toEqual([]);
  });

  it("a suspended customer, which principals may leave and which may be deleted", async () => {
    const id = await customer();
    const inside = expectStatus(await register(id), 201).principal_id;
    const outside = await world.principal();
    await suspend(id);
    for (const reply of [await register(id), await move(outside, id)])
      expect([reply.status, reply.body.code]).toEqual([409, "invalid_status"]);
    expectStatus(await move(inside, null), 200);
    expect(await countOf(id)).toBe(0);
    expect((await remove(id)).status).toBe(204);
  });
});

describe("between the reading and the commit", () => {
  /** The world in which something happens right before the first commit of a call. */
  const justBefore = (happens: () => Promise<unknown>): World =>
    withDatabase(
      world,
      failingBatches(env.DB, async (batch): Promise<Moment> => {
        if (batch === 2) await happens();
        return "never";
      }),
    );

  it("of a deletion a principal joins, and the deletion is refused", async () => {
    const principal = await world.principal();
    for (const join of [register, (id: string) => move(principal, id)]) {
      const id = await customer();
      const reply = await justBefore(() => join(id)).call("DELETE", `/v1/customers/${id}`);
      expect([reply.status, reply.body.code]).toEqual([409, "customer_not_empty"]);
      expect(await countOf(id)).toBe(1);
    }
    expect(await untrue()).toEqual([]);
  });

  it("of a deletion another one commits, and this one finds no customer", async () => {
    const id = await customer();
    const reply = await justBefore(() => remove(id)).call("DELETE", `/v1/customers/${id}`);
    expect([reply.status, reply.body.code]).toEqual([404, "not_found"]);
  });

  it("of a principal that joins, the customer is deleted or suspended, and the principal is refused", async () => {
    for (const [act, status] of [
      [remove, 422],
      [suspend, 409],
    ] as const) {
      const id = await customer();
      expect(
        (
          await register(
            id,
            justBefore(() => act(id)),
          )
        ).status,
      ).toBe(status);
      const [another, principal] = [await customer(), await world.principal()];
      const body = { customer_id: another };
      const moving = justBefore(() => act(another)).call("PATCH", `/v1/principals/${principal}`, { body });
      expect((await moving).status).toBe(status);
    }
    expect(await untrue()).toEqual([]);
  });

  it("of a patch the customer is renamed, or another one takes the reference, and the patch is decided again", async () => {
    const id = await customer();
    const rename = (name: string, of = world) => of.call("PATCH", `/v1/customers/${id}`, { body: { name } });
    const again = await rename(
      "Same",
      justBefore(() => rename("Same")),
    );
    expect([again.status, again.body.code]).toEqual([400, "no_changes_requested"]);
    const external_ref = `client-${crypto.randomUUID()}`;
    const body = { name: "Faster", external_ref };
    const taking = justBefore(() => world.call("POST", "/v1/customers", { body }));
    const refused = await taking.call("PATCH", `/v1/customers/${id}`, { body: { external_ref } });
    expect([refused.status, refused.body.code]).toEqual([409, "external_ref_exists"]);
  });
});

describe(`${RACES} deletions against ${RACES} principals that join`, () => {
  const groupings: [string, () => Promise<(id: string) => Promise<Reply>>, number][] = [
    ["by their registration", async () => (id) => register(id), 201],
    [
      "by a patch",
      async () => {
        const principal = await world.principal();
        return (id) => move(principal, id);
      },
      200,
    ],
  ];

  it.each(groupings)("%s leave no orphaned principal, and the right count", async (_how, prepare, joined) => {
    const ids: string[] = [];
    const joins: ((id: string) => Promise<Reply>)[] = [];
    for (let i = 0; i < RACES; i++) {
      ids.push(await customer());
      joins.push(await prepare());
    }
    const races = await Promise.all(
      ids.map(async (id, i) => {
        const join = () => (joins[i] as (id: string) => Promise<Reply>)(id);
        // Each call is sent first in half of the races.
        const sent = i % 2 === 0 ? [remove(id), join()] : [join(), remove(id)];
        const [first, second] = (await Promise.all(sent)) as [Reply, Reply];
        return i % 2 === 0 ? { deletion: first, joining: second } : { deletion: second, joining: first };
      }),
    );
    for (const { deletion, joining } of races) {
      if (deletion.status === 204) {
        expect([joining.status, faultsOf(joining)]).toEqual([422, [["customer_id", "not_found"]]]);
      } else {
        expect([deletion.status, deletion.body.code, joining.status]).toEqual([409, "customer_not_empty", joined]);
      }
    }
    expect(await untrue()).toEqual([]);
  });

  it("of one customer leave it with the principals that joined, or with none", async () => {
    const id = await customer();
    const calls = Array.from({ length: RACES }, (_, i) =>
      i % 2 === 0 ? [remove(id), register(id)] : [register(id), remove(id)],
    );
    const replies = await Promise.all(calls.flat());
    const of = (status: number) => replies.filter((reply) => reply.status === status).length;
    expect(replies.filter(({ status }) => ![201, 204, 404, 409, 422].includes(status))).toEqual([]);
    expect(await untrue()).toEqual([]);
    expect(of(204) === 1 ? of(201) === 0 : (await countOf(id)) === of(201)).toBe(true);
  });
});
