// Decimal text and the double that is nearest to it.

/** Whether the double keeps the value of the text: its shortest text has the same. */
export function isDouble(text: string): boolean {
  // Most numbers; each costs little, because a body may hold a hundred thousand.
  if (/^-?\d{1,15}$/.test(text)) return true;
  const value = Number(text);
  return Number.isFinite(value) && decimalOf(text) === decimalOf(String(value));
}

/** One text for each value: its digits without zeros at the ends, and an exponent. */
function decimalOf(text: string): string {
  const [, sign, whole = "", fraction = "", exponent = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const digits = (whole + fraction).replace(/^0+/, "");
  const kept = digits.replace(/(?<!0)0+$/, "");
  return kept === "" ? "0" : `${sign}${kept}e${Number(exponent) - fraction.length + digits.length - kept.length}`;
}
