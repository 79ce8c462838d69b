// Which addresses are vaults (CHN-3, MKT-24). A provider's own are computed, also before they are made; anybody else's are told by their code.
import { getContractAddress } from "viem/utils";
import { editionsOf } from "./events.ts";
import type { ChainResult } from "./gateway.ts";
import type { Hash } from "./hashes.ts";
import type { Network } from "./networks.ts";
import type { Rpc } from "./rpc.ts";

type Hex = `0x${string}`;

/** What the constructor of an edition makes before anything else: every vault of it is a clone of that. */
export const vaultImplementation = (contract: string): string =>
  getContractAddress({ opcode: "CREATE", from: contract as Hex, nonce: 1n }).toLowerCase();

/** Where a provider's vault of an edition stands, or will. */
export function vaultAt(contract: string, providerDidHash: Hash): string {
  const bytecode = `${CREATION}${cloneOf(vaultImplementation(contract)).slice(2)}` as const;
  return getContractAddress({
    opcode: "CREATE2",
    from: contract as Hex,
    salt: providerDidHash,
    bytecode,
  }).toLowerCase();
}

/** Is it the code of a vault of any edition? */
export const isVaultCode = (network: Network, code: string): boolean =>
  editionsOf(network).some((contract) => cloneOf(vaultImplementation(contract)) === code.toLowerCase());

/** Asks for the code at an address. */
export const codeCall = (address: string) => ({ method: "eth_getCode", params: [address, "latest"] });

/** One request, which is not tried again. Of an address without an answer nothing is known. */
export async function findVaults(
  rpc: Rpc,
  network: Network,
  addresses: readonly string[],
): Promise<ChainResult<readonly string[]>> {
  const answer = await rpc(
    network,
    "once",
    addresses.map((address) => ({ ...codeCall(address), optional: true })),
  );
  if (!answer.ok) return answer;
  const isVault = (at: number): boolean => {
    const reply = answer.value[at];
    return reply?.ok === true && isVaultCode(network, String(reply.result));
  };
  return { ok: true, value: addresses.filter((_, at) => isVault(at)) };
}

/** A minimal clone (EIP-1167) and the code that makes one, as the contract has them of OpenZeppelin's `Clones`. */
const cloneOf = (implementation: string): Hex =>
  `0x363d3d373d3d3d363d73${implementation.slice(2)}5af43d82803e903d91602b57fd5bf3`;
const CREATION: Hex = "0x3d602d80600a3d3981f3";
