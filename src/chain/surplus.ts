// Reads a provider's vault and releases its surplus to the provider's wallet (CHN-28). Anyone may call the release, which always moves the whole
// surplus; the operation is done when no surplus is left.
import { decodeFunctionResult, encodeFunctionData } from "viem/utils";
import { settlementAbi } from "./abi.ts";
import { toCallPlan } from "./delayed-calls.ts";
import type { ChainResult, Plan } from "./gateway.ts";
import { hashDid } from "./hashes.ts";
import type { Network } from "./networks.ts";
import { type ChainTools, type DriveResult, driveOperation } from "./operations.ts";
import { createRpc, type Rpc, toUnavailable } from "./rpc.ts";

type Hex = `0x${string}`;

/** A vault in the network's edition; amounts in base units. `wallet` is null if the provider is not registered. */
export type VaultState = {
  readonly wallet: string | null;
  readonly threshold: bigint;
  readonly reserve: bigint;
  readonly balance: bigint;
};

export const computeSurplus = ({ balance, reserve }: VaultState, threshold: bigint): bigint => {
  const surplus = balance - threshold - reserve;
  return surplus > 0n ? surplus : 0n;
};

export async function readVault(on: Network, did: string, rpc: Rpc = createRpc()): Promise<ChainResult<VaultState>> {
  const { network, settlement_contract: to, token } = on;
  const abi = settlementAbi;
  const args = [hashDid(did), token as Hex] as const;
  const view = (data: Hex) => ({ method: "eth_call", params: [{ to, data }, "latest"] });
  const answer = await rpc(on, "read", [
    view(encodeFunctionData({ abi, functionName: "splitOf", args })),
    view(encodeFunctionData({ abi, functionName: "reserveOf", args })),
    view(encodeFunctionData({ abi, functionName: "escrowBalance", args })),
  ]);
  if (!answer.ok) return answer;
  const [split = "0x", reserve = "0x", balance = "0x"] = answer.value.map(
    (reply) => String(reply.ok ? reply.result : "0x") as Hex,
  );
  try {
    const [wallet, threshold] = decodeFunctionResult({ abi, functionName: "splitOf", data: split });
    const value = {
      wallet: /^0x0*$/.test(wallet) ? null : wallet.toLowerCase(),
      threshold,
      reserve: decodeFunctionResult({ abi, functionName: "reserveOf", data: reserve }),
      balance: decodeFunctionResult({ abi, functionName: "escrowBalance", data: balance }),
    };
    return { ok: true, value };
  } catch {
    // The configured address holds no contract, or another one.
    return toUnavailable(network, "bad_answer");
  }
}

/** The contract's threshold is below the service's, so that a release would move too much. */
export const LOW_THRESHOLD = "low_threshold";

/** Sends nothing while the contract's threshold is below `least`, because the contract would release too much. */
export function driveRelease(
  tools: ChainTools,
  network: Network,
  did: string,
  least: bigint,
  until: number,
): Promise<DriveResult<VaultState>> {
  const rpc = createRpc();
  const { settlement_contract: to, token } = network;
  const args = [hashDid(did), token as Hex] as const;
  const data = encodeFunctionData({ abi: settlementAbi, functionName: "releaseSurplus", args });
  const plan = async (): Promise<ChainResult<Plan<VaultState>>> => {
    const read = await readVault(network, did, rpc);
    if (!read.ok) return read;
    const { value: onChain } = read;
    if (onChain.wallet === null) return { ok: true, value: { state: "impossible", reason: "UnknownProvider" } };
    if (computeSurplus(onChain, onChain.threshold) === 0n) return { ok: true, value: { state: "done", onChain } };
    if (onChain.threshold < least) return { ok: true, value: { state: "impossible", reason: LOW_THRESHOLD } };
    return { ok: true, value: toCallPlan({ network: network.network, to, data }) };
  };
  const purpose = `release:${to.toLowerCase()}:${hashDid(did)}`;
  return driveOperation(
    tools,
    { network: network.network, purpose, place: "instead", plan, outdated: "NothingToRelease" },
    until,
  );
}
