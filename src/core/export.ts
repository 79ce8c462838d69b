// Files that leave the service and files that reach it: all rows of a listing in a range of at most 31 days, read slice by slice (HTTP-37), and an
// uploaded file.
import { type Bytes, computeSha256, encodeHex } from "./encoding.ts";
import { toFieldError, toValidationError } from "./errors.ts";
import { DAY_MS, EXPORT_DAYS } from "./limits.ts";

const EXPORT_MS = EXPORT_DAYS * DAY_MS;

/** Epoch milliseconds. Without `to`, the range includes rows that are added while it is read. */
export type ExportedRange = { readonly from: number; readonly to: number | undefined };

type RequestedRange = {
  readonly from: number | undefined;
  readonly to: number | undefined;
  readonly cursor: string | undefined;
};

/** The requested range, by default the last days. `name`: the parameter that holds its start. */
export function toExportedRange({ from, to, cursor }: RequestedRange, now: number, name: string): ExportedRange {
  // A range that starts too early is refused instead of being cut silently: the caller must name its end.
  const end = to ?? now;
  const begin = from ?? end - EXPORT_MS;
  const faults = [
    ...(cursor === undefined
      ? []
      : [toFieldError("cursor", "invalid_value", "A CSV has no pages: leave the cursor out.")]),
    ...(end - begin <= EXPORT_MS
      ? []
      : [toFieldError(name, "invalid_value", `A CSV covers at most ${EXPORT_DAYS} days.`)]),
  ];
  if (faults.length > 0) throw toValidationError(faults);
  return { from: begin, to };
}

/** `next`: the position to continue after; null when no rows follow. */
type ExportedSlice<Row, Place> = { readonly rows: readonly Row[]; readonly next: Place | null };

export async function* readSlices<Row, Place>(
  read: (after: Place | null) => Promise<ExportedSlice<Row, Place>>,
): AsyncGenerator<readonly Row[], void> {
  let after: Place | null = null;
  do {
    const slice: ExportedSlice<Row, Place> = await read(after);
    yield slice.rows;
    after = slice.next;
  } while (after !== null);
}

// ---- Uploads ------------------------------------------------------------------------------------------------------------

export type UploadedFile = {
  /** As it was sent, not validated. */
  readonly fileName: string;
  readonly bytes: Bytes;
  /** SHA-256 of the bytes, in lower-case hex. */
  readonly sha256: string;
};

export const toUploadedFile = async (fileName: string, bytes: Bytes): Promise<UploadedFile> => ({
  fileName,
  bytes,
  sha256: encodeHex(await computeSha256(bytes)),
});

export const isUploadedFile = (value: unknown): value is UploadedFile =>
  typeof value === "object" && value !== null && "bytes" in value && value.bytes instanceof Uint8Array;
