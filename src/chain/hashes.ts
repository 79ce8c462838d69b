// What stands for a DID and for an intent on-chain (contract section 6): keccak256 of their text. Pure, small, and the only
// place where the service's names become the chain's.
import { keccak_256 } from "@noble/hashes/sha3.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";

export type Hash = `0x${string}`;

/** keccak256 of the DID's text. */
export function didHash(did: string): Hash {
  return keccakText(did);
}

/** keccak256 of the intent's id. */
export function intentHash(intentId: string): Hash {
  return keccakText(intentId);
}

/** keccak256 of any text in UTF-8; names an arbiter's award in a payout. */
export function keccakText(text: string): Hash {
  return `0x${bytesToHex(keccak_256(utf8ToBytes(text)))}`;
}

/**
 * Whether AEA/P clients can pay a provider with this DID: they strip the hash's prefix with a routine that also eats
 * leading zero nibbles (public clients, step 6), so such a DID is drawn again.
 */
export function isPayableDid(did: string): boolean {
  return !didHash(did).startsWith("0x0");
}

/** A transaction hash as the chain writes it, from one with or without 0x and in any case; undefined for anything else. */
export function parseTxHash(text: string): Hash | undefined {
  const match = /^(?:0x)?([0-9a-f]{64})$/i.exec(text);
  return match?.[1] === undefined ? undefined : `0x${match[1].toLowerCase()}`;
}

/** Whether an address of 40 hex digits is well typed: in one case, or in the mixed case that EIP-55 makes a checksum of. */
export function isAddress(text: string): boolean {
  const digits = /^0x([0-9a-fA-F]{40})$/.exec(text)?.[1];
  if (digits === undefined) return false;
  const lower = digits.toLowerCase();
  if (digits === lower || digits === digits.toUpperCase()) return true;
  const hash = keccakText(lower).slice(2);
  const checked = [...lower].map((digit, i) =>
    Number.parseInt(hash.charAt(i), 16) >= 8 ? digit.toUpperCase() : digit,
  );
  return checked.join("") === digits;
}
