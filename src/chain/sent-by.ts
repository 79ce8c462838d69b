// Takes the sender and the nonce of a payment from the bytes of its transaction, because a node can lie about them (PAY-11).
import { formatTransaction, keccak256, recoverAddress, serializeTransaction } from "viem/utils";
import type { SentBy } from "./gateway.ts";
import type { RpcCall } from "./rpc.ts";

/** Requests a transaction. Optional, because the payment counts whatever the node answers. */
export const encodeTransactionCall = (hash: string): RpcCall => ({
  method: "eth_getTransactionByHash",
  params: [hash],
  optional: true,
});

/** Returns the chain id that `v` contains (EIP-155). */
const decodeChainId = (v: bigint): number | undefined => (v >= 35n ? Number((v - 35n) / 2n) : undefined);

type Answer = Parameters<typeof formatTransaction>[0];

/** Returns undefined if the answer does not have this hash, or has no signature. */
export async function recoverSender(hash: string, answer: unknown): Promise<SentBy | undefined> {
  try {
    const { r, s, v, yParity = Number((v + 1n) % 2n), input, nonce = 0, ...told } = formatTransaction(answer as Answer);
    // A legacy transaction states its chain only in its signature.
    const chainId = told.type === "legacy" ? decodeChainId(v) : told.chainId;
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
