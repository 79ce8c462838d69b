// Proofs that must never be accepted with an honest certificate, each with its reason. A forger knows the text that would have to be signed, and has
// seen an honest signature of it; a careless client signs another text or writes the signature in another form.
import { p384 } from "@noble/curves/nist";
import { secp256k1 } from "@noble/curves/secp256k1";
import { encodeBase64, encodeBase64Url, encodeHex, encodeUtf8 } from "../../src/core/encoding.ts";
import { encodeDer, P256_ORDER } from "../../src/protocol/ecdsa.ts";
import type { ProofFault } from "../../src/protocol/proof.ts";
import { bytes32 } from "./forged-certificates.ts";

/** `sign` makes the agent's honest raw signature; `text` has to be signed, and contains `timestamp`. */
export type Proving = {
  readonly text: string;
  readonly timestamp: string;
  readonly sign: (text: string) => Promise<Uint8Array>;
};
export type ForgedProof = readonly [
  name: string,
  make: (proving: Proving) => Promise<string> | string,
  reason: ProofFault,
];

// ---- Forms of an honest signature ----------------------------------------------------------------------------------------

/** The honest signature, written in another form. */
const written =
  (write: (raw: Uint8Array) => string) =>
  async ({ text, sign }: Proving): Promise<string> =>
    write(await sign(text));
const asBytes = (change: (raw: Uint8Array) => readonly number[]) =>
  written((raw) => encodeBase64(Uint8Array.from(change(raw))));
/** The DER of the honest numbers with one change. */
const asDer = (change: (r: readonly number[], s: readonly number[]) => readonly number[]) =>
  asBytes((raw) => {
    const der = [...encodeDer(raw)];
    const end = 4 + (der[3] ?? 0);
    return change(der.slice(2, end), der.slice(end));
  });
const sequence = (...parts: readonly (readonly number[])[]): number[] => [0x30, parts.flat().length, ...parts.flat()];
const content = ([, , ...bytes]: readonly number[]): number[] => bytes;
const integer = (bytes: readonly number[]): number[] => [0x02, bytes.length, ...bytes];

const FORMS: readonly ForgedProof[] = [
  ["DER and a byte after it", asDer((r, s) => [...sequence(r, s), 0]), "signature_form"],
  ["DER and a second one after it", asDer((r, s) => [...sequence(r, s), ...sequence(r, s)]), "signature_form"],
  ["DER with a byte inside it", asDer((r, s) => sequence(r, s, [0])), "signature_form"],
  ["DER with a third number", asDer((r, s) => sequence(r, s, [2, 1, 1])), "signature_form"],
  ["DER of a long length", asDer((r, s) => [0x30, 0x81, r.length + s.length, ...r, ...s]), "signature_form"],
  ["DER of an indefinite length", asDer((r, s) => [0x30, 0x80, ...r, ...s, 0, 0]), "signature_form"],
  ["DER of a length that is too short", asDer((r, s) => [0x30, r.length + s.length - 1, ...r, ...s]), "signature_form"],
  ["r with a needless zero before it", asDer((r, s) => sequence(integer([0, 0, ...content(r)]), s)), "signature_form"],
  ["s with a needless zero before it", asDer((r, s) => sequence(r, integer([0, 0, ...content(s)]))), "signature_form"],
  ["a number with a long length", asDer((r, s) => sequence([2, 0x81, ...r.slice(1)], s)), "signature_form"],
  ["numbers that are octet strings", asDer((r, s) => sequence([4, ...r.slice(1)], s)), "signature_form"],
  ["a set instead of a sequence", asDer((r, s) => [0x31, ...sequence(r, s).slice(1)]), "signature_form"],
  ["63 bytes", asBytes((raw) => [...raw.slice(1)]), "signature_form"],
  ["65 bytes, as with a recovery number", asBytes((raw) => [...raw, 27]), "signature_form"],
  ["r alone", asBytes((raw) => [...raw.slice(0, 32)]), "signature_form"],
  ["hex", written(encodeHex), "signature_form"],
  ["hex after 0x", written((raw) => `0x${encodeHex(raw)}`), "signature_encoding"],
  ["one = where there must be two", written((raw) => `${encodeBase64Url(raw)}=`), "signature_encoding"],
  ["three = where there must be two", written((raw) => `${encodeBase64Url(raw)}===`), "signature_encoding"],
  ["= where there must be none", asBase64((raw) => `${raw.slice(0, 4)}=${raw.slice(4)}`), "signature_encoding"],
  ["both alphabets", written((raw) => mixed(encodeBase64(raw))), "signature_encoding"],
  ["a space inside", asBase64((text) => `${text.slice(0, 20)} ${text.slice(20)}`), "signature_encoding"],
  ["percent signs", written((raw) => encodeURIComponent(`${encodeBase64(raw)}`)), "signature_encoding"],
  ["base64 of base64", asBase64((text) => btoa(text)), "signature_form"],
  ["quotes", asBase64((text) => `"${text}"`), "signature_encoding"],
  ["set unused bits", written((raw) => unusedBits(encodeBase64Url(raw))), "signature_encoding"],
  ["the words of a scheme", asBase64((text) => `ES256 ${text}`), "signature_encoding"],
  ["a detached JWS", written((raw) => `eyJhbGciOiJFUzI1NiJ9..${encodeBase64Url(raw)}`), "signature_encoding"],
  ["two proofs", asBase64((text) => `${text}, ${text}`), "signature_encoding"],
  ["1,000 characters", () => "A".repeat(1_000), "signature_encoding"],
];

function asBase64(change: (text: string) => string) {
  return written((raw) => change(encodeBase64(raw)));
}
function mixed(text: string): string {
  return `-/${text.slice(2)}`;
}
/** The last of 86 characters carries two bits: this sets the four others. */
function unusedBits(text: string): string {
  const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  return `${text.slice(0, -1)}${digits[digits.indexOf(text.at(-1) ?? "A") | 1]}`;
}

// ---- Numbers ---------------------------------------------------------------------------------------------------------------

const both = (name: string, r: bigint, s: bigint): readonly ForgedProof[] => {
  const raw = Uint8Array.from([...bytes32(r), ...bytes32(s)]);
  return [
    [`${name}, raw`, () => encodeBase64Url(raw), "signature_range"],
    [`${name}, as DER`, () => encodeBase64(encodeDer(raw)), "signature_range"],
  ];
};
const MAXIMUM = (1n << 256n) - 1n;

const NUMBERS: readonly ForgedProof[] = [
  ...both("r and s of zero", 0n, 0n),
  ...both("r of zero", 0n, 1n),
  ...both("s of zero", 1n, 0n),
  ...both("r of the order", P256_ORDER, 1n),
  ...both("s of the order", 1n, P256_ORDER),
  ...both("r beyond the order", MAXIMUM, 1n),
  ...both("s beyond the order", 1n, MAXIMUM),
  [
    "r of one and s of one",
    () => encodeBase64Url(Uint8Array.from([...bytes32(1n), ...bytes32(1n)])),
    "signature_mismatch",
  ],
  ["r and s exchanged", asBytes((raw) => [...raw.slice(32), ...raw.slice(0, 32)]), "signature_mismatch"],
];

// ---- Other signers and other texts -----------------------------------------------------------------------------------------

const digestOf = async (hash: string, text: string): Promise<Uint8Array> =>
  new Uint8Array(await crypto.subtle.digest(hash, encodeUtf8(text)));
/** The agent's honest signature over another text. */
const over =
  (change: (text: string, proving: Proving) => string) =>
  async (proving: Proving): Promise<string> =>
    encodeBase64(encodeDer(await proving.sign(change(proving.text, proving))));
const stranger =
  (hash: string) =>
  async ({ text }: Proving): Promise<string> => {
    const algorithm = { name: "ECDSA", namedCurve: "P-256" };
    const { privateKey } = (await crypto.subtle.generateKey(algorithm, false, ["sign"])) as CryptoKeyPair;
    return encodeBase64Url(
      new Uint8Array(await crypto.subtle.sign({ name: "ECDSA", hash }, privateKey, encodeUtf8(text))),
    );
  };

const SIGNERS: readonly ForgedProof[] = [
  ["a stranger's signature", stranger("SHA-256"), "signature_mismatch"],
  ["a stranger's signature over SHA-384", stranger("SHA-384"), "signature_mismatch"],
  [
    "a signature of secp256k1",
    async ({ text }) =>
      encodeBase64Url(
        secp256k1.sign(await digestOf("SHA-256", text), secp256k1.utils.randomPrivateKey()).toCompactRawBytes(),
      ),
    "signature_mismatch",
  ],
  [
    "a signature of P-384",
    async ({ text }) =>
      encodeBase64Url(p384.sign(await digestOf("SHA-384", text), p384.utils.randomPrivateKey()).toCompactRawBytes()),
    "signature_form",
  ],
];

const TEXTS: readonly ForgedProof[] = [
  ["spaces around the separators", over((text) => text.replaceAll("|", " | ")), "signature_mismatch"],
  ["a line's end", over((text) => `${text}\n`), "signature_mismatch"],
  ["a byte order mark", over((text) => `\uFEFF${text}`), "signature_mismatch"],
  ["its parts in the other order", over((text) => text.split("|").reverse().join("|")), "signature_mismatch"],
  ["capitals", over((text) => text.toUpperCase()), "signature_mismatch"],
  [
    "another second",
    over((text, { timestamp }) => text.replace(timestamp, `${Number(timestamp) + 1}`)),
    "signature_mismatch",
  ],
  [
    "the same instant otherwise",
    over((text, { timestamp }) => text.replace(timestamp, iso(timestamp))),
    "signature_mismatch",
  ],
  ["the text's hex digest", over((text) => encodeHex(encodeUtf8(text))), "signature_mismatch"],
  ["nothing", over(() => ""), "signature_mismatch"],
];
function iso(timestamp: string): string {
  return `${new Date(Number(timestamp) * 1_000).toISOString().slice(0, 19)}Z`;
}

export const FORGED_PROOFS: readonly ForgedProof[] = [
  ...FORMS,
  ...NUMBERS,
  ...SIGNERS,
  ...TEXTS.map(([name, make, reason]) => [`a signature over ${name}`, make, reason] as const),
];

// ---- Timestamps ------------------------------------------------------------------------------------------------------------

const inMs = (seconds: number): number => Date.now() + seconds * 1_000;
const epoch = (seconds: number) => (): string => String(Math.floor(inMs(seconds) / 1_000));
const zulu = (seconds: number) => (): string => new Date(inMs(seconds)).toISOString();
const atOffset = (seconds: number, hours: number, zone: string) => (): string =>
  `${new Date(inMs(seconds + hours * 3_600)).toISOString().slice(0, 19)}${zone}`;

/** Honestly signed, but at an instant that does not count. */
export const TIMESTAMPS: readonly (readonly [name: string, at: () => string, reason: ProofFault])[] = [
  ["32 s ago", epoch(-32), "timestamp_too_old"],
  ["32 s ago in ISO 8601", zulu(-32), "timestamp_too_old"],
  ["32 s ago at an offset", atOffset(-32, 5, "+05:00"), "timestamp_too_old"],
  ["32 s ahead", epoch(33), "timestamp_in_future"],
  ["32 s ahead in ISO 8601", zulu(33), "timestamp_in_future"],
  ["32 s ahead at an offset", atOffset(33, -8, "-08:00"), "timestamp_in_future"],
  ["of the wrong offset", atOffset(0, 0, "+02:00"), "timestamp_too_old"],
  ["the beginning of time", () => "0", "timestamp_too_old"],
  ["the end of time", () => "999999999999", "timestamp_in_future"],
];

/** Not valid as timestamps, so there is no text that could be signed. */
export const NO_TIMESTAMPS: readonly (readonly [name: string, at: () => string])[] = [
  ["milliseconds", () => String(Date.now())],
  ["a fraction of a second", () => `${epoch(0)()}.0`],
  ["a power", () => "1e9"],
  ["hexadecimal digits", () => `0x${Math.floor(Date.now() / 1_000).toString(16)}`],
  ["a sign", () => `+${epoch(0)()}`],
  ["a zero before it", () => `0${epoch(0)()}`],
  ["two of them", () => `${epoch(0)()},${epoch(0)()}`],
  ["a separator", () => `${epoch(0)()}|`],
  ["no zone", () => zulu(0)().slice(0, 19)],
  ["no seconds", () => `${zulu(0)().slice(0, 16)}Z`],
  ["a small z", () => zulu(0)().toLowerCase()],
  ["a space", () => zulu(0)().replace("T", " ")],
  ["a leap second", () => `${zulu(0)().slice(0, 17)}60Z`],
  ["the 30th of February", () => "2026-02-30T12:00:00Z"],
  ["an HTTP date", () => new Date().toUTCString()],
  ["words", () => "now"],
];
