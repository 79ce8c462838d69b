// The follower's message: the cost of reading a chain without news, and the cost of each movement and each payment.
import type { Case } from "../case.ts";
import { depositFor, setThresholdFor } from "../payer.ts";
import {
  agent,
  agentPath,
  follow,
  followAsk,
  manage,
  openAndPay,
  openProvider,
  type Play,
  type PlayedAgent,
} from "../play.ts";
import type { Ask } from "../wire.ts";

/** Starts the comparison of vaults from the first, so that each run compares the same number: all that have a turn. */
async function followFromFirst(play: Play): Promise<Ask> {
  await play.stage.sql([{ sql: "update followers set checked_did = ''" }]);
  return followAsk(play);
}

const UNIT = 1n;
const MANY = 10;

/** Opens providers whose vaults no other case moves. */
const sellers = (play: Play, count: number) =>
  Promise.all(Array.from({ length: count }, () => openProvider(play.stage, play.principalId)));

const deposits = (count: number) => async (play: Play) => {
  const closed = await sellers(play, count);
  await follow(play);
  for (const { did } of closed) await depositFor(play.network, did, UNIT);
  return followFromFirst(play);
};

/** Deposits into a vault with a long history; the others of this file have none. */
const depositMore = (count: number) => async (play: Play) => {
  await follow(play);
  for (let i = 0; i < count; i++) await depositFor(play.network, play.provider.did, UNIT);
  return followFromFirst(play);
};

/** Prepares a platform's call that books a deposit at once. */
async function prepareSync(play: Play) {
  const [seller] = await sellers(play, 1);
  if (!seller) throw new Error("unreachable: one was asked for");
  await follow(play);
  await depositFor(play.network, seller.did, UNIT);
  return manage(play.stage, "POST", `${agentPath(seller.did)}/escrow/sync`);
}

/** Prepares the release from a vault that holds more than its threshold, all of it booked. */
async function prepareRelease(play: Play) {
  const [seller] = await sellers(play, 1);
  if (!seller) throw new Error("unreachable: one was asked for");
  await depositFor(play.network, seller.did, RICH);
  await follow(play);
  return manage(play.stage, "POST", `${agentPath(seller.did)}/escrow/release`, { network: play.network.network });
}
const RICH = 20_000_000n;

type Seller = (play: Play) => PlayedAgent | Promise<PlayedAgent>;
const busySeller: Seller = ({ provider }) => provider;
const newSeller: Seller = ({ stage, principalId }) => openProvider(stage, principalId);

/** Pays as a consumer of its own, because payments without a facilitation stay open. */
const payments =
  (count: number, sellerOf: Seller = newSeller) =>
  async (play: Play) => {
    const { stage, principalId } = play;
    const consumer = await agent(stage, stage.platform, "CONSUMER", principalId);
    const pair = { consumer, provider: await sellerOf(play) };
    await follow(play);
    for (let i = 0; i < count; i++) await openAndPay(play, pair);
    return followFromFirst(play);
  };

/** Sets a threshold with the registrar's key, bypassing the service. */
async function prepareKeyAct(play: Play) {
  const [seller] = await sellers(play, 1);
  if (!seller) throw new Error("unreachable: one was asked for");
  await follow(play);
  await setThresholdFor(play.network, seller.did, 8_000_000n);
  return followFromFirst(play);
}

const route = "message follow_chain";
/** The vaults that a run compares with their lines differ, so the budget holds at each size of the history, and sizes are not compared. */
const turns = { route, status: 200, filling: true } as const;
export const FOLLOWER_CASES: readonly Case[] = [
  {
    route,
    status: 200,
    ask: async (play) => {
      await follow(play);
      return followFromFirst(play);
    },
  },
  { route, variant: "a deposit", status: 200, ask: deposits(1) },
  { route, variant: "ten deposits", status: 200, ask: deposits(MANY) },
  { route, variant: "a payment", status: 200, ask: payments(1) },
  { route, variant: "ten payments", status: 200, ask: payments(MANY) },
  { route, variant: "an act of a key", status: 200, ask: prepareKeyAct },
  { route: "POST /v1/agents/{did}/escrow/sync", status: 200, ask: prepareSync },
  { route: "POST /v1/agents/{did}/escrow/release", status: 200, ask: prepareRelease },

  { ...turns, variant: "a deposit, with a long ledger", ask: depositMore(1) },
  { ...turns, variant: "ten deposits, with a long ledger", ask: depositMore(MANY) },
  { ...turns, variant: "a payment, with a long ledger", ask: payments(1, busySeller) },
  { ...turns, variant: "ten payments, with a long ledger", ask: payments(MANY, busySeller) },
];
