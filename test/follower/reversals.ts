// Purchases on a lab's chain whose blocks a reorg removes, for the tests of reversals (FAC-18). Payments need three confirmations.
import { afterEach, beforeAll, beforeEach } from "vitest";
import { asConsumer, type Paid, type Pair } from "../facilitation/support.ts";
import { rows } from "../promotion/support.ts";
import { networksWith, payOnChain, spoil } from "../support/chain.ts";
import { labOf } from "../support/lab.ts";
import { type Agent, createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { follow } from "./support.ts";

export const UNIT = 1_000_000;
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

export type Signed = Paid & { readonly signed: string };
export type Settled = Signed & { readonly fac: Json; readonly id: string; readonly task: string };

export type Reversals = Awaited<ReturnType<typeof openReversals>>;

/** Opens the lab for the tests of a file, and passes it to `set`. */
export function useReversals(network: string, set: (chain: Reversals) => void): void {
  let chain: Reversals;
  beforeAll(async () => {
    chain = await openReversals(network);
    set(chain);
  });
  beforeEach(() => chain.begin());
  afterEach(() => chain.end());
}

/** A world whose purchases are made on a lab's chain. */
async function openReversals(network: string) {
  const world: World = await createWorld({ NETWORKS: networksWith(network) });
  const { lab, mine } = labOf(network);
  const followed = () => follow(world, network);
  const provider = (overrides: Json = {}) => world.provider(overrides, "GLOBAL-USDC", network);
  const pairOf = async (consumer?: Agent): Promise<Pair> => ({
    consumer: consumer ?? (await world.consumer()),
    provider: await provider(),
  });

  async function paid(pair: Pair, amount = "10.00", named = true): Promise<Signed> {
    const intent = await world.intent(pair.consumer, pair.provider, amount, { network });
    const options = { network, ...(named && { intentId: intent.intent_id }) };
    const tx = await payOnChain(pair.consumer.did, pair.provider.did, Number(intent.amount_base_units), options);
    return { ...pair, intent, tx, signed: await lab("debug_getRawTransaction", tx) };
  }

  async function facilitated(pair: Pair, amount = "10.00", named = true): Promise<Settled> {
    const purchase = await paid(pair, amount, named);
    await mine(3);
    const fac = expectStatus(await asConsumer(world, purchase), 200);
    return { ...purchase, fac, id: fac.transaction_id, task: fac.task_id };
  }

  /** Removes the payment's block and later ones, and mines others in their place. */
  async function takeAway({ tx }: Pick<Paid, "tx">): Promise<void> {
    const { blockNumber } = await lab("eth_getTransactionReceipt", tx);
    const behind = Number(await lab("eth_blockNumber")) - Number(blockNumber);
    await lab("anvil_rollback", behind + 1);
    await mine(behind + 3);
  }

  /** The payment gets a block of its own, because two that wait together are mined in the order of their fees. */
  async function sendAgain({ signed }: Pick<Signed, "signed">): Promise<void> {
    await lab("evm_setAutomine", false);
    await lab("eth_sendRawTransaction", signed);
    await mine(1);
    await lab("evm_setAutomine", true);
  }

  /** Mines the payment, and confirms it. */
  async function bringBack(purchase: Signed): Promise<void> {
    await sendAgain(purchase);
    await mine(3);
  }

  /** Removes the payment's block, and mines the payment in a later one. */
  async function moveOn(purchase: Signed): Promise<void> {
    await lab("evm_setAutomine", false);
    await takeAway(purchase);
    await bringBack(purchase);
  }

  type Mined = { readonly block: number; readonly time: number; readonly signed: string };

  /** All transactions from this one on, in the order of the chain. */
  async function minedSince(tx: string): Promise<Mined[]> {
    const { blockNumber } = await lab("eth_getTransactionReceipt", tx);
    const mined: Mined[] = [];
    for (let block = Number(blockNumber); block <= Number(await lab("eth_blockNumber")); block++) {
      const { transactions, timestamp } = await lab("eth_getBlockByNumber", `0x${block.toString(16)}`, false);
      for (const hash of transactions)
        mined.push({ block, time: Number(timestamp), signed: String(await lab("debug_getRawTransaction", hash)) });
    }
    return mined;
  }

  /** Mines them again in blocks of their old instants, by which the contract knows a settlement. Other blocks follow them. */
  async function mineAgain(mined: readonly Mined[]): Promise<void> {
    const [first] = mined;
    if (!first) return;
    const behind = Number(await lab("eth_blockNumber")) - first.block;
    await lab("evm_setAutomine", false);
    await lab("anvil_rollback", behind + 1);
    for (const { time, signed } of mined) {
      await lab("evm_setNextBlockTimestamp", time);
      await lab("eth_sendRawTransaction", signed);
      await mine(1);
    }
    await lab("evm_setAutomine", true);
    await mine(behind + 3);
  }

  /** Before a test: real time, and a booked block that stays. */
  async function begin(): Promise<void> {
    world.offset = 0;
    await mine(3);
    await followed();
  }

  /** After a test: the node makes no faults, and each transaction gets a block. */
  async function end(): Promise<void> {
    await spoil(network);
    await lab("evm_setAutomine", true);
  }

  /** Makes the node answer every request for a receipt with this one. */
  const spoilReceipt = (result: Json) =>
    spoil(network, { method: "eth_getTransactionReceipt", times: 100, how: "answer", result });

  return {
    ...{ world, lab, mine, followed, provider, pairOf, paid, facilitated },
    ...{ minedSince, mineAgain, sendAgain, takeAway, bringBack, moveOn, begin, end, spoilReceipt },
  };
}

const one = async (text: string, ...values: unknown[]): Promise<Json> => (await rows(text, ...values))[0];

export const transactionOf = (id: string): Promise<Json> =>
  one("select * from transactions where transaction_id = ?", id);
export const taskOf = (id: string): Promise<Json> => one("select * from tasks where task_id = ?", id);
export const intentOf = ({ intent }: Paid): Promise<Json> =>
  one("select * from payment_intents where intent_id = ?", intent.intent_id);
export const holdsOf = (did: string): Promise<Json[]> =>
  rows("select expires_at, amount from spend_holds where did = ?", did);

/** The objects of the events of a type about a transaction or an intent. */
export const eventsOf = async (type: string, id: string): Promise<Json[]> =>
  (await rows("select object from events where type = ?", type))
    .map(({ object }) => JSON.parse(object))
    .filter((object) => [object.transaction_id, object.intent_id].includes(id));

export const ratingOf = (did: string): Promise<Json> =>
  one(
    `select rating_weight, rating_weighted, rating_interactions, rating_counterparties, agent_rating, rating_heaviest
      from agents where did = ?`,
    did,
  );
export const sumsOf = (did: string): Promise<Json[]> =>
  rows("select counterparty_principal_id, weight, weighted from rating_counterparties where did = ? order by 1", did);
