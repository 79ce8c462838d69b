// Signs transactions with a key, without I/O, and names the roles of the service's own keys (CHN-5, CHN-6).
import { privateKeyToAddress, signTransaction } from "viem/accounts";
import { keccak256 } from "viem/utils";

type Hex = `0x${string}`;

export type CallToSign = {
  /** 32 bytes as hex, with 0x. */
  privateKey: string;
  chainId: number;
  nonce: number;
  to: string;
  data: string;
  gas: bigint;
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
};

export async function signCall({ privateKey, to, data, ...rest }: CallToSign): Promise<{ raw: Hex; hash: Hex }> {
  const transaction = { ...rest, type: "eip1559", to: to as Hex, data: data as Hex } as const;
  const raw = await signTransaction({ privateKey: privateKey as Hex, transaction });
  return { raw, hash: keccak256(raw) };
}

/** Returns the key's address in lower case. */
export function deriveAddress(privateKey: string): Hex {
  return privateKeyToAddress(privateKey as Hex).toLowerCase() as Hex;
}

/** The authority's roles of the service's own keys. The whole table of roles, for deployments, is in scripts/chain/roles.ts. */
export const SIGNER_ROLES = {
  REGISTRAR: { id: 2n, functions: ["registerProvider", "setThreshold"], holder: "registrar" },
  REGISTRAR_DELAYED: { id: 3n, functions: ["setOperationalWallet", "setLowThreshold"], holder: "registrar" },
  ARBITER: { id: 4n, functions: ["setReserve"], holder: "arbiter" },
  ARBITER_DELAYED: { id: 5n, functions: ["payOut"], holder: "arbiter" },
} as const;

export type SignerRole = keyof typeof SIGNER_ROLES;
export const SIGNER_ROLE_NAMES = Object.keys(SIGNER_ROLES) as readonly SignerRole[];
export const SIGNERS = ["registrar", "arbiter"] as const;
export type SignerName = (typeof SIGNERS)[number];

/** Roles that people hold, and the authority's own root role, which has no holder once a deployment is done. */
const OTHER_ROLES: Readonly<Record<string, string>> = { 0: "root", 1: "ADMIN", 6: "GUARDIAN", 7: "OWNER" };

export const nameRole = (id: bigint): string => {
  const own = SIGNER_ROLE_NAMES.find((name) => SIGNER_ROLES[name].id === id);
  return `${own ?? OTHER_ROLES[String(id)] ?? "without a name"} (${id})`;
};
