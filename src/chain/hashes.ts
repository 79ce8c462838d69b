// The on-chain form of a DID and of an intent: keccak256 of their text (CHN-8). Pure, and the only place where the service's ids become
// the chain's.
import { hexToBytes } from "viem/utils";
import { encodeBase64Url } from "../core/encoding.ts";
import { checksummed, hashOfText } from "../protocol/keccak.ts";
import { intentHashOf } from "../protocol/payment.ts";

export type Hash = `0x${string}`;

/** keccak256 of the DID's text. */
export function didHash(did: string): Hash {
  return hashOfText(did);
}

/** What names an intent on-chain: keccak256 of its id, or what commits to the one address that may pay it (PAY-25). */
export const intentHash = (intentId: string, payer: string | null = null): Hash => intentHashOf(intentId, payer);

/** True for an id whose hash commits to no payer: one of an intent that names none is drawn again until it is so. */
export const namesNoPayer = (intentId: string): boolean => /^0x[0-7]/.test(hashOfText(intentId));

/** The first 128 bits of it: what only finds a row, whose whole hash is compared then. */
export const shortHash = (hash: Hash): string => encodeBase64Url(hexToBytes(hash).slice(0, 16));

/** What a payment tells of the intent that it is for, where it names none: parties, network and base units, as rows hold it. */
export const termsOf = (network: string, providerDidHash: Hash, consumerDidHash: Hash, units: bigint): string =>
  shortHash(hashOfText(`${network} ${providerDidHash} ${consumerDidHash} ${units}`));

/** A hash as rows hold it, where an index is read by it: two thirds of its length. */
export const storedHash = (hash: Hash): string => encodeBase64Url(hexToBytes(hash));

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
export const isAddress = (text: string): boolean => checksummed(text) !== undefined;
