// Awards whose payouts wait a day, and the cancellation of one by the guardian (DSP-17, DSP-19), on a lab's chain.
import { expect, inject } from "vitest";
import { DELAYS } from "../../scripts/chain/roles.ts";
import { computeSha256Hex } from "../../src/core/encoding.ts";
import { asProvider } from "../facilitation/support.ts";
import { follow } from "../follower/support.ts";
import { deposit } from "../promotion/support.ts";
import { networksWith, payOnChain, rpc } from "../support/chain.ts";
import { withVars } from "../support/variants.ts";
import { type Agent, createWorld, expectStatus, type Json, type Reply } from "../support/world.ts";
import { cancelLast } from "./guardian.ts";
import { arbitrated, byOperator, file, keepReserve, OPERATOR_PATH, payOut, resolve } from "./support.ts";

const OTHER_KEY = "the-key-of-a-second-operator";
export const REASON = "The arbiter's key was rotated; the award stands.";

export type Case = {
  readonly provider: Agent;
  readonly consumer: Agent;
  readonly id: string;
  readonly transaction: string;
};
export type CancelledAwards = Awaited<ReturnType<typeof openCancelledAwards>>;

export async function openCancelledAwards(network: string) {
  const world = await createWorld({ NETWORKS: networksWith(network) });
  const hashes = await Promise.all([inject("operatorKey"), OTHER_KEY].map(computeSha256Hex));
  /** Also accepts a second operator's key. */
  const both = withVars(world, { OPERATOR_KEY_HASHES: hashes.join(",") });

  /** A dispute that is decided for the consumer, with its payout scheduled. `units`: the amount paid, all of it disputed. */
  async function awarded(units = 10): Promise<Case> {
    const [provider, consumer] = [await world.provider({}, "GLOBAL-USDC", network), await world.consumer()];
    const amount = `${units}.00`;
    const intent = await world.intent(consumer, provider, amount, { network });
    const tx = await payOnChain(consumer.did, provider.did, units * 1_000_000, { network, intentId: intent.intent_id });
    const fac = expectStatus(await asProvider(world, { provider, consumer, intent, tx }), 200);
    await deposit(provider.did, 2 * units * 1_000_000, network);
    await follow(world, network);
    const bought = { provider, consumer, intent, tx, fac, task: fac.task_id };
    const { dispute_id: id } = expectStatus(await file(world, bought, { disputed_amount: amount }), 201);
    await arbitrated(world, { ...bought, id });
    expectStatus(await resolve(world, id, { resolution: "upheld" }), 200);
    expect(await payOut(world, id, network)).toBe(true);
    await keepReserve(world, provider.did, network);
    return { provider, consumer, id, transaction: fac.transaction_id };
  }
  async function cancel({ id }: Case): Promise<void> {
    await cancelLast(network);
    expect(await payOut(world, id, network)).toBe(true);
  }
  async function cancelled(units?: number): Promise<Case> {
    const one = await awarded(units);
    await cancel(one);
    return one;
  }

  const again = (one: Pick<Case, "id">, on = world, body: Json = { reason: REASON }): Promise<Reply> =>
    byOperator(on, "POST", `${OPERATOR_PATH}/${one.id}/payout`, body);
  const againByOther = (one: Pick<Case, "id">, reason = REASON, on = both): Promise<Reply> =>
    on.call("POST", `${OPERATOR_PATH}/${one.id}/payout`, {
      key: null,
      headers: { Authorization: `Bearer ${OTHER_KEY}` },
      body: { reason },
    });
  /** Moves the chain's time past the delay of a day. */
  async function pass(): Promise<void> {
    await rpc(network, "evm_increaseTime", [DELAYS.payOut + 60]);
    await rpc(network, "anvil_mine", ["0x1"]);
  }
  return { world, both, awarded, cancel, cancelled, again, againByOther, pass };
}
