// Signs transactions with a key; pure. Separate from evm.ts, so that only the object that owns the key loads an elliptic curve.
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
