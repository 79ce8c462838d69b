// What a node's error says about a call: the error of the contract or of its authority by name, or the kind of the fault.
import { decodeErrorResult } from "viem/utils";
import { authorityAbi, settlementAbi } from "./abi.ts";
import type { RpcError } from "./rpc.ts";

const REFUSALS = [...settlementAbi, ...authorityAbi];

// Nodes agree on the revert data but not on its place; other errors are recognised by their words alone.
/** The name of the contract's or the authority's error, or what kind of a fault it was. */
export function refusalOf({ message, data }: RpcError): string {
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
