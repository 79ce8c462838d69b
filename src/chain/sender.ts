// What the owner of a key needs from a node to send a call (contract section 5, authorized_markets): nonce, gas and fees in one
// request, sending, and waiting. It holds no key and remembers nothing: the order of nonces is the Durable Object's.
import { decodeErrorResult } from "viem/utils";
import { settlementAbi } from "./abi.ts";
import type { ChainCall, ChainResult, Submission } from "./gateway.ts";
import type { Network } from "./networks.ts";
import { createRpc, type Rpc, type RpcError, type RpcReply, unavailable } from "./rpc.ts";

export type Fees = { maxFeePerGas: bigint; maxPriorityFeePerGas: bigint };

/** `nonce` counts the key's transactions that the node knows of, waiting ones included. */
export type Preparation =
  | ({ state: "ready"; chainId: number; nonce: number; gas: bigint } & Fees)
  | { state: "refused"; reason: string };

export type Inclusion = { state: "waiting" } | { state: "included" } | { state: "reverted" };

export type ChainSender = {
  pendingNonce(network: string, address: string): Promise<ChainResult<number>>;
  suggestFees(network: string): Promise<ChainResult<Fees>>;
  /** Dry run, nonce and fees in one request; what the contract would refuse is refused here, unsent. */
  prepare(call: ChainCall, from: string): Promise<ChainResult<Preparation>>;
  /**
   * Sends a signed transaction. Sending it again is harmless: one that the node knows counts as submitted. After `ok: false`
   * it may or may not have arrived, so its nonce is not free: send the same bytes again.
   */
  sendRaw(network: string, signed: { raw: string; hash: string }): Promise<ChainResult<Submission>>;
  /** Polls until the transaction stands in a block (one confirmation) or the time is over. */
  waitForReceipt(network: string, txHash: string, waitMs: number): Promise<ChainResult<Inclusion>>;
};

const POLL_MS = 250;

const FEE_CALLS = [
  { method: "eth_getBlockByNumber", params: ["latest", false] },
  { method: "eth_maxPriorityFeePerGas", params: [] },
] as const;

export function createChainSender(networks: readonly Network[], rpc: Rpc = createRpc()): ChainSender {
  const byName = new Map(networks.map((network) => [network.network, network]));

  function on<T>(name: string, operation: (network: Network) => Promise<ChainResult<T>>): Promise<ChainResult<T>> {
    const network = byName.get(name);
    return network === undefined ? Promise.resolve(unavailable(name, "unknown_network")) : operation(network);
  }

  return {
    pendingNonce: (name, address) =>
      on(name, async (network) => {
        const answer = await rpc(network, "read", [nonceCall(address)]);
        if (!answer.ok) return answer;
        const nonce = quantity(answer.value[0]);
        return nonce === undefined ? unavailable(name, "bad_answer") : { ok: true, value: Number(nonce) };
      }),
    suggestFees: (name) =>
      on(name, async (network) => {
        const answer = await rpc(network, "read", FEE_CALLS);
        if (!answer.ok) return answer;
        const fees = readFees(answer.value[0], answer.value[1]);
        return fees === undefined ? unavailable(name, "bad_answer") : { ok: true, value: fees };
      }),
    prepare: ({ network: name, to, data }, from) => on(name, (network) => prepare(rpc, network, { from, to, data })),
    sendRaw: (name, signed) => on(name, (network) => sendRaw(rpc, network, signed)),
    waitForReceipt: (name, txHash, waitMs) => on(name, (network) => waitForReceipt(rpc, network, txHash, waitMs)),
  };
}

async function prepare(
  rpc: Rpc,
  network: Network,
  transaction: { from: string; to: string; data: string },
): Promise<ChainResult<Preparation>> {
  const answer = await rpc(network, "attempt", [
    { method: "eth_estimateGas", params: [transaction] },
    nonceCall(transaction.from),
    ...FEE_CALLS,
  ]);
  if (!answer.ok) return answer;
  const [estimate, nonceReply, block, tip] = answer.value;
  if (estimate?.ok === false) {
    const reason = refusalOf(estimate.error);
    // An error that is not about the call, such as a rate limit, says nothing of what the contract thinks.
    if (reason === "refused") return unavailable(network.network, "bad_answer");
    return { ok: true, value: { state: "refused", reason } };
  }
  const [gas, nonce, fees] = [quantity(estimate), quantity(nonceReply), readFees(block, tip)];
  if (gas === undefined || nonce === undefined || fees === undefined) return unavailable(network.network, "bad_answer");
  // A fifth more than the estimate: a vault's balance may change between the dry run and the block.
  const value = {
    state: "ready",
    chainId: network.chain_id,
    nonce: Number(nonce),
    gas: (gas * 6n) / 5n,
    ...fees,
  } as const;
  return { ok: true, value };
}

async function sendRaw(
  rpc: Rpc,
  network: Network,
  { raw, hash }: { raw: string; hash: string },
): Promise<ChainResult<Submission>> {
  const sent = await rpc(network, "attempt", [{ method: "eth_sendRawTransaction", params: [raw] }]);
  if (!sent.ok) return sent;
  const [reply] = sent.value;
  if (reply?.ok === true) return { ok: true, value: { state: "submitted", txHash: hash } };
  // "Already known" and "nonce too low" are also what a node says to a repeat of what it took before.
  const known = await rpc(network, "read", [{ method: "eth_getTransactionByHash", params: [hash] }]);
  if (!known.ok) return known;
  if (known.value[0]?.ok === true && known.value[0].result !== null) {
    return { ok: true, value: { state: "submitted", txHash: hash } };
  }
  return { ok: true, value: { state: "refused", reason: reply === undefined ? "refused" : refusalOf(reply.error) } };
}

async function waitForReceipt(
  rpc: Rpc,
  network: Network,
  txHash: string,
  waitMs: number,
): Promise<ChainResult<Inclusion>> {
  const until = Date.now() + waitMs;
  for (;;) {
    const answer = await rpc(network, "read", [{ method: "eth_getTransactionReceipt", params: [txHash] }]);
    if (!answer.ok) return answer;
    const receipt = answer.value[0]?.ok === true ? answer.value[0].result : null;
    if (typeof receipt === "object" && receipt !== null && "status" in receipt) {
      return { ok: true, value: { state: Number(receipt.status) === 1 ? "included" : "reverted" } };
    }
    if (Date.now() >= until) return { ok: true, value: { state: "waiting" } };
    await new Promise((resolve) => setTimeout(resolve, Math.min(POLL_MS, Math.max(until - Date.now(), 0))));
  }
}

function nonceCall(address: string) {
  return { method: "eth_getTransactionCount", params: [address, "pending"] };
}

function readFees(block: RpcReply | undefined, tip: RpcReply | undefined): Fees | undefined {
  const result = block?.ok === true ? block.result : null;
  const base =
    typeof result === "object" && result !== null && "baseFeePerGas" in result
      ? toBigInt(result.baseFeePerGas)
      : undefined;
  const maxPriorityFeePerGas = quantity(tip);
  if (base === undefined || maxPriorityFeePerGas === undefined) return undefined;
  // Twice the base fee outlasts six full blocks in a row; what is not needed is not paid.
  return { maxFeePerGas: base * 2n + maxPriorityFeePerGas, maxPriorityFeePerGas };
}

function quantity(reply: RpcReply | undefined): bigint | undefined {
  return reply?.ok === true ? toBigInt(reply.result) : undefined;
}

function toBigInt(value: unknown): bigint | undefined {
  return typeof value === "string" && /^0x[0-9a-fA-F]{1,64}$/.test(value) ? BigInt(value) : undefined;
}

// Nodes agree on the revert data, not on where it stands, and on nothing but the words otherwise.
function refusalOf({ message, data }: RpcError): string {
  const nested = typeof data === "object" && data !== null && "data" in data ? data.data : data;
  if (typeof nested === "string" && /^0x[0-9a-fA-F]{8,}$/.test(nested)) {
    try {
      return decodeErrorResult({ abi: settlementAbi, data: nested as `0x${string}` }).errorName;
    } catch {
      return "reverted";
    }
  }
  if (/insufficient funds/i.test(message)) return "insufficient_funds";
  if (/nonce too low/i.test(message)) return "nonce_too_low";
  if (/underpriced|fee.*(too low|less than)/i.test(message)) return "underpriced";
  return /revert/i.test(message) ? "reverted" : "refused";
}
