/** A row that is due: since when, in epoch milliseconds, and its id, which breaks ties. */
export type Due = { readonly at: number; readonly id: string };

/** The position before every due row. */
export const FIRST: Due = { at: Number.MIN_SAFE_INTEGER, id: "" };

/** Of a few rows that were all found at once: those behind a position. */
export const isBehind =
  (after: Due | null) =>
  ({ at, id }: Due): boolean =>
    after === null || at > after.at || (at === after.at && id > after.id);
