// Adding months on the calendar: an attestation or a certificate of twelve months ends on the same day of the month, in UTC.
import { describe, expect, it } from "vitest";
import { addMonths, systemClock, toIso, toIsoOrNull } from "../../src/core/clock.ts";

const at = (text: string) => Date.parse(text);

describe("adding months", () => {
  it.each([
    ["2026-07-21T12:34:56.789Z", 12, "2027-07-21T12:34:56.789Z"],
    ["2026-01-31T00:00:00.000Z", 1, "2026-02-28T00:00:00.000Z"],
    ["2028-01-31T00:00:00.000Z", 1, "2028-02-29T00:00:00.000Z"],
    ["2028-02-29T23:59:59.999Z", 12, "2029-02-28T23:59:59.999Z"],
    ["2028-02-29T00:00:00.000Z", 48, "2032-02-29T00:00:00.000Z"],
    ["2027-02-28T00:00:00.000Z", 12, "2028-02-28T00:00:00.000Z"],
    ["2026-08-31T00:00:00.000Z", 1, "2026-09-30T00:00:00.000Z"],
    ["2026-12-31T23:59:59.999Z", 2, "2027-02-28T23:59:59.999Z"],
    ["2026-11-15T00:00:00.000Z", 14, "2028-01-15T00:00:00.000Z"],
    ["2099-12-31T00:00:00.000Z", 2, "2100-02-28T00:00:00.000Z"],
    ["2026-03-31T00:00:00.000Z", -1, "2026-02-28T00:00:00.000Z"],
    ["2026-07-21T00:00:00.000Z", 0, "2026-07-21T00:00:00.000Z"],
  ])("%s plus %i months is %s", (from, months, to) => {
    expect(toIso(addMonths(at(from), months))).toBe(to);
  });
});

describe("instants", () => {
  it("are ISO 8601 in UTC with milliseconds, and null stays null", () => {
    expect(toIso(0)).toBe("1970-01-01T00:00:00.000Z");
    expect(toIsoOrNull(null)).toBeNull();
    expect(toIsoOrNull(1)).toBe("1970-01-01T00:00:00.001Z");
  });

  it("of the system clock are those of Date.now", () => {
    expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(1_000);
  });
});
