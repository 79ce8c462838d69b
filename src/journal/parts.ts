// Splits many rows into JSON parameters that D1 accepts: at most 2 MB each.

const PART_CHARS = 500_000;

/** Each part is a JSON array of rows. Without rows there is no part. */
export function inParts(rows: readonly unknown[]): string[] {
  const parts: string[][] = [];
  let size = PART_CHARS;
  for (const row of rows) {
    const text = JSON.stringify(row);
    if (size + text.length > PART_CHARS) {
      parts.push([]);
      size = 0;
    }
    parts.at(-1)?.push(text);
    size += text.length;
  }
  return parts.map((part) => `[${part.join(",")}]`);
}
