// Contract section 1, Lists: {data, next_cursor, has_more}; opaque keyset cursors that survive concurrent inserts.
import { fieldError, validationError } from "./errors.ts";

export type Page<T> = { data: T[]; next_cursor: string | null; has_more: boolean };
/** A keyset position: the sort value (epoch ms) and the id that breaks ties. */
export type Position = { at: number; id: string };

export function encodeCursor(position: Position): string {
  return btoa(JSON.stringify([position.at, position.id]))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replace(/=+$/, "");
}

/** A malformed cursor is 422 `validation_failed`. */
export function decodeCursor(cursor: string): Position {
  const position = readCursor(cursor);
  if (position === null) throw validationError([fieldError("cursor", "invalid_format")]);
  return position;
}

/** For the edge, which names faults of the values only to who may call. */
export const isCursor = (text: string): boolean => readCursor(text) !== null;

function readCursor(cursor: string): Position | null {
  try {
    const value: unknown = JSON.parse(atob(cursor.replaceAll("-", "+").replaceAll("_", "/")));
    if (Array.isArray(value) && value.length === 2) {
      const [at, id] = value as unknown[];
      if (typeof at === "number" && Number.isSafeInteger(at) && typeof id === "string") return { at, id };
    }
  } catch {
    // Falls through to the one answer for every malformed cursor.
  }
  return null;
}

/** Stores read `limit + 1` rows: the surplus row tells that there is more. */
export function toPage<R, T>(rows: R[], limit: number, position: (row: R) => Position, format: (row: R) => T): Page<T> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const more = rows.length > limit;
  return { data: shown.map(format), next_cursor: more && last ? encodeCursor(position(last)) : null, has_more: more };
}
