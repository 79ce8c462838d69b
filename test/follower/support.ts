// Helpers of the follower's tests: what they do to a vault, and what they read of its ledger.
import { eq } from "drizzle-orm";
import { encodeFunctionData } from "viem/utils";
import { settlementAbi, tokenAbi } from "../../scripts/chain/abi.ts";
import { hashDid } from "../../src/chain/hashes.ts";
import { requireNetwork } from "../../src/chain/networks.ts";
import type { SettlementRef } from "../../src/chain/store.ts";
import type { Deps } from "../../src/context.ts";
import { commit } from "../../src/db/batch.ts";
import { followers } from "../../src/db/tables/chain.ts";
import { transactions } from "../../src/db/tables/money.ts";
import { followChain } from "../../src/follower/job.ts";
import { awaitRefund } from "../../src/follower/refunds.ts";
import { reverseSettlement } from "../../src/follower/reverse.ts";
import type { Pair } from "../facilitation/support.ts";
import { deposit, livePrincipal, openLive, promoted, rows, under } from "../promotion/support.ts";
import { account, asRole, chainOf, mintAbi, rpc, send, submit } from "../support/chain.ts";
import type { Agent, Json, World } from "../support/world.ts";

type Hex = `0x${string}`;
const HOUR = 3_600_000;

/** A funded pair in production, of one platform or of two. */
export async function livePair(selling: World, buying = selling): Promise<Pair> {
  const [consumer, provider] = [await buying.consumer(), await selling.provider()];
  await openLive(selling, provider.did);
  const moved = async (own: World, agent: Agent): Promise<Agent> =>
    under(agent, await promoted(own, agent.did, { principal_id: await livePrincipal(own) }));
  const pair = { consumer: await moved(buying, consumer), provider: await moved(selling, provider) };
  await deposit(provider.did, 15_000_000);
  await follow(selling);
  return pair;
}

/** Runs one minute of the follower. */
export const followOnce = (world: World, network = "base-sepolia"): Promise<boolean> =>
  world.serve(() => followChain(world.deps, network, Date.now() + HOUR));

/** Runs messages of a network until one sends no further message, and calls `after` after each. Returns the number of statements of each run. */
export async function followMessages(
  world: World,
  network = "base-sepolia",
  after: () => Promise<void> = async () => undefined,
): Promise<number[]> {
  const sent: unknown[] = [];
  const CHAIN_QUEUE = { send: async (message: unknown) => void sent.push(message) } as never;
  const deps: Deps = { ...world.deps, env: { ...world.deps.env, CHAIN_QUEUE } };
  const statements: number[] = [];
  do {
    sent.length = 0;
    world.meter.reset();
    await world.serve(() => followChain(deps, network, Date.now() + HOUR));
    statements.push(world.meter.reading.statements);
    await after();
  } while (sent.length > 0);
  return statements;
}

/** Runs two minutes of the follower: the second one books what the first one has seen, also blocks without an event. */
export async function follow(world: World, network = "base-sepolia"): Promise<boolean> {
  await followOnce(world, network);
  return followOnce(world, network);
}

export const linesOf = (did: string): Promise<Json[]> =>
  rows("select * from ledger_lines where did = ? and reversed = 0 order by number", did);

/** Kind, amount, and what the vault held after each line. */
export const bookedOf = async (did: string): Promise<[string, number, number][]> =>
  (await linesOf(did)).map(({ kind, amount, held }) => [kind, amount, held]);

export const escrowOf = async (did: string, environment = "sandbox"): Promise<Json> =>
  (await rows("select * from escrows where did = ? and environment = ?", did, environment))[0];

/** Base units that a provider's vault holds. */
export async function heldBy(did: string, network = "base-sepolia"): Promise<number> {
  const { settlement_contract: to, token } = chainOf(network);
  const args = [hashDid(did), token as Hex] as const;
  const data = encodeFunctionData({ abi: settlementAbi, functionName: "escrowBalance", args });
  return Number(await rpc<string>(network, "eth_call", [{ to, data }, "latest"]));
}

/** Base units that an address holds. */
export async function balanceOf(address: string, network = "base-sepolia"): Promise<number> {
  const data = encodeFunctionData({ abi: tokenAbi, functionName: "balanceOf", args: [address as Hex] });
  return Number(await rpc<string>(network, "eth_call", [{ to: chainOf(network).token, data }, "latest"]));
}

/** The instant of a network's newest block, in epoch milliseconds. */
export const headTime = async (network = "base-sepolia"): Promise<number> =>
  1_000 * Number((await rpc<Json>(network, "eth_getBlockByNumber", ["latest", false])).timestamp);

/** Mines until a block is later than an instant of the present second. The machine's clock dates blocks, in whole seconds. */
export async function mineBehind(instant: number, network = "base-sepolia"): Promise<void> {
  while ((await headTime(network)) <= instant) await rpc(network, "evm_mine", []);
}

/** The facts of a facilitated settlement without payouts. */
async function factsOf(transactionId: string, network: string) {
  const [row] = await rows("select * from transactions where transaction_id = ?", transactionId);
  const block = await rpc<Json>(network, "eth_getBlockByHash", [row.block_hash, false]);
  return {
    key: row.settlement_key,
    providerDidHash: hashDid(row.provider_did),
    token: chainOf(network).token as Hex,
    gross: BigInt(row.gross),
    refundTo: row.refund_to || row.payer,
    settledAt: BigInt(block.timestamp),
    paidOut: 0n,
  };
}

/** Turns refunds and payouts of a facilitated settlement to another address, as its payer. Returns the transaction. */
export async function moveRefundTo(transactionId: string, refundTo: string, network = "base-sepolia"): Promise<string> {
  const { call, settlement } = await callTo(transactionId, null, refundTo, network);
  return send(network, settlement.refundTo, chainOf(network).settlement_contract, call);
}

/** Does so as the present address, which an earlier call has named, without waiting for the block. */
export async function turnRefundTo(
  transactionId: string,
  { from, to }: { readonly from: string; readonly to: string },
  network = "base-sepolia",
): Promise<string> {
  const { call } = await callTo(transactionId, from, to, network);
  return submit(network, from, chainOf(network).settlement_contract, call);
}

async function callTo(transactionId: string, present: string | null, refundTo: string, network: string) {
  const settlement = await factsOf(transactionId, network);
  const args = [{ ...settlement, refundTo: present ?? settlement.refundTo }, refundTo as Hex] as const;
  return { settlement, call: encodeFunctionData({ abi: settlementAbi, functionName: "moveRefundTo", args }) };
}

/** Turns them to another address as the arbiter, for a token that refuses the present one. */
export async function setRefundTo(transactionId: string, refundTo: string, network: string): Promise<string> {
  const args = [await factsOf(transactionId, network), refundTo as Hex] as const;
  const { to, data } = asRole(network, encodeFunctionData({ abi: settlementAbi, functionName: "setRefundTo", args }));
  return send(network, account(2), to, data);
}

/** Refunds base units for a facilitated settlement, from any wallet. */
export async function refundOf(
  transactionId: string,
  units: number,
  network = "base-sepolia",
  from = account(9),
): Promise<string> {
  const { settlement_contract, token } = chainOf(network);
  const settlement = await factsOf(transactionId, network);
  const [owner, spender, amount] = [from as Hex, settlement_contract as Hex, BigInt(units)];
  const call = encodeFunctionData;
  await send(network, from, token, call({ abi: mintAbi, functionName: "mint", args: [owner, amount] }));
  await send(network, from, token, call({ abi: tokenAbi, functionName: "approve", args: [spender, 2n ** 255n] }));
  const data = call({ abi: settlementAbi, functionName: "refund", args: [settlement, amount] });
  return send(network, from, settlement_contract, data);
}

/** The settlement of a transaction, by which its awaited refund is found. */
export async function settlementOf(transactionId: string): Promise<SettlementRef> {
  const [row] = await rows("select * from transactions where transaction_id = ?", transactionId);
  return { network: row.network, contract: row.contract, settlementKey: row.settlement_key };
}

export const awaitedOf = async ({ network, settlementKey }: SettlementRef): Promise<Json> =>
  (
    await rows(
      "select status, reason, tx_hash, next_check_at from chain_operations where (network, kind, subject) = (?, 'refund', ?)",
      network,
      settlementKey,
    )
  )[0];

/** Awaits a refund from now on, for an hour if no instant is given. */
export const expectRefund = (
  { deps: { db } }: World,
  settlement: SettlementRef,
  amount: number,
  until: number = Date.now() + HOUR,
): Promise<void> => commit(db, [awaitRefund(db, { ...settlement, amount, until })]);

/** Sends base units to a vault past the contract, as anyone may. */
export async function transferTo(vault: string, units: number, network = "base-sepolia"): Promise<void> {
  const { token } = chainOf(network);
  const from = account(9);
  const call = encodeFunctionData;
  await send(network, from, token, call({ abi: mintAbi, functionName: "mint", args: [from as Hex, BigInt(units)] }));
  const args = [vault as Hex, BigInt(units)] as const;
  await send(network, from, token, call({ abi: tokenAbi, functionName: "transfer", args }));
}

/** Takes base units out of a vault past the contract, as no key can: the local chain impersonates the vault. */
export async function robVault(vault: string, units: number, network = "base-sepolia"): Promise<void> {
  const { token } = chainOf(network);
  await rpc(network, "anvil_impersonateAccount", [vault]);
  await rpc(network, "anvil_setBalance", [vault, "0xde0b6b3a7640000"]);
  const args = [account(9) as Hex, BigInt(units)] as const;
  await send(network, vault, token, encodeFunctionData({ abi: tokenAbi, functionName: "transfer", args }));
  await rpc(network, "anvil_stopImpersonatingAccount", [vault]);
}

/** Simulates a reorg that removes the settlement's block for good: its row names a block that the chain does not have. */
export async function takenAway(world: World, transactionId: string): Promise<void> {
  const { deps } = world;
  const { db } = deps;
  const its = eq(transactions.transactionId, transactionId);
  await db
    .update(transactions)
    .set({ blockHash: `0x${"0".repeat(64)}` })
    .where(its);
  const [gone] = await db.select().from(transactions).where(its);
  const [known] = await db
    .select()
    .from(followers)
    .where(eq(followers.network, gone?.network ?? ""));
  if (!gone || !known) throw new Error("a settlement without its follower");
  const network = requireNetwork(deps.config.networks, gone.network);
  const read = await deps.chain.readSettlement(gone.network, gone.txHash);
  if (!read.ok) throw new Error("the chain does not answer");
  await world.serve(() => reverseSettlement(deps, network, known, gone, read.value));
}

/** Names another wallet, as the provider's present one. */
export const moveWallet = (did: string, from: string, to: string, network = "base-sepolia"): Promise<string> => {
  const { settlement_contract, token } = chainOf(network);
  const args = [hashDid(did), token as Hex, to as Hex] as const;
  const data = encodeFunctionData({ abi: settlementAbi, functionName: "moveOperationalWallet", args });
  return send(network, from, settlement_contract, data);
};

/** Pays a provider's surplus out to its wallet, as anyone may. */
export const releaseSurplus = (did: string, network = "base-sepolia", from = account(9)): Promise<string> => {
  const { settlement_contract, token } = chainOf(network);
  const args = [hashDid(did), token as Hex] as const;
  const data = encodeFunctionData({ abi: settlementAbi, functionName: "releaseSurplus", args });
  return send(network, from, settlement_contract, data);
};
