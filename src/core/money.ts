// Money: decimal strings in whole units on the wire, integers of token base units inside (HTTP-4, HTTP-5). Decimal text is never read through a
// binary float.

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

/** digits × 10^(decimals - scale). `exact`: nothing was cut off. */
function toScale({ digits, scale }: Decimal, decimals: number): { units: bigint; exact: boolean } {
  if (decimals >= scale) return { units: digits * 10n ** BigInt(decimals - scale), exact: true };
  const divisor = 10n ** BigInt(scale - decimals);
  return { units: digits / divisor, exact: digits % divisor === 0n };
}

/** Converts whole units as text to base units. Reports a fault when the text is malformed, finer than the token or out of range. */
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

/** Converts a ceiling to base units: rounded down to the token's precision, and at most the largest amount. */
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

/** Converts base units to whole units as text, with at least `minFraction` fraction digits and no further trailing zeros. */
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
