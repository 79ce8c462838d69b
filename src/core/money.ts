// Contract section 1, Money: decimal strings in whole units on the wire, integers in token base units inside, bounded by
// 2^53-1. A number or exponent form on input is read as decimal text, never through a binary float.

export const BASE_UNITS_MAX = Number.MAX_SAFE_INTEGER;

const DECIMAL = /^(\d{1,40})(?:\.(\d{1,40}))?(?:[eE]([+-]?\d{1,3}))?$/;

export type MoneyFault = "invalid_format" | "too_big" | "too_small";

/** Whole units as text → base units; a fault when it is malformed, finer than the token or out of range. */
export function parseAmount(
  text: string,
  decimals: number,
): { ok: true; units: number } | { ok: false; fault: MoneyFault } {
  const match = DECIMAL.exec(text);
  if (!match) return { ok: false, fault: "invalid_format" };
  const [, whole = "", fraction = "", exponent = "0"] = match;
  const digits = (whole + fraction).replace(/^0+/, "");
  if (digits === "") return { ok: true, units: 0 };
  const shift = Number(exponent) - fraction.length + decimals;
  if (shift >= 0) {
    if (digits.length + shift > 20) return { ok: false, fault: "too_big" };
    return bounded(BigInt(digits + "0".repeat(shift)));
  }
  const cut = digits.length + shift;
  const dropped = cut <= 0 ? digits : digits.slice(cut);
  if (/[1-9]/.test(dropped)) return { ok: false, fault: "invalid_format" };
  return bounded(cut <= 0 ? 0n : BigInt(digits.slice(0, cut)));
}

const EXPONENT_MAX = 40;

/** The same amount as plain decimal text: no exponent, two fraction digits or as many as it needs. Null out of reason. */
export function plainAmount(text: string): string | null {
  const match = DECIMAL.exec(text);
  const [, whole = "", fraction = "", exponent = "0"] = match ?? [];
  if (!match || Math.abs(Number(exponent)) > EXPONENT_MAX) return null;
  const point = whole.length + Number(exponent);
  const digits = (point < 1 ? "0".repeat(1 - point) : "") + (whole + fraction).padEnd(point, "0");
  const at = Math.max(point, 1);
  const units = digits.slice(0, at).replace(/^0+(?=\d)/, "");
  return `${units}.${digits.slice(at).replace(/0+$/, "").padEnd(2, "0")}`;
}

function bounded(units: bigint): { ok: true; units: number } | { ok: false; fault: MoneyFault } {
  return units > BigInt(BASE_UNITS_MAX) ? { ok: false, fault: "too_big" } : { ok: true, units: Number(units) };
}

/** Base units → whole units as text, with at least `minFraction` fraction digits and no needless zeros after that. */
export function formatAmount(units: number | bigint, decimals: number, minFraction = 2): string {
  const negative = units < 0;
  const digits = (negative ? -BigInt(units) : BigInt(units)).toString().padStart(decimals + 1, "0");
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = decimals === 0 ? "" : digits.slice(digits.length - decimals);
  const trimmed = fraction.replace(/0+$/, "").padEnd(Math.min(minFraction, decimals), "0");
  return `${negative ? "-" : ""}${whole}${trimmed === "" ? "" : `.${trimmed}`}`;
}

/** A value of 0..1 rounded half-even to two decimals (contract 6, Rating). */
export function roundHalfEven2(value: number): number {
  const scaled = value * 100;
  const floor = Math.floor(scaled);
  const rest = scaled - floor;
  // A tie is a tie within the noise of binary floats.
  if (Math.abs(rest - 0.5) < 1e-9) return (floor % 2 === 0 ? floor : floor + 1) / 100;
  return Math.round(scaled) / 100;
}
