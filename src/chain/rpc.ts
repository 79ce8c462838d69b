// Calls JSON-RPC over fetch. One batch is one request with a hard timeout and one retry, at the fallback node or else at the same node. A node is
// believed only after it has named the network's chain id, so that test money from a misconfigured URL never counts as real money (CHN-9).
import { decodeErrorResult } from "viem/utils";
import { authorityAbi, settlementAbi } from "./abi.ts";
import type { ChainResult, ChainUnavailable } from "./gateway.ts";
import type { Network } from "./networks.ts";

/** `optional`: an error counts as an answer, even in mode `read`. */
export type RpcCall = { method: string; params: readonly unknown[]; optional?: true };
export type RpcError = { code: number; message: string; data?: unknown };
export type RpcReply = { ok: true; result: unknown } | { ok: false; error: RpcError };

/** `read`: an error is the node's fault, and is retried. `attempt`: an error is an answer. `once`: not retried, and times out sooner. */
type Mode = "read" | "attempt" | "once";
export type Rpc = (network: Network, mode: Mode, calls: readonly RpcCall[]) => Promise<ChainResult<RpcReply[]>>;

type Reason = ChainUnavailable["reason"];
type Attempt = { ok: true; replies: RpcReply[] } | { ok: false; reason: Reason };
/** Sends one batch to one node, without a check of its chain id. */
export type AskNode = (url: string, calls: readonly RpcCall[]) => Promise<Attempt>;

export const ATTEMPT_TIMEOUT_MS = 4_000;
/** A larger answer is not read to its end: anyone can write large logs to the chain, and a Worker has only 128 MB. */
export const ANSWER_MAX_BYTES = 16 * 1_024 * 1_024;
const ONCE_TIMEOUT_MS = 2_000;

export type TimeLimit = (ms: number) => AbortSignal;

export const createAskNode =
  (
    fetcher: typeof fetch = (...input) => fetch(...input),
    limit: TimeLimit = (ms) => AbortSignal.timeout(ms),
  ): AskNode =>
  (url, calls) =>
    postBatch(fetcher, url, calls, limit(ATTEMPT_TIMEOUT_MS));

export function toUnavailable(network: string, reason: Reason): { ok: false; error: ChainUnavailable } {
  return { ok: false, error: { kind: "chain_unavailable", network, reason } };
}

export function createRpc(
  fetcher: typeof fetch = (...input) => fetch(...input),
  limit: TimeLimit = (ms) => AbortSignal.timeout(ms),
): Rpc {
  const trusted = new Set<string>();

  async function attempt(network: Network, url: string, mode: Mode, calls: readonly RpcCall[]): Promise<Attempt> {
    const key = `${network.chain_id} ${url}`;
    const asked = trusted.has(key) ? calls : [...calls, { method: "eth_chainId", params: [] }];
    const answer = await postBatch(fetcher, url, asked, limit(mode === "once" ? ONCE_TIMEOUT_MS : ATTEMPT_TIMEOUT_MS));
    if (!answer.ok) return answer;
    if (asked !== calls) {
      const chainId = answer.replies.pop();
      if (chainId?.ok !== true) return { ok: false, reason: "bad_answer" };
      if (Number(chainId.result) !== network.chain_id) return { ok: false, reason: "wrong_chain" };
      trusted.add(key);
    }
    const failed = answer.replies.some((reply, at) => !reply.ok && !calls[at]?.optional);
    if (mode !== "attempt" && failed) return { ok: false, reason: "bad_answer" };
    return answer;
  }

  return async (network, mode, calls) => {
    const first = await attempt(network, network.rpc_url, mode, calls);
    if (first.ok) return { ok: true, value: first.replies };
    if (mode === "once") return toUnavailable(network.network, first.reason);
    const second = await attempt(network, network.fallback_rpc_url ?? network.rpc_url, mode, calls);
    return second.ok ? { ok: true, value: second.replies } : toUnavailable(network.network, second.reason);
  };
}

async function postBatch(
  fetcher: typeof fetch,
  url: string,
  calls: readonly RpcCall[],
  signal: AbortSignal,
): Promise<Attempt> {
  try {
    const response = await fetcher(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(calls.map(({ method, params }, id) => ({ jsonrpc: "2.0", id, method, params }))),
      signal,
    });
    if (!response.ok) return { ok: false, reason: "unreachable" };
    const text = await readText(response);
    const replies = text === undefined ? undefined : readReplies(JSON.parse(text), calls.length);
    return replies === undefined ? { ok: false, reason: "bad_answer" } : { ok: true, replies };
  } catch (error) {
    // Returns only the kind of failure, because the message may contain the URL and a key in it (CHN-12).
    if (error instanceof SyntaxError) return { ok: false, reason: "bad_answer" };
    const timedOut = error instanceof Error && (error.name === "TimeoutError" || error.name === "AbortError");
    return { ok: false, reason: timedOut ? "timeout" : "unreachable" };
  }
}

async function readText({ body }: Response): Promise<string | undefined> {
  if (body === null) return "";
  const decoder = new TextDecoder();
  let [text, bytes] = ["", 0];
  // Leaving the loop cancels the response.
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > ANSWER_MAX_BYTES) return undefined;
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

// A node may answer a batch in any order, or with a single error object if it refuses the whole batch.
function readReplies(body: unknown, count: number): RpcReply[] | undefined {
  if (!Array.isArray(body)) return undefined;
  const replies: RpcReply[] = [];
  for (let id = 0; id < count; id++) {
    const item: unknown = body.find((candidate: unknown) => isRecord(candidate) && candidate["id"] === id);
    if (!isRecord(item)) return undefined;
    const { error, result } = item;
    if (isRecord(error)) {
      const { code, message, data } = error;
      replies.push({ ok: false, error: { code: Number(code), message: String(message), data } });
    } else if (result !== undefined) {
      replies.push({ ok: true, result });
    } else {
      return undefined;
    }
  }
  return replies;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

// ---- Refusals -----------------------------------------------------------------------------------------------------------

// Names the error in a node's reply to a call: the custom error of the contract or its authority, or the kind of fault.

const REFUSALS = [...settlementAbi, ...authorityAbi];

/** Nodes put the revert data in different places; other errors are recognised by their message alone. */
export function nameRefusal({ message, data }: RpcError): string {
  const nested = typeof data === "object" && data !== null && "data" in data ? data.data : data;
  if (typeof nested === "string" && /^0x[0-9a-fA-F]{8,}$/.test(nested)) {
    try {
      return decodeErrorResult({ abi: REFUSALS, data: nested as `0x${string}` }).errorName;
    } catch {
      return "reverted";
    }
  }
  if (/insufficient funds|gas required exceeds allowance/i.test(message)) return "insufficient_funds";
  if (/nonce too low/i.test(message)) return "nonce_too_low";
  if (/underpriced|fee.*(too low|less than)/i.test(message)) return "underpriced";
  return /revert/i.test(message) ? "reverted" : "refused";
}
