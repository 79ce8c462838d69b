// Plays random histories of the settlement contract (CHN-1 to CHN-7), its authority, two tokens and time. Every call does what a plain model says,
// or is refused for the model's reason, and the events alone explain the state. A failure prints the seed, the path and the shortest history that
// fails.
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DELAYS, type Delays, NO_DELAYS } from "../../scripts/chain/roles.ts";
import { settlementAbi } from "../../src/chain/abi.ts";
import { isWhole } from "../support/scale.ts";
import { FUNCTIONS, KINDS } from "./history-choices.ts";
import { Play } from "./history-play.ts";
import { chainRuns } from "./support.ts";

const [HISTORIES, STEPS] = [200, 100];

/** Errors that never occur with these tokens. A reentrant call is refused to the token, which swallows the error. */
const NEVER = [
  ...["FailedDeployment", "InsufficientBalance", "SafeERC20FailedOperation", "ReentrancyGuardReentrantCall"],
  "AmountNotReceived",
];
const REFUSALS = settlementAbi
  .filter(({ type }) => type === "error")
  .map(({ name }) => name)
  .filter((name) => !NEVER.includes(name));

const kind = fc.oneof(...KINDS.map(({ weight, kind }) => ({ weight, arbitrary: fc.constant(kind) })));
const step = fc.noShrink(fc.record({ kind, seed: fc.nat() }));
// A failing history shrinks to null steps, so that the remaining steps can be read.
const history = fc.array(fc.option(step, { freq: 1_000 }), { minLength: STEPS, maxLength: STEPS });

// The first four histories of each seed call every function.
describe.each<[string, Delays, number]>([
  ["without delays", NO_DELAYS, 20_270_308],
  ["with the delays of a public network", DELAYS, 20_356_923],
])("%s", (_, delays, seed) => {
  let play: Play | undefined;
  beforeAll(async () => {
    play = await Play.begin(delays);
  });
  afterAll(() => play?.stop());

  it("every act of a history does what the model says, and nothing else", async () => {
    const property = fc.asyncProperty(history, async (steps) => {
      await play?.history(steps).catch((error: Error) => {
        throw new Error(`${play?.trace.join("\n")}\n${error.message}`, { cause: error });
      });
    });
    await fc.assert(property, { ...chainRuns(HISTORIES, 4), seed });
    // Every function was called; otherwise the histories would prove nothing about it.
    expect([...(play?.through ?? [])].sort()).toEqual([...FUNCTIONS].sort());
    if (isWhole()) expect([...(play?.refusals ?? [])]).toEqual(expect.arrayContaining(REFUSALS));
  });
});
