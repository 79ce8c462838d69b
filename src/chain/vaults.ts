// Reads what vaults held at the end of a block, for their comparison with the ledger (MKT-23).
import { decodeFunctionResult, encodeFunctionData } from "viem/utils";
import { settlementAbi } from "./abi.ts";
import type { BlockAt, ChainResult, VaultOf, VaultsReading } from "./gateway.ts";
import { blockCall, blockSchema, hexOf, refOf } from "./logs.ts";
import type { Network } from "./networks.ts";
import { type Rpc, unavailable } from "./rpc.ts";

type Hex = `0x${string}`;

/** One request. The block is asked for beside the balances: a node that has another one there tells of another chain. */
export async function readVaults(
  rpc: Rpc,
  network: Network,
  at: BlockAt,
  vaults: readonly VaultOf[],
): Promise<ChainResult<VaultsReading>> {
  const answer = await rpc(network, "read", [
    blockCall(at.number),
    ...vaults.map(({ contract, providerDidHash }) => {
      const args = [providerDidHash, network.token as Hex] as const;
      const data = encodeFunctionData({ abi: settlementAbi, functionName: "escrowBalance", args });
      return { method: "eth_call", params: [{ to: contract, data }, hexOf(at.number)] };
    }),
  ]);
  if (!answer.ok) return answer;
  const [first, ...replies] = answer.value;
  const block = blockSchema.safeParse(first?.ok ? first.result : null);
  if (!block.success) return unavailable(network.network, "bad_answer");
  const { hash, time } = refOf(block.data);
  if (hash !== at.hash) return { ok: true, value: { state: "forked" } };
  try {
    const balances = replies.map((reply) => {
      const data = (reply.ok ? String(reply.result) : "0x") as Hex;
      return decodeFunctionResult({ abi: settlementAbi, functionName: "escrowBalance", data });
    });
    return { ok: true, value: { state: "read", time, balances } };
  } catch {
    return unavailable(network.network, "bad_answer");
  }
}
