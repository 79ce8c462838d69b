// Reads vault balances at the end of a block, to compare them with the ledger (MKT-23).
import { decodeFunctionResult, encodeFunctionData } from "viem/utils";
import * as z from "zod";
import { hashOfText } from "../protocol/keccak.ts";
import { settlementAbi } from "./abi.ts";
import { logSchema, quantity } from "./events.ts";
import type { BlockAt, ChainResult, ReceivedBy, VaultOf, VaultsReading } from "./gateway.ts";
import type { Hash } from "./hashes.ts";
import { blockCall, blockSchema, hexOf, RANGE_MAX, refOf } from "./logs.ts";
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

export function balanceIn(reply: RpcReply | undefined): bigint | undefined {
  try {
    const data = (reply?.ok ? String(reply.result) : "0x") as Hash;
    return decodeFunctionResult({ abi: settlementAbi, functionName: "escrowBalance", data });
  } catch {
    return undefined;
  }
}

/** Reads the block in the same request as the balances: if its hash differs, the balances belong to another fork. */
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

const TRANSFER = hashOfText("Transfer(address,address,uint256)");
/** Searches at most this many ranges of `RANGE_MAX` blocks. */
const RANGES = 10;
const transfersSchema = z.array(logSchema.extend({ blockNumber: quantity }));

export async function readReceived(
  rpc: Rpc,
  network: Network,
  { address, after, to, enough }: ReceivedBy,
): Promise<ChainResult<bigint>> {
  const receiver = `0x${address.slice(2).toLowerCase().padStart(64, "0")}`;
  let sum = 0n;
  for (let end = to, range = 0; end > after && range < RANGES && sum < enough; range++) {
    const begin = Math.max(after + 1, end - RANGE_MAX + 1);
    const topics = [TRANSFER, null, receiver];
    const filter = { address: network.token, topics, fromBlock: hexOf(begin), toBlock: hexOf(end) };
    const answer = await rpc(network, "read", [{ method: "eth_getLogs", params: [filter] }]);
    if (!answer.ok) return answer;
    const [reply] = answer.value;
    const logs = transfersSchema.safeParse(reply?.ok ? reply.result : null);
    const isAsked = ({ address: token, topics: [event, , by], blockNumber }: z.infer<typeof transfersSchema>[number]) =>
      [token.toLowerCase(), event, by?.toLowerCase()].join() === [network.token, TRANSFER, receiver].join() &&
      Number(blockNumber) >= begin &&
      Number(blockNumber) <= end;
    if (!logs.success || !logs.data.every(isAsked)) return unavailable(network.network, "bad_answer");
    sum += logs.data.reduce((all, { data }) => all + BigInt(data), 0n);
    end = begin - 1;
  }
  return { ok: true, value: sum };
}
