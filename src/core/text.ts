// Text that people write: lists in configuration, names that are compared (HTTP-8), addresses, decimal numbers and amounts of money.
/** `a, b,c` → its items, without white space and without empty items. */
export const splitList = (text: string): string[] =>
  text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");

/** Trims spaces only. The lookbehind keeps the time linear for a text of many spaces. */
export const trimSpaces = (text: string): string => text.replace(/^ +|(?<! ) +$/g, "");

/**
 * The form in which names are compared: Unicode's compatibility forms, caseless, white space as one space. Lower case of upper case also equates ß
 * with SS, and σ with ς; lower case comes first, because ẞ has no other upper case. A dotless ı stays apart: Unicode folds it to itself, though its
 * upper case is that of i.
 */
export const foldName = (name: string): string =>
  removeJoiners(name)
    .normalize("NFKC")
    .split("ı")
    .map(toCaseless)
    .join("ı")
    .normalize("NFKC")
    .replace(/\s+/gu, " ")
    .trim();

export const isSameText = (one: string, other: string): boolean => foldName(one) === foldName(other);

const toCaseless = (text: string): string => text.toLowerCase().toUpperCase().toLowerCase();

const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}]/u;
const CONTROL_IN_LINES = /(?![\t\n\r])[\p{Cc}\p{Zl}\p{Zp}]/u;
const BIDI_CONTROL = /\p{Bidi_Control}/u;
/**
 * Besides the ignorable characters: annotations, a Braille symbol without a dot, controls and blanks of hieroglyphs, a filler and a note without a
 * head.
 */
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\u2800\ufff9-\ufffb\u{13430}-\u{13442}\u{16fe4}\u{1d159}]/u;
const VISIBLE = /[\p{L}\p{N}\p{P}\p{S}]/u;

/** A character's fault as a sentence; null for a good name. An invisible character would let one name pass for another. */
export function findNameCharacterFault(name: string): string | null {
  if (CONTROL.test(name)) return "Must not contain control characters.";
  if (BIDI_CONTROL.test(name)) return "Must not contain characters that change the direction of writing.";
  return INVISIBLE.test(removeNeededJoiners(name)) ? "Must not contain invisible characters." : null;
}

export const findNameFault = (name: string): string | null =>
  findNameCharacterFault(name) ?? (VISIBLE.test(name) ? null : "Must contain a visible character.");

export function findTextFault(text: string): string | null {
  if (CONTROL_IN_LINES.test(text)) return "Must not contain control characters.";
  if (BIDI_CONTROL.test(text)) return "Must not contain characters that change the direction of writing.";
  return null;
}

// ---- Joiners ------------------------------------------------------------------------------------------------------------

// Default-ignorable characters that a correctly written name needs, in the sense of RFC 5892, appendix A: joiners in some scripts, and variants of
// Han characters.

/** The characters of canonical combining class 9 (Unicode 14). */
const VIRAMAS = [
  0x94d, 0x9cd, 0xa4d, 0xacd, 0xb4d, 0xbcd, 0xc4d, 0xccd, 0xd3b, 0xd3c, 0xd4d, 0xdca, 0xe3a, 0xeba, 0xf84, 0x1039,
  0x103a, 0x1714, 0x1715, 0x1734, 0x17d2, 0x1a60, 0x1b44, 0x1baa, 0x1bab, 0x1bf2, 0x1bf3, 0x2d7f, 0xa806, 0xa82c,
  0xa8c4, 0xa953, 0xa9c0, 0xaaf6, 0xabed, 0x10a3f, 0x11046, 0x11070, 0x1107f, 0x110b9, 0x11133, 0x11134, 0x111c0,
  0x11235, 0x112ea, 0x1134d, 0x11442, 0x114c2, 0x115bf, 0x1163f, 0x116b6, 0x1172b, 0x11839, 0x1193d, 0x1193e, 0x119e0,
  0x11a34, 0x11a47, 0x11a99, 0x11c3f, 0x11d44, 0x11d45, 0x11d97,
];
const AFTER_VIRAMA = `(?<=[${String.fromCodePoint(...VIRAMAS)}])`;
const CURSIVE = String.raw`[[\p{L}\p{M}]&&[\p{scx=Arabic}\p{scx=Syriac}\p{scx=Mongolian}\p{scx=Nko}]]`;

/** U+200C and U+200D between cursive letters or after a virama, and U+E0100 to U+E01EF after a Han character. */
const NEEDED_JOINER = new RegExp(
  String.raw`(?:(?<=${CURSIVE})[\u200c\u200d](?=${CURSIVE})|${AFTER_VIRAMA}[\u200c\u200d]|(?<=\p{sc=Han})[\u{e0100}-\u{e01ef}])`,
  "gv",
);
const ANY_JOINER = /\u200c|\u200d|[\u{e0100}-\u{e01ef}]/gu;

const removeNeededJoiners = (name: string): string => name.replace(NEEDED_JOINER, "");
/** For comparisons: names that differ only in joiners are equal. */
const removeJoiners = (name: string): string => name.replace(ANY_JOINER, "");

// ---- Addresses ----------------------------------------------------------------------------------------------------------

/** Whether the parser finds the host as it is written, ignoring case. Otherwise a client that resolves the written text would reach another host. */
export function isHostAsWritten(url: string): boolean {
  const [, host = ""] = /^https?:\/\/([^/?#]*?)(?::\d*)?(?:[/?#]|$)/i.exec(url) ?? [];
  return isAscii(host) && host.toLowerCase() === new URL(url).hostname;
}

const isAscii = (text: string): boolean => /^[\x21-\x7e]+$/.test(text);

// ---- Decimal numbers and money ------------------------------------------------------------------------------------------

// Money is a decimal string in whole units on the wire, and an integer of token base units inside (HTTP-4, HTTP-5). Decimal text is never read through
// a binary float.

/** Whether a double holds the text's value: its shortest text then has the same value. */
export function isDouble(text: string): boolean {
  // A fast path for most numbers, because a body may hold a hundred thousand.
  if (/^-?\d{1,15}$/.test(text)) return true;
  const value = Number(text);
  return Number.isFinite(value) && toCanonicalDecimal(text) === toCanonicalDecimal(String(value));
}

/** One text for each value: its digits without leading or trailing zeros, and an exponent. */
function toCanonicalDecimal(text: string): string {
  const [, sign, whole = "", fraction = "", exponent = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const digits = (whole + fraction).replace(/^0+/, "");
  const kept = digits.replace(/(?<!0)0+$/, "");
  return kept === "" ? "0" : `${sign}${kept}e${Number(exponent) - fraction.length + digits.length - kept.length}`;
}

export const BASE_UNITS_MAX = Number.MAX_SAFE_INTEGER;

/** Caps an on-chain amount at 2^53-1 base units; nothing is rounded. */
export const capBaseUnits = (units: bigint): number =>
  units > BigInt(BASE_UNITS_MAX) ? BASE_UNITS_MAX : Number(units);

export type MoneyFault = "invalid_format" | "too_big" | "too_small";

const DECIMAL = /^(\d{1,40})(?:\.(\d{1,40}))?(?:[eE]([+-]?\d{1,3}))?$/;

export const DECIMAL_MESSAGE = "Must be a decimal number of whole units, such as 10.50.";
export const isDecimal = (text: string): boolean => DECIMAL.test(text);
/** Stored amounts may have more digits: earlier versions accepted ceilings that are refused now. */
const STORED_DECIMAL = /^(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?$/;

/** digits × 10^-scale, exactly. A negative scale is a power of ten. */
type Decimal = { readonly digits: bigint; readonly scale: number };

function readDecimal(text: string, form = DECIMAL): Decimal | null {
  const match = form.exec(text);
  const [, whole = "", fraction = "", exponent = "0"] = match ?? [];
  if (!match) return null;
  return { digits: BigInt(whole + fraction), scale: fraction.length - Number(exponent) };
}

function readStoredDecimal(text: string): Decimal {
  const decimal = readDecimal(text, STORED_DECIMAL);
  if (!decimal) throw new Error("a stored amount is not a decimal number");
  return decimal;
}

function toScale({ digits, scale }: Decimal, decimals: number): { units: bigint; exact: boolean } {
  if (decimals >= scale) return { units: digits * 10n ** BigInt(decimals - scale), exact: true };
  const divisor = 10n ** BigInt(scale - decimals);
  return { units: digits / divisor, exact: digits % divisor === 0n };
}

export function parseAmount(
  text: string,
  decimals: number,
): { ok: true; units: number } | { ok: false; fault: MoneyFault } {
  const decimal = readDecimal(text);
  if (!decimal) return { ok: false, fault: "invalid_format" };
  const { units, exact } = toScale(decimal, decimals);
  if (!exact) return { ok: false, fault: "invalid_format" };
  return units > BigInt(BASE_UNITS_MAX) ? { ok: false, fault: "too_big" } : { ok: true, units: Number(units) };
}

/** Rounds down to the token's precision, and to the largest amount. */
export function floorAmount(text: string, decimals: number): number {
  const { units } = toScale(readStoredDecimal(text), decimals);
  return units > BigInt(BASE_UNITS_MAX) ? BASE_UNITS_MAX : Number(units);
}

/** Negative when `a` is less than `b`, positive when it is more; exact for any number of digits. */
export function compareDecimals(a: string, b: string): number {
  const [one, other] = [readStoredDecimal(a), readStoredDecimal(b)];
  const scale = Math.max(one.scale, other.scale);
  const difference = toScale(one, scale).units - toScale(other, scale).units;
  return difference === 0n ? 0 : difference < 0n ? -1 : 1;
}

/**
 * Formats an amount without an exponent, with at least two fraction digits. Returns null if it needs more than 40 digits on either side of the
 * point, because the parser would reject that text.
 */
export function toPlainAmount(text: string): string | null {
  const decimal = readDecimal(text);
  if (!decimal) return null;
  const scale = Math.max(2, decimal.scale);
  const plain = formatAmount(toScale(decimal, scale).units, scale);
  return isDecimal(plain) ? plain : null;
}

/** Writes at least `minFraction` fraction digits, and no further trailing zeros. */
export function formatAmount(units: number | bigint, decimals: number, minFraction = 2): string {
  const negative = units < 0;
  const digits = (negative ? -BigInt(units) : BigInt(units)).toString().padStart(decimals + 1, "0");
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = decimals === 0 ? "" : digits.slice(digits.length - decimals);
  const trimmed = fraction.replace(/(?<!0)0+$/, "").padEnd(Math.min(minFraction, decimals), "0");
  return `${negative ? "-" : ""}${whole}${trimmed === "" ? "" : `.${trimmed}`}`;
}

export function roundHalfEven2(value: number): number {
  const scaled = value * 100;
  const floor = Math.floor(scaled);
  const rest = scaled - floor;
  // Binary floats are noisy, so a value this close to a tie counts as one.
  if (Math.abs(rest - 0.5) < 1e-9) return (floor % 2 === 0 ? floor : floor + 1) / 100;
  return Math.round(scaled) / 100;
}
