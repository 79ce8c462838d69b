// Every state of an intent × every trigger, written out as a table (PAY-13 to PAY-16).
import { describe, expect, it } from "vitest";
import { tryMove } from "../../src/core/machine.ts";
import { INTENT_STATUSES, type IntentStatus } from "../../src/core/vocabulary.ts";
import {
  INTENT_TRIGGERS,
  type IntentTrigger,
  intentMachine,
  isInTime,
  judgeSettlement,
  LATE_FACILITATION_MS,
  toEffectiveIntentStatus,
} from "../../src/intents/states.ts";

const EXPECTED: Record<IntentStatus, Record<IntentTrigger, string>> = {
  OPEN: {
    pay: "PAID",
    unpay: "invalid_status",
    settle: "SETTLED",
    expire: "ABANDONED",
    settle_late: "invalid_status",
    reverse: "invalid_status",
  },
  PAID: {
    pay: "invalid_status",
    unpay: "OPEN",
    settle: "SETTLED",
    expire: "invalid_status",
    settle_late: "SETTLED",
    reverse: "invalid_status",
  },
  ABANDONED: {
    pay: "PAID",
    unpay: "invalid_status",
    settle: "intent_expired",
    expire: "invalid_status",
    settle_late: "SETTLED",
    reverse: "invalid_status",
  },
  SETTLED: {
    pay: "invalid_status",
    unpay: "invalid_status",
    settle: "settlement_verification_failed",
    expire: "invalid_status",
    settle_late: "settlement_verification_failed",
    reverse: "OPEN",
  },
};

describe("the intent's machine", () => {
  for (const state of INTENT_STATUSES) {
    for (const trigger of INTENT_TRIGGERS) {
      it(`${state} × ${trigger}: ${EXPECTED[state][trigger]}`, () => {
        const outcome = tryMove(intentMachine, state, trigger);
        expect(outcome.ok ? outcome.move.to : outcome.code).toBe(EXPECTED[state][trigger]);
      });
    }
  }
});

describe("the status at an instant", () => {
  it("an OPEN intent is ABANDONED from its expiry on, and OPEN a millisecond before", () => {
    const intent = { status: "OPEN" as const, expiresAt: 1_000 };
    expect(toEffectiveIntentStatus(intent, 999)).toBe("OPEN");
    expect(toEffectiveIntentStatus(intent, 1_000)).toBe("ABANDONED");
  });

  it("a SETTLED intent stays SETTLED after its expiry", () => {
    expect(toEffectiveIntentStatus({ status: "SETTLED", expiresAt: 1_000 }, 5_000)).toBe("SETTLED");
  });
});

describe("whether a payment settles the intent", () => {
  const codeOf = (outcome: ReturnType<typeof judgeSettlement>) => (outcome.ok ? outcome.move.to : outcome.code);
  const times = { createdAt: 1, expiresAt: 10_000 };
  const { expiresAt } = times;
  const LAST = expiresAt + 30_000 - 1;

  it("an open intent settles, whatever the block's clock says", () => {
    expect(codeOf(judgeSettlement({ status: "OPEN", ...times }, LAST + 500, 9_999))).toBe("SETTLED");
  });

  for (const status of ["OPEN", "ABANDONED"] as const) {
    it(`a payment mined within 30 seconds after the end settles for 24 hours after it (stored as ${status})`, () => {
      expect(codeOf(judgeSettlement({ status, ...times }, LAST, expiresAt))).toBe("SETTLED");
      expect(codeOf(judgeSettlement({ status, ...times }, LAST, expiresAt + LATE_FACILITATION_MS - 1))).toBe("SETTLED");
      expect(codeOf(judgeSettlement({ status, ...times }, LAST, expiresAt + LATE_FACILITATION_MS))).toBe(
        "intent_expired",
      );
    });

    it(`a payment mined later is refused (stored as ${status})`, () => {
      expect(codeOf(judgeSettlement({ status, ...times }, LAST + 1, LAST + 1))).toBe("intent_expired");
    });
  }

  it("a payment is in time from 30 seconds before the intent was opened until 30 seconds after its end", () => {
    const span = { createdAt: 60_000, expiresAt: 90_000 };
    expect([29_999, 30_000, 119_999, 120_000].map((minedAt) => isInTime(span, minedAt))).toEqual([
      false,
      true,
      true,
      false,
    ]);
  });

  it("a settled intent takes no second payment", () => {
    expect(codeOf(judgeSettlement({ status: "SETTLED", ...times }, 1, 2))).toBe("settlement_verification_failed");
  });
});
