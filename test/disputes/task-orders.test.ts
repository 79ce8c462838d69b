// A filing, a confirmation and an auto-confirmation of one task at once (DSP-13, TSK-3 to TSK-5): in the last millisecond of its window, at its end,
// and in its middle. Every order is played: one act overtakes another between its trips.
import { beforeAll, describe, expect, it } from "vitest";
import { autoConfirmTasks } from "../../src/tasks/confirm.ts";
import { confirm, facilitated, pairOf } from "../facilitation/support.ts";
import { rows } from "../promotion/support.ts";
import { type Agent, createWorld, type Json, type World } from "../support/world.ts";
import { at, overtaken } from "./instants.ts";
import { type Bought, countsOf, escrowOf, file, richProvider } from "./support.ts";

let world: World;
let provider: Agent;
beforeAll(async () => {
  world = await createWorld();
  provider = await richProvider(world);
});

/** A purchase from one provider by a new consumer. `before`: the provider's counts, escrow and rating before the purchase ends. */
type Deal = Bought & { readonly before: { readonly open: number; readonly disputed: number; readonly rated: number } };
async function buy(): Promise<Deal> {
  const bought = await facilitated(world, await pairOf(world, provider));
  return { ...bought, before: await ofProvider() };
}
const ofProvider = async () => ({
  open: (await countsOf(provider.did)).open,
  disputed: (await escrowOf(provider.did)).disputed,
  rated: await ratedOf(provider.did),
});
const ratedOf = async (did: string): Promise<number> =>
  (await rows("select rating_interactions as n from agents where did = ?", did))[0]?.n;

/** The answer of an act, in a word or two. */
type Said = string;
type Rival = { readonly ms: number; readonly act: (world: World, of: Bought) => Promise<Said> };

const fileIt = async (on: World, of: Bought): Promise<Said> => {
  const { status, body } = await file(on, of);
  return status === 201 ? "filed" : body.code;
};
const confirmIt = async (on: World, { consumer, task }: Bought): Promise<Said> => {
  const { status, body } = await confirm(on, consumer, task, { outcome: "rejected" });
  return status === 200 ? "confirmed" : body.code;
};
const endIt = async (on: World, { task }: Bought): Promise<Said> =>
  (await on.serve(() => autoConfirmTasks.record(on.deps, task))) === true ? "recorded" : "nothing to do";

/** `ms`: the instant of the act, relative to the end of the window. */
const RIVALS = {
  "a dispute in time": { ms: -1, act: fileIt },
  "a confirmation in time": { ms: -1, act: confirmIt },
  "the job": { ms: 0, act: endIt },
  "a late dispute": { ms: 0, act: fileIt },
  "a late confirmation": { ms: 0, act: confirmIt },
} as const satisfies Record<string, Rival>;
type Name = keyof typeof RIVALS;
const play = (name: Name, of: Bought, on: World = at(world, endOf(of) + RIVALS[name].ms)) => RIVALS[name].act(on, of);
const endOf = ({ fac }: Bought): number => Date.parse(fac.confirm_by);

/** The possible ends of a task. `held_ms`: from its dispute, if there is one. */
const HELD = { task: "disputed", outcome: null, held_ms: 1, disputes: 1 };
const CONFIRMED = { task: "confirmed", outcome: "rejected", held_ms: null, disputes: 0 };
const ENDED = { task: "auto_confirmed", outcome: "confirmed", held_ms: null, disputes: 0 };
const DISPUTED = { disputes: 1 };

/** The stored end, after checks that the task, its one closing, its dispute, both counts, both ratings and the escrow agree. */
async function endingOf({ task, fac, consumer, before }: Deal): Promise<typeof HELD | typeof ENDED> {
  const [row]: Json[] = await rows("select * from tasks where task_id = ?", task);
  const disputes = await rows("select * from disputes where transaction_id = ?", fac.transaction_id);
  const closings = await rows("select id from events where type = 'task.closed' and object ->> 'task_id' = ?", task);
  // Both agents belong to one platform, which gets one event.
  expect(closings).toHaveLength(row.closed_at === null ? 0 : 1);
  expect(row.closed_at === null).toBe(row.status === "disputed");
  // The consumer opened the intent, so an auto-confirmation rates both agents (TSK-12).
  expect([await countsOf(consumer.did), await ratedOf(consumer.did)]).toEqual([
    { open: disputes.length, won: 0, lost: 0 },
    closings.length,
  ]);
  expect(await ofProvider()).toEqual({
    open: before.open + disputes.length,
    disputed: before.disputed + disputes.length * 10_000_000,
    rated: before.rated + closings.length,
  });
  const held_ms = disputes[0]?.held_ms ?? null;
  expect(held_ms !== null).toBe(row.status === "disputed");
  return { task: row.status, outcome: row.outcome, held_ms, disputes: disputes.length };
}

describe("at the end of the window", () => {
  it.each<[Name, number, Name, Said, Said, object]>([
    ["a dispute in time", 2, "a confirmation in time", "filed", "confirmed", { ...CONFIRMED, ...DISPUTED }],
    ["a dispute in time", 2, "the job", "filed", "recorded", { ...ENDED, ...DISPUTED }],
    ["a dispute in time", 2, "a late confirmation", "filed", "confirmation_window_closed", { ...ENDED, ...DISPUTED }],
    ["a dispute in time", 2, "a late dispute", "dispute_exists", "filed", { ...ENDED, ...DISPUTED }],
    ["a confirmation in time", 2, "a dispute in time", "invalid_status", "filed", HELD],
    ["a confirmation in time", 2, "the job", "task_already_closed", "recorded", ENDED],
    ["a confirmation in time", 2, "a late confirmation", "task_already_closed", "confirmation_window_closed", ENDED],
    ["a confirmation in time", 2, "a late dispute", "task_already_closed", "filed", { ...ENDED, ...DISPUTED }],
    ["the job", 2, "a dispute in time", "nothing to do", "filed", HELD],
    ["the job", 2, "a confirmation in time", "nothing to do", "confirmed", CONFIRMED],
    ["the job", 2, "the job", "nothing to do", "recorded", ENDED],
    ["the job", 2, "a late dispute", "nothing to do", "filed", { ...ENDED, ...DISPUTED }],
    ["the job", 2, "a late confirmation", "nothing to do", "confirmation_window_closed", ENDED],
    // A late dispute records the end in its third trip, and is filed in its fifth.
    ["a late dispute", 3, "a dispute in time", "dispute_exists", "filed", HELD],
    ["a late dispute", 3, "a confirmation in time", "filed", "confirmed", { ...CONFIRMED, ...DISPUTED }],
    ["a late dispute", 3, "the job", "filed", "recorded", { ...ENDED, ...DISPUTED }],
    ["a late dispute", 5, "a dispute in time", "dispute_exists", "filed", { ...ENDED, ...DISPUTED }],
    ["a late dispute", 5, "a late confirmation", "filed", "task_already_closed", { ...ENDED, ...DISPUTED }],
    ["a late confirmation", 2, "a dispute in time", "invalid_status", "filed", HELD],
    ["a late confirmation", 2, "a confirmation in time", "task_already_closed", "confirmed", CONFIRMED],
    ["a late confirmation", 2, "the job", "task_already_closed", "recorded", ENDED],
    ["a late confirmation", 2, "a late dispute", "task_already_closed", "filed", { ...ENDED, ...DISPUTED }],
  ])(
    "%s that is overtaken before its trip %i by %s: %s, %s",
    async (slow, beforeTrip, fast, saidSlow, saidFast, ending) => {
      const bought = await buy();
      let answered: Said | undefined;
      const other = async () => {
        answered = await play(fast, bought);
      };
      const instant = at(world, endOf(bought) + RIVALS[slow].ms);
      const answer = await overtaken(instant, (on) => play(slow, bought, on), other, beforeTrip);
      expect([answer, answered]).toEqual([saidSlow, saidFast]);
      expect(await endingOf(bought)).toEqual(ending);
    },
  );

  it("all acts at once give the task one end, and each answer agrees with it", async () => {
    const bought = await buy();
    const names = Object.keys(RIVALS) as Name[];
    const answers = await Promise.all(names.map((name) => play(name, bought)));
    const said = Object.fromEntries(names.map((name, n) => [name, answers[n]]));
    const ending = await endingOf(bought);
    expect(ending.disputes).toBe(1);
    expect(answers.filter((one) => one === "filed")).toHaveLength(1);
    expect(said["a confirmation in time"] === "confirmed").toBe(ending.task === "confirmed");
    if (ending.task === "disputed")
      expect([said["a dispute in time"], said["the job"]]).toEqual(["filed", "nothing to do"]);
    else expect(ending.held_ms).toBeNull();
    if (ending.task === "auto_confirmed") expect(answers).not.toContain("confirmed");
    else expect(answers).not.toContain("recorded");
  });
});

describe("in the middle of the window", () => {
  const HOURS = 3_600_000;
  const middle = (of: Bought) => at(world, endOf(of) - 30 * HOURS);
  const left = { ...HELD, held_ms: 30 * HOURS };

  it.each([1, 2])("a dispute that a confirmation overtakes before its trip %i finds a closed task", async (trip) => {
    const bought = await buy();
    const confirmed = () => confirmIt(middle(bought), bought);
    expect(await overtaken(middle(bought), (on) => fileIt(on, bought), confirmed, trip)).toBe("filed");
    expect(await endingOf(bought)).toEqual({ ...CONFIRMED, ...DISPUTED });
  });

  it.each([1, 2])(
    "a confirmation that a dispute overtakes before its trip %i is refused, and the task is held",
    async (trip) => {
      const bought = await buy();
      const filed = () => fileIt(middle(bought), bought);
      expect(await overtaken(middle(bought), (on) => confirmIt(on, bought), filed, trip)).toBe("invalid_status");
      expect(await endingOf(bought)).toEqual(left);
    },
  );
});
