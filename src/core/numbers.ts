// Decimal text and the double that is nearest to it.

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
