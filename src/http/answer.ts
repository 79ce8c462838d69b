// The result of a handler that needs more than a JSON view: other headers, another type, no body. A listing as CSV is such an answer (HTTP-37).
import { computeSha256Hex } from "../core/encoding.ts";
import { parseAcceptWeights } from "./accept.ts";

export type Answer = {
  readonly answer: true;
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: Body;
};
/** A stream is read once, by the client. */
type Body = string | ReadableStream<Uint8Array> | null;

export const answer = (status: number, headers: Record<string, string>, body: Body): Answer => ({
  answer: true,
  status,
  headers,
  body,
});

export const isAnswer = (value: unknown): value is Answer =>
  typeof value === "object" && value !== null && "answer" in value && value.answer === true;

/** A strong entity tag of a text that is the same for every caller. */
export const computeEntityTag = async (text: string): Promise<string> =>
  `"${(await computeSha256Hex(text)).slice(0, 32)}"`;

/** A JSON view with its entity tag. A caller that sends the current tag gets 304; then the view may be null. */
export type Tagged = { readonly etag: string; readonly view: unknown; readonly tagged: true };
export const toTagged = (etag: string, view: unknown): Tagged => ({ etag, view, tagged: true });
export const isTagged = (value: unknown): value is Tagged =>
  typeof value === "object" && value !== null && "tagged" in value && value.tagged === true;

// ---- Conditional requests (RFC 9110, 13) ---------------------------------------------------------------------------------

/** A caller that sends the answer's current entity tag gets no body. */
export function toNotModifiedIfKnown(full: Answer, ifNoneMatch: string | undefined): Answer {
  const { ETag: etag } = full.headers;
  if (full.status !== 200 || etag === undefined || ifNoneMatch === undefined || !matchesTag(etag, ifNoneMatch))
    return full;
  const { "Content-Type": _type, ...headers } = full.headers;
  return answer(304, headers, null);
}

const toOpaqueTag = (tag: string): string => tag.trim().replace(/^W\//, "");

/** If-None-Match compares weakly. */
const matchesTag = (etag: string, given: string): boolean =>
  given.split(",").some((tag) => toOpaqueTag(tag) === toOpaqueTag(etag) || tag.trim() === "*");

// ---- CSV (RFC 4180) ------------------------------------------------------------------------------------------------------

export type CsvColumn<T> = readonly [name: string, cell: (row: T) => string | number | null];

const CSV = "text/csv";

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

/** Where a spreadsheet may start a formula, which is defused: at the start, and after each separator of some locale, before spaces and quotes. */
const FORMULA = /(^|[;,\t\r\n])(?=[ "']*[=+\-@\t\r＝＋－＠])/g;

function toCsvCell(value: string | number | null): string {
  if (value === null) return "";
  if (typeof value === "number") return String(value);
  const text = value.replace(FORMULA, "$1'");
  return text !== value || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
