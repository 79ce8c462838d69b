// Names the error in a node's reply to a call: the custom error of the contract or its authority, or the kind of fault.
import { decodeErrorResult } from "viem/utils";
import { authorityAbi, settlementAbi } from "./abi.ts";
import type { RpcError } from "./rpc.ts";

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
