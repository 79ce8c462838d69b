// The limits of a network's lag, to the millisecond (PAY-24): when its follower is sent, and when it takes no new intents.
import { describe, expect, it } from "vitest";
import {
  computeLagSeconds,
  findClosure,
  type NetworkAvailability,
  shouldTriggerFollower,
} from "../../src/chain/availability.ts";

const NOW = 1_800_000_000_000;
const LATE_MS = 30_000;
const LOST_MS = 120_000;

/** The standing of a network that was read to its head just now. */
const standing = (set: Partial<NetworkAvailability> = {}): NetworkAvailability => ({
  ...{ network: "lab", readThrough: NOW, paused: false, sentAt: 0, behindSince: null, lowGasUntil: 0 },
  ...set,
});

describe("a call", () => {
  it.each([
    ["read 30 seconds ago", { readThrough: NOW - LATE_MS }, false],
    ["read a millisecond before that", { readThrough: NOW - LATE_MS - 1 }, true],
    ["never read", { readThrough: 0 }, true],
    ["to which the follower was sent 30 seconds ago", { readThrough: 0, sentAt: NOW - LATE_MS }, false],
    ["to which it was sent a millisecond before that", { readThrough: 0, sentAt: NOW - LATE_MS - 1 }, true],
  ])("about a network %s decides whether it sends the follower: case %#", (_which, set, isSent) => {
    expect(shouldTriggerFollower(standing(set), NOW)).toBe(isSent);
  });
});

describe("a network", () => {
  const lost = { readThrough: NOW - LOST_MS - 1, behindSince: NOW - LOST_MS - 1 };
  it.each<[string, Partial<NetworkAvailability>, string | null]>([
    ["that is level", {}, null],
    ["that was read and found to lag more than two minutes ago", lost, "lag"],
    ["that was found to lag just two minutes ago", { ...lost, behindSince: NOW - LOST_MS }, null],
    ["that was read just two minutes ago", { ...lost, readThrough: NOW - LOST_MS }, null],
    ["that no call has found to lag", { ...lost, behindSince: null }, null],
    ["that is paused", { paused: true }, "paused"],
    ["that is lost and paused", { ...lost, paused: true }, "lag"],
    ["whose key is short of gas for another millisecond", { lowGasUntil: NOW + 1 }, "low_gas"],
    ["whose key was short of gas until now", { lowGasUntil: NOW }, null],
  ])("%s closes or stays open: case %#", (_which, set, closure) => {
    expect(findClosure(standing(set), NOW)).toBe(closure);
  });

  it("has a lag in whole seconds, and none if it was never read", () => {
    const lags = [NOW - 1_999, NOW, NOW + 5_000, 0].map((readThrough) =>
      computeLagSeconds(standing({ readThrough }), NOW),
    );
    expect(lags).toEqual([1, 0, 0, null]);
  });
});
