// Keccak-256 as in the EVM, which differs from SHA3-256 only in its padding, and EIP-55, which uses it. WebCrypto has no Keccak.
import { keccak_256 } from "@noble/hashes/sha3.js";
import { encodeHex, encodeUtf8 } from "../core/encoding.ts";

export type Hex = `0x${string}`;

/** Keccak-256 of bytes. */
export const computeKeccak256 = (bytes: Uint8Array): Hex => `0x${encodeHex(keccak_256(bytes))}`;

/** Keccak-256 of a text's UTF-8 bytes: the on-chain form of a DID or an intent's id. */
export const hashText = (text: string): Hex => computeKeccak256(encodeUtf8(text));

/** An address of 40 hex digits in the mixed case of EIP-55; undefined if it is not an address, or its own mixed case is wrong. */
export function toChecksumAddress(text: string): Hex | undefined {
  const digits = /^0x([0-9a-fA-F]{40})$/.exec(text)?.[1];
  if (digits === undefined) return undefined;
  const lower = digits.toLowerCase();
  const hash = hashText(lower).slice(2);
  const mixed = [...lower].map((digit, i) => (Number.parseInt(hash.charAt(i), 16) >= 8 ? digit.toUpperCase() : digit));
  const isMixed = digits !== lower && digits !== digits.toUpperCase();
  return isMixed && digits !== mixed.join("") ? undefined : `0x${mixed.join("")}`;
}
