// Tokens of 8 and of 18 decimals go the whole path through the service and the contract: market and registration, intent, payment, facilitation, an
// escrow that becomes ACTIVE, promotion, dispute, payout, release, and the closing of the account (HTTP-5, HTTP-6, MKT-16). An amount of 18 decimals
// fits up to about 0.009, so this network sets a base of 0.008. Only this file uses the network `lab-long`.
import { encodeFunctionData } from "viem/utils";
import { beforeEach, describe, expect, it } from "vitest";
import { DAY_MS } from "../../src/core/limits.ts";
import { close, closeLater, givePassword } from "../cascades/account-support.ts";
import { arbitrated, escrowOf, file, keepReserve, paidOutOf, payOut, read, resolve } from "../disputes/support.ts";
import { balanceOf, bookedOf, follow, heldBy, setRefundTo } from "../follower/support.ts";
import { marketsPath } from "../markets/support.ts";
import { deposit, livePrincipal, openLive, outcome, promoted, rows, under } from "../promotion/support.ts";
import { account, chainOf, networksWith, payOnChain, send } from "../support/chain.ts";
import { type Agent, createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { chainThreshold, drive } from "../vaults/support.ts";
import { asProvider, confirm, type Pair } from "./support.ts";

const PLAYS = [
  {
    ...{ network: "lab-euro", currency: "EURC", decimals: 8, base: 15e8, threshold: "15.00" },
    price: "10.00000001",
    parts: { fee_amt: "0.005", escrow_credited: "0.9995", operational_amt: "8.99550001" },
    ...{ disputed: "10.00000001", refund: "4.00", award: 5e8, shown: "5.00", bounty: "1.00" },
  },
  {
    ...{ network: "lab-long", currency: "WETH", decimals: 18, base: 8e15, threshold: "0.008" },
    price: "0.005000000000000001",
    parts: {
      ...{ fee_amt: "0.0000025", escrow_credited: "0.00049975" },
      operational_amt: "0.004497750000000001",
    },
    // The bounty is at least a whole unit and at most the disputed amount. With the refund it is capped at the gross amount.
    ...{ disputed: "0.005", refund: "0.002", award: 5_000_000_000_000_001, shown: "0.005000000000000001" },
    bounty: "0.005",
  },
] as const;

let selling: World;
let buying: World;
beforeEach(async () => {
  const NETWORKS = networksWith("lab-euro", "lab-long");
  selling = await createWorld({ NETWORKS });
  buying = await createWorld({ NETWORKS });
  await givePassword(selling);
});

const live = async (own: World, agent: Agent): Promise<Agent> =>
  under(agent, await promoted(own, agent.did, { principal_id: await livePrincipal(own) }));

describe.each(PLAYS)("a token of $decimals decimals", ({ network, currency, decimals, base, threshold, ...play }) => {
  const market = `GLOBAL-${currency}`;

  async function buy({ consumer, provider }: Pair) {
    const intent = await selling.intent(consumer, provider, play.price, { currency });
    expect(intent).toMatchObject({ network, currency, decimals, amount: play.price });
    const units = Number(intent.amount_base_units);
    expect(String(units)).toBe(intent.amount_base_units);
    const tx = await payOnChain(consumer.did, provider.did, units, { network, intentId: intent.intent_id });
    const fac = expectStatus(await asProvider(selling, { consumer, provider, intent, tx }), 200);
    expect(fac).toMatchObject({ gross_amt: play.price, currency, ...play.parts });
    return { consumer, provider, intent, tx, fac, task: fac.task_id };
  }
  const shownOf = async ({ did }: Agent): Promise<Json> =>
    expectStatus(await selling.call("GET", `/v1/agents/${did}/aid`, { key: null }), 200).escrow.liability_profile;

  it("is offered, paid, disputed and paid out, and leaves an empty vault and a closed account", async () => {
    const provider = await selling.agent("PROVIDER");
    const { did } = provider;
    await openLive(selling, did, network, market);
    expect(await chainThreshold(did, network)).toBe(base);
    const ask = { markets: [{ market, network, operational_wallet: account(8) }] };
    expectStatus(await selling.call("POST", marketsPath(did), { body: ask }), 200);

    // The first purchase, in the sandbox, while the provider funds its escrow.
    const first = await buy({ consumer: await buying.consumer(), provider });
    const held = await heldBy(did, network);
    expect(await shownOf(provider)).toMatchObject({
      ...{ escrow_state: "FUNDING", total_balance: play.parts.escrow_credited, effective_threshold: threshold },
    });
    await deposit(did, base - held, network);
    await follow(selling, network);
    expect(await shownOf(provider)).toMatchObject({ escrow_state: "ACTIVE", total_balance: threshold });
    expectStatus(await confirm(buying, first.consumer, first.task), 200);

    // The second purchase, in production, from a full vault.
    await deposit(did, held, network);
    await follow(selling, network);
    const pair = { provider: await live(selling, provider), consumer: await live(buying, await buying.consumer()) };
    const intent = await selling.intent(pair.consumer, pair.provider, play.price, { currency });
    const units = Number(intent.amount_base_units);
    const tx = await payOnChain(pair.consumer.did, did, units, { network, intentId: intent.intent_id });
    const fac = expectStatus(await asProvider(selling, { ...pair, intent, tx }), 200);
    const bought = { ...pair, intent, tx, fac, task: fac.task_id };
    await follow(selling, network);
    const filed = expectStatus(await file(buying, bought, { disputed_amount: play.disputed }), 201);
    const id = filed.dispute_id;
    expect(filed).toMatchObject({ disputed_amount: play.disputed, bounty_amount: play.bounty });
    await arbitrated(selling, { ...bought, id });
    expectStatus(await resolve(selling, id, { resolution: "partially_upheld", refund_amount: play.refund }), 200);
    const before = [await heldBy(did, network), await balanceOf(account(9), network)] as const;
    expect(await payOut(selling, id, network)).toBe(true);
    expect(await keepReserve(selling, did, network)).toBe(true);
    await follow(selling, network);
    expect(await paidOutOf(did, network)).toEqual([play.award]);
    expect(before[0] - (await heldBy(did, network))).toBe(play.award);
    expect((await balanceOf(account(9), network)) - before[1]).toBe(play.award);
    expect(await read(buying, bought.consumer, id)).toMatchObject({
      ...{ refund_status: "paid", paid_from_vault: play.shown, currency },
    });
    expect(await escrowOf(did)).toMatchObject({ disputed: 0, owed: 0 });

    // The provider leaves, and its account closes.
    expect(outcome(await close(selling))).toEqual([409, "close_blocked_escrow"]);
    // Its sandbox market ended with the promotion.
    const own = `${marketsPath(did)}/${market}?network=${network}`;
    expectStatus(await selling.call("DELETE", own, { key: selling.liveKey }), 204);
    selling.advance(15 * DAY_MS);
    expect(await drive(did, selling, network)).toBe(true);
    await follow(selling, network);
    expect([await heldBy(did, network), await chainThreshold(did, network)]).toEqual([0, 0]);
    expect((await bookedOf(did)).at(-1)?.[2]).toBe(0);
    expectStatus(await closeLater(selling), 200);
  });
});

const LONG = "lab-long";
const [PAYER, ELSEWHERE] = [account(9), `0x${"e15e".padStart(40, "0")}`];
const blacklistAbi = [
  {
    type: "function",
    name: "setBlacklisted",
    stateMutability: "nonpayable",
    inputs: [
      { name: "account", type: "address" },
      { name: "to", type: "bool" },
    ],
    outputs: [],
  },
] as const;
const blacklist = (isListed: boolean) => {
  const args = [PAYER as `0x${string}`, isListed] as const;
  const data = encodeFunctionData({ abi: blacklistAbi, functionName: "setBlacklisted", args });
  return send(LONG, account(8), chainOf(LONG).token, data);
};

describe("an award to an address that the token refuses", () => {
  it("stays owed, and is paid once to the address to which the arbiter redirects it", async () => {
    const [provider, consumer] = [await selling.provider({}, "GLOBAL-WETH", LONG), await buying.consumer()];
    await deposit(provider.did, 8e15, LONG);
    await follow(selling, LONG);
    const intent = await buying.intent(consumer, provider, "0.005", { currency: "WETH" });
    const tx = await payOnChain(consumer.did, provider.did, 5e15, { network: LONG, intentId: intent.intent_id });
    const fac = expectStatus(await asProvider(selling, { consumer, provider, intent, tx }), 200);
    const bought = { consumer, provider, intent, tx, fac, task: fac.task_id };
    await follow(selling, LONG);
    const { dispute_id: id } = expectStatus(await file(buying, bought, { disputed_amount: "0.005" }), 201);
    await arbitrated(selling, { ...bought, id });
    expectStatus(await resolve(selling, id, { resolution: "upheld" }), 200);
    await blacklist(true);
    try {
      expect(await payOut(selling, id, LONG)).toBe(true);
      expect(await read(buying, consumer, id)).toMatchObject({ refund_status: "owed", paid_from_vault: "0.00" });
      expect((await rows("select kind from alerts where subject = ?", `${id} on ${LONG}`))[0]).toEqual({
        kind: "award",
      });
      await setRefundTo(fac.transaction_id, ELSEWHERE, LONG);
      await follow(selling, LONG);
      for (const _ of [1, 2]) expect(await payOut(selling, id, LONG)).toBe(true);
    } finally {
      await blacklist(false);
    }
    await follow(selling, LONG);
    expect(await read(buying, consumer, id)).toMatchObject({ refund_status: "paid", paid_from_vault: "0.005" });
    expect([await paidOutOf(provider.did, LONG), await balanceOf(ELSEWHERE, LONG)]).toEqual([[5e15], 5e15]);
  });
});
