// Who sent the transaction of a payment, and under which nonce: what the transaction's own bytes say, for one node may say anything.
import { formatTransaction, keccak256, recoverAddress, serializeTransaction } from "viem/utils";
import type { SentBy } from "./gateway.ts";
import type { RpcCall } from "./rpc.ts";

/** Asks for a transaction. The payment counts whatever the node answers. */
export const sentCall = (hash: string): RpcCall => ({
  method: "eth_getTransactionByHash",
  params: [hash],
  optional: true,
});

/** EIP-155. */
const chainIn = (v: bigint): number | undefined => (v >= 35n ? Number((v - 35n) / 2n) : undefined);

type Answer = Parameters<typeof formatTransaction>[0];

/** Undefined where the answer is not that of the hash, or of a kind that nobody signs. */
export async function sentByOf(hash: string, answer: unknown): Promise<SentBy | undefined> {
  try {
    const { r, s, v, yParity = Number((v + 1n) % 2n), input, nonce = 0, ...told } = formatTransaction(answer as Answer);
    // Of a legacy one the signature says it.
    const chainId = told.type === "legacy" ? chainIn(v) : told.chainId;
    const unsigned = { ...told, chainId, nonce, data: input } as Parameters<typeof serializeTransaction>[0];
    const signed = serializeTransaction(unsigned, told.type === "legacy" ? { r, s, v } : { r, s, yParity });
    if (keccak256(signed) !== hash) return undefined;
    const from = await recoverAddress({
      hash: keccak256(serializeTransaction(unsigned)),
      signature: { r, s, yParity },
    });
    return { from: from.toLowerCase(), nonce };
  } catch {
    return undefined;
  }
}
