// Plays of the follower: changes of a vault on the chain, and what the service records of them.

import { eq } from "drizzle-orm";
import { encodeFunctionData } from "viem/utils";
import { settlementAbi } from "../../../scripts/chain/abi.ts";
import { hashDid } from "../../../src/chain/hashes.ts";
import { requestOperation } from "../../../src/chain/store.ts";
import { agentMarkets } from "../../../src/db/tables/agents.ts";
import { followers } from "../../../src/db/tables/chain.ts";
import { ledgerLines, paymentIntents, transactions } from "../../../src/db/tables/money.ts";
import { spendHolds } from "../../../src/db/tables/spending.ts";
import { failUnpaidRefunds } from "../../../src/follower/refunds.ts";
import { noteBound } from "../../../src/follower/store.ts";
import { releaseKey } from "../../../src/vaults/exit.ts";
import { act, file } from "../../disputes/support.ts";
import { ageWallets, confirm, facilitated, type Pair, paid } from "../../facilitation/support.ts";
import {
  expectRefund,
  moveWallet,
  refundOf,
  releaseSurplus,
  settlementOf,
  transferTo,
} from "../../follower/support.ts";
import { deposit, rows } from "../../promotion/support.ts";
import { account, asRole, chainOf, payOnChain, rpc, send, vaultOf } from "../../support/chain.ts";
import { REGISTRAR } from "../../support/lab.ts";
import type { World } from "../../support/world.ts";
import { openAs, pairOf, partiesOf } from "./purchases.ts";
import {
  follow,
  HOUR,
  MINUTE,
  marketsOf,
  marketWith,
  must,
  NETWORK,
  ofAgent,
  ofNobody,
  type Play,
  type Plays,
  type Stage,
  store,
} from "./stage.ts";

export const THRESHOLD = 15_000_000;

/** A provider that the contract knows; everything before it is booked. */
export async function provider(world: World): Promise<string> {
  const { did } = await world.provider();
  await follow(world);
  return did;
}

/** A provider in production, promoted before its escrow is funded. */
export async function waiting(world: World): Promise<string> {
  const { did } = await world.agent("PROVIDER");
  await must(200, world.call("POST", marketsOf(did), { key: world.liveKey, body: marketWith(account(8)) }));
  const body = { environment: "production" };
  await must(200, world.call("POST", `/v1/agents/${did}/environment`, { key: world.liveKey, body }));
  return did;
}

/** `units` have been paid into its vault, and are not read yet. */
export const paidIn = (prepare: (world: World) => Promise<string>, units: number) => async (world: World) => {
  const did = await prepare(world);
  await deposit(did, units, NETWORK);
  return did;
};

/** The provider's wallet has named another one in the contract, which is not read yet. `asked`: the market waits for that. */
const walletMoved = (asked: boolean) => async (world: World) => {
  const did = await provider(world);
  const wallet = account(7).toLowerCase();
  const pending = { pendingWallet: wallet, pendingUntil: Date.now() + HOUR, pendingNonce: 1 };
  if (asked) await store(world, (db) => [db.update(agentMarkets).set(pending).where(eq(agentMarkets.did, did))]);
  await moveWallet(did, account(8), wallet);
  return did;
};

/** A booked deposit and its release, whose transaction was not recorded. */
async function releasedUnnoted(world: World): Promise<string> {
  const did = await paidIn(provider, THRESHOLD + 1)(world);
  await follow(world);
  await store(world, (db) => requestOperation(db, releaseKey({ did, network: NETWORK }), { asked: "yes" }, Date.now()));
  await releaseSurplus(did);
  return did;
}

/** A key of the service has called the contract directly, and the call is not read yet. */
const actedBy = (key: string, functionName: "setReserve" | "setThreshold") => async (world: World) => {
  const did = await provider(world);
  const args = [hashDid(did), chainOf(NETWORK).token as `0x${string}`, BigInt(THRESHOLD / 2)] as const;
  const call = asRole(NETWORK, encodeFunctionData({ abi: settlementAbi, functionName, args }));
  await send(NETWORK, key, call.to, call.data);
  return did;
};

/** A transfer past the contract, which the next event reveals. */
async function transferred(world: World): Promise<string> {
  const did = await provider(world);
  await transferTo(await vaultOf(did, NETWORK), 2, NETWORK);
  await deposit(did, 1, NETWORK);
  return did;
}

/** A ledger line that holds more than the vault, as if something had been taken out past the contract. */
async function robbed(world: World): Promise<string> {
  const did = await paidIn(provider, 2)(world);
  await follow(world);
  await store(world, (db) => [
    db.update(ledgerLines).set({ held: 3 }).where(eq(ledgerLines.did, did)),
    // Its turn to be compared has come, because its blocks were read again.
    db
      .update(followers)
      .set({ checkedDid: did.slice(0, -1), rereadFor: `line 1 of ${did}` })
      .where(eq(followers.network, NETWORK)),
  ]);
  return did;
}

/** An open intent between two platforms, and its payment, which is not read yet. */
const paidFor: Play = async (stage) => {
  const purchase = await paid(stage.world, await pairOf(stage));
  return async () => {
    await follow(stage.world);
    return partiesOf(purchase);
  };
};

const spoilt: Play = async (stage) => {
  const pair = await pairOf(stage);
  const { intent_id: intentId } = await openAs(stage.world, pair, "consumer");
  const from = account(8);
  await ageWallets(pair.provider.did);
  await payOnChain(pair.consumer.did, pair.provider.did, 10_000_000, { intentId, from });
  return async () => {
    await follow(stage.world);
    return partiesOf(pair);
  };
};

/** The intent is bound to a payment in the next block, which has none. `then`: what the next blocks contain. */
const takenAway =
  (then: (purchase: Pair, intentId: string) => Promise<unknown>): Play =>
  async (stage) => {
    const { world } = stage;
    const pair = await pairOf(stage);
    const { intent_id: intentId } = await openAs(world, pair, "consumer");
    await follow(world);
    const [at] = await world.deps.db.select().from(followers).where(eq(followers.network, NETWORK));
    if (!at) throw new Error("the network was never read");
    const payment = {
      paymentTx: "0xgone",
      paymentLog: 0,
      paymentBlock: at.bookedBlock + 1,
      paidAt: at.bookedAt + MINUTE,
    };
    await store(world, (db) => [
      db
        .update(paymentIntents)
        .set({ status: "PAID", ...payment })
        .where(eq(paymentIntents.intentId, intentId)),
      db.update(spendHolds).set({ expiresAt: Number.MAX_SAFE_INTEGER }).where(eq(spendHolds.intentId, intentId)),
      noteBound(db, NETWORK, intentId),
    ]);
    await then(pair, intentId);
    return async () => {
      await follow(world);
      return partiesOf(pair);
    };
  };
const nothing = () => rpc(NETWORK, "evm_mine", []);
const another = ({ consumer, provider: shop }: Pair, intentId: string) =>
  payOnChain(consumer.did, shop.did, 10_000_000, { intentId });

/** A purchase that was facilitated and booked in a block that the chain does not have. `elsewhere`: its payment is in another block. */
const reversed =
  (
    amount: string,
    elsewhere: boolean,
    then: (world: World, of: Bought) => Promise<unknown> = async () => undefined,
  ): Play =>
  async (stage) => {
    const { world } = stage;
    const purchase = await facilitated(world, await pairOf(stage), amount);
    await then(world, purchase);
    await follow(world);
    const gone = { blockHash: "0xgone", ...(!elsewhere && { txHash: `0x${"de".repeat(32)}` }) };
    await store(world, (db) => [
      db.update(transactions).set(gone).where(eq(transactions.transactionId, purchase.fac.transaction_id)),
      // Makes the follower compare the receipts again.
      db.update(followers).set({ checkedReceipt: 0 }).where(eq(followers.network, NETWORK)),
    ]);
    return async () => {
      await follow(world);
      return partiesOf(purchase);
    };
  };
type Bought = Awaited<ReturnType<typeof facilitated>>;
const confirmed = (world: World, { consumer, task }: Bought) =>
  must(200, confirm(world, consumer, task, { outcome: "confirmed" }));

const conceded = async (world: World, bought: Bought) => {
  const { dispute_id: id } = await must(201, file(world, bought));
  await must(200, act(world, bought.provider, id, "concede"));
};

/** Refunds a settlement that was facilitated and booked. */
const givenBack: Play = async (stage) => {
  const settled = await facilitated(stage.world, await pairOf(stage));
  await follow(stage.world);
  await refundOf(settled.fac.transaction_id, 1_000);
  return async () => {
    await follow(stage.world);
    return partiesOf(settled);
  };
};

/** A settlement that was facilitated and booked, with a refund that is awaited until `until`. */
const owed = async (stage: Stage, until: number) => {
  const settled = await facilitated(stage.world, await pairOf(stage));
  const { transaction_id: id } = settled.fac;
  await follow(stage.world);
  await expectRefund(stage.world, await settlementOf(id), 1_000, until);
  return { settled, id };
};

const givenBackInTime: Play = async (stage) => {
  const { settled, id } = await owed(stage, Date.now() + HOUR);
  await refundOf(id, 1_000);
  return async () => {
    await follow(stage.world);
    return partiesOf(settled);
  };
};

const notGivenBack: Play = async (stage) => {
  const { world } = stage;
  const { settled } = await owed(stage, Date.now() - HOUR);
  return async () => {
    await world.run(failUnpaidRefunds);
    return partiesOf(settled);
  };
};

/** A slow node may need another run to answer. */
async function compare(world: World, did: string): Promise<void> {
  for (let run = 0; run < 3 && (await rows("select * from ledger_differences where did = ?", did)).length === 0; run++)
    await follow(world);
}

export const FOLLOWER_PLAYS: Plays = {
  follow_chain: {
    "nothing has moved a vault": ofNobody(async (world) => {
      await follow(world);
      await rpc(NETWORK, "evm_mine", []);
    }, follow),
    "a deposit that changes no state": ofAgent(paidIn(provider, 1), follow),
    "a deposit that funds the escrow": ofAgent(paidIn(provider, THRESHOLD), follow),
    "a deposit that funds an agent in FUNDING": ofAgent(paidIn(waiting, THRESHOLD), follow),
    "a payment of an open intent": paidFor,
    "a payment by the provider itself used up an intent's key": spoilt,
    "a reorg removed the payment": takenAway(nothing),
    "a reorg replaced the payment with another one": takenAway(another),
    "a facilitated settlement is gone": reversed("10.00", false),
    "a facilitated settlement is gone after its task was confirmed": reversed("10.00", false, confirmed),
    "a facilitated settlement is gone after its dispute was conceded": reversed("10.00", false, conceded),
    "a facilitated settlement is in another block": reversed("10.00", true),
    "a provider pays a refund": givenBack,
    "a provider pays an awaited refund": givenBackInTime,
    "the contract got another wallet, which a market has requested": ofAgent(walletMoved(true), follow),
    "the contract got a wallet that no market has requested": ofAgent(walletMoved(false), follow),
    "a release whose transaction was not recorded": ofAgent(releasedUnnoted, follow),
    "a vault received something without an event of the contract": ofAgent(transferred, follow),
    "a vault holds less than its lines say": ofAgent(robbed, compare),
    "a key did what neither the service nor its configuration requested": ofAgent(
      actedBy(account(2), "setReserve"),
      follow,
    ),
    "a key set a threshold that the service did not request": ofAgent(actedBy(REGISTRAR, "setThreshold"), follow),
  },
  fail_unpaid_refunds: {
    "the chain was read past the end of the wait for the refund": notGivenBack,
  },
};
