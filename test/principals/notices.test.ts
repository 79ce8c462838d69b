// The instants at which the end of an attestation is announced (PRN-26).
import { describe, expect, it } from "vitest";
import { DAY_MS, HOUR_MS } from "../../src/core/limits.ts";
import {
  computeFirstNotice,
  computeNextNotice,
  computeRenewedNotice,
  pickDueNotice,
} from "../../src/principals/read.ts";

describe("the instant of a notice", () => {
  const END = 1_000 * DAY_MS;
  const ahead = (days: number) => END - days * DAY_MS;

  it.each([
    ["a year ahead", ahead(365), ahead(30)],
    ["a millisecond more than 30 days ahead", ahead(30) - 1, ahead(30)],
    ["30 days ahead", ahead(30), ahead(30)],
    ["20 days ahead", ahead(20), ahead(20)],
    ["an hour ahead", END - HOUR_MS, END - HOUR_MS],
    ["at its end", END, null],
    ["after its end", END + 1, null],
  ])("for the first one, if the attestation is recorded %s", (_when, now, expected) => {
    expect(computeFirstNotice(END, now)).toBe(expected);
  });

  it.each([
    [ahead(31), null, ahead(30)],
    [ahead(30) - 1, null, ahead(30)],
    [ahead(30), 30, ahead(7)],
    [ahead(7) - 1, 30, ahead(7)],
    [ahead(7), 7, ahead(1)],
    [ahead(5), 7, ahead(1)],
    [ahead(1), 1, null],
    [END - 1, 1, null],
    [END, null, null],
    [END + DAY_MS, null, null],
  ])("at %d: the notice of %s days is due, and the next one at %s", (now, days, next) => {
    expect([pickDueNotice(END, now), computeNextNotice(END, now)]).toEqual([days, next]);
  });

  it.each([
    ["none was planned", null, ahead(30)],
    ["an earlier one was planned, which stays and finds no notice due", ahead(90), ahead(90)],
    ["a later one was planned", ahead(7), ahead(30)],
  ])("for the first one after a renewal, if %s", (_when, known, expected) => {
    expect(computeRenewedNotice(known, END, ahead(100))).toBe(expected);
    // At its end there is no notice, whatever was planned.
    expect(computeRenewedNotice(known, END, END)).toBeNull();
  });
});
