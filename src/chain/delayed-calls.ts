// Plans calls that need a role. They go through the authority, an AccessManager of OpenZeppelin (CHN-5): at once, or scheduled first and executed
// once the role's delay is over (CHN-20). The guardian can cancel a scheduled call on-chain; the service notices this and does not undo it.
import { decodeFunctionResult, encodeAbiParameters, encodeFunctionData, keccak256 } from "viem/utils";
import * as z from "zod";
import { SECOND_MS } from "../core/limits.ts";
import { authorityAbi } from "./abi.ts";
import type { ChainCall, ChainResult, WalletChange } from "./gateway.ts";
import type { Network } from "./networks.ts";
import { nameRefusal, type Rpc, type RpcReply, toUnavailable } from "./rpc.ts";

type Hex = `0x${string}`;
type Contracts = Pick<Network, "network" | "settlement_contract" | "authority">;

/** The AccessManager forgets a scheduled call a week after it became ready. */
export const EXPIRY_SECONDS = 7 * 86_400;

/** A call that waits in the authority. `target`: a contract of an edition, or the authority itself. */
export type WaitingCall = { readonly caller: string; readonly target: string; readonly data: string };

export function computeOperationId({ caller, target, data }: WaitingCall): Hex {
  const types = [{ type: "address" }, { type: "address" }, { type: "bytes" }] as const;
  return keccak256(encodeAbiParameters(types, [caller as Hex, target as Hex, data as Hex]));
}

export const toCallPlan = (call: ChainCall) => ({ state: "call", call }) as const;

const toAuthorityCall = ({ network, authority }: Contracts, data: Hex): ChainCall => ({
  network,
  to: authority,
  data,
});

export const encodeExecution = (on: Contracts, data: Hex): ChainCall => {
  const args = [on.settlement_contract as Hex, data] as const;
  return toAuthorityCall(on, encodeFunctionData({ abi: authorityAbi, functionName: "execute", args }));
};

/** Encodes the schedule of a call for as soon as the delay allows. */
const encodeScheduling = (on: Contracts, data: Hex): ChainCall => {
  const args = [on.settlement_contract as Hex, data, 0] as const;
  return toAuthorityCall(on, encodeFunctionData({ abi: authorityAbi, functionName: "schedule", args }));
};

/** `nonce`: how often this same call was scheduled. */
export type ScheduledUntil = Pick<WalletChange, "effectiveAt" | "nonce">;
type DelayedCall = {
  readonly by: string;
  readonly data: Hex;
  /** The schedule of this same call, if it was seen before. */
  readonly known: ScheduledUntil | null;
};
type DelayedPlan =
  | { readonly state: "call"; readonly call: ChainCall }
  | { readonly state: "scheduled"; readonly until: ScheduledUntil }
  | { readonly state: "impossible"; readonly reason: string };

const blockSchema = z.object({ timestamp: z.string().regex(/^0x[0-9a-fA-F]{1,64}$/) });

/** Plans the next transaction towards a call of a role, or returns until when it waits. The caller knows that its effect is missing. */
export async function planDelayed(
  rpc: Rpc,
  on: Network,
  { by, data, known }: DelayedCall,
): Promise<ChainResult<DelayedPlan>> {
  const [caller, target] = [by as Hex, on.settlement_contract as Hex];
  const id = computeOperationId({ caller, target, data });
  const view = (call: Hex) => ({ method: "eth_call", params: [{ to: on.authority, data: call }, "latest"] });
  const selector = data.slice(0, 10) as Hex;
  const answer = await rpc(on, "read", [
    view(encodeFunctionData({ abi: authorityAbi, functionName: "canCall", args: [caller, target, selector] })),
    view(encodeFunctionData({ abi: authorityAbi, functionName: "getSchedule", args: [id] })),
    view(encodeFunctionData({ abi: authorityAbi, functionName: "getNonce", args: [id] })),
    { method: "eth_getBlockByNumber", params: ["latest", false] },
  ]);
  if (!answer.ok) return answer;
  const read = readSchedule(answer.value);
  if (!read) return toUnavailable(on.network, "bad_answer");
  const { delay, readyAt, nonce, blockTime } = read;
  const plan = (value: DelayedPlan): ChainResult<DelayedPlan> => ({ ok: true, value });
  // Without a delay the call is made at once. Without the role too: the authority then refuses it with a named error.
  if (delay === 0) return plan(toCallPlan(encodeExecution(on, data)));
  if (readyAt > 0) {
    if (readyAt <= blockTime) return plan(toCallPlan(encodeExecution(on, data)));
    return plan({ state: "scheduled", until: { effectiveAt: readyAt * SECOND_MS, nonce } });
  }
  const forgotten = known !== null && known.effectiveAt / SECOND_MS + EXPIRY_SECONDS <= blockTime;
  if (known !== null && nonce >= known.nonce && !forgotten) return plan({ state: "impossible", reason: "cancelled" });
  const refusal = await findPresentRefusal(rpc, on, data);
  if (!refusal.ok) return refusal;
  if (refusal.value !== null) return plan({ state: "impossible", reason: refusal.value });
  return plan(toCallPlan(encodeScheduling(on, data)));
}

/** Returns the contract's refusal of the call, if any. Such a call is not scheduled, because the refusal would show only once the delay is over. */
async function findPresentRefusal(rpc: Rpc, on: Network, data: Hex): Promise<ChainResult<string | null>> {
  const call = { from: on.authority, to: on.settlement_contract, data };
  const answer = await rpc(on, "attempt", [{ method: "eth_call", params: [call, "latest"] }]);
  if (!answer.ok) return answer;
  const [reply] = answer.value;
  if (reply?.ok !== false) return { ok: true, value: null };
  const reason = nameRefusal(reply.error);
  return reason === "refused" ? toUnavailable(on.network, "bad_answer") : { ok: true, value: reason };
}

/** All instants are in whole seconds; `readyAt` is 0 if nothing is scheduled. */
function readSchedule(replies: readonly RpcReply[]) {
  const results = replies.map((reply) => (reply.ok ? reply.result : undefined));
  const block = blockSchema.safeParse(results[3]);
  if (!block.success) return null;
  try {
    const [able, schedule, nonce] = results.map((result) => String(result) as Hex);
    if (able === undefined || schedule === undefined || nonce === undefined) return null;
    const [, delay] = decodeFunctionResult({ abi: authorityAbi, functionName: "canCall", data: able });
    return {
      delay,
      readyAt: decodeFunctionResult({ abi: authorityAbi, functionName: "getSchedule", data: schedule }),
      nonce: decodeFunctionResult({ abi: authorityAbi, functionName: "getNonce", data: nonce }),
      blockTime: Number(block.data.timestamp),
    };
  } catch {
    // The configured address holds no authority, or another contract.
    return null;
  }
}
