// A page or a slice of a log, as one trip reads it (EVT-14).

/** `next`: the number of the entry after which the log continues; null at its end. */
export type Slice<Row> = { readonly rows: readonly Row[]; readonly next: number | null };

type Found<Row> = { readonly rows: readonly Row[]; readonly end?: number | null | undefined };

/** `rows`: up to `limit` + 1. */
export function toSlice<Row extends { readonly seq: number }>({ rows, end }: Found<Row>, limit: number): Slice<Row> {
  const shown = rows.slice(0, limit);
  return { rows: shown, next: rows.length > limit ? (shown.at(-1)?.seq ?? null) : (end ?? null) };
}
