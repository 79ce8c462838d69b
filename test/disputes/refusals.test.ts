// Who may file a dispute, about which settlement, and when (DSP-1 to DSP-6).
import { beforeAll, describe, expect, it } from "vitest";
import { tryMove } from "../../src/core/machine.ts";
import { DISPUTE_TRIGGERS, disputeMachine } from "../../src/disputes/states.ts";
import { facilitated, pairOf } from "../facilitation/support.ts";
import { rows } from "../promotion/support.ts";
import { type Agent, createWorld, expectStatus, type Reply, type World } from "../support/world.ts";
import { act, type Bought, disputed, file, filing, PATH } from "./support.ts";

let world: World;
let stranger: World;
let sold: Bought;
beforeAll(async () => {
  world = await createWorld();
  stranger = await createWorld();
  sold = await facilitated(world);
});

const said = ({ status, body }: Reply) => [status, body.code];
const fieldsOf = ({ body }: Reply) =>
  (body.field_errors ?? []).map(({ field, code }: { field: string; code: string }) => [field, code]);

describe("a filing", () => {
  it.each<[string, Record<string, unknown>, string, string[][]]>([
    ["an unknown reason", { reason: "boredom" }, "invalid_reason", [["reason", "invalid_reason"]]],
    [
      "an amount that is not a number",
      { disputed_amount: "ten" },
      "invalid_disputed_amount",
      [["disputed_amount", "invalid_disputed_amount"]],
    ],
    ["zero", { disputed_amount: "0" }, "invalid_disputed_amount", [["disputed_amount", "invalid_disputed_amount"]]],
    [
      "more than was settled",
      { disputed_amount: "10.000001" },
      "invalid_disputed_amount",
      [["disputed_amount", "invalid_disputed_amount"]],
    ],
    [
      "more decimals than the token has",
      { disputed_amount: "1.0000001" },
      "invalid_disputed_amount",
      [["disputed_amount", "invalid_disputed_amount"]],
    ],
    [
      "a negative amount",
      { disputed_amount: "-1" },
      "invalid_disputed_amount",
      [["disputed_amount", "invalid_disputed_amount"]],
    ],
    ["another currency", { currency: "EURC" }, "validation_failed", [["currency", "invalid_value"]]],
    ["no amount", { disputed_amount: undefined }, "validation_failed", [["disputed_amount", "required"]]],
    ["an unknown field", { colour: "red" }, "validation_failed", [["colour", "unknown_field"]]],
    [
      "two faults that have their own codes",
      { reason: "x", disputed_amount: "x" },
      "invalid_reason",
      [
        ["reason", "invalid_reason"],
        ["disputed_amount", "invalid_disputed_amount"],
      ],
    ],
    [
      "a fault of the schema and one that needs the settlement",
      { description: 5, disputed_amount: "11" },
      "validation_failed",
      [
        ["description", "invalid_type"],
        ["disputed_amount", "invalid_disputed_amount"],
      ],
    ],
    ["two settlements", { facilitation_id: "fac_other" }, "validation_failed", [["facilitation_id", "invalid_value"]]],
  ])("is refused with %s", async (_, change, code, fields) => {
    const reply = await file(world, sold, change);
    expect([reply.status, reply.body.code, fieldsOf(reply)]).toEqual([422, code, fields]);
  });

  it("takes a number as decimal text, and a refused one stores nothing", async () => {
    const bought = await facilitated(world);
    const dispute = expectStatus(await file(world, bought, { disputed_amount: 1.1 }), 201);
    expect([dispute.disputed_amount, dispute.bounty_amount]).toEqual(["1.10", "1.00"]);
    expect(await rows("select * from disputes where transaction_id = ?", sold.fac.transaction_id)).toEqual([]);
  });

  it("is refused without a settlement", async () => {
    const reply = await world.as(sold.consumer, "POST", PATH, { reason: "other", disputed_amount: "1" });
    expect([reply.status, reply.body.code, fieldsOf(reply)]).toEqual([
      422,
      "validation_failed",
      [["transaction_id", "required"]],
    ]);
  });
});

describe("the right to file", () => {
  it("belongs to the consumer and its platform alone, and is checked before the values of the body", async () => {
    const { provider } = sold;
    const other = await world.consumer();
    expect(said(await world.as(provider, "POST", PATH, filing(sold)))).toEqual([403, "forbidden"]);
    expect(said(await world.as(other, "POST", PATH, filing(sold, { reason: "x" })))).toEqual([403, "forbidden"]);
    expect(said(await stranger.call("POST", PATH, { body: filing(sold, { colour: 1 }) }))).toEqual([
      404,
      "facilitation_not_found",
    ]);
    expect(said(await world.call("POST", PATH, { body: filing(sold, { transaction_id: "fac_nothing" }) }))).toEqual([
      404,
      "facilitation_not_found",
    ]);
    expect(said(await world.call("POST", PATH, { key: world.liveKey, body: filing(sold) }))).toEqual([
      404,
      "facilitation_not_found",
    ]);
    expect(said(await world.call("POST", PATH, { key: null, body: filing(sold) }))).toEqual([
      401,
      "invalid_credentials",
    ]);
  });

  it("does not belong to the provider's platform", async () => {
    const provider = await stranger.provider();
    const bought = await facilitated(world, { consumer: await world.consumer(), provider });
    expect(said(await stranger.call("POST", PATH, { body: filing(bought) }))).toEqual([403, "forbidden"]);
    const dispute = expectStatus(await world.call("POST", PATH, { body: filing(bought) }), 201);
    // Both platforms read the dispute, and each acts for its own side.
    for (const one of [world, stranger])
      expect(expectStatus(await one.call("GET", `${PATH}/${dispute.dispute_id}`), 200).status).toBe("pre_arbitration");
    const respond = { body: { message: "It was delivered." } };
    expect(said(await world.call("POST", `${PATH}/${dispute.dispute_id}/respond`, respond))).toEqual([
      403,
      "forbidden",
    ]);
    expectStatus(await stranger.call("POST", `${PATH}/${dispute.dispute_id}/respond`, respond), 200);
    expect(said(await stranger.call("POST", `${PATH}/${dispute.dispute_id}/withdraw`))).toEqual([403, "forbidden"]);
    const third = await createWorld();
    expect(said(await third.call("GET", `${PATH}/${dispute.dispute_id}`))).toEqual([404, "not_found"]);
  });

  it("does not exist between agents of one principal", async () => {
    const principal_id = await world.principal();
    const provider = await world.provider({ principal_id });
    const consumer = await world.consumer({ principal_id });
    const bought = await facilitated(world, { consumer, provider });
    expect(said(await file(world, bought))).toEqual([403, "forbidden"]);
  });

  it("stays with the platform of a suspended consumer", async () => {
    const bought = await facilitated(world);
    expectStatus(
      await world.call("PATCH", `/v1/agents/${bought.consumer.did}/status`, { body: { status: "SUSPENDED" } }),
      200,
    );
    expect(said(await file(world, bought))).toEqual([409, "agent_not_active"]);
    expectStatus(await world.call("POST", PATH, { body: filing(bought) }), 201);
  });
});

/** A provider whose sales are final. */
async function finalSeller(): Promise<Agent> {
  const provider = await world.provider();
  expectStatus(
    await world.call("PATCH", `/v1/agents/${provider.did}/scope`, { body: { dispute_window_days: 0 } }),
    200,
  );
  return provider;
}

describe("a further filing", () => {
  it("is refused for a final sale, and after the window", async () => {
    const final = await facilitated(world, await pairOf(world, await finalSeller()));
    expect(said(await file(world, final))).toEqual([409, "final_sale"]);
    const late = await facilitated(world);
    const closes = async (at: number) =>
      rows(
        "update transactions set dispute_window_closes_at = ? where transaction_id = ?",
        at,
        late.fac.transaction_id,
      );
    await closes(world.now());
    expect(said(await file(world, late))).toEqual([409, "dispute_window_expired"]);
    await closes(world.now() + 60_000);
    expectStatus(await file(world, late), 201);
  });

  it("may be repeated only after the first was withdrawn, and never a third time", async () => {
    const bought = await disputed(world);
    expect(said(await file(world, bought))).toEqual([409, "dispute_exists"]);
    expectStatus(await act(world, bought.consumer, bought.id, "withdraw"), 200);
    const { dispute_id } = expectStatus(await file(world, bought), 201);
    expectStatus(await act(world, bought.consumer, dispute_id, "withdraw"), 200);
    expect(said(await file(world, bought))).toEqual([409, "dispute_exists"]);
  });
});

it("a consumer that was promoted cannot dispute a purchase of the sandbox", async () => {
  const bought = await facilitated(world);
  const moved = (environment: string) =>
    rows("update agents set environment = ? where did = ?", environment, bought.consumer.did);
  await moved("production");
  expect(said(await file(world, bought))).toEqual([409, "environment_mismatch"]);
  expect(await rows("select * from disputes where transaction_id = ?", bought.fac.transaction_id)).toEqual([]);
  await moved("sandbox");
  expectStatus(await file(world, bought), 201);
});

it("the state machine has no other moves", () => {
  const moves = disputeMachine.states.flatMap((from) =>
    DISPUTE_TRIGGERS.flatMap((trigger) => {
      const moved = tryMove(disputeMachine, from, trigger);
      return moved.ok ? [`${from} ${trigger} ${moved.move.to}`] : [];
    }),
  );
  expect(moves).toEqual([
    "pre_arbitration respond pre_arbitration",
    "pre_arbitration submit_evidence pre_arbitration",
    "pre_arbitration accept resolved",
    "pre_arbitration concede resolved",
    "pre_arbitration withdraw resolved",
    "pre_arbitration escalate arbitration",
    "pre_arbitration days_end arbitration",
    "pre_arbitration reverse resolved",
    "arbitration submit_evidence arbitration",
    "arbitration resolve resolved",
    "arbitration reverse resolved",
    "resolved refund_overdue arbitration",
    "resolved reverse resolved",
  ]);
});
