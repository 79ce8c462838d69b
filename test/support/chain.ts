// The chains of the tests: anvil's accounts are unlocked, so a test sends without signing.

import { env as bindings } from "cloudflare:workers";
import { encodeFunctionData, getContractAddress } from "viem/utils";
import { inject } from "vitest";
import { authorityAbi, settlementAbi, tokenAbi } from "../../scripts/chain/abi.ts";
import { hashDid, hashIntent } from "../../src/chain/hashes.ts";
import type { Spoil } from "./spoiling-node.ts";

const env = bindings as unknown as Record<string, string | undefined>;

export const account = (index: number): string => inject("accounts")[index] ?? "0x";
export type Chain = { network: string; rpc_url: string; settlement_contract: string; authority: string; token: string };

/** Every chain of this runtime, the labs among them. */
export const CHAINS: readonly Chain[] = JSON.parse(env["NETWORKS"] ?? "[]");

/** NETWORKS with the shared chains and some labs, as JSON. A world reads and follows all its networks, so name only the labs that it needs. */
export const networksWith = (...labs: readonly string[]): string =>
  JSON.stringify(CHAINS.filter(({ network }) => !network.startsWith("lab") || labs.includes(network)));

export function chainOf(network = "base-sepolia"): Chain {
  const found = CHAINS.find((chain) => chain.network === network);
  if (!found) throw new Error(`no chain runs for ${network}`);
  return found;
}

export async function rpc<Result>(network: string, method: string, params: unknown[]): Promise<Result> {
  const response = await fetch(chainOf(network).rpc_url, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  const { result, error } = await response.json<{ result: Result; error?: { message: string } }>();
  if (error) throw new Error(error.message);
  return result;
}

export const headOf = async (network: string): Promise<number> =>
  Number(await rpc<string>(network, "eth_blockNumber", []));

/** Contracts and a node on the first of this runtime's chains, each used by one file (surroundings.ts). */
export const ownContract = (): { contract: string; authority: string } => JSON.parse(env["OWN_CONTRACT"] ?? "");
export const otherHolders = (): { contract: string; authority: string } => JSON.parse(env["OTHER_HOLDERS"] ?? "");
/** The chain of a lab, without the faults of the node in front of it. */
export const honestNode = (network: string): string => JSON.parse(env["HONEST_NODES"] ?? "{}")[network];
export const lyingNode = (): string => env["LYING_NODE"] ?? "";

/** The faults that the node in front of a lab's chain applies to the next calls. */
export async function spoil(network: string, ...spoils: readonly Spoil[]): Promise<void> {
  await fetch(chainOf(network).rpc_url, { method: "PUT", body: JSON.stringify(spoils) });
}

const GAS = "0x2dc6c0";
/** Sets the gas, so that the node does not simulate the call and a refused call is mined as reverted. */
export const submit = (network: string, from: string, to: string, data: string, gas = GAS): Promise<string> =>
  rpc(network, "eth_sendTransaction", [{ from, to, data, gas }]);

export async function send(network: string, from: string, to: string, data: string, gas = GAS): Promise<string> {
  const hash = await submit(network, from, to, data, gas);
  // The node answers before the block is mined.
  while ((await rpc(network, "eth_getTransactionReceipt", [hash])) === null) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return hash;
}

/** A call that goes to the authority, as a role makes it: its address and the data. */
export function asRole(network: string, data: string, contract = chainOf(network).settlement_contract) {
  const args = [contract as `0x${string}`, data as `0x${string}`] as const;
  return {
    to: chainOf(network).authority,
    data: encodeFunctionData({ abi: authorityAbi, functionName: "execute", args }),
  };
}

export type PayOptions = {
  network?: string;
  intentId?: string;
  /** The address that the intent names. */
  payer?: string | null;
  from?: string;
  contract?: string;
  token?: string;
  /** False: nothing is approved, so that the payment is mined as reverted. */
  approved?: boolean;
  /** False: does not wait for its block. */
  mined?: boolean;
  /** Runs once everything except the payment is mined. */
  prepared?: () => Promise<unknown>;
};

/** Mints, approves and pays base units; returns the transaction's hash. */
export async function payOnChain(
  consumerDid: string,
  providerDid: string,
  units: number,
  options: PayOptions = {},
): Promise<string> {
  const { network = "base-sepolia", intentId, from = account(9), approved = true, mined = true } = options;
  const { contract = chainOf(network).settlement_contract, token = chainOf(network).token } = options;
  const amount = BigInt(units);
  const hex = (text: string) => text as `0x${string}`;
  await send(
    network,
    from,
    token,
    encodeFunctionData({ abi: mintAbi, functionName: "mint", args: [hex(from), amount] }),
  );
  // Several payments of a test may come from one account at the same time, and another of them could use up an exact allowance.
  const allowance = approved ? 2n ** 256n - 1n : 0n;
  await send(
    network,
    from,
    token,
    encodeFunctionData({ abi: tokenAbi, functionName: "approve", args: [hex(contract), allowance] }),
  );
  await options.prepared?.();
  const data =
    intentId === undefined
      ? encodeFunctionData({
          abi: settlementAbi,
          functionName: "pay",
          args: [hex(token), amount, hashDid(providerDid), hashDid(consumerDid)],
        })
      : encodeFunctionData({
          abi: settlementAbi,
          functionName: "payIntent",
          args: [hex(token), amount, hashDid(providerDid), hashDid(consumerDid), hashIntent(intentId, options.payer)],
        });
  return mined ? send(network, from, contract, data) : submit(network, from, contract, data);
}

export const mintAbi = [
  {
    type: "function",
    name: "mint",
    stateMutability: "nonpayable",
    inputs: [
      { name: "to", type: "address" },
      { name: "amount", type: "uint256" },
    ],
    outputs: [],
  },
] as const;

/** The address of a provider's vault, which may not be deployed yet. The contract accepts it as no one's wallet. */
export async function vaultOf(
  did: string,
  network = "base-sepolia",
  contract = chainOf(network).settlement_contract,
): Promise<string> {
  const data = encodeFunctionData({ abi: settlementAbi, functionName: "vaultOf", args: [hashDid(did)] });
  return addressIn(await rpc<string>(network, "eth_call", [{ to: contract, data }, "latest"]));
}

/** The code that the contract's vaults clone. */
export async function vaultImplementationOf(network = "base-sepolia"): Promise<string> {
  const data = encodeFunctionData({ abi: settlementAbi, functionName: "vaultImplementation" });
  return addressIn(
    await rpc<string>(network, "eth_call", [{ to: chainOf(network).settlement_contract, data }, "latest"]),
  );
}

const addressIn = (word: string): string => `0x${word.slice(-40)}`;

const CREATE2_DEPLOYER = "0x4e59b44847b379578588920cA78FbF26c0B4956C";

/** A minimal clone that any account may deploy: its future address, and the call that deploys it. */
export function plannedClone(implementation: string, network = "base-sepolia") {
  const bytecode =
    `0x3d602d80600a3d3981f3363d3d373d3d3d363d73${implementation.slice(2)}5af43d82803e903d91602b57fd5bf3` as const;
  const salt = `0x${crypto.randomUUID().replaceAll("-", "").repeat(2)}` as const;
  const address = getContractAddress({ opcode: "CREATE2", from: CREATE2_DEPLOYER, salt, bytecode }).toLowerCase();
  const make = () => send(network, account(9), CREATE2_DEPLOYER, `${salt}${bytecode.slice(2)}`);
  return { address, make };
}
