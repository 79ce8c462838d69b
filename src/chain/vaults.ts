// Reads vaults: their balances at the end of a block, to compare them with the ledger (MKT-23), and which addresses are vaults (CHN-3, MKT-24).
import { decodeFunctionResult, encodeFunctionData, getContractAddress } from "viem/utils";
import * as z from "zod";
import { hashText } from "../protocol/keccak.ts";
import { settlementAbi } from "./abi.ts";
import { listEditionContracts, logSchema, quantity } from "./events.ts";
import type { BlockAt, ChainResult, EditionVault, ReceivedQuery, VaultsReading } from "./gateway.ts";
import type { Hash } from "./hashes.ts";
import { blockSchema, buildBlockCall, RANGE_MAX, toBlockRef, toQuantity } from "./logs.ts";
import type { Network } from "./networks.ts";
import { type Rpc, type RpcCall, type RpcReply, toUnavailable } from "./rpc.ts";

export const encodeBalanceCall = (
  { settlement_contract, token }: Network,
  providerDidHash: Hash,
  at: string,
  contract: string = settlement_contract,
): RpcCall => {
  const args = [providerDidHash, token as Hash] as const;
  const data = encodeFunctionData({ abi: settlementAbi, functionName: "escrowBalance", args });
  return { method: "eth_call", params: [{ to: contract, data }, at] };
};

export function decodeBalance(reply: RpcReply | undefined): bigint | undefined {
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
  vaults: readonly EditionVault[],
): Promise<ChainResult<VaultsReading>> {
  const answer = await rpc(network, "read", [
    buildBlockCall(at.number),
    ...vaults.map(({ contract, providerDidHash }) =>
      encodeBalanceCall(network, providerDidHash, toQuantity(at.number), contract),
    ),
  ]);
  if (!answer.ok) return answer;
  const [first, ...replies] = answer.value;
  const block = blockSchema.safeParse(first?.ok ? first.result : null);
  if (!block.success) return toUnavailable(network.network, "bad_answer");
  const { hash, time } = toBlockRef(block.data);
  if (hash !== at.hash) return { ok: true, value: { state: "forked" } };
  const balances = replies.map(decodeBalance).filter((balance) => balance !== undefined);
  if (balances.length < replies.length) return toUnavailable(network.network, "bad_answer");
  return { ok: true, value: { state: "read", time, balances } };
}

const TRANSFER_TOPIC = hashText("Transfer(address,address,uint256)");
/** Searches at most this many ranges of `RANGE_MAX` blocks. */
const RANGES_MAX = 10;
const transfersSchema = z.array(logSchema.extend({ blockNumber: quantity }));

export async function readReceived(
  rpc: Rpc,
  network: Network,
  { address, after, to, enough }: ReceivedQuery,
): Promise<ChainResult<bigint>> {
  const receiver = `0x${address.slice(2).toLowerCase().padStart(64, "0")}`;
  let sum = 0n;
  for (let end = to, range = 0; end > after && range < RANGES_MAX && sum < enough; range++) {
    const begin = Math.max(after + 1, end - RANGE_MAX + 1);
    const topics = [TRANSFER_TOPIC, null, receiver];
    const filter = { address: network.token, topics, fromBlock: toQuantity(begin), toBlock: toQuantity(end) };
    const answer = await rpc(network, "read", [{ method: "eth_getLogs", params: [filter] }]);
    if (!answer.ok) return answer;
    const [reply] = answer.value;
    const logs = transfersSchema.safeParse(reply?.ok ? reply.result : null);
    const isAsked = ({ address: token, topics: [event, , by], blockNumber }: z.infer<typeof transfersSchema>[number]) =>
      [token.toLowerCase(), event, by?.toLowerCase()].join() === [network.token, TRANSFER_TOPIC, receiver].join() &&
      Number(blockNumber) >= begin &&
      Number(blockNumber) <= end;
    if (!logs.success || !logs.data.every(isAsked)) return toUnavailable(network.network, "bad_answer");
    sum += logs.data.reduce((all, { data }) => all + BigInt(data), 0n);
    end = begin - 1;
  }
  return { ok: true, value: sum };
}

// ---- Addresses ----------------------------------------------------------------------------------------------------------

// The address of a provider's own vault is computed, even before the vault exists; other vaults are recognised by their code.

type Hex = `0x${string}`;

/** Returns the address of the contract that an edition's constructor creates first. Every vault of the edition is a clone of it. */
export const computeImplementation = (contract: string): string =>
  getContractAddress({ opcode: "CREATE", from: contract as Hex, nonce: 1n }).toLowerCase();

/** Returns the address of a provider's vault in an edition, whether or not the vault exists yet. */
export function computeVaultAddress(contract: string, providerDidHash: Hash): string {
  const bytecode = `${CREATION_PREFIX}${encodeClone(computeImplementation(contract)).slice(2)}` as const;
  return getContractAddress({
    opcode: "CREATE2",
    from: contract as Hex,
    salt: providerDidHash,
    bytecode,
  }).toLowerCase();
}

export const isVaultCode = (network: Network, code: string): boolean =>
  listEditionContracts(network).some((contract) => encodeClone(computeImplementation(contract)) === code.toLowerCase());

export const encodeCodeCall = (address: string) => ({ method: "eth_getCode", params: [address, "latest"] });

/** Sends one request without a retry. An address without an answer counts as no vault. */
export async function findVaults(
  rpc: Rpc,
  network: Network,
  addresses: readonly string[],
): Promise<ChainResult<readonly string[]>> {
  const answer = await rpc(
    network,
    "once",
    addresses.map((address) => ({ ...encodeCodeCall(address), optional: true })),
  );
  if (!answer.ok) return answer;
  const isVault = (at: number): boolean => {
    const reply = answer.value[at];
    return reply?.ok === true && isVaultCode(network, String(reply.result));
  };
  return { ok: true, value: addresses.filter((_, at) => isVault(at)) };
}

/** The code of a minimal clone (EIP-1167), and the code that creates it, as in OpenZeppelin's `Clones`. */
const encodeClone = (implementation: string): Hex =>
  `0x363d3d373d3d3d363d73${implementation.slice(2)}5af43d82803e903d91602b57fd5bf3`;
const CREATION_PREFIX: Hex = "0x3d602d80600a3d3981f3";
