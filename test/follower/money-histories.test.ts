// Random histories of money, on a chain of their own: intents, windows across a delegation chain, vaults and their ledger match a plain model,
// whatever is opened, paid, waited for, facilitated, cancelled and reorganised in whichever order (PAY-10 to PAY-23, FAC-7 to FAC-18, CHN-24, MKT-19,
// MKT-23). A failure prints the seed, the path and the shortest history that fails.
import fc from "fast-check";
import { expect, inject, it } from "vitest";
import { runs } from "../support/scale.ts";
import { type Act, type Step, take } from "./money-acts.ts";
import { MoneyPlay } from "./money-play.ts";

const LONG = inject("scale") === 1;
const [HISTORIES, STEPS] = LONG ? [500, 60] : [16, 60];

const WEIGHTS: Readonly<Record<Act, number>> = {
  open: 14,
  pay: 9,
  broadcast: 6,
  arrive: 6,
  resend: 5,
  follow: 9,
  facilitate: 11,
  client: 6,
  cancel: 5,
  wait: 8,
  mine: 5,
  jobs: 4,
  deposit: 3,
  transfer: 1,
  release: 2,
  threshold: 1,
  payOut: 2,
  reorganise: 6,
};
const act = fc.oneof(
  ...Object.entries(WEIGHTS).map(([name, weight]) => ({ weight, arbitrary: fc.constant(name as Act) })),
);
const step: fc.Arbitrary<Step> = fc.record({ act, a: fc.nat(59), b: fc.nat(59) });
// A history that fails shrinks to null steps, so that the rest of it can be read.
const steps = fc.array(fc.option(step, { freq: 1_000 }), { minLength: STEPS, maxLength: STEPS });

/** Every run has to meet these outcomes. */
const KINDS = [
  ...["open ok", "open spend_policy_violation", "pay named true", "pay named false", "pay unnamed true"],
  ...["facilitate ok", "facilitate payment_not_found", "facilitate settlement_verification_failed"],
  ...["facilitate intent_expired", "facilitate amount_mismatch", "client ok", "cancel ok", "cancel invalid_status"],
  ...["cancel chain_unavailable", "arrive cancelled true", "arrive open true", "resend true"],
  ...["reorganise 0", "reorganise 1", "reversed", "came back", "follow", "jobs", "release true"],
];

it("keeps intents, windows and vaults as the model has them", async () => {
  const met = new Set<string>();
  await fc.assert(
    fc.asyncProperty(steps, async (history) => {
      const play = await MoneyPlay.begin();
      for (const [n, one] of history.entries()) {
        if (!one) continue;
        const answers = await take(play, one);
        if (answers) {
          expect([n, one, answers.answered]).toEqual([n, one, answers.expected]);
          met.add(answers.met);
        }
        const [stored, modelled] = await play.intents();
        expect([n, one, stored]).toEqual([n, one, modelled]);
        const [left, expected] = await play.remaining(n);
        expect([n, one, "remaining", left]).toEqual([n, one, "remaining", expected]);
        if (play.model.reversals > 0) met.add("reversed");
        if (play.model.returns > 0) met.add("came back");
        if (one.act !== "follow") continue;
        const [booked, held] = await play.books();
        expect([n, one, booked]).toEqual([n, one, held]);
      }
    }),
    { ...runs(), numRuns: HISTORIES },
  );
  expect([...met]).toEqual(expect.arrayContaining(KINDS));
});
