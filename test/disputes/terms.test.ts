// The reasons and amounts of a dispute (DSP-2, DSP-6, DSP-12).
import { describe, expect, it } from "vitest";
import {
  computeAwardPayable,
  computeBounty,
  computePartialScore,
  isPartKept,
  toDisputeReason,
} from "../../src/disputes/terms.ts";

const UNIT = 1_000_000;

describe("the bounty", () => {
  it.each([
    [100 * UNIT, 5 * UNIT],
    [30 * UNIT, 1.5 * UNIT],
    [20 * UNIT, UNIT],
    [19.99 * UNIT, UNIT],
    [UNIT, UNIT],
    [0.5 * UNIT, 0.5 * UNIT],
    [1, 1],
    [100 * UNIT + 19, 5 * UNIT],
  ])("of %i is %i", (disputed, bounty) => {
    expect(computeBounty(disputed, 6)).toBe(bounty);
  });

  it("is exact at the largest amount, and for a token with other decimals", () => {
    expect(computeBounty(Number.MAX_SAFE_INTEGER, 6)).toBe(450_359_962_737_049);
    expect(computeBounty(100, 0)).toBe(5);
    expect(computeBounty(10, 2)).toBe(10);
  });
});

describe("the amount that a vault pays", () => {
  it.each([
    [{ gross: 10, refundedBefore: 0, refund: 4, bounty: 1, bountyBy: "provider" }, 5],
    [{ gross: 10, refundedBefore: 0, refund: 10, bounty: 1, bountyBy: "provider" }, 10],
    [{ gross: 10, refundedBefore: 0, refund: 9, bounty: 5, bountyBy: "provider" }, 10],
    [{ gross: 10, refundedBefore: 0, refund: 0, bounty: 1, bountyBy: "consumer" }, 0],
    [{ gross: 10, refundedBefore: 0, refund: 4, bounty: 1, bountyBy: null }, 4],
    [{ gross: 10, refundedBefore: 5, refund: 4, bounty: 1, bountyBy: "provider" }, 5],
    [{ gross: 10, refundedBefore: 6, refund: 4, bounty: 1, bountyBy: "provider" }, 4],
    [{ gross: 10, refundedBefore: 12, refund: 4, bounty: 1, bountyBy: "provider" }, 0],
  ] as const)("for %o is %i", (owing, payable) => {
    expect(computeAwardPayable(owing)).toBe(payable);
  });
});

describe("a waiting part of an award", () => {
  it.each([
    [{ amount: 100, left: 100, remade: 0 }, true],
    [{ amount: 100, left: 120, remade: 0 }, true],
    [{ amount: 100, left: 91, remade: 0 }, true],
    [{ amount: 100, left: 90, remade: 0 }, false],
    [{ amount: 100, left: 1, remade: 2 }, false],
    [{ amount: 100, left: 1, remade: 3 }, true],
    [{ amount: 100, left: 0, remade: 3 }, false],
  ])("%o stands: %s", ({ amount, left, remade }, stands) => {
    expect(isPartKept(amount, left, remade)).toBe(stands);
  });
});

it("scores a task by the share that was not refunded", () => {
  expect([computePartialScore(4, 10), computePartialScore(10, 10), computePartialScore(0, 10)]).toEqual([0.6, 0, 1]);
});

it("reads the reasons of both vocabularies", () => {
  const words = [
    "NON_DELIVERY",
    "PARTIAL_DELIVERY",
    "QUALITY",
    "FRAUD",
    "OTHER",
    "unauthorized",
    "fraud",
    "",
    "__proto__",
  ];
  expect(words.map(toDisputeReason)).toEqual([
    ...["not_delivered", "not_as_described", "not_as_described", "unauthorized", "other", "unauthorized"],
    ...[null, null, null],
  ]);
});
