// Opaque keyset cursors; a malformed cursor is 422 validation_failed (HTTP-26 to HTTP-28).
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeCursor, encodeCursor, hashListing, isCursor, toPage } from "../../src/core/page.ts";
import { runs } from "../support/scale.ts";

const LISTING = hashListing("agents", ["plt_1", "sandbox"], { status: "ACTIVE" });
const encoded = (value: unknown) => btoa(JSON.stringify(value)).replaceAll("=", "");

describe("a cursor", () => {
  it("decodes to its position, and is safe in a query", () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), fc.stringMatching(/^[\x20-\x7e]{0,60}$/), (at, id) => {
        const cursor = encodeCursor(LISTING, { at, id });
        expect(cursor).toMatch(/^[A-Za-z0-9_-]+$/);
        expect(isCursor(cursor)).toBe(true);
        expect(decodeCursor(cursor, LISTING)).toEqual({ at, id });
      }),
      runs(),
    );
  });

  it.each([
    ["empty", ""],
    ["no base64", "%%%"],
    ["no JSON", btoa("nothing")],
    ["null", encoded(null)],
    ["an object", encoded({ at: 1, id: "a" })],
    ["too short", encoded([LISTING, 1])],
    ["too long", encoded([LISTING, 1, "a", 2])],
    ["of no listing", encoded([null, 1, "a"])],
    ["a time that is text", encoded([LISTING, "1", "a"])],
    ["a time that is no integer", encoded([LISTING, 1.5, "a"])],
    ["a time beyond the safe integers", btoa(`["${LISTING}",9007199254740993,"a"]`).replaceAll("=", "")],
    ["an id that is no text", encoded([LISTING, 1, 2])],
  ])("is refused when it is %s", (_name, cursor) => {
    expect(isCursor(cursor)).toBe(false);
    expect(decodeCursor(cursor, LISTING)).toBeNull();
  });

  it("is refused when it is any other text", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 60 }), (text) => {
        expect(decodeCursor(text, LISTING)).toBeNull();
      }),
      runs(),
    );
  });

  it.each([
    ["another listing", hashListing("principals", ["plt_1", "sandbox"], { status: "ACTIVE" })],
    ["another platform", hashListing("agents", ["plt_2", "sandbox"], { status: "ACTIVE" })],
    ["another environment", hashListing("agents", ["plt_1", "production"], { status: "ACTIVE" })],
    ["another filter's value", hashListing("agents", ["plt_1", "sandbox"], { status: "SUSPENDED" })],
    ["another filter", hashListing("agents", ["plt_1", "sandbox"], { economic_role: "ACTIVE" })],
    ["no filter", hashListing("agents", ["plt_1", "sandbox"], {})],
  ])("of one listing does not continue a listing with %s", (_name, other) => {
    const cursor = encodeCursor(LISTING, { at: 1, id: "a" });
    expect(decodeCursor(cursor, other)).toBeNull();
    expect(decodeCursor(cursor, LISTING)).toEqual({ at: 1, id: "a" });
  });

  it("ignores the order of the filters, and filters that are not given", () => {
    const filters = { economic_role: undefined, status: "ACTIVE" };
    expect(hashListing("agents", ["plt_1", "sandbox"], filters)).toBe(LISTING);
  });
});

describe("a page", () => {
  const rows = Array.from({ length: 5 }, (_, i) => ({ at: 100 - i, id: `r${i}` }));
  const page = (limit: number, of = rows) =>
    toPage(
      of,
      { limit, listing: LISTING },
      (row) => row,
      (row) => row.id,
    );

  it("shows `limit` rows; an extra row means another page, and the cursor marks the last shown row", () => {
    const first = page(4);
    expect(first).toMatchObject({ data: ["r0", "r1", "r2", "r3"], has_more: true });
    expect(decodeCursor(first.next_cursor ?? "", LISTING)).toEqual({ at: 97, id: "r3" });
  });

  it("continues after the last row that was looked at when further filters leave fewer than `limit`", () => {
    const scanned = (of: typeof rows, limit: number) =>
      toPage(
        { rows: of, end: { at: 7, id: "last" } },
        { limit, listing: LISTING },
        (row) => row,
        (row) => row.id,
      );
    const short = scanned(rows, 20);
    expect([short.data.length, short.has_more]).toEqual([5, true]);
    expect(decodeCursor(short.next_cursor ?? "", LISTING)).toEqual({ at: 7, id: "last" });
    expect(decodeCursor(scanned(rows, 4).next_cursor ?? "", LISTING)).toEqual({ at: 97, id: "r3" });
  });

  it("has no cursor when nothing follows", () => {
    expect(page(5)).toEqual({ data: ["r0", "r1", "r2", "r3", "r4"], next_cursor: null, has_more: false });
    expect(page(20, [])).toEqual({ data: [], next_cursor: null, has_more: false });
  });
});
