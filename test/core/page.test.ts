// Contract section 1, Lists: opaque keyset cursors; a malformed one is 422 validation_failed.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeCursor, encodeCursor, toPage } from "../../src/core/page.ts";

const refusal = (cursor: string) => {
  try {
    return decodeCursor(cursor);
  } catch (error) {
    return error;
  }
};
const encoded = (value: unknown) => btoa(JSON.stringify(value)).replaceAll("=", "");

describe("a cursor", () => {
  it("gives its position back, and is safe in a query", () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), fc.stringMatching(/^[\x20-\x7e]{0,60}$/), (at, id) => {
        const cursor = encodeCursor({ at, id });
        expect(cursor).toMatch(/^[A-Za-z0-9_-]+$/);
        expect(decodeCursor(cursor)).toEqual({ at, id });
      }),
    );
  });

  it.each([
    ["empty", ""],
    ["no base64", "%%%"],
    ["no JSON", btoa("nothing")],
    ["null", encoded(null)],
    ["an object", encoded({ at: 1, id: "a" })],
    ["too short", encoded([1])],
    ["too long", encoded([1, "a", 2])],
    ["a time that is text", encoded(["1", "a"])],
    ["a time that is no integer", encoded([1.5, "a"])],
    ["a time beyond the safe integers", btoa('[9007199254740993,"a"]')],
    ["an id that is no text", encoded([1, 2])],
  ])("that is %s is 422 validation_failed", (_name, cursor) => {
    expect(refusal(cursor)).toMatchObject({
      code: "validation_failed",
      status: 422,
      extra: { field_errors: [expect.objectContaining({ field: "cursor", code: "invalid_format" })] },
    });
  });

  it("is either read or refused, whatever it holds", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 60 }), (text) => {
        const result = refusal(text) as { status?: number; at?: number };
        expect(result.status === 422 || typeof result.at === "number").toBe(true);
      }),
    );
  });
});

describe("a page", () => {
  const rows = Array.from({ length: 5 }, (_, i) => ({ at: 100 - i, id: `r${i}` }));
  const page = (limit: number, of = rows) =>
    toPage(
      of,
      limit,
      (row) => row,
      (row) => row.id,
    );

  it("shows `limit` rows; the surplus row tells that there is more, and the cursor stands on the last one shown", () => {
    const first = page(4);
    expect(first).toMatchObject({ data: ["r0", "r1", "r2", "r3"], has_more: true });
    expect(decodeCursor(first.next_cursor ?? "")).toEqual({ at: 97, id: "r3" });
  });

  it("has no cursor when nothing follows", () => {
    expect(page(5)).toEqual({ data: ["r0", "r1", "r2", "r3", "r4"], next_cursor: null, has_more: false });
    expect(page(20, [])).toEqual({ data: [], next_cursor: null, has_more: false });
  });
});
