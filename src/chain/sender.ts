// Sends a signer's requests to a node: it reads the account, dry-runs a call and sends a signed transaction. It holds no key and no state; the
// Durable Object orders the nonces.
import type { ChainCall, ChainResult } from "./gateway.ts";
import type { Network } from "./networks.ts";
import { createRpc, nameRefusal, type Rpc, type RpcReply, toUnavailable } from "./rpc.ts";

/** A key's account on a network. `mined`: how many of its transactions are in blocks, which is the lowest nonce that is free or waits. */
export type Account = {
  readonly mined: number;
  readonly balance: bigint;
  /** Null while base fee and tip together are above the network's bound. */
  readonly fees: Fees | null;
};

export type DryRun =
  | { readonly state: "ready"; readonly gas: bigint }
  | { readonly state: "refused"; readonly reason: string };

/** A node's answer to a signed transaction. A transaction that the node already knows counts as taken. */
export type SendOutcome =
  | { readonly state: "taken" }
  | { readonly state: "refused"; readonly reason: "insufficient_funds" | "nonce_too_low" | "underpriced" | "refused" };

export type ChainSender = {
  readonly network: Network;
  account(address: string): Promise<ChainResult<Account>>;
  prepare(call: ChainCall, from: string): Promise<ChainResult<{ account: Account; dryRun: DryRun }>>;
  /** After `ok: false` the transaction may have arrived, so its nonce is not free. */
  send(signed: { readonly raw: string; readonly hash: string }): Promise<ChainResult<SendOutcome>>;
};

export function createChainSender(network: Network, rpc: Rpc = createRpc()): ChainSender {
  return {
    network,
    account: async (address) => {
      const answer = await rpc(network, "read", encodeAccountCalls(address));
      return answer.ok ? readAccount(network, answer.value) : answer;
    },
    prepare: (call, from) => prepare(rpc, network, { from, to: call.to, data: call.data }),
    send: (signed) => send(rpc, network, signed),
  };
}

const encodeAccountCalls = (address: string) => [
  { method: "eth_getTransactionCount", params: [address, "latest"] },
  { method: "eth_getBalance", params: [address, "latest"] },
  { method: "eth_getBlockByNumber", params: ["latest", false] },
  { method: "eth_maxPriorityFeePerGas", params: [] },
];

function readAccount(network: Network, replies: readonly RpcReply[]): ChainResult<Account> {
  const [mined, balance] = [parseQuantity(replies[0]), parseQuantity(replies[1])];
  const [baseFee, tip] = [parseBaseFee(replies[2]), parseQuantity(replies[3])];
  if (mined === undefined || balance === undefined || baseFee === undefined || tip === undefined) {
    return toUnavailable(network.network, "bad_answer");
  }
  return { ok: true, value: { mined: Number(mined), balance, fees: computeFees(baseFee, tip, network) } };
}

async function prepare(
  rpc: Rpc,
  network: Network,
  transaction: { from: string; to: string; data: string },
): Promise<ChainResult<{ account: Account; dryRun: DryRun }>> {
  // Estimates on the newest block, without pending transactions, because the call may replace one of them.
  const asked = [
    { method: "eth_estimateGas", params: [transaction, "latest"] },
    ...encodeAccountCalls(transaction.from),
  ];
  const answer = await rpc(network, "attempt", asked);
  if (!answer.ok) return answer;
  const [estimate, ...rest] = answer.value;
  const account = readAccount(network, rest);
  if (!account.ok) return account;
  const dryRun = toDryRun(estimate);
  // An error that is not about the call, such as a rate limit, says nothing about the contract.
  return dryRun
    ? { ok: true, value: { account: account.value, dryRun } }
    : toUnavailable(network.network, "bad_answer");
}

function toDryRun(estimate: RpcReply | undefined): DryRun | null {
  if (estimate?.ok === false) {
    const reason = nameRefusal(estimate.error);
    return reason === "refused" || reason === "underpriced" ? null : { state: "refused", reason };
  }
  const gas = parseQuantity(estimate);
  // Adds a fifth to the estimate, because a vault's balance may change between the dry run and the block.
  return gas === undefined ? null : { state: "ready", gas: (gas * 6n) / 5n };
}

async function send(
  rpc: Rpc,
  network: Network,
  { raw, hash }: { readonly raw: string; readonly hash: string },
): Promise<ChainResult<SendOutcome>> {
  const sent = await rpc(network, "attempt", [{ method: "eth_sendRawTransaction", params: [raw] }]);
  if (!sent.ok) return sent;
  const [reply] = sent.value;
  if (reply?.ok === true) return { ok: true, value: { state: "taken" } };
  // Nodes also answer "already known" or "nonce too low" to a transaction that they have already taken.
  const known = await rpc(network, "read", [{ method: "eth_getTransactionByHash", params: [hash] }]);
  if (!known.ok) return known;
  if (known.value[0]?.ok === true && known.value[0].result !== null) return { ok: true, value: { state: "taken" } };
  const reason = reply === undefined ? "refused" : nameRefusal(reply.error);
  return { ok: true, value: { state: "refused", reason: isSendRefusal(reason) ? reason : "refused" } };
}

type SendRefusal = Extract<SendOutcome, { state: "refused" }>["reason"];
const isSendRefusal = (reason: string): reason is SendRefusal =>
  reason === "insufficient_funds" || reason === "nonce_too_low" || reason === "underpriced";

function parseBaseFee(block: RpcReply | undefined): bigint | undefined {
  const result = block?.ok === true ? block.result : null;
  return typeof result === "object" && result !== null && "baseFeePerGas" in result
    ? toBigInt(result.baseFeePerGas)
    : undefined;
}

const parseQuantity = (reply: RpcReply | undefined): bigint | undefined =>
  reply?.ok === true ? toBigInt(reply.result) : undefined;

function toBigInt(value: unknown): bigint | undefined {
  return typeof value === "string" && /^0x[0-9a-fA-F]{1,64}$/.test(value) ? BigInt(value) : undefined;
}

// ---- Fees ---------------------------------------------------------------------------------------------------------------

// Computes the gas fees of the service's own transactions (CHN-17). Pure. A node's suggestion is followed up to the network's bounds. A replacement
// pays an eighth more, which is the least that nodes accept.

export type Fees = { readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint };
export type FeeBounds = Pick<Network, "max_fee_gwei" | "max_tip_gwei">;

const WEI_PER_GWEI = 1_000_000_000;
const toWei = (gwei: number): bigint => BigInt(Math.round(gwei * WEI_PER_GWEI));
const pickSmaller = (a: bigint, b: bigint): bigint => (a < b ? a : b);
const pickLarger = (a: bigint, b: bigint): bigint => (a > b ? a : b);

/** Twice the base fee outlasts six full blocks in a row. Null if base fee and tip exceed the bound: later nonces would have to wait too. */
export function computeFees(baseFee: bigint, suggestedTip: bigint, bounds: FeeBounds): Fees | null {
  const bound = toWei(bounds.max_fee_gwei);
  const tip = pickSmaller(pickSmaller(suggestedTip, toWei(bounds.max_tip_gwei)), bound);
  return baseFee + tip > bound
    ? null
    : { maxFeePerGas: pickSmaller(baseFee * 2n + tip, bound), maxPriorityFeePerGas: tip };
}

/** Returns null if the bound forbids a fee that is an eighth higher. */
export function computeReplacementFees(waiting: Fees, present: Fees, bounds: FeeBounds): Fees | null {
  const raised = (fee: bigint): bigint => fee + fee / 8n + 1n;
  const maxFeePerGas = pickLarger(raised(waiting.maxFeePerGas), present.maxFeePerGas);
  const maxPriorityFeePerGas = pickLarger(raised(waiting.maxPriorityFeePerGas), present.maxPriorityFeePerGas);
  if (maxFeePerGas > toWei(bounds.max_fee_gwei)) return null;
  return { maxFeePerGas, maxPriorityFeePerGas: pickSmaller(maxPriorityFeePerGas, maxFeePerGas) };
}
