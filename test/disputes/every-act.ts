// Plays every act in every state of a dispute, by callers that a test names (DSP-7 to DSP-9), and checks that the state and the caller decide the
// answer.
import { beforeAll, describe, expect, it } from "vitest";
import type { Side } from "../../src/core/vocabulary.ts";
import { rows } from "../promotion/support.ts";
import { isWhole } from "../support/scale.ts";
import { expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import { act, arbitrated, type Disputed, filing, overdue, PATH, pass, resolve } from "./support.ts";

export type Caller = {
  /** The sides that it stands for. */
  readonly sides: readonly Side[];
  /** The refusal of an act of the other side, or of any act if the caller stands for neither side. */
  readonly refused: keyof typeof REFUSALS;
  readonly call: (method: string, path: string, body?: unknown) => Promise<Reply>;
};
export type Stage = {
  readonly world: World;
  /** Makes an open dispute about `AMOUNT`. */
  readonly dispute: () => Promise<Disputed>;
  readonly callers: Readonly<Record<string, Caller>>;
};

/** Small enough that the vault covers it, so that one provider can go on selling. */
export const AMOUNT = "0.10";
const HALF = { message: "Half.", offer_amount: "0.05" };

const REFUSALS = {
  forbidden: { any: [403, "forbidden"], file: [403, "forbidden"] },
  unknown: { any: [404, "not_found"], file: [404, "facilitation_not_found"] },
  unproven: { any: [401, "invalid_credentials"], file: [401, "invalid_credentials"] },
} as const;

/** Each entry brings a new dispute into the state of its name. */
const STATES = {
  "pre_arbitration, not answered": async () => undefined,
  "pre_arbitration, with an offer": (world, one) => respond(world, one),
  "pre_arbitration, whose days are over": async (world, one) => {
    await respond(world, one);
    await pass(one.id, 7);
  },
  arbitration: (world, one) => arbitrated(world, one),
  "arbitration again, because a refund was overdue": (world, one) => overdue(world, one),
  "resolved, withdrawn": async (world, one) => expectStatus(await act(world, one.consumer, one.id, "withdraw"), 200),
  "resolved, settled": async (world, one) => {
    await respond(world, one);
    expectStatus(await act(world, one.consumer, one.id, "accept"), 200);
  },
  "resolved, conceded": async (world, one) => expectStatus(await act(world, one.provider, one.id, "concede"), 200),
  "resolved, upheld": (world, one) => decided(world, one, { resolution: "upheld" }),
  "resolved, upheld in part": (world, one) =>
    decided(world, one, { resolution: "partially_upheld", refund_amount: "0.02" }),
  "resolved, rejected": (world, one) => decided(world, one, { resolution: "rejected" }),
} as const satisfies Record<string, (world: World, one: Disputed) => Promise<unknown>>;
type State = keyof typeof STATES;

async function respond(world: World, { provider, id }: Disputed): Promise<void> {
  expectStatus(await act(world, provider, id, "respond", HALF), 200);
}
async function decided(world: World, one: Disputed, body: Json): Promise<void> {
  await arbitrated(world, one);
  expectStatus(await resolve(world, one.id, body), 200);
}

const EVERY = Object.keys(STATES) as State[];
const EARLY: readonly State[] = ["pre_arbitration, not answered", "pre_arbitration, with an offer"];
const ARBITERS: readonly State[] = [
  "pre_arbitration, whose days are over",
  "arbitration",
  "arbitration again, because a refund was overdue",
];
const BOTH: readonly Side[] = ["provider", "consumer"];

type Act = {
  readonly by: readonly Side[];
  readonly in: readonly State[];
  readonly done: 200 | 201;
  /** One dispute takes the act from every caller. */
  readonly again?: true;
  readonly body?: unknown;
};
const ACTS = {
  read: { by: BOTH, in: EVERY, done: 200, again: true },
  file: { by: ["consumer"], in: ["resolved, withdrawn"], done: 201 },
  respond: { by: ["provider"], in: EARLY, done: 200, again: true, body: { message: "It was delivered." } },
  accept: { by: ["consumer"], in: ["pre_arbitration, with an offer"], done: 200 },
  concede: { by: ["provider"], in: EARLY, done: 200 },
  withdraw: { by: ["consumer"], in: EARLY, done: 200 },
  escalate: { by: BOTH, in: ["pre_arbitration, with an offer"], done: 200 },
  evidence: {
    by: BOTH,
    in: [...EARLY, ...ARBITERS],
    done: 201,
    again: true,
    body: { description: "The delivery note.", sha256: "ab".repeat(32) },
  },
} as const satisfies Record<string, Act>;
type Verb = keyof typeof ACTS;

function callOf(verb: Verb, one: Disputed, { sides, call }: Caller): Promise<Reply> {
  if (verb === "file") return call("POST", PATH, filing(one, { disputed_amount: AMOUNT }));
  const path = `${PATH}/${one.id}`;
  if (verb === "read") return call("GET", path);
  const { body }: Act = ACTS[verb];
  // A caller that stands for both sides names the side of its evidence.
  const named = verb === "evidence" && sides.length === 2 ? { submitted_by: sides[0] } : {};
  return call("POST", `${path}/${verb}`, body === undefined ? undefined : { ...body, ...named });
}

function expectedOf(verb: Verb, state: State, { sides, refused }: Caller): readonly [number, string | undefined] {
  const { by, in: states, done }: Act = ACTS[verb];
  if (!by.some((side) => sides.includes(side))) return REFUSALS[refused][verb === "file" ? "file" : "any"];
  if (states.includes(state)) return [done, undefined];
  return [409, verb === "file" ? "dispute_exists" : "invalid_status"];
}

const rowOf = async (id: string): Promise<Json> => (await rows("select * from disputes where dispute_id = ?", id))[0];

/** The states in which every caller acts. A whole run plays all acts of all callers in all states. */
const EVERYBODY: readonly State[] = ["pre_arbitration, with an offer", "resolved, withdrawn"];

/** `everywhere`: the names of callers that act in every state. If it is empty, only the states in which every caller acts are played. */
export function everyActInEveryState(stage: () => Stage, everywhere: readonly string[]): void {
  const isForAll = (state: State) => isWhole() || EVERYBODY.includes(state);
  const callersIn = (state: State) =>
    Object.entries(stage().callers).filter(([name]) => isForAll(state) || everywhere.includes(name));
  const made = async (state: State): Promise<Disputed> => {
    const one = await stage().dispute();
    await STATES[state](stage().world, one);
    return one;
  };

  describe.each(EVERY.filter((state) => isForAll(state) || everywhere.length > 0))("in %s", (state) => {
    let refusing: Disputed;
    beforeAll(async () => {
      refusing = await made(state);
    });

    it.each(Object.keys(ACTS) as Verb[])("%s", async (verb) => {
      const before = await rowOf(refusing.id);
      const { again }: Act = ACTS[verb];
      let taking: Disputed | null = null;
      const answers: unknown[] = [];
      const expected: unknown[] = [];
      for (const [name, caller] of callersIn(state)) {
        const answer = expectedOf(verb, state, caller);
        const succeeds = answer[0] < 300;
        if (succeeds) taking = again && taking ? taking : await made(state);
        const reply = await callOf(verb, (succeeds && taking) || refusing, caller);
        answers.push([name, reply.status, reply.body.code]);
        expected.push([name, ...answer]);
        if (verb === "evidence" && succeeds) expect([name, reply.body.submitted_by]).toEqual([name, caller.sides[0]]);
      }
      expect(answers).toEqual(expected);
      expect(await rowOf(refusing.id)).toEqual(before);
    });

    it("an arbiter's award", async () => {
      const one = await made(state);
      const { status, body } = await resolve(stage().world, one.id, { resolution: "rejected" });
      expect([status, body.code]).toEqual(ARBITERS.includes(state) ? [200, undefined] : [409, "invalid_status"]);
    });
  });
}
