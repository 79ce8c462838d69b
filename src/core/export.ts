// All rows of a listing in a range of time (HTTP-37): at most 31 days, read slice by slice.
import { fieldError, validationError } from "./errors.ts";
import { DAY_MS, EXPORT_DAYS } from "./limits.ts";

const EXPORT_MS = EXPORT_DAYS * DAY_MS;

/** Epoch milliseconds. Without an end, whatever came up to now and later is of the range. */
export type ExportedRange = { readonly from: number; readonly to: number | undefined };

type AskedRange = {
  readonly from: number | undefined;
  readonly to: number | undefined;
  readonly cursor: string | undefined;
};

/** The range asked for, by default the last days. `name`: the parameter that begins it. */
export function exportedRange({ from, to, cursor }: AskedRange, now: number, name: string): ExportedRange {
  // Nothing is left out without a word: a range that begins longer ago names its end.
  const end = to ?? now;
  const begin = from ?? end - EXPORT_MS;
  const faults = [
    ...(cursor === undefined
      ? []
      : [fieldError("cursor", "invalid_value", "A CSV has no pages: leave the cursor out.")]),
    ...(end - begin <= EXPORT_MS
      ? []
      : [fieldError(name, "invalid_value", `A CSV covers at most ${EXPORT_DAYS} days.`)]),
  ];
  if (faults.length > 0) throw validationError(faults);
  return { from: begin, to };
}

/** `next`: the place after which the rows go on; null at their end. */
type ExportedSlice<Row, Place> = { readonly rows: readonly Row[]; readonly next: Place | null };

export async function* slicesOf<Row, Place>(
  read: (after: Place | null) => Promise<ExportedSlice<Row, Place>>,
): AsyncGenerator<readonly Row[], void> {
  let after: Place | null = null;
  do {
    const slice: ExportedSlice<Row, Place> = await read(after);
    yield slice.rows;
    after = slice.next;
  } while (after !== null);
}
