// The ledger of a vault, pure (MKT-23): its lines add up to what it held after each of them, whatever came without an event, and a shortage always
// becomes a difference.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Booked,
  computeEmptyLineNumber,
  createEmptyVault,
  type Movement,
  toLedgerLines,
  toLineOfSight,
  type Vault,
} from "../../src/escrow/ledger.ts";
import { runs } from "../support/scale.ts";

const VAULT: Vault = createEmptyVault({ did: "did:aeap:1", network: "base-sepolia", contract: "0xaa" });
type Act = { kind: Movement["kind"] | "transfer"; amount: number };

/** The events of a vault's history, as the contract would emit them. */
function told(history: readonly Act[], held = 0): Movement[] {
  let balance = held;
  return history.flatMap(({ kind, amount }, n): Movement[] => {
    const moved = kind === "release" || kind === "payout" ? -Math.min(amount, balance) : amount;
    balance += moved;
    if (kind === "transfer") return [];
    const place = {
      txHash: `0x${n}`,
      logIndex: 3,
      contract: "0xaa",
      blockNumber: n,
      blockHash: `0xb${n}`,
      minedAt: n * 1_000,
    };
    const said = { ...place, providerDidHash: "0x01", token: "0xcc", vaultBalance: BigInt(balance) } as const;
    if (kind === "settled") return [{ ...said, kind, escrow: BigInt(moved) } as unknown as Movement];
    return [{ ...said, kind, amount: BigInt(Math.abs(moved)) } as Movement];
  });
}
const act: fc.Arbitrary<Act> = fc.record({
  kind: fc.constantFrom("settled", "deposit", "release", "payout", "transfer"),
  amount: fc.nat(1_000),
});

describe("the lines of a vault", () => {
  it("are one for each movement, with negative amounts for what left the vault", () => {
    const history: Act[] = [
      { kind: "settled", amount: 10 },
      { kind: "deposit", amount: 20 },
      { kind: "release", amount: 5 },
      { kind: "payout", amount: 8 },
    ];
    const { vault, lines, differences } = toLedgerLines(VAULT, told(history));
    expect(differences).toEqual([]);
    expect(lines.map(({ number, kind, amount, held, logIndex }) => [number, kind, amount, held, logIndex])).toEqual([
      [1, "settlement", 10, 10, 3],
      [2, "deposit", 20, 30, 3],
      [3, "release", -5, 25, 3],
      [4, "payout", -8, 17, 3],
    ]);
    // A settlement counts once it is facilitated, so it is in no running total.
    expect(lines.map(({ deposited }) => deposited)).toEqual([0, 20, 15, 7]);
    expect(vault).toMatchObject({ held: 17, deposited: 7, number: 4 });
  });

  it("have a deposit for an amount that came without an event, before the event that shows it", () => {
    const { lines } = toLedgerLines(
      { ...VAULT, held: 100, number: 7 },
      told(
        [
          { kind: "transfer", amount: 30 },
          { kind: "payout", amount: 40 },
        ],
        100,
      ),
    );
    expect(lines.map(({ number, kind, amount, held, logIndex }) => [number, kind, amount, held, logIndex])).toEqual([
      [8, "deposit", 30, 130, -4],
      [9, "payout", -40, 90, 3],
    ]);
  });

  it("number a settlement that put nothing into the vault by its block, apart from the others", () => {
    const known = { ...VAULT, held: 15, number: 3 };
    const { vault, lines, differences } = toLedgerLines(
      known,
      told(
        [
          { kind: "settled", amount: 0 },
          { kind: "settled", amount: 0 },
          { kind: "deposit", amount: 2 },
        ],
        15,
      ),
    );
    expect(differences).toEqual([]);
    expect(lines.map(({ number, kind, amount, held }) => [number, kind, amount, held])).toEqual([
      [computeEmptyLineNumber(-1), "settlement", 0, 15],
      [computeEmptyLineNumber(0) - 1, "settlement", 0, 15],
      [4, "deposit", 2, 17],
    ]);
    expect(lines.map(({ parts }) => parts !== null)).toEqual([true, true, false]);
    expect(vault).toMatchObject({ held: 17, number: 4 });
  });

  it("come with a difference if the vault holds less than they explain, and go on from what it holds", () => {
    const [first, second] = told([
      { kind: "deposit", amount: 10 },
      { kind: "deposit", amount: 10 },
    ]);
    if (!first || !second) throw new Error("two movements");
    const { lines, differences } = toLedgerLines(VAULT, [first, { ...second, vaultBalance: 12n }]);
    expect(differences).toMatchObject([{ blockNumber: second.blockNumber, held: 12, expected: 20 }]);
    expect(lines.map(({ amount, held }) => [amount, held])).toEqual([
      [10, 10],
      [10, 12],
    ]);
  });

  it("follow from a look at the vault alone: more is a deposit, less a difference", () => {
    const known = { ...VAULT, held: 100, deposited: 60, number: 3 };
    const block = { blockNumber: 9, blockHash: "0xb9", minedAt: 9_000 };
    const more = toLineOfSight(known, { ...block, held: 130 }, "0xvault");
    expect(more.lines).toMatchObject([
      { kind: "deposit", amount: 30, held: 130, deposited: 90, number: 4, txHash: "0xb9:0xvault", logIndex: -1 },
    ]);
    expect(toLineOfSight(known, { ...block, held: 100 }, "0xvault")).toEqual({
      vault: known,
      lines: [],
      differences: [],
    });
    const less = toLineOfSight(known, { ...block, held: 99 }, "0xvault");
    expect(less.lines).toEqual([]);
    expect(less.differences).toMatchObject([{ held: 99, expected: 100, blockNumber: 9 }]);
  });

  it("add up to what the vault held after each, for any history and in any parts", () => {
    fc.assert(
      fc.property(fc.array(act, { maxLength: 40 }), fc.nat(40), (history, cut) => {
        const movements = told(history);
        const first = toLedgerLines(VAULT, movements.slice(0, cut));
        const own = ({ lines: those }: Booked) => those.filter(({ number }) => number > 0);
        const lines = [...own(first), ...own(toLedgerLines(first.vault, movements.slice(cut)))];
        expect(own(toLedgerLines(VAULT, movements))).toEqual(lines);
        let [sum, free] = [0, 0];
        for (const { kind, amount, held, deposited } of lines) {
          sum += amount;
          if (kind !== "settlement") free += amount;
          expect([held, deposited]).toEqual([sum, free]);
        }
        expect(sum).toBe(movements.length === 0 ? 0 : Number(movements.at(-1)?.vaultBalance));
        const places = lines.map(({ txHash, logIndex }) => `${txHash} ${logIndex}`);
        expect(new Set(places).size).toBe(places.length);
      }),
      runs(),
    );
  });
});
