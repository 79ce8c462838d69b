/** A due row: the instant since which it is due, in epoch milliseconds, and its id, which breaks ties. */
export type Due = { readonly at: number; readonly id: string };

export const BEFORE_FIRST_DUE: Due = { at: Number.MIN_SAFE_INTEGER, id: "" };

/** Whether a row comes after a position; for a few rows that one query found. */
export const isAfterPosition =
  (after: Due | null) =>
  ({ at, id }: Due): boolean =>
    after === null || at > after.at || (at === after.at && id > after.id);
