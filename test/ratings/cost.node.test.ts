// The table of docs/ratings.md: the cost of buying a rating from ten principals, computed with the service's own functions (TSK-7 to TSK-14, MKT-16)
// and the contract's shares (CHN-1).
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { DAY_MS } from "../../src/core/limits.ts";
import { formatAmount } from "../../src/core/text.ts";
import { computeBaseThreshold, computeEscrowThreshold } from "../../src/escrow/threshold.ts";
import { DEFAULT_PARAMETERS, RATING_ORIGIN, type RatingMethod } from "../../src/ratings/method.ts";
import { computeRating, type Signal, type Sums, toContribution, toProviderSignal } from "../../src/ratings/rating.ts";

const root = join(import.meta.dirname, "../..");
const METHOD: RatingMethod = { ...DEFAULT_PARAMETERS, minimum: { interactions: 10, counterparties: 2 } };
const COLLUDING = 10;
const DECIMALS = 6;
const UNIT = 10 ** DECIMALS;
const BASE = computeBaseThreshold({ decimals: DECIMALS });
const FEE_BPS = 5;
const ESCROW_BPS = 1_000;
const BPS = 10_000;
/** The payment of the honest buyer whose dispute is upheld. */
const VICTIM = 100;

const TASKS = [10, 30, 100];
const RATINGS = [0.9, 0.95, 0.98, 0.99];
const CENT = UNIT / 100;
const AMOUNT_MAX = 1_000_000 * UNIT;

type Sold = { readonly counterparty: string; readonly signal: Signal };

/** All tasks are of one instant, which is best for the buyer of a rating, because nothing has decayed yet. */
function ratingAfter(sold: readonly Sold[], days = 0): number | null {
  const held = new Map<string, Sums>();
  const total = { weight: 0, weighted: 0, interactions: sold.length, counterparties: 0 };
  for (const { counterparty, signal } of sold) {
    const added = toContribution(METHOD, signal, RATING_ORIGIN);
    const sums = held.get(counterparty) ?? { weight: 0, weighted: 0 };
    held.set(counterparty, { weight: sums.weight + added.weight, weighted: sums.weighted + added.weighted });
    total.weight += added.weight;
    total.weighted += added.weighted;
  }
  const heaviest = [...held.values()].sort((a, b) => b.weight - a.weight);
  return computeRating({ ...total, counterparties: held.size }, heaviest, METHOD, RATING_ORIGIN + days * DAY_MS);
}

const bought = (tasks: number, units: number): Sold[] =>
  Array.from({ length: tasks }, (_, n) => ({
    counterparty: `colluding ${n % COLLUDING}`,
    signal: toProviderSignal(METHOD, "confirmed", units / UNIT),
  }));

/** The smallest amount in whole cents with which this many tasks reach a rating; null if none does. Weights never fall as the amount grows. */
function smallestAmount(tasks: number, wanted: number): number | null {
  const reaches = (cents: number) => (ratingAfter(bought(tasks, cents * CENT)) ?? 0) >= wanted;
  let [low, high] = [0, AMOUNT_MAX / CENT];
  if (!reaches(high)) return null;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (reaches(middle)) high = middle;
    else low = middle;
  }
  return high * CENT;
}

/** The fees that the contract takes of the payments, and the amount that it keeps in a vault that was empty. */
function paid(tasks: number, units: number): { fees: number; locked: number } {
  let [fees, balance] = [0, 0];
  let threshold = BASE;
  for (let n = 1; n <= tasks; n++) {
    const fee = Math.floor((units * FEE_BPS) / BPS);
    const escrow = Math.floor(((units - fee) * ESCROW_BPS) / BPS);
    fees += fee;
    balance += Math.min(escrow, Math.max(0, threshold - balance));
    threshold = computeEscrowThreshold(BASE, ratingAfter(bought(n, units)));
  }
  // The surplus above the threshold is released.
  return { fees, locked: Math.min(balance, threshold) };
}

const money = (units: number): string => formatAmount(units, DECIMALS);

function row(tasks: number, units: number): string[] {
  const sold = bought(tasks, units);
  const rating = ratingAfter(sold) ?? Number.NaN;
  const { fees, locked } = paid(tasks, units);
  const dispute = { counterparty: "honest", signal: toProviderSignal(METHOD, "dispute_upheld", VICTIM) };
  const after = ratingAfter([...sold, dispute]) ?? Number.NaN;
  return [
    String(tasks),
    money(units),
    rating.toFixed(2),
    `+${(rating - METHOD.mu).toFixed(2)}`,
    money(fees),
    money(locked),
    money(computeEscrowThreshold(BASE, rating)),
    (ratingAfter(sold, METHOD.halfLifeDays) ?? Number.NaN).toFixed(2),
    `${after.toFixed(2)} (−${(rating - after).toFixed(2)})`,
  ];
}

/** A row for the smallest possible payments, then one for each higher rating. */
function rowsOf(tasks: number): string[][] {
  const least = ratingAfter(bought(tasks, 1)) ?? Number.NaN;
  const higher = RATINGS.filter((wanted) => wanted > least).map((wanted) => {
    const units = smallestAmount(tasks, wanted);
    return units === null
      ? [String(tasks), "any", `below ${wanted.toFixed(2)}`, ...Array(6).fill("")]
      : row(tasks, units);
  });
  return [row(tasks, 1), ...higher];
}

const HEADINGS = [
  "Tasks",
  "Amount of each",
  "Rating",
  "Above the prior",
  "Fees in all",
  "Locked",
  "Threshold then",
  "After 90 days",
  "After an upheld dispute",
];

const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;

it("docs/ratings.md states the cost of buying a rating from ten principals", () => {
  const rule = `|${HEADINGS.map(() => "---:").join("|")}|`;
  const table = [line(HEADINGS), rule, ...TASKS.flatMap(rowsOf).map(line)].join("\n");
  expect(readFileSync(join(root, "docs/ratings.md"), "utf8")).toContain(`\n${table}\n`);
});

it("the shares here equal those of the contract", () => {
  const contract = readFileSync(join(root, "src/chain/contracts/SettlementContract.sol"), "utf8");
  expect(contract).toContain(`uint16 public feeBps = ${FEE_BPS};`);
  expect(contract).toContain("uint256 public constant ESCROW_BPS = 1_000;");
});
