// A JSON number is read by its digits only where a schema reads money (HTTP-4). Two bodies under one Idempotency-Key are the same if their values
// are equal, and a number and a string differ (IDM-4).
import { beforeAll, describe, expect, it } from "vitest";
import { ROUTES } from "../../src/app.ts";
import { findMoneyPaths } from "../../src/http/money-fields.ts";
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
beforeAll(async () => {
  world = await createWorld();
});

const MONEY_FIELDS = {
  "post /v1/agents": ["scope.max_transaction_value", "scope.spending_limit.amount"],
  "patch /v1/agents/{did}/scope": ["max_transaction_value", "spending_limit.amount"],
  "post /v1/agents/{did}/escrow/release": ["amount"],
  "post /v1/payment-intents": ["amount"],
  "post /v1/agents/{did}/spend-policy/evaluate": ["amount"],
  "post /v1/disputes": ["disputed_amount"],
  "post /v1/disputes/{dispute_id}/respond": ["offer_amount"],
  "post /v1/operator/disputes/{dispute_id}/resolve": ["refund_amount"],
};

it("names the money fields of every route that takes money", () => {
  const found = ROUTES.flatMap(({ method, path, body }) => {
    const paths = body ? findMoneyPaths(body).map((names) => names.join(".")) : [];
    return paths.length === 0 ? [] : [[`${method} ${path}`, [...new Set(paths)]] as const];
  });
  expect(Object.fromEntries(found)).toEqual(MONEY_FIELDS);
});

/** A consumer's registration. The texts are put into the body literally. */
const registration = async (ceiling: string, limit: string, days = "14"): Promise<string> => {
  const principal_id = await world.principal();
  const scope = {
    authorized_actions: ["purchase"],
    capabilities: ["translation"],
    dispute_window_days: "DAYS",
    max_transaction_value: "CEILING",
    spending_limit: { amount: "LIMIT", currency: "USDC", window_days: 7 },
  };
  return JSON.stringify({ ...agentBody("CONSUMER"), principal_id, scope })
    .replace('"DAYS"', days)
    .replace('"CEILING"', ceiling)
    .replace('"LIMIT"', limit);
};
const send = (rawBody: string, key: string = crypto.randomUUID()): Promise<Reply> =>
  world.call("POST", "/v1/agents", {
    rawBody,
    headers: { "Idempotency-Key": key, "Content-Type": "application/json" },
  });

describe("a number in a field of money", () => {
  it("is read by its digits, also where a binary float has fewer", async () => {
    const { identity } = expectStatus(
      await send(await registration("9007199254.740993", "0.1000000000000000000001e1")),
      201,
    );
    expect(identity.scope).toMatchObject({
      max_transaction_value: "9007199254.740993",
      spending_limit: { amount: "1.000000000000000000001" },
    });
  });

  it.each(["1E400", "-1", "1e40"])("%s is refused as money", async (amount) => {
    const refused = await send(await registration(amount, "1"));
    expect([refused.status, refused.body.field_errors]).toMatchObject([
      422,
      [{ field: "scope.max_transaction_value", code: "invalid_format" }],
    ]);
  });
});

describe("under one Idempotency-Key", () => {
  it("numbers of equal value are the same body, also in a count of days", async () => {
    const first = await registration("1.50", "2");
    const key = crypto.randomUUID();
    const { did } = expectStatus(await send(first, key), 201);
    for (const [from, to] of [
      ["1.50", "1.5"],
      ["1.50", "15e-1"],
      [":2,", ":2.000,"],
      [":14,", ":1.4E1,"],
    ] as const) {
      expect(first).toContain(from);
      const replay = await send(first.replace(from, to), key);
      expect([replay.status, replay.headers.get("idempotent-replayed"), replay.body.did]).toEqual([201, "true", did]);
    }
  });

  it.each([
    ["1.5", '"1.5"'],
    ['"1.5"', "1.5"],
    ['"1.5"', '"1.50"'],
    ["9007199254.740993", "9007199254.740992"],
  ])("%s and %s are two bodies", async (one, other) => {
    const key = crypto.randomUUID();
    const body = await registration(one, "7");
    expectStatus(await send(body, key), 201);
    const reused = await send(body.replace(`"max_transaction_value":${one}`, `"max_transaction_value":${other}`), key);
    expect([reused.status, reused.body.code]).toEqual([422, "idempotency_key_reused"]);
  });
});

describe("a number outside of money fields", () => {
  const register = (metadata: string): Promise<Reply> =>
    world.call("POST", "/v1/principals", {
      rawBody: JSON.stringify({ ...principalBody(), metadata: "HERE" }).replace('"HERE"', metadata),
      headers: { "Content-Type": "application/json" },
    });

  it("stays a number, whatever its name", async () => {
    const refused = await register('{"amount": 1.50, "refund_amount": "1"}');
    expect([refused.status, refused.body.field_errors.map(({ field, code }: Json) => [field, code])]).toEqual([
      422,
      [["metadata.amount", "invalid_type"]],
    ]);
  });

  it.each(["amount", "max_transaction_value", "other"])("that is not a double is 400 as %s", async (name) => {
    const refused = await register(`{"${name}": 1E400}`);
    expect([refused.status, refused.body.code]).toEqual([400, "invalid_request"]);
  });

  it.each([
    ["14", 201],
    ["1.4E1", 201],
    ["14.000", 201],
    ["14.00000000000000001", 400],
    ["13.9999999999999999", 400],
    ["1E400", 400],
  ])("with the text %s as a count of days is %i", async (days, status) => {
    expect((await send(await registration("1", "1", days))).status).toBe(status);
  });

  it("that is not a double is 400 also in a body that takes money", async () => {
    const body = (await registration("1", "1")).replace(
      '"scope":',
      '"metadata":{"max_transaction_value":1E400},"scope":',
    );
    expect((await send(body)).status).toBe(400);
  });
});
