// Random chains of delegation: a plain model predicts the answer to every intent and every change of a scope (AGT-24 to AGT-26, AGT-34). A
// failure prints the seed, the path and the shortest history that fails.
import fc from "fast-check";
import { expect, inject, it } from "vitest";
import { runs } from "../support/scale.ts";
import { type Act, Chains, type Step } from "./delegation-play.ts";

const LONG = inject("scale") === 1;
// The objects of each agent keep files open to the end: about fifty a history.
const [HISTORIES, STEPS] = LONG ? [250, 80] : [12, 60];

const among = <T>(...values: readonly T[]) => fc.constantFrom(...values);
const amounts = among("4.99", "5", "5.0000001", "5.0000009", "1e1", "20.000001");
const limits = fc.record({
  amount: among("9.5", "1e1", "10.0000004", "2e1", "30"),
  currency: fc.oneof({ weight: 15, arbitrary: among("USDC") }, { weight: 1, arbitrary: among("EURC") }),
  window_days: among(1, 2, 7),
});
const rarely = { freq: 5 };
/** A field of a scope and its new value; money fields change most often. */
const field = fc.oneof(
  { weight: 2, arbitrary: fc.record({ authorized_actions: among(["purchase"], ["purchase", "negotiate", "sign"]) }) },
  { weight: 2, arbitrary: fc.record({ capabilities: fc.subarray(["a", "b", "c", "d"]) }) },
  { weight: 3, arbitrary: fc.record({ max_transaction_value: fc.option(amounts, rarely) }) },
  { weight: 8, arbitrary: fc.record({ spending_limit: fc.option(limits, rarely) }) },
  {
    weight: 1,
    arbitrary: fc.record({ minimum_counterparty_cert_tier: fc.option(among("TIER_1", "TIER_2", "TIER_3")) }),
  },
  { weight: 1, arbitrary: fc.record({ minimum_counterparty_ar: fc.option(among(0, 0.5, 0.6, 0.61)) }) },
  { weight: 2, arbitrary: fc.record({ intents_from: among("anyone" as const, "self" as const) }) },
);
const change = fc.array(field, { minLength: 1, maxLength: 2 }).map((fields) => Object.assign({}, ...fields));

const WEIGHTS: Readonly<Record<Act, number>> = {
  open: 24,
  patch: 10,
  settle: 9,
  wait: 6,
  delegate: 4,
  suspend: 2,
  reinstate: 4,
  seller: 2,
  jobs: 2,
  end: 1,
  promote: 2,
};
const act = fc.oneof(
  ...Object.entries(WEIGHTS).map(([name, weight]) => ({ weight, arbitrary: fc.constant(name as Act) })),
);
const stepOf = (which: fc.Arbitrary<Act>): fc.Arbitrary<Step> =>
  fc.record({ act: which, a: fc.nat(47), b: fc.nat(47), change });
// A failing history shrinks to null steps, so that the remaining ones can be read.
const stepsOf = (which: fc.Arbitrary<Act>, length: number) =>
  fc.array(fc.option(stepOf(which), { freq: 1_000 }), { minLength: length, maxLength: length });
const tree = stepsOf(fc.constant("delegate"), 9);

/** Cases too rare for a short run to meet by chance. */
const BOUNDED = { spending_limit: { amount: "2e1", currency: "USDC", window_days: 7 } };
const DELEGATED: Step[] = [
  { act: "patch", a: 0, b: 0, change: BOUNDED },
  { act: "delegate", a: 0, b: 0, change: {} },
];
const ALL_THAT_IS_LEFT: Step = { act: "open", a: 6, b: 2, change: {} };
const EXAMPLES: [Step[], Step[]][] = [
  // A delegate ends while its payment is on its way, and its delegator spends the rest.
  [
    DELEGATED,
    [
      { act: "open", a: 1, b: 9, change: {} },
      { act: "end", a: 0, b: 0, change: {} },
      { act: "settle", a: 0, b: 0, change: {} },
      ALL_THAT_IS_LEFT,
    ],
  ],
  // The amounts that a delegate holds are free again at the millisecond of its end.
  [DELEGATED, [{ act: "open", a: 1, b: 2, change: {} }, { act: "wait", a: 0, b: 0, change: {} }, ALL_THAT_IS_LEFT]],
  // A limit in another currency has more decimals than the payment token.
  [
    [],
    [
      {
        act: "patch",
        a: 0,
        b: 0,
        change: { spending_limit: { amount: "10.0000004", currency: "EURC", window_days: 1 } },
      },
      { act: "open", a: 0, b: 0, change: {} },
    ],
  ],
];

/** The outcomes that every run has to meet: each bound refuses at the consumer and above it, and each agent that may be stopped is stopped. */
const KINDS = [
  ...["201 0", "forbidden 0", "agent_not_active 0", "agent_not_active 1", "agent_not_active 2"],
  ...["agent_not_active seller 0", "agent_not_active seller 1", "agent_not_active production 1"],
  ...["spending_limit 0", "spending_limit 1", "spending_limit 2", "spending_limit 3", "max_transaction_value 1"],
  ...["minimum_counterparty_ar 1", "minimum_counterparty_cert_tier 2", "delegate 201 depth 5", "delegate 422 depth 6"],
];

it("answers as the model does", async () => {
  const met = new Set<string>();
  await fc.assert(
    fc.asyncProperty(tree, stepsOf(act, STEPS), async (planted, steps) => {
      const chains = await Chains.begin();
      for (const [n, one] of [...planted, ...steps].entries()) {
        const answers = one && (await chains.step(one));
        if (!answers) continue;
        const [answered, expected, kind] = answers;
        expect([n, one, answered]).toEqual([n, one, expected]);
        if (kind) met.add(kind);
      }
    }),
    {
      ...runs(),
      examples: EXAMPLES,
      numRuns: HISTORIES + EXAMPLES.length,
    },
  );
  expect([...met]).toEqual(expect.arrayContaining(KINDS));
});
