// Random histories of principals, customers, attestations, agents and time: every answer, list, public status and intent says what a plain model
// says (history-model.ts).
import fc from "fast-check";
import { expect, inject, it } from "vitest";
import { runs } from "../support/scale.ts";
import { ACT_NAMES, type Act, Play, type Step } from "./history-play.ts";

const STEPS = inject("scale") === 1 ? 50 : 12;

/** Without them most steps of a history would meet nothing. */
const BEGINNING: readonly Step[] = [
  { act: "customer", a: 0, b: 0 },
  { act: "principal", a: 0, b: 3 },
  { act: "principal", a: 1, b: 1 },
  ...[0, 0, 1, 1].map((a, b): Step => ({ act: "agent", a, b })),
  ...[0, 1, 2, 3].map((a): Step => ({ act: "activate", a, b: 0 })),
];
/** What ends for good comes seldom. */
const OFTEN: readonly Act[] = ACT_NAMES.filter((act) => !["close", "terminate", "deleteCustomer"].includes(act));
const act = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...OFTEN) },
  { weight: 1, arbitrary: fc.constantFrom(...ACT_NAMES) },
);
const step = fc.record({ act, a: fc.nat(11), b: fc.nat(11) });
const history = fc.array(step, { minLength: STEPS, maxLength: STEPS });

it("of histories, every surface says what the model says", { timeout: 7_200_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(history, async (steps) => {
      const play = await Play.begin();
      for (const [n, one] of [...BEGINNING, ...steps].entries()) {
        const answers = await play.step(one);
        if (answers) expect([n, one, answers[0]]).toEqual([n, one, answers[1]]);
        await play.compare(one.a + n);
      }
    }),
    runs(1_000),
  );
});
