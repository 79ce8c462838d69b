// Two tokens of different currencies and decimals go the whole path between the same two agents: market, intent, payment by the contract of each
// network, facilitation, task, escrow, document and reports. No view adds one currency to the other (HTTP-6).
import { beforeAll, describe, expect, it } from "vitest";
import { computeBaseThreshold, computeEscrowThreshold } from "../../src/escrow/threshold.ts";
import { report } from "../agents/reports-support.ts";
import { readAgent } from "../agents/support.ts";
import { follow } from "../follower/support.ts";
import { EURO, TWO_CURRENCIES } from "../payments/two-currencies.ts";
import { deposit, rows } from "../promotion/support.ts";
import { account, payOnChain } from "../support/chain.ts";
import { type Agent, createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { asProvider, confirm, type Paid, type Pair } from "./support.ts";

const DOLLAR = { network: "base-sepolia", market: "GLOBAL-USDC", currency: "USDC" } as const;
type Money = typeof DOLLAR | typeof EURO;
const DECIMALS = { USDC: 6, EURC: 8 } as const;
const THRESHOLD = { USDC: 15 * 10 ** 6, EURC: 15 * 10 ** 8 } as const;

let world: World;
let pair: Pair;
beforeAll(async () => {
  world = await createWorld({ NETWORKS: TWO_CURRENCIES });
  pair = { consumer: await world.consumer(), provider: await sellerOfBoth() };
});

async function sellerOfBoth(): Promise<Agent> {
  const agent = await world.agent("PROVIDER");
  const markets = [DOLLAR, EURO].map(({ market, network }) => ({ market, network, operational_wallet: account(8) }));
  const reply = await world.call("POST", `/v1/agents/${agent.did}/scope/authorized_markets`, { body: { markets } });
  const opened = expectStatus(reply, 200).markets.map(({ market, status }: Json) => `${market} ${status}`);
  expect(opened.sort()).toEqual(["GLOBAL-EURC ACTIVE", "GLOBAL-USDC ACTIVE"]);
  return agent;
}

async function pay({ consumer, provider }: Pair, { currency, network }: Money, amount: string): Promise<Paid> {
  const intent = await world.intent(consumer, provider, amount, { currency });
  expect(intent).toMatchObject({ network, currency, decimals: DECIMALS[currency] });
  const units = Number(intent.amount_base_units);
  const tx = await payOnChain(consumer.did, provider.did, units, { network, intentId: intent.intent_id });
  return { consumer, provider, intent, tx };
}

async function buy(of: Pair, money: Money, amount: string): Promise<Json> {
  return expectStatus(await asProvider(world, await pay(of, money, amount)), 200);
}

const aidOf = async (did: string): Promise<Json> =>
  expectStatus(await world.call("GET", `/v1/agents/${did}/aid`, { key: null }), 200);

/** The contract's split: 5 hundredths of a percent as the fee, and a tenth of the rest for the escrow. */
const PARTS = {
  USDC: { gross_amt: "10.00", fee_amt: "0.005", escrow_credited: "0.9995", operational_amt: "8.9955" },
  EURC: {
    gross_amt: "20.12345678",
    fee_amt: "0.01006172",
    escrow_credited: "2.0113395",
    operational_amt: "18.10205556",
  },
} as const;

describe("two currencies between the same two agents", () => {
  let bought: Record<"USDC" | "EURC", Json>;
  beforeAll(async () => {
    const limited = (currency: string, amount: string) =>
      world.call("PATCH", `/v1/agents/${pair.consumer.did}/scope`, {
        body: { spending_limit: { amount, currency, window_days: 7 } },
      });
    expectStatus(await limited("EURC", "20.12345678"), 200);
    const euro = await buy(pair, EURO, PARTS.EURC.gross_amt);
    expectStatus(await limited("USDC", "10.00"), 200);
    bought = { EURC: euro, USDC: await buy(pair, DOLLAR, PARTS.USDC.gross_amt) };
  });

  it("settle with the split of the contract, in the decimals of each token", () => {
    for (const currency of ["USDC", "EURC"] as const) {
      const credited = PARTS[currency].escrow_credited;
      expect(bought[currency]).toMatchObject({
        ...{ currency, ...PARTS[currency] },
        ...{ escrow_state: "FUNDING", escrow_balance: credited },
      });
    }
  });

  it("count in separate windows", async () => {
    const sums = await rows(
      "select currency, settled, open from spend_sums where did = ? order by currency",
      pair.consumer.did,
    );
    expect(sums).toEqual([
      { currency: "EURC", settled: 2_012_345_678, open: 0 },
      { currency: "USDC", settled: 10_000_000, open: 0 },
    ]);
    const body = { consumer_did: pair.consumer.did, provider_did: pair.provider.did, amount: "0.000001" };
    const over = await world.as(pair.consumer, "POST", "/v1/payment-intents", { ...body, currency: "USDC" });
    expect([over.status, over.body.detail]).toMatchObject([403, { limit: "10.00", remaining: "0.00" }]);
  });

  it("are each listed in their own currency: transactions, tasks and events of both sides", async () => {
    for (const { did } of [pair.consumer, pair.provider]) {
      const { data: settled } = await report(world, did, "transactions");
      expect(settled).toMatchObject([
        { currency: "USDC", network: DOLLAR.network, ...PARTS.USDC },
        { currency: "EURC", network: EURO.network, ...PARTS.EURC },
      ]);
      const { data: tasks } = await report(world, did, "tasks");
      const amounts = tasks.map(({ currency, gross_amt }: Json) => [currency, gross_amt]).sort();
      expect(amounts).toEqual([
        ["EURC", PARTS.EURC.gross_amt],
        ["USDC", PARTS.USDC.gross_amt],
      ]);
      const { data: events } = await report(world, did, "events");
      const told = events.filter(({ type }: Json) => type === "transaction.settled");
      expect(told.map(({ data }: Json) => data.object)).toMatchObject([PARTS.USDC, PARTS.EURC]);
    }
  });

  it("have separate escrows, which the agent, its overview and its document do not add up", async () => {
    const shown = (["USDC", "EURC"] as const).map((currency) => ({
      ...{ currency, balance: PARTS[currency].escrow_credited, threshold: "15.00", state: "FUNDING" },
    }));
    const byNetwork = (escrows: Json[]) => escrows.toSorted((a, b) => (a.network < b.network ? -1 : 1));
    expect(byNetwork((await readAgent(world, pair.provider.did)).escrow)).toMatchObject(shown);
    expect(byNetwork((await report(world, pair.provider.did, "overview")).escrow)).toMatchObject(shown);
    const { escrow } = await aidOf(pair.provider.did);
    const [dollars, euros] = (["USDC", "EURC"] as const).map((currency) => ({
      ...{ total_balance: PARTS[currency].escrow_credited, effective_threshold: "15.00" },
      ...{ escrow_state: "FUNDING", currency },
    }));
    expect(escrow.liability_profiles).toEqual([dollars, euros]);
    expect(escrow.liability_profile).toEqual(dollars);
    expect(escrow.wallets.map(({ market }: Json) => market).sort()).toEqual(["GLOBAL-EURC", "GLOBAL-USDC"]);
  });

  it("give both agents a volume in each currency, even if their tasks are closed at once, and thresholds by one rating", async () => {
    const tasks = [bought.USDC, bought.EURC].map(({ task_id }) => task_id);
    const replies = await Promise.all(tasks.map((task) => confirm(world, pair.consumer, task)));
    for (const reply of replies) expectStatus(reply, 200);
    for (const { did } of [pair.consumer, pair.provider]) {
      const { performance } = await aidOf(did);
      expect(performance.settled_volume).toEqual([
        { currency: "EURC", amount: PARTS.EURC.gross_amt },
        { currency: "USDC", amount: PARTS.USDC.gross_amt },
      ]);
      const overview = await report(world, did, "overview");
      expect(overview.performance.settled_volume).toEqual(performance.settled_volume);
    }
    const { performance, escrow } = await aidOf(pair.provider.did);
    const hundredths = computeEscrowThreshold(computeBaseThreshold({ decimals: 2 }), performance.agent_rating);
    const thresholds = escrow.liability_profiles.map((profile: Json) => Number(profile.effective_threshold) * 100);
    expect(performance.agent_rating).toBeGreaterThan(0.5);
    expect(thresholds.map(Math.round)).toEqual([hundredths, hundredths]);
  });
});

describe("the escrow of a document", () => {
  const statesOf = ({ liability_profiles }: Json) =>
    liability_profiles.map(({ currency, escrow_state, total_balance }: Json) => [
      currency,
      escrow_state,
      total_balance,
    ]);
  const funded = async (did: string, { network, currency }: Money) => {
    await deposit(did, THRESHOLD[currency], network);
    await follow(world, network);
  };

  it("is that of the currency in the worst state, and only its own token funds a currency", async () => {
    const { did } = await sellerOfBoth();
    await funded(did, DOLLAR);
    const first = await aidOf(did);
    expect(statesOf(first.escrow)).toEqual([
      ["USDC", "ACTIVE", "15.00"],
      ["EURC", "FUNDING", "0.00"],
    ]);
    expect(first.escrow.liability_profile).toMatchObject({ currency: "EURC", escrow_state: "FUNDING" });
    const status = await world.call("GET", `/v1/agents/${did}/status`, { key: null });
    expect(status.body.escrow_state).toBe("FUNDING");
    await funded(did, EURO);
    const { escrow } = await aidOf(did);
    expect(statesOf(escrow)).toEqual([
      ["USDC", "ACTIVE", "15.00"],
      ["EURC", "ACTIVE", "15.00"],
    ]);
    expect(escrow.liability_profile).toEqual(escrow.liability_profiles[0]);
  });
});

describe("a payment", () => {
  it("with as many base units as the other token would need has another amount", async () => {
    const fresh = { ...pair, consumer: await world.consumer() };
    const intent = await world.intent(fresh.consumer, fresh.provider, "10.00", { currency: "EURC" });
    const named = { network: EURO.network, intentId: intent.intent_id };
    const tx = await payOnChain(fresh.consumer.did, fresh.provider.did, 10_000_000, named);
    const { status, body } = await asProvider(world, { ...fresh, intent, tx });
    expect([status, body.code, body.detail]).toMatchObject([
      409,
      "amount_mismatch",
      { expected: "10.00", settled: "0.10" },
    ]);
  });
});

describe("a sum in a currency that is not configured", () => {
  it("is not shown by any view", async () => {
    const { did } = await world.consumer();
    await rows(
      "update agents set settled_volumes = ?, revision = revision + 1 where did = ?",
      JSON.stringify({ GBPC: 5 }),
      did,
    );
    const { status, body } = await world.call("GET", `/v1/agents/${did}/aid`, { key: null });
    expect([status, body.code]).toEqual([500, "internal_error"]);
    const overview = await world.call("GET", `/v1/agents/${did}/overview`);
    expect([overview.status, overview.body.code]).toEqual([500, "internal_error"]);
    expect(overview.body.message).not.toContain("GBPC");
  });
});
