// The parties, the arbiter and the job act on one dispute at once, in the last millisecond of the parties' days and at their end (DSP-7, DSP-8,
// DSP-11): in each order of two, where one act overtakes another between its trips, and all of them concurrently.
import { beforeAll, describe, expect, it } from "vitest";
import { DAY_MS } from "../../src/core/limits.ts";
import { endDisputeDays } from "../../src/disputes/deadlines.ts";
import { pairOf } from "../facilitation/support.ts";
import { rows } from "../promotion/support.ts";
import { isWhole } from "../support/scale.ts";
import { type Agent, createWorld, expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import { at, overtaken } from "./instants.ts";
import { act, countsOf, type Disputed, disputed, escrowOf, eventsAbout, resolve, richProvider } from "./support.ts";

let world: World;
let provider: Agent;
beforeAll(async () => {
  world = await createWorld();
  provider = await richProvider(world);
});

/** `before`: the provider's counts and escrow without the dispute. */
type One = Disputed & { readonly before: Awaited<ReturnType<typeof ofProvider>> };
const ofProvider = async () => {
  const { disputed: kept, owed } = await escrowOf(provider.did);
  return { ...(await countsOf(provider.did)), kept, owed };
};
const endOf = ({ dispute }: One): number => Date.parse(dispute.pre_arb_deadline);

/** A dispute with an offer of half the amount. */
async function offered(): Promise<One> {
  const before = await ofProvider();
  const one = { ...(await disputed(world, { pair: await pairOf(world, provider) })), before };
  expectStatus(await act(world, one.provider, one.id, "respond", { message: "Half.", offer_amount: "5" }), 200);
  return one;
}

type Said = string;
type Rival = {
  /** The instant of the act, relative to the end of the parties' days. */
  readonly ms: number;
  readonly act: (world: World, of: One) => Promise<Said>;
  /** The columns of the dispute after the act. */
  readonly leaves: (end: number) => Json;
};
const said = ({ status, body }: Reply): Said => (status === 200 ? "done" : `${body.code} ${body.detail?.status}`);
const party = (side: "provider" | "consumer", verb: string, body?: unknown) => async (on: World, one: One) =>
  said(await act(on, one[side], one.id, verb, body));

const RIVALS = {
  respond: {
    ms: -1,
    act: party("provider", "respond", { message: "More.", offer_amount: "6" }),
    leaves: (end) => ({ status: "pre_arbitration", messages: 2, offer: 6_000_000, due_at: end }),
  },
  accept: {
    ms: -1,
    act: party("consumer", "accept"),
    leaves: (end) => ({ status: "resolved", resolution: "settled", ended_by: "consumer", resolved_at: end - 1 }),
  },
  concede: {
    ms: -1,
    act: party("provider", "concede"),
    leaves: (end) => ({ status: "resolved", resolution: "upheld", ended_by: "provider", resolved_at: end - 1 }),
  },
  withdraw: {
    ms: -1,
    act: party("consumer", "withdraw"),
    leaves: (end) => ({ status: "resolved", resolution: "withdrawn", ended_by: "consumer", resolved_at: end - 1 }),
  },
  escalate: {
    ms: -1,
    act: party("consumer", "escalate"),
    leaves: (end) => ({ status: "arbitration", arbitration_at: end - 1, due_at: end - 1 + 14 * DAY_MS }),
  },
  "the job": {
    ms: 0,
    act: async (on, { id }) =>
      (await on.serve(() => endDisputeDays.record(on.deps, id))) === true ? "done" : "nothing",
    leaves: (end) => ({ status: "arbitration", arbitration_at: end, due_at: end + 14 * DAY_MS }),
  },
  "the arbiter": {
    ms: 0,
    act: async (on, { id }) => said(await resolve(on, id, { resolution: "rejected" })),
    leaves: (end) => ({ status: "resolved", resolution: "rejected", ended_by: "arbiter", resolved_at: end }),
  },
} as const satisfies Record<string, Rival>;
type Name = keyof typeof RIVALS;
const NAMES = Object.keys(RIVALS) as Name[];
const instantOf = (name: Name, of: One): World => at(world, endOf(of) + RIVALS[name].ms);

/** The stored row, after checks that its messages, its one end, both counts, the escrow and the task agree with it. */
async function storedOf({ id, consumer, before }: One): Promise<Json> {
  const [row]: Json[] = await rows("select * from disputes where dispute_id = ?", id);
  const messages = await rows("select offer from dispute_messages where dispute_id = ? order by number", id);
  expect([messages.length, messages.at(-1)?.offer]).toEqual([row.messages, row.offer]);
  const ended = row.status === "resolved";
  const events = await eventsAbout(id);
  expect(events.filter((type) => type === "dispute.resolved")).toHaveLength(ended ? 1 : 0);
  const won = ended ? { settled: 0, withdrawn: 0, upheld: 1, rejected: -1 }[row.resolution as "upheld"] : 0;
  const counts = (mine: number) => ({ open: ended ? 0 : 1, won: mine > 0 ? 1 : 0, lost: mine < 0 ? 1 : 0 });
  expect(await countsOf(consumer.did)).toEqual(counts(won));
  const own = counts(-won);
  expect(await ofProvider()).toEqual({
    ...{ open: before.open + own.open, won: before.won + own.won, lost: before.lost + own.lost },
    kept: before.kept + (ended ? 0 : 10_000_000),
    owed: before.owed + (ended && row.refund_from === "provider" ? 10_000_000 : 0),
  });
  const refund = { settled: row.offer, upheld: 10_000_000, withdrawn: 0, rejected: 0 }[row.resolution as "upheld"];
  expect(row.refund).toBe(ended ? refund : 0);
  const [task] = await rows("select status from tasks where task_id = ?", row.task_id);
  expect(task?.status).toBe(ended ? (row.resolution === "withdrawn" ? "open" : "confirmed") : "disputed");
  return row;
}

/** The answer to an act that follows another one. */
function saysAfter(name: Name, other: Name): Said {
  const left = RIVALS[other].leaves(0).status as string;
  if (left === "pre_arbitration") return "done";
  if (name === "the job") return "nothing";
  if (name === "the arbiter" && left === "arbitration") return "done";
  return `invalid_status ${left}`;
}

/** Every act overtakes one act, and two acts overtake the others. A whole run plays every pair. */
const overtakingOf = (slow: Name): readonly Name[] =>
  isWhole() || slow === "accept" ? NAMES : ["escalate", "the arbiter"];

describe.each(NAMES)("%s", (slow) => {
  it.each(overtakingOf(slow))("if it is overtaken by %s, is decided again on the new state", async (fast) => {
    const one = await offered();
    const end = endOf(one);
    let answered: Said | undefined;
    const other = async () => {
      answered = await RIVALS[fast].act(instantOf(fast, one), one);
    };
    const answer = await overtaken(instantOf(slow, one), (on) => RIVALS[slow].act(on, one), other);
    expect([answered, answer]).toEqual(["done", saysAfter(slow, fast)]);
    const again = slow === "respond" && fast === "respond" ? { messages: 3 } : {};
    const last = answer === "done" ? slow : fast;
    expect(await storedOf(one)).toMatchObject({ ...RIVALS[last].leaves(end), ...again });
  });
});

it("all acts at once end the dispute in one way, and each answer agrees with it", async () => {
  const one = await offered();
  const answers = await Promise.all(NAMES.map((name) => RIVALS[name].act(instantOf(name, one), one)));
  const done = NAMES.filter((_, n) => answers[n] === "done");
  const stored = await storedOf(one);
  const ends = done.filter((name) => ["accept", "concede", "withdraw", "the arbiter"].includes(name));
  // Unless the parties end the dispute, the arbiter decides it, because the parties' days are over at its instant.
  expect([stored.status, ends.length]).toEqual(["resolved", 1]);
  expect(stored).toMatchObject(RIVALS[ends[0] as Name].leaves(endOf(one)));
  if (done.includes("escalate")) expect([ends, stored.arbitration_at]).toEqual([["the arbiter"], endOf(one) - 1]);
  expect(stored.messages).toBe(done.includes("respond") ? 2 : 1);
});
