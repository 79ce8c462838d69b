// The on-chain form of a DID and of an intent: keccak256 of their text (CHN-8). Pure, and the only place where the service's ids become
// the chain's.
import { keccak256 } from "viem/utils";
import { encodeUtf8 } from "../core/encoding.ts";

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
  return keccak256(encodeUtf8(text));
}

/**
 * True when AEA/P clients can pay a provider with this DID. They strip the hash's prefix with a routine that also removes leading zero
 * nibbles, so a DID whose hash begins with one is drawn again (AGT-10).
 */
export function isPayableDid(did: string): boolean {
  return !didHash(did).startsWith("0x0");
}

/** The canonical form of a transaction hash with or without 0x and in any case; undefined for anything else. */
export function parseTxHash(text: string): Hash | undefined {
  const match = /^(?:0x)?([0-9a-f]{64})$/i.exec(text);
  return match?.[1] === undefined ? undefined : `0x${match[1].toLowerCase()}`;
}

/** True for an address of 40 hex digits in one case, or with a correct EIP-55 checksum (MKT-10). */
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
