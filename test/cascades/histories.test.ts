// Random histories of an account, its principals, customers, attestations, agents and time: every answer, list, public status and intent agrees with
// a plain model (history-model.ts). A failure prints the seed, the path and the shortest history that fails.
import fc from "fast-check";
import { expect, it } from "vitest";
import { isWhole, runs } from "../support/scale.ts";
import { ACT_NAMES, type Act, Play, type Step } from "./history-play.ts";
import { compareAll, compareSome } from "./history-surfaces.ts";

const [HISTORIES, STEPS] = isWhole() ? [250, 50] : [2, 20];
/** Some surfaces are compared after so many steps, and all of them at the end. */
const COMPARED_EACH = isWhole() ? 1 : 3;

/** Without a beginning, most steps of a history would find nothing to act on. */
const BEGINNING: readonly Step[] = [
  { act: "customer", a: 0, b: 0 },
  { act: "principal", a: 0, b: 3 },
  { act: "principal", a: 1, b: 1 },
  ...[0, 0, 1, 1].map((a, b): Step => ({ act: "agent", a, b })),
  ...[0, 1, 2, 3].map((a): Step => ({ act: "activate", a, b: 0 })),
];
/**
 * Acts that end something for good, or that make most calls fail, are rare. Acts that reactivate are frequent, because otherwise all agents would
 * soon be stopped.
 */
const SELDOM: readonly Act[] = ["close", "terminate", "deleteCustomer", "suspendAccount", "reinstateAccount"];
const GIVING: readonly Act[] = ["attest", "reactivate", "reactivateCustomer", "returnAgent", "activate"];
const USUAL = ACT_NAMES.filter((act) => !SELDOM.includes(act) && !GIVING.includes(act));
const act = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...USUAL) },
  { weight: 4, arbitrary: fc.constantFrom(...GIVING) },
  { weight: 1, arbitrary: fc.constantFrom(...SELDOM) },
);
const step = fc.record({ act, a: fc.nat(11), b: fc.nat(11) });
// A failing history shrinks to null steps, so that the remaining steps can be read.
const history = fc.array(fc.option(step, { freq: 1_000 }), { minLength: STEPS, maxLength: STEPS });

/** Examples that are too rare for a short run: a stop ends while another one lasts. */
const EXAMPLES: readonly (readonly Step[])[] = [
  [
    { act: "suspendCustomer", a: 0, b: 0 },
    { act: "group", a: 0, b: 0 },
    { act: "returnAgent", a: 0, b: 0 },
  ],
  [
    { act: "suspendCustomer", a: 0, b: 0 },
    { act: "suspend", a: 0, b: 0 },
    { act: "reactivate", a: 0, b: 0 },
  ],
  [
    { act: "suspendAccount", a: 0, b: 0 },
    { act: "revoke", a: 1, b: 1 },
    { act: "reinstateAccount", a: 0, b: 0 },
    { act: "attest", a: 1, b: 2 },
  ],
];

it("every surface agrees with the model throughout a history", async () => {
  await fc.assert(
    fc.asyncProperty(history, async (steps) => {
      const play = await Play.begin();
      for (const [n, one] of [...BEGINNING, ...steps].entries()) {
        if (!one) continue;
        const answers = await play.step(one);
        if (answers) expect([n, one, answers[0]]).toEqual([n, one, answers[1]]);
        // All histories have the same beginning, so only its end is compared.
        const played = n - BEGINNING.length + 1;
        if (played >= 0 && played % COMPARED_EACH === 0) await compareSome(play, one.a + n);
      }
      await compareAll(play);
    }),
    {
      ...runs(),
      examples: EXAMPLES.map((steps): [Step[]] => [[...steps]]),
      numRuns: HISTORIES + EXAMPLES.length,
    },
  );
});
