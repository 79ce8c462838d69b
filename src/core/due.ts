/** Something that has fallen due: since when, in epoch milliseconds, and its id, which breaks ties. */
export type Due = { readonly at: number; readonly id: string };

/** Before anything that is due. */
export const FIRST: Due = { at: Number.MIN_SAFE_INTEGER, id: "" };
