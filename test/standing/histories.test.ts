// Random histories of an account, its principals, customers, attestations, agents and time: every answer, list, public status and intent says
// what a plain model says (history-model.ts). A failure prints the seed, the path and the shortest history that fails.
import fc from "fast-check";
import { expect, it } from "vitest";
import { isWhole, runs } from "../support/scale.ts";
import { ACT_NAMES, type Act, Play, type Step } from "./history-play.ts";
import { compareAll, compareSome } from "./history-surfaces.ts";

const [HISTORIES, STEPS] = isWhole() ? [250, 50] : [2, 20];
/** After so many steps some surfaces are compared, and all of them at the end. */
const COMPARED_EACH = isWhole() ? 1 : 3;

/** Without them most steps of a history would meet nothing. */
const BEGINNING: readonly Step[] = [
  { act: "customer", a: 0, b: 0 },
  { act: "principal", a: 0, b: 3 },
  { act: "principal", a: 1, b: 1 },
  ...[0, 0, 1, 1].map((a, b): Step => ({ act: "agent", a, b })),
  ...[0, 1, 2, 3].map((a): Step => ({ act: "activate", a, b: 0 })),
];
/** What ends for good, and what refuses everything else, comes seldom; what gives back comes often, else soon nothing runs. */
const SELDOM: readonly Act[] = ["close", "terminate", "deleteCustomer", "suspendAccount", "reinstateAccount"];
const GIVING: readonly Act[] = ["attest", "reactivate", "reactivateCustomer", "returnAgent", "activate"];
const USUAL = ACT_NAMES.filter((act) => !SELDOM.includes(act) && !GIVING.includes(act));
const act = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...USUAL) },
  { weight: 4, arbitrary: fc.constantFrom(...GIVING) },
  { weight: 1, arbitrary: fc.constantFrom(...SELDOM) },
);
const step = fc.record({ act, a: fc.nat(11), b: fc.nat(11) });
// A history that fails shrinks to null steps, so that what is left of it can be read.
const history = fc.array(fc.option(step, { freq: 1_000 }), { minLength: STEPS, maxLength: STEPS });

/** Too seldom for a short run to meet them: what begins with a stop that ends while another one lasts. */
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

it("of histories, every surface says what the model says", async () => {
  await fc.assert(
    fc.asyncProperty(history, async (steps) => {
      const play = await Play.begin();
      for (const [n, one] of [...BEGINNING, ...steps].entries()) {
        if (!one) continue;
        const answers = await play.step(one);
        if (answers) expect([n, one, answers[0]]).toEqual([n, one, answers[1]]);
        // The beginning is the same of all, so its end is compared alone.
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
