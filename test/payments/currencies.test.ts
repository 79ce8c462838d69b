// Windows in two currencies whose tokens have different decimals: neither counts in the other (HTTP-6, PAY-9, PAY-10). The payments themselves are in
// test/facilitation/currencies.test.ts.
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { DAY_MS } from "../../src/core/limits.ts";
import { abandonIntents } from "../../src/payments/abandon.ts";
import { follow } from "../follower/support.ts";
import { rows } from "../promotion/support.ts";
import { type Agent, createWorld, expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import { buyer, dailyLimit, delegateOf, grantMarket, orderOf, seller, settle } from "./support.ts";
import { EURO, TWO_CURRENCIES } from "./two-currencies.ts";

type Currency = "USDC" | "EURC";
const DOLLARS = 10 ** 6;
const EUROS = 10 ** 8;
/** The time after which an unpaid intent's hold has ended, if its network was read. */
const ENDED_MS = 331_000;

let world: World;
let provider: Agent;
beforeAll(async () => {
  world = await createWorld({ NETWORKS: TWO_CURRENCIES });
  provider = await seller(world);
  await grantMarket(world, provider.did, EURO.market, EURO.network);
});
beforeEach(() => {
  world.offset = 0;
});

const open = (consumer: Agent, amount: string, currency: Currency): Promise<Reply> =>
  world.as(consumer, "POST", "/v1/payment-intents", orderOf(consumer, provider, { amount, currency }));

async function spend(consumer: Agent, amount: string, currency: Currency, at?: number): Promise<void> {
  const { intent_id } = expectStatus(await open(consumer, amount, currency), 201);
  await settle(world, intent_id, at);
}

const limit = (amount: string, currency: Currency, window_days = 1) => ({
  spending_limit: { amount, currency, window_days },
});

const rescope = async (consumer: Agent, scope: Json): Promise<void> => {
  expectStatus(await world.call("PATCH", `/v1/agents/${consumer.did}/scope`, { body: scope }), 200);
};

/** The settled and the open base units by currency. */
async function sumsOf(did: string): Promise<Record<string, [number, number]>> {
  const found = await rows("select currency, settled, open from spend_sums where did = ? order by currency", did);
  return Object.fromEntries(found.map(({ currency, settled, open: held }) => [currency, [settled, held]]));
}

const refusal = ({ status, body }: Reply) => [status, body.detail];

describe("an amount", () => {
  it("has the decimals of the currency's token", async () => {
    const consumer = await buyer(world);
    const euro = expectStatus(await open(consumer, "10.12345678", "EURC"), 201);
    expect(euro).toMatchObject({
      ...{ amount: "10.12345678", amount_base_units: "1012345678", decimals: 8, currency: "EURC" },
      network: EURO.network,
    });
    const dollar = expectStatus(await open(consumer, "10.123456", "USDC"), 201);
    expect(dollar).toMatchObject({ amount: "10.123456", amount_base_units: "10123456", decimals: 6 });
    for (const [amount, currency] of [
      ["10.1234567", "USDC"],
      ["10.123456789", "EURC"],
    ] as const) {
      const { status, body } = await open(consumer, amount, currency);
      expect([status, body.field_errors]).toMatchObject([422, [{ field: "amount", code: "invalid_format" }]]);
    }
    expect(await sumsOf(consumer.did)).toEqual({ EURC: [0, 1_012_345_678], USDC: [0, 10_123_456] });
  });

  it("is compared with a ceiling in whole units of its own currency", async () => {
    const consumer = await buyer(world, { max_transaction_value: "5.0000001" });
    const ceiling = { failed_check: "max_transaction_value" };
    expect(refusal(await open(consumer, "5.000001", "USDC"))).toEqual([
      403,
      { ...ceiling, limit: "5.00", attempted: "5.000001" },
    ]);
    expect(refusal(await open(consumer, "5.00000011", "EURC"))).toEqual([
      403,
      { ...ceiling, limit: "5.0000001", attempted: "5.00000011" },
    ]);
    expectStatus(await open(consumer, "5.00", "USDC"), 201);
    expectStatus(await open(consumer, "5.0000001", "EURC"), 201);
  });
});

describe("a window", () => {
  it("counts only its own currency, to the last base unit, whatever was spent and is held in the other", async () => {
    const consumer = await buyer(world);
    await spend(consumer, "900.00", "EURC");
    await spend(consumer, "4.00", "USDC");
    expectStatus(await open(consumer, "50.00", "EURC"), 201);
    await rescope(consumer, limit("10.00", "USDC"));
    expect(refusal(await open(consumer, "6.000001", "USDC"))).toEqual([
      403,
      { failed_check: "spending_limit", limit: "10.00", attempted: "6.000001", remaining: "6.00" },
    ]);
    expectStatus(await open(consumer, "6.00", "USDC"), 201);
    await rescope(consumer, limit("1000.00", "EURC"));
    expect(refusal(await open(consumer, "50.00000001", "EURC"))).toEqual([
      403,
      { failed_check: "spending_limit", limit: "1000.00", attempted: "50.00000001", remaining: "50.00" },
    ]);
    expectStatus(await open(consumer, "50.00", "EURC"), 201);
    expect(await sumsOf(consumer.did)).toEqual({
      EURC: [900 * EUROS, 100 * EUROS],
      USDC: [4 * DOLLARS, 6 * DOLLARS],
    });
  });

  it("in another currency allows no payment, and is shown with its own decimals", async () => {
    const consumer = await buyer(world, limit("1000.12345678", "EURC"));
    const detail = { failed_check: "spending_limit", limit: "1000.12345678", currency: "EURC", remaining: "0.00" };
    expect(refusal(await open(consumer, "0.000001", "USDC"))).toEqual([403, { ...detail, attempted: "0.000001" }]);
    const evaluated = await world.call("POST", `/v1/agents/${consumer.did}/spend-policy/evaluate`, {
      body: { provider_did: provider.did, amount: "1.00", currency: "USDC" },
    });
    expect(evaluated.body).toMatchObject({ allowed: false, remaining: "0.00", window_resets_at: null });
    expect(await sumsOf(consumer.did)).toEqual({});
    expectStatus(await open(consumer, "1000.12345678", "EURC"), 201);
  });

  it("admits exactly the concurrent intents that fit, and none in the other currency", async () => {
    const consumer = await buyer(world, dailyLimit("30.00"));
    const both = (["USDC", "EURC"] as const).flatMap((currency) => Array.from({ length: 8 }, () => currency));
    const replies = await Promise.all(both.map((currency) => open(consumer, "10.00", currency)));
    const admitted = both.filter((_, n) => replies[n]?.status === 201);
    expect(admitted).toEqual(["USDC", "USDC", "USDC"]);
    expect(await sumsOf(consumer.did)).toEqual({ USDC: [0, 30 * DOLLARS] });
  });

  it("of a delegator counts the spending of its delegates in each currency separately", async () => {
    const top = await buyer(world);
    const delegates = [await delegateOf(world, top), await delegateOf(world, top)];
    const [one, other] = delegates as [Agent, Agent];
    await spend(one, "7.00", "USDC");
    await spend(other, "7.00", "EURC");
    const orders = delegates.flatMap((agent) => [open(agent, "1.00", "USDC"), open(agent, "1.00", "EURC")]);
    for (const reply of await Promise.all(orders)) expectStatus(reply, 201);
    expect(await sumsOf(top.did)).toEqual({ EURC: [7 * EUROS, 2 * EUROS], USDC: [7 * DOLLARS, 2 * DOLLARS] });
    expect(await sumsOf(one.did)).toEqual({ EURC: [0, EUROS], USDC: [7 * DOLLARS, DOLLARS] });
    await rescope(top, limit("10.00", "USDC"));
    const stopped = { failed_check: "spending_limit", limit: "10.00", delegator: top.did };
    expect((await open(other, "1.000001", "USDC")).body.detail).toMatchObject({ ...stopped, remaining: "1.00" });
    expect((await open(other, "1.00", "EURC")).body.detail).toMatchObject({ ...stopped, currency: "USDC" });
    expectStatus(await open(other, "1.00", "USDC"), 201);
  });

  it("is answered by the dry run: the remaining amount, and when the first settlement in its currency leaves it", async () => {
    const consumer = await buyer(world);
    const now = world.now();
    await spend(consumer, "3.00", "EURC", now - 5_000);
    await spend(consumer, "2.00", "USDC", now - 3_000);
    await rescope(consumer, limit("10.00", "USDC"));
    const tried = async (currency: Currency): Promise<Json> => {
      const body = { provider_did: provider.did, amount: "1.00", currency };
      return (await world.call("POST", `/v1/agents/${consumer.did}/spend-policy/evaluate`, { body })).body;
    };
    const resets = new Date(now - 3_000 + DAY_MS).toISOString();
    expect(await tried("USDC")).toMatchObject({ allowed: true, remaining: "8.00", window_resets_at: resets });
    expect(await tried("EURC")).toMatchObject({ allowed: false, remaining: "0.00", window_resets_at: null });
    await rescope(consumer, limit("10.00", "EURC"));
    expect(await tried("EURC")).toMatchObject({
      allowed: true,
      remaining: "7.00",
      window_resets_at: new Date(now - 5_000 + DAY_MS).toISOString(),
    });
  });

  it("costs the same with a history in the other currency", async () => {
    const cost = async (consumer: Agent) => {
      world.meter.reset();
      expectStatus(await open(consumer, "1.00", "USDC"), 201);
      const { trips, statements, rowsRead, rowsWritten } = world.meter.reading;
      return { trips, statements, rowsRead, rowsWritten };
    };
    const [plain, both] = [await buyer(world, dailyLimit("100.00")), await buyer(world)];
    for (let n = 0; n < 5; n++) await spend(both, "1.00", "EURC");
    await rescope(both, dailyLimit("100.00"));
    for (const consumer of [plain, both]) await spend(consumer, "1.00", "USDC");
    expect(await cost(both)).toEqual(await cost(plain));
  });
});

describe("a hold", () => {
  const ended = async (): Promise<void> => {
    world.offset = ENDED_MS;
    await follow(world);
    await follow(world, EURO.network);
  };

  it("that has ended is released with the next intent of its currency, not with one of the other", async () => {
    const consumer = await buyer(world);
    expectStatus(await open(consumer, "8.00", "EURC"), 201);
    expectStatus(await open(consumer, "9.00", "USDC"), 201);
    await ended();
    expectStatus(await open(consumer, "2.00", "USDC"), 201);
    expect(await sumsOf(consumer.did)).toEqual({ EURC: [0, 8 * EUROS], USDC: [0, 2 * DOLLARS] });
    expectStatus(await open(consumer, "3.00", "EURC"), 201);
    expect(await sumsOf(consumer.did)).toEqual({ EURC: [0, 3 * EUROS], USDC: [0, 2 * DOLLARS] });
  });

  it("is released to the window of its currency by the job, even if there are many at once", async () => {
    const consumer = await buyer(world);
    await spend(consumer, "1.00", "EURC");
    for (let n = 1; n <= 8; n++) {
      expectStatus(await open(consumer, `${n}.00`, "EURC"), 201);
      expectStatus(await open(consumer, `${2 * n}.00`, "USDC"), 201);
    }
    expect(await sumsOf(consumer.did)).toEqual({ EURC: [EUROS, 36 * EUROS], USDC: [0, 72 * DOLLARS] });
    await ended();
    await world.run(abandonIntents);
    expect(await sumsOf(consumer.did)).toEqual({ EURC: [EUROS, 0], USDC: [0, 0] });
    expect(await rows("select * from spend_holds where did = ?", consumer.did)).toEqual([]);
  });
});
