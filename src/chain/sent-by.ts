// Who sent the transaction of a payment, and under which nonce.
import * as z from "zod";
import { quantity } from "./events.ts";
import type { SentBy } from "./gateway.ts";
import type { RpcCall } from "./rpc.ts";

const sentSchema = z.object({ hash: z.string(), from: z.string(), nonce: quantity });

/** Asks who sent a transaction. The payment counts whatever the node answers. */
export const sentCall = (hash: string): RpcCall => ({
  method: "eth_getTransactionByHash",
  params: [hash],
  optional: true,
});

export function sentByOf(hash: string, result: unknown): SentBy | undefined {
  const sent = sentSchema.safeParse(result);
  if (!sent.success || sent.data.hash.toLowerCase() !== hash) return undefined;
  return { from: sent.data.from.toLowerCase(), nonce: Number(sent.data.nonce) };
}
