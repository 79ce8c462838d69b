// Reads how many nonces accounts have used: a payment that a reorg removed can be mined again until another transaction uses its nonce (PAY-11).
import * as z from "zod";
import { quantity } from "./events.ts";
import type { BlockAt, ChainResult } from "./gateway.ts";
import { blockSchema, buildBlockCall, toBlockRef, toQuantity } from "./logs.ts";
import type { Network } from "./networks.ts";
import { type Rpc, toUnavailable } from "./rpc.ts";

export async function readNonces(
  rpc: Rpc,
  network: Network,
  at: BlockAt,
  accounts: readonly string[],
): Promise<ChainResult<readonly number[]>> {
  const answer = await rpc(network, "read", [
    buildBlockCall(at.number),
    ...accounts.map((account) => ({ method: "eth_getTransactionCount", params: [account, toQuantity(at.number)] })),
  ]);
  if (!answer.ok) return answer;
  const [first, ...counts] = answer.value.map((reply) => (reply.ok ? reply.result : null));
  const [block, read] = [blockSchema.safeParse(first), z.array(quantity).safeParse(counts)];
  if (!block.success || toBlockRef(block.data).hash !== at.hash || !read.success)
    return toUnavailable(network.network, "bad_answer");
  return { ok: true, value: read.data.map(Number) };
}
