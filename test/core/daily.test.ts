// Limits of actions that cost gas, in any 24 hours of real time (MKT-24, MKT-29).
import { describe, expect, it } from "vitest";
import { addDailyRequests, BEFORE_FIRST_DUE, filterLastDay, isAfterPosition } from "../../src/core/clock.ts";
import type { ServiceError } from "../../src/core/errors.ts";
import { DAY_MS } from "../../src/core/limits.ts";

const NOW = 10 * DAY_MS;
const BOUND = { most: 3, message: "Too many." };

const refusalOf = (asks: readonly number[], further = 1): unknown => {
  try {
    addDailyRequests(asks, further, NOW, BOUND);
    return null;
  } catch (thrown) {
    const { code, extra } = thrown as ServiceError;
    return [code, extra.message, extra.headers?.["Retry-After"]];
  }
};

describe("the requests of the last day", () => {
  it("count for 24 hours, to the millisecond", () => {
    expect(filterLastDay([NOW - DAY_MS, NOW - DAY_MS + 1, NOW], NOW)).toEqual([NOW - DAY_MS + 1, NOW]);
    expect(filterLastDay(null, NOW)).toEqual([]);
  });

  it("are returned together with the new ones, up to the limit", () => {
    expect(addDailyRequests([NOW - DAY_MS, NOW - 5], 2, NOW, BOUND)).toEqual([NOW - 5, NOW, NOW]);
    expect(addDailyRequests(null, 3, NOW, BOUND)).toEqual([NOW, NOW, NOW]);
  });

  it("are refused beyond the limit, with Retry-After in whole seconds until enough have left the day, rounded up", () => {
    const asks = [NOW - DAY_MS + 1_001, NOW - DAY_MS + 5_000, NOW - 1];
    expect(refusalOf(asks)).toEqual(["rate_limited", "Too many.", "2"]);
    expect(refusalOf(asks, 2)).toEqual(["rate_limited", "Too many.", "5"]);
    // A request for more than the limit can never succeed.
    expect(refusalOf([], 4)).toEqual(["rate_limited", "Too many.", "86400"]);
  });
});

describe("a due row", () => {
  it("comes after a position by its instant, then by its id", () => {
    const rows = [
      { at: 1, id: "b" },
      { at: 2, id: "a" },
      { at: 2, id: "b" },
    ];
    expect(rows.filter(isAfterPosition({ at: 2, id: "a" }))).toEqual([{ at: 2, id: "b" }]);
    expect(rows.filter(isAfterPosition({ at: 1, id: "a" }))).toEqual(rows);
    expect([rows.filter(isAfterPosition(null)), rows.filter(isAfterPosition(BEFORE_FIRST_DUE))]).toEqual([rows, rows]);
  });
});
