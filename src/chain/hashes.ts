// Converts DIDs and intent ids to their on-chain form, keccak256 of their text (CHN-8). Pure.
import { hexToBytes } from "viem/utils";
import { encodeBase64Url } from "../core/encoding.ts";
import { hashText, toChecksumAddress } from "../protocol/keccak.ts";
import { computeIntentHash } from "../protocol/payment.ts";

export type Hash = `0x${string}`;

export function hashDid(did: string): Hash {
  return hashText(did);
}

/** Returns the hash that names an intent on-chain: keccak256 of its id, or a hash that also commits to the one address that may pay it (PAY-25). */
export const hashIntent = (intentId: string, payer: string | null = null): Hash => computeIntentHash(intentId, payer);

/** True if the id's hash commits to no payer. An intent without a payer draws new ids until this is true. */
export const namesNoPayer = (intentId: string): boolean => /^0x[0-7]/.test(hashText(intentId));

/** The first 128 bits of a hash, to find a row; the whole hash is compared afterwards. */
export const shortenHash = (hash: Hash): string => encodeBase64Url(hexToBytes(hash).slice(0, 16));

/** Hashes the terms by which a payment that names no intent is matched to one: network, parties and amount in base units. Rows store this hash. */
export const hashTerms = (network: string, providerDidHash: Hash, consumerDidHash: Hash, units: bigint): string =>
  shortenHash(hashText(`${network} ${providerDidHash} ${consumerDidHash} ${units}`));

/** A hash as indexed columns store it, in two thirds of its hex length. */
export const encodeStoredHash = (hash: Hash): string => encodeBase64Url(hexToBytes(hash));

/** True if AEA/P clients can pay this provider. They strip leading zero nibbles of the hash, so such a DID is drawn again (AGT-10). */
export function isPayableDid(did: string): boolean {
  return !hashDid(did).startsWith("0x0");
}

/** Returns the canonical form of a transaction hash, given with or without 0x and in any case; undefined for any other text. */
export function parseTxHash(text: string): Hash | undefined {
  const match = /^(?:0x)?([0-9a-f]{64})$/i.exec(text);
  return match?.[1] === undefined ? undefined : `0x${match[1].toLowerCase()}`;
}

/** True for an address of 40 hex digits in one case, or with a correct EIP-55 checksum (MKT-10). */
export const isAddress = (text: string): boolean => toChecksumAddress(text) !== undefined;
