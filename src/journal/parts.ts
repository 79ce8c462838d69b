// What is written of many rows at once goes in as JSON, in parts that D1 takes: at most 2 MB a parameter.

const PART_CHARS = 500_000;

/** Each part is a JSON array of rows. No row, no part. */
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
