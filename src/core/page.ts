// Lists and their cursors (HTTP-26 to HTTP-28). A cursor holds a keyset position and a hash of its listing: the name, the owner and the filters.
import { decodeBase64Url, decodeUtf8, encodeBase64Url, encodeUtf8 } from "./encoding.ts";
import { computeShortHash } from "./seal.ts";

export type Page<T> = { data: T[]; next_cursor: string | null; has_more: boolean };
/** A keyset position: the sort value (epoch ms) and the id that breaks ties. */
export type Position = { readonly at: number; readonly id: string };

export type Listing = string;

export type AskedRows = { readonly limit: number; readonly after: Position | null };

/** `end`: the row at which a scan ended before the page was full; null if no rows are left, or the page is full. */
export type FoundRows<Row> = { readonly rows: Row[]; readonly end: Row | null };

/** `whose` is the owner. An absent filter equals an undefined filter. */
export function hashListing(
  name: string,
  whose: readonly (string | undefined)[],
  filters: Readonly<Record<string, unknown>>,
): Listing {
  const given = Object.entries(filters).filter(([, value]) => value !== undefined);
  return computeShortHash(JSON.stringify([name, whose, given.sort(([a], [b]) => (a < b ? -1 : 1))])).toString(36);
}

export const encodeCursor = (listing: Listing, { at, id }: Position): string =>
  encodeBase64Url(encodeUtf8(JSON.stringify([listing, at, id])));

/** The position to continue after; null for a cursor that is malformed or belongs to another listing. */
export function decodeCursor(cursor: string, listing: Listing): Position | null {
  const read = readCursor(cursor);
  return read?.listing === listing ? read.position : null;
}

/** Judges the form only: whether the cursor belongs to the listing is judged after authentication. */
export const isCursor = (text: string): boolean => readCursor(text) !== null;

function readCursor(cursor: string): { listing: Listing; position: Position } | null {
  const bytes = decodeBase64Url(cursor);
  const text = bytes && decodeUtf8(bytes);
  try {
    const value: unknown = JSON.parse(text ?? "");
    if (!Array.isArray(value) || value.length !== 3) return null;
    const [listing, at, id] = value as unknown[];
    if (typeof listing !== "string" || typeof at !== "number" || !Number.isSafeInteger(at) || typeof id !== "string") {
      return null;
    }
    return { listing, position: { at, id } };
  } catch {
    return null;
  }
}

/** Stores read `limit + 1` rows: an extra row means that another page follows. The end of a scan means so too. */
export function toPage<R, T>(
  found: readonly R[] | FoundRows<R>,
  page: { readonly limit: number; readonly listing: Listing },
  position: (row: R) => Position,
  format: (row: R) => T,
): Page<T> {
  const { rows, end } = "rows" in found ? found : { rows: found, end: null };
  const shown = rows.slice(0, page.limit);
  const last = rows.length > page.limit ? shown.at(-1) : (end ?? undefined);
  const next = last === undefined ? null : encodeCursor(page.listing, position(last));
  return { data: shown.map(format), next_cursor: next, has_more: next !== null };
}
