// Tells which addresses are vaults (CHN-3, MKT-24). The address of a provider's own vault is computed, even before the vault exists; other vaults
// are recognised by their code.
import { getContractAddress } from "viem/utils";
import { listEditionContracts } from "./events.ts";
import type { ChainResult } from "./gateway.ts";
import type { Hash } from "./hashes.ts";
import type { Network } from "./networks.ts";
import type { Rpc } from "./rpc.ts";

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
