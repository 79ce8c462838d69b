// The service verifies, compares and stores a member named `__proto__` like any other, although libraries drop it when they copy an object (HTTP-12,
// AID-6, IDM-4).
import { beforeAll, describe, expect, it } from "vitest";
import {
  agentBody,
  createWorld,
  expectStatus,
  type Json,
  principalBody,
  type Reply,
  type World,
} from "../support/world.ts";

let world: World;
let did: string;
beforeAll(async () => {
  world = await createWorld();
  did = (await world.consumer()).did;
});

/** The JSON text of the object with one more member after the others. */
const withMember = (object: object, member: string): string => JSON.stringify(object).replace(/\}$/, `,${member}}`);

describe("an identity document", () => {
  const check = (aid: string): Promise<Reply> =>
    world.call("POST", "/v1/verify/aid", { key: null, rawBody: `{"aid":${aid}}` });

  it("is invalid with an additional member of any name", async () => {
    const aid = expectStatus(await world.call("GET", `/v1/agents/${did}/aid`, { key: null }), 200);
    expect(expectStatus(await check(JSON.stringify(aid)), 200).valid).toBe(true);
    for (const name of ["__proto__", "constructor", "toString", "other"]) {
      for (const value of ['{"a":1}', "null", '"text"']) {
        const answer = expectStatus(await check(withMember(aid, `"${name}":${value}`)), 200);
        expect([name, value, answer.valid]).toEqual([name, value, false]);
      }
      const identity = withMember(aid.identity, `"${name}":{}`);
      const nested = JSON.stringify(aid).replace(JSON.stringify(aid.identity), () => identity);
      expect([name, expectStatus(await check(nested), 200).valid]).toEqual([name, false]);
    }
  });

  it.each(["1", "true", "null", "[]"])("rejects %s", async (sent) => {
    const { status, body } = await check(sent);
    expect([status, body.field_errors]).toEqual([
      422,
      [expect.objectContaining({ field: "aid", code: "invalid_type" })],
    ]);
  });
});

describe("metadata", () => {
  type Resource = { readonly path: string; readonly body: () => Promise<Json>; readonly id: string };
  const RESOURCES: readonly Resource[] = [
    { path: "/v1/principals", body: async () => principalBody(), id: "principal_id" },
    { path: "/v1/customers", body: async () => ({ name: `Customer ${crypto.randomUUID()}` }), id: "customer_id" },
    {
      path: "/v1/agents",
      body: async () => ({ ...agentBody("CONSUMER"), principal_id: await world.principal() }),
      id: "did",
    },
  ];
  const send = (method: string, path: string, body: object, pairs: string) =>
    world.call(method, path, { rawBody: withMember(body, `"metadata":${pairs}`) });

  it.each(RESOURCES)("of $path keeps a pair named __proto__", async ({ path, body, id }) => {
    const made = await send("POST", path, await body(), '{"__proto__":"first","a":"b"}');
    const at = `${path}/${expectStatus(made, 201)[id]}`;
    expect((await world.call("GET", at)).text).toContain('"metadata":{"__proto__":"first","a":"b"}');
    const same = await world.call("PATCH", at, { rawBody: '{"metadata":{"__proto__":"first","a":"b"}}' });
    expect([same.status, same.body.code]).toEqual([400, "no_changes_requested"]);
    expectStatus(await world.call("PATCH", at, { rawBody: '{"metadata":{"__proto__":"second"}}' }), 200);
    expect((await world.call("GET", at)).text).toContain('"metadata":{"__proto__":"second"}');
  });

  const many = JSON.stringify(Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`k${n}`, "v"])));
  it.each(RESOURCES)("of $path judges a pair named __proto__ like any other", async ({ path, body }) => {
    for (const [pairs, field, code] of [
      ['{"__proto__":1}', "metadata.__proto__", "invalid_type"],
      ['{"__proto__":{}}', "metadata.__proto__", "invalid_type"],
      [`{"__proto__":"${"x".repeat(501)}"}`, "metadata.__proto__", "too_long"],
      [many.replace("}", ',"__proto__":"v"}'), "metadata", "too_long"],
      ["[]", "metadata", "invalid_type"],
      ['"text"', "metadata", "invalid_type"],
    ] as const) {
      const { status, body: answer } = await send("POST", path, await body(), pairs);
      expect([pairs, status, answer.field_errors]).toEqual([pairs, 422, [expect.objectContaining({ field, code })]]);
    }
  });

  it("with another pair of that name is another body under one Idempotency-Key", async () => {
    const body = principalBody();
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    const sent = (pairs: string) =>
      world.call("POST", "/v1/principals", { rawBody: withMember(body, `"metadata":${pairs}`), headers });
    expectStatus(await sent('{"__proto__":"a"}'), 201);
    expect((await sent('{"__proto__":"a"}')).headers.get("idempotent-replayed")).toBe("true");
    expect((await sent('{"__proto__":"b"}')).body.code).toBe("idempotency_key_reused");
  });
});
