// Helpers for the tests of disputes.

import { encodeEventTopics } from "viem/utils";
import { expect, inject } from "vitest";
import { settlementAbi } from "../../scripts/chain/abi.ts";
import { hashDid } from "../../src/chain/hashes.ts";
import { DAY_MS, HOUR_MS } from "../../src/core/limits.ts";
import { endDisputeDays } from "../../src/disputes/deadlines.ts";
import { payAward, payAwards } from "../../src/disputes/payout.ts";
import { keepReserves, setReserve } from "../../src/disputes/reserve.ts";
import { facilitated, type Pair } from "../facilitation/support.ts";
import { follow } from "../follower/support.ts";
import { deposit, rows } from "../promotion/support.ts";
import { chainOf, rpc } from "../support/chain.ts";
import { type Agent, type CallOptions, expectStatus, type Json, type Reply, type World } from "../support/world.ts";

export const PATH = "/v1/disputes";
export const OPERATOR_PATH = "/v1/operator/disputes";

export type Bought = Awaited<ReturnType<typeof facilitated>>;

/** A filing in the service's own words. AEA/P clients use other words. */
export const filing = (bought: Bought, more: Record<string, unknown> = {}) => ({
  transaction_id: bought.fac.transaction_id,
  reason: "not_delivered",
  disputed_amount: "10.00",
  ...more,
});

export const file = (world: World, bought: Bought, more: Record<string, unknown> = {}): Promise<Reply> =>
  world.as(bought.consumer, "POST", PATH, filing(bought, more));

/** A provider whose vault covers the disputes of a whole file, so that it can go on selling. */
export async function richProvider(world: World): Promise<Agent> {
  const provider = await world.provider();
  await deposit(provider.did, 1_000_000_000);
  await follow(world);
  return provider;
}

export type Disputed = Bought & { dispute: Json; id: string };
/** Buys, and disputes the purchase. */
export async function disputed(
  world: World,
  { pair, amount = "10.00", more = {} }: { pair?: Pair; amount?: string; more?: Record<string, unknown> } = {},
): Promise<Disputed> {
  const bought = await facilitated(world, pair, amount);
  const dispute = expectStatus(await file(world, bought, { disputed_amount: amount, ...more }), 201);
  return { ...bought, dispute, id: dispute.dispute_id };
}

export const act = (world: World, agent: Agent, id: string, verb: string, body?: unknown): Promise<Reply> =>
  world.as(agent, "POST", `${PATH}/${id}/${verb}`, body);
export const read = async (world: World, agent: Agent, id: string): Promise<Json> =>
  expectStatus(await world.as(agent, "GET", `${PATH}/${id}`), 200);

const asOperator = (options: CallOptions = {}): CallOptions => ({
  ...options,
  key: null,
  headers: { Authorization: `Bearer ${inject("operatorKey")}` },
});
export const byOperator = (world: World, method: string, path: string, body?: unknown): Promise<Reply> =>
  world.call(method, path, asOperator(body === undefined ? {} : { body }));
export const resolve = (world: World, id: string, body: Record<string, unknown>): Promise<Reply> =>
  byOperator(world, "POST", `${OPERATOR_PATH}/${id}/resolve`, {
    reason: "So it stands in the delivery note.",
    ...body,
  });

/** Brings a dispute to its arbiter. */
export async function arbitrated(world: World, { provider, consumer, id }: Bought & { id: string }): Promise<void> {
  expectStatus(await act(world, provider, id, "respond", { message: "It was delivered." }), 200);
  expectStatus(await act(world, consumer, id, "escalate"), 200);
}

/** Concedes and does not pay in time, so that the dispute goes to the arbiter. */
export async function overdue(world: World, { provider, id }: Bought & { id: string }): Promise<void> {
  expectStatus(await act(world, provider, id, "concede"), 200);
  await pass(id, 7);
  await rows(
    `update chain_operations set status = 'failed', reason = 'unpaid', next_check_at = null
      where kind = 'refund' and subject = (select settlement_key from disputes where dispute_id = ?)`,
    id,
  );
  await recordDays(world, id);
}

/** Records the deadlines of one dispute. */
export const recordDays = (world: World, id: string): Promise<unknown> =>
  world.serve(() => endDisputeDays.record(world.deps, id));
export const endDays = (world: World): Promise<number> => world.run(endDisputeDays);
/** Moves all dates of a dispute into the past. */
export const pass = (id: string, days: number): Promise<unknown> =>
  rows(
    `update disputes set filed_at = filed_at - ?, answers_until = answers_until - ?, due_at = due_at - ?,
      arbitration_at = arbitration_at - ?, resolved_at = resolved_at - ? where dispute_id = ?`,
    ...[days, days, days, days, days].map((one) => one * DAY_MS),
    id,
  );

/** A run that loses a conflict leaves the act to the other run, and the next run finds it done. */
const RUNS = 5;
async function untilDone(run: (until: number) => Promise<boolean>): Promise<boolean> {
  for (let n = 0; n < RUNS; n++) if (await run(Date.now() + HOUR_MS)) return true;
  return false;
}
export const keepReserve = (world: World, did: string, network = "base-sepolia"): Promise<boolean> =>
  untilDone((until) => world.serve(() => setReserve(world.deps, { network, did }, until)));
export const payOut = (world: World, id: string, network = "base-sepolia"): Promise<boolean> =>
  untilDone((until) => world.serve(() => payAward(world.deps, { network, disputeId: id }, until)));

/** Runs the minute's jobs, which find an award that a dead isolate left, because its messages are lost. */
export async function workMinute(world: World, id: string, did: string, network?: string): Promise<void> {
  await rows(
    `update chain_operations set next_check_at = 1
      where status = 'waiting' and (kind, subject) in (values ('payout', ?), ('reserve', ?))`,
    ...[id, did],
  );
  world.sent.splice(0);
  await world.run(payAwards);
  await world.run(keepReserves);
  const found = world.sent.splice(0).map(({ body }) => body);
  for (const body of found) {
    if (body.kind === "pay_award" && body.disputeId === id) expect(await payOut(world, id, network)).toBe(true);
    if (body.kind === "set_reserve" && body.did === did) expect(await keepReserve(world, did, network)).toBe(true);
  }
}

/** The payouts of a provider's vault by the contract's events, in base units. */
export async function paidOutOf(did: string, network = "base-sepolia"): Promise<number[]> {
  const { settlement_contract: address } = chainOf(network);
  const topics = encodeEventTopics({
    abi: settlementAbi,
    eventName: "PaidOut",
    args: { providerDidHash: hashDid(did) },
  });
  const logs = await rpc<{ data: string }[]>(network, "eth_getLogs", [{ address, topics, fromBlock: "0x0" }]);
  // The data holds the token, the amount, and the vault's balance after it.
  return logs.map(({ data }) => Number(`0x${data.slice(66, 130)}`));
}

export const escrowOf = async (did: string): Promise<Json> => {
  const [escrow] = await rows("select state, balance, disputed, owed, threshold from escrows where did = ?", did);
  if (!escrow) throw new Error("no escrow");
  return escrow;
};
export const countsOf = async (did: string): Promise<Json> => {
  const [agent] = await rows(
    `select disputes_open as open, disputes_resolved_for as won, disputes_resolved_against as lost from agents where did = ?`,
    did,
  );
  if (!agent) throw new Error("no agent");
  return agent;
};
export const eventsAbout = async (id: string): Promise<string[]> =>
  (await rows("select type from events where object ->> 'dispute_id' = ? order by seq", id)).map(({ type }) => type);
