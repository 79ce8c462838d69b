// A listing as CSV (RFC 4180), streamed slice by slice. Cells that a spreadsheet would run as a formula are defused (HTTP-37).
import { parseAcceptWeights } from "./accept.ts";
import { type Answer, answer } from "./answer.ts";

const CSV = "text/csv";

/** A column's name and its cell for a row; null is an empty cell. */
export type CsvColumn<T> = readonly [name: string, cell: (row: T) => string | number | null];

/** True when the client prefers CSV to JSON by its `Accept`. */
export const prefersCsv = (accept: string | undefined): boolean => {
  const weight = parseAcceptWeights(accept);
  return weight(CSV) > weight("application/json");
};

/** Reads slices as the client reads, so that the whole listing is never in memory. A slice that fails breaks the answer off. */
export function answerCsv<T>(
  name: string,
  columns: readonly CsvColumn<T>[],
  slices: AsyncIterator<readonly T[]>,
): Answer {
  const bytes = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(bytes.encode(toCsvLine(columns.map(([column]) => column)))),
    pull: async (controller) => {
      const slice = await slices.next();
      if (slice.done) return controller.close();
      const lines = slice.value.map((row) => toCsvLine(columns.map(([, cell]) => cell(row))));
      controller.enqueue(bytes.encode(lines.join("")));
    },
    cancel: async () => void (await slices.return?.()),
  });
  const headers = {
    "Content-Type": `${CSV}; charset=utf-8; header=present`,
    "Content-Disposition": `attachment; filename="${name}.csv"`,
    Vary: "Accept",
  };
  return answer(200, headers, body);
}

const toCsvLine = (cells: readonly (string | number | null)[]): string => `${cells.map(toCsvCell).join(",")}\r\n`;

/**
 * Matches the places where a spreadsheet may start a formula: the start of a cell, and after each character that separates cells in some locale.
 * Leading spaces and quotes are ignored.
 */
const FORMULA = /(^|[;,\t\r\n])(?=[ "']*[=+\-@\t\r＝＋－＠])/g;

function toCsvCell(value: string | number | null): string {
  if (value === null) return "";
  if (typeof value === "number") return String(value);
  const text = value.replace(FORMULA, "$1'");
  return text !== value || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
