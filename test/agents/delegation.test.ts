// Delegation (AGT-25): a delegate's ceilings are not higher than its delegator's, to the last digit.
import { describe, expect, it } from "vitest";
import { type Bounds, findExceededFields } from "../../src/agents/delegation.ts";

const bounds = (maxTransactionValue: string | null): Bounds =>
  ({
    authorizedActions: ["purchase"],
    capabilities: [],
    maxTransactionValue,
    spendingLimit: maxTransactionValue && { amount: maxTransactionValue, currency: "USDC", window_days: 1 },
    minimumCounterpartyCertTier: null,
    minimumCounterpartyAr: null,
  }) as Bounds;

const BOTH = ["max_transaction_value", "spending_limit"];

describe("ceilings of a delegate", () => {
  it.each([
    ["1000000.00", "0.0000001", BOTH],
    ["0.0000002", "0.0000001", BOTH],
    ["0.0000001", "0.0000001", []],
    ["1.0000001", "5.00", []],
    ["9007199254740993.00", "9007199254740992.00", BOTH],
    ["10000000000000000000000.00", "20000000000000000000000.00", []],
    ["20000000000000000000000.00", "10000000000000000000000.00", BOTH],
    [null, "1.00", BOTH],
    ["1.00", null, []],
  ])("compares %s with a bound of %s", (mine, bound, fields) => {
    expect(findExceededFields(bounds(mine), bounds(bound))).toEqual(fields);
  });
});
