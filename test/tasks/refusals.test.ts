// The answers of a task in each state to each act of each caller (TSK-1, TSK-2, TSK-4): only its two agents read it, and only the consumer confirms
// it.
import { beforeAll, describe, expect, it } from "vitest";
import { HOUR_MS } from "../../src/core/limits.ts";
import { autoConfirmTasks } from "../../src/tasks/confirm.ts";
import { file } from "../disputes/support.ts";
import { confirm, facilitated, type Pair } from "../facilitation/support.ts";
import { follow, takenAway } from "../follower/support.ts";
import { rows } from "../promotion/support.ts";
import { type Agent, createWorld, expectStatus, type Json, type Reply, type World } from "../support/world.ts";

let [buying, selling] = [] as unknown as [World, World];
let pair: Pair;
let stranger: Agent;
beforeAll(async () => {
  [buying, selling] = [await createWorld(), await createWorld()];
  pair = { consumer: await buying.consumer(), provider: await selling.provider() };
  stranger = await buying.consumer();
});

type Bought = Awaited<ReturnType<typeof facilitated>>;
const buy = () => facilitated(buying, pair);
const endWindow = (task: string) =>
  rows(
    "update tasks set confirm_by = ?, opened_at = ? where task_id = ?",
    ...[buying.now() - 1, buying.now() - 1 - 72 * HOUR_MS, task],
  );

const STATES = {
  open: buy,
  "past its window, not recorded": async () => {
    const bought = await buy();
    await endWindow(bought.task);
    return bought;
  },
  confirmed: async () => {
    const bought = await buy();
    expectStatus(await confirm(buying, pair.consumer, bought.task), 200);
    return bought;
  },
  auto_confirmed: async () => {
    const bought = await buy();
    await endWindow(bought.task);
    expect(await buying.run(autoConfirmTasks)).toBe(1);
    return bought;
  },
  disputed: async () => {
    const bought = await buy();
    // Disputes less than the vault holds, so that the provider can go on selling.
    expectStatus(await file(buying, bought, { disputed_amount: "0.10" }), 201);
    return bought;
  },
  void: async () => {
    const bought = await buy();
    await follow(buying);
    await takenAway(buying, bought.fac.transaction_id);
    return bought;
  },
} as const satisfies Record<string, () => Promise<Bought>>;
type State = keyof typeof STATES;

const CALLERS = {
  consumer: (method: string, path: string, body?: unknown) => buying.as(pair.consumer, method, path, body),
  provider: (method: string, path: string, body?: unknown) => selling.as(pair.provider, method, path, body),
  "another agent": (method: string, path: string, body?: unknown) => buying.as(stranger, method, path, body),
  "the key of the consumer's platform": (method: string, path: string, body?: unknown) =>
    buying.call(method, path, { body }),
  "a session of the consumer's platform": (method: string, path: string, body?: unknown) =>
    buying.person(method, path, { body }),
  nobody: (method: string, path: string, body?: unknown) => buying.call(method, path, { key: null, body }),
} as const satisfies Record<string, (method: string, path: string, body?: unknown) => Promise<Reply>>;
type Caller = keyof typeof CALLERS;
type Answer = readonly [status: number, said: string];

const FORBIDDEN: Answer = [403, "forbidden"];
const NO_AGENT: Answer = [401, "certificate_required"];
const OTHERS = {
  "another agent": FORBIDDEN,
  "the key of the consumer's platform": NO_AGENT,
  "a session of the consumer's platform": NO_AGENT,
  nobody: NO_AGENT,
};
/** A successful answer shows the state. */
const shown = (status: string): Record<Caller, Answer> => ({
  consumer: [200, status],
  provider: [200, status],
  ...OTHERS,
});
const confirmed = (...consumer: Answer): Record<Caller, Answer> => ({ consumer, provider: FORBIDDEN, ...OTHERS });

const TABLE: Record<State, { readonly read: Record<Caller, Answer>; readonly confirm: Record<Caller, Answer> }> = {
  open: { read: shown("open"), confirm: confirmed(200, "confirmed") },
  "past its window, not recorded": {
    read: shown("auto_confirmed"),
    confirm: confirmed(409, "confirmation_window_closed"),
  },
  confirmed: { read: shown("confirmed"), confirm: confirmed(409, "task_already_closed") },
  auto_confirmed: { read: shown("auto_confirmed"), confirm: confirmed(409, "task_already_closed") },
  disputed: { read: shown("disputed"), confirm: confirmed(409, "invalid_status") },
  void: { read: shown("void"), confirm: confirmed(409, "invalid_status") },
};

const rowOf = async (task: string): Promise<Json> => (await rows("select * from tasks where task_id = ?", task))[0];
const said = ({ status, body }: Reply): Answer => [status, status === 200 ? body.status : body.code];

describe.each(Object.keys(STATES) as State[])("the answer about a task that is %s", (state) => {
  let bought: Bought;
  beforeAll(async () => {
    bought = await STATES[state]();
  });
  const calls = Object.keys(CALLERS) as Caller[];

  it.each(calls)("read by %s", async (caller) => {
    const before = await rowOf(bought.task);
    expect(said(await CALLERS[caller]("GET", `/v1/tasks/${bought.task}`))).toEqual(TABLE[state].read[caller]);
    expect(await rowOf(bought.task)).toEqual(before);
  });

  // The consumer comes last, because it changes the state of a task that is open, or whose end is not recorded yet.
  it.each(calls.toReversed())("confirmed by %s", async (caller) => {
    const before = await rowOf(bought.task);
    const path = `/v1/tasks/${bought.task}/confirm`;
    expect(said(await CALLERS[caller]("POST", path, { outcome: "rejected" }))).toEqual(TABLE[state].confirm[caller]);
    const ends: Partial<Record<State, string>> = { open: "rejected", "past its window, not recorded": "confirmed" };
    const outcome = caller === "consumer" ? ends[state] : undefined;
    const after = await rowOf(bought.task);
    if (outcome === undefined) expect(after).toEqual(before);
    else expect([before.status, before.outcome, after.outcome]).toEqual(["open", null, outcome]);
  });

  it("is reported to both platforms once it has ended (TSK-5)", async () => {
    const { status } = await rowOf(bought.task);
    const told = await rows(
      "select platform_id, object ->> 'status' as status from events where type = 'task.closed' and object ->> 'task_id' = ?",
      bought.task,
    );
    const parties = status === "disputed" ? [] : [buying, selling];
    const expected = parties.map(({ platformId }) => ({ platform_id: platformId, status }));
    expect(new Set(told)).toEqual(new Set(expected));
    expect(told).toHaveLength(expected.length);
  });
});
