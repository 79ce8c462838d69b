// Keccak-256 as the EVM has it, which is SHA3-256 but for the padding, and EIP-55, which stands on it. The protocol is free of chain libraries,
// and WebCrypto has no Keccak; a payer hashes a few hundred bytes, so it is written to be short.
import { encodeHex, encodeUtf8 } from "../core/encoding.ts";

export type Hex = `0x${string}`;

/** Bytes that a permutation takes in. */
const RATE = 136;
const LANES = 25;
const LANE_BYTES = 8;
const ROUNDS = 24;
const LANE_BITS = 64;

/** Where the steps rho and pi carry a lane next, beginning with lane 1; the t-th is turned by (t+1)(t+2)/2 bits. */
const PATH = [10, 7, 11, 17, 18, 3, 5, 16, 8, 21, 24, 4, 15, 23, 19, 13, 12, 2, 20, 14, 22, 9, 6, 1];
const TURNS = PATH.map((_, t) => BigInt((((t + 1) * (t + 2)) / 2) % LANE_BITS));
const ROUND_CONSTANTS = roundConstants();

/** Keccak-256 of bytes. */
export function keccak256(bytes: Uint8Array): Hex {
  const padded = new Uint8Array(Math.floor(bytes.length / RATE + 1) * RATE);
  padded.set(bytes);
  padded[bytes.length] = 0x01;
  padded[padded.length - 1] = (padded.at(-1) ?? 0) | 0x80;
  const words = new DataView(padded.buffer);
  const state: bigint[] = Array(LANES).fill(0n);
  for (let block = 0; block < padded.length; block += RATE) {
    for (let lane = 0; lane < RATE / LANE_BYTES; lane++) {
      state[lane] = at(state, lane) ^ words.getBigUint64(block + lane * LANE_BYTES, true);
    }
    permute(state);
  }
  const digest = new DataView(new ArrayBuffer(32));
  for (let lane = 0; lane < 4; lane++) digest.setBigUint64(lane * LANE_BYTES, at(state, lane), true);
  return `0x${encodeHex(new Uint8Array(digest.buffer))}`;
}

/** Keccak-256 of a text's UTF-8: how a DID and an intent's id stand on-chain. */
export const hashOfText = (text: string): Hex => keccak256(encodeUtf8(text));

/** An address of 40 hex digits in the mixed case of EIP-55; undefined where it is not one, or its own mixed case is wrong. */
export function checksummed(text: string): Hex | undefined {
  const digits = /^0x([0-9a-fA-F]{40})$/.exec(text)?.[1];
  if (digits === undefined) return undefined;
  const lower = digits.toLowerCase();
  const hash = hashOfText(lower).slice(2);
  const mixed = [...lower].map((digit, i) => (Number.parseInt(hash.charAt(i), 16) >= 8 ? digit.toUpperCase() : digit));
  const isMixed = digits !== lower && digits !== digits.toUpperCase();
  return isMixed && digits !== mixed.join("") ? undefined : `0x${mixed.join("")}`;
}

function permute(state: bigint[]): void {
  for (const constant of ROUND_CONSTANTS) {
    const columns = [0, 1, 2, 3, 4].map((x) =>
      [5, 10, 15, 20].reduce((sum, y) => sum ^ at(state, x + y), at(state, x)),
    );
    for (let lane = 0; lane < LANES; lane++) {
      state[lane] = at(state, lane) ^ at(columns, (lane + 4) % 5) ^ turned(at(columns, (lane + 1) % 5), 1n);
    }
    let carried = at(state, 1);
    for (const [t, lane] of PATH.entries()) {
      const next = at(state, lane);
      state[lane] = turned(carried, at(TURNS, t));
      carried = next;
    }
    for (let row = 0; row < LANES; row += 5) {
      const lanes = state.slice(row, row + 5);
      for (let x = 0; x < 5; x++) {
        state[row + x] = at(lanes, x) ^ (BigInt.asUintN(LANE_BITS, ~at(lanes, (x + 1) % 5)) & at(lanes, (x + 2) % 5));
      }
    }
    state[0] = at(state, 0) ^ constant;
  }
}

/** The bits of a linear feedback shift register, at the places 2^j - 1. */
function roundConstants(): bigint[] {
  let register = 1;
  return Array.from({ length: ROUNDS }, () => {
    let constant = 0n;
    for (let j = 0; j < 7; j++) {
      if ((register & 1) === 1) constant |= 1n << BigInt(2 ** j - 1);
      register = (register << 1) ^ ((register >> 7) * 0x171);
    }
    return constant;
  });
}

const turned = (lane: bigint, bits: bigint): bigint =>
  BigInt.asUintN(LANE_BITS, (lane << bits) | (lane >> (BigInt(LANE_BITS) - bits)));

const at = (lanes: readonly bigint[], index: number): bigint => lanes[index] ?? 0n;
