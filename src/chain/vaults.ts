// Reads what vaults held at the end of a block, for their comparison with the ledger (MKT-23).
import { decodeFunctionResult, encodeFunctionData } from "viem/utils";
import { settlementAbi } from "./abi.ts";
import type { BlockAt, ChainResult, VaultOf, VaultsReading } from "./gateway.ts";
import type { Hash } from "./hashes.ts";
import { blockCall, blockSchema, hexOf, refOf } from "./logs.ts";
import type { Network } from "./networks.ts";
import { type Rpc, type RpcCall, type RpcReply, unavailable } from "./rpc.ts";

export const balanceCall = (
  { settlement_contract, token }: Network,
  providerDidHash: Hash,
  at: string,
  contract: string = settlement_contract,
): RpcCall => {
  const args = [providerDidHash, token as Hash] as const;
  const data = encodeFunctionData({ abi: settlementAbi, functionName: "escrowBalance", args });
  return { method: "eth_call", params: [{ to: contract, data }, at] };
};

/** Undefined where the node's answer is none. */
export function balanceIn(reply: RpcReply | undefined): bigint | undefined {
  try {
    const data = (reply?.ok ? String(reply.result) : "0x") as Hash;
    return decodeFunctionResult({ abi: settlementAbi, functionName: "escrowBalance", data });
  } catch {
    return undefined;
  }
}

/** One request. The block is asked for beside the balances: a node that has another one there tells of another chain. */
export async function readVaults(
  rpc: Rpc,
  network: Network,
  at: BlockAt,
  vaults: readonly VaultOf[],
): Promise<ChainResult<VaultsReading>> {
  const answer = await rpc(network, "read", [
    blockCall(at.number),
    ...vaults.map(({ contract, providerDidHash }) => balanceCall(network, providerDidHash, hexOf(at.number), contract)),
  ]);
  if (!answer.ok) return answer;
  const [first, ...replies] = answer.value;
  const block = blockSchema.safeParse(first?.ok ? first.result : null);
  if (!block.success) return unavailable(network.network, "bad_answer");
  const { hash, time } = refOf(block.data);
  if (hash !== at.hash) return { ok: true, value: { state: "forked" } };
  const balances = replies.map(balanceIn).filter((balance) => balance !== undefined);
  if (balances.length < replies.length) return unavailable(network.network, "bad_answer");
  return { ok: true, value: { state: "read", time, balances } };
}
