// The answer of every state of a dispute to every act of every caller (DSP-1, DSP-7 to DSP-9), with the two sides on two platforms and on one; and
// who may file.
import { beforeAll, describe, expect, inject, it } from "vitest";
import type { Side } from "../../src/core/vocabulary.ts";
import { facilitated, type Pair } from "../facilitation/support.ts";
import { rows } from "../promotion/support.ts";
import { type Agent, createWorld, expectStatus, type World } from "../support/world.ts";
import { AMOUNT, type Caller, everyActInEveryState, type Stage } from "./every-act.ts";
import { disputed, filing, PATH } from "./support.ts";

let [buying, selling, third] = [] as unknown as [World, World, World];
let pair: Pair;
let own: Pair;
let other: Agent;
beforeAll(async () => {
  [buying, selling, third] = [await createWorld(), await createWorld(), await createWorld()];
  pair = { consumer: await buying.consumer(), provider: await selling.provider() };
  own = { consumer: await buying.consumer(), provider: await buying.provider() };
  other = await buying.consumer();
});

const asAgent = (of: () => Agent, sides: readonly Side[]): Caller => ({
  sides,
  refused: "forbidden",
  call: (method, path, body) => buying.as(of(), method, path, body),
});
const byKey = (of: () => World, sides: readonly Side[], refused: Caller["refused"] = "forbidden"): Caller => ({
  sides,
  refused,
  call: (method, path, body) => of().call(method, path, { body }),
});
const bySession = (of: () => World, sides: readonly Side[]): Caller => ({
  sides,
  refused: "forbidden",
  call: (method, path, body) => of().person(method, path, { body }),
});
/** Its environment does not have the dispute. */
const inProduction = (of: () => World): Caller => ({
  sides: [],
  refused: "unknown",
  call: (method, path, body) => of().call(method, path, { key: of().liveKey, body }),
});
const UNPROVEN = { sides: [], refused: "unproven" } as const;
const NOBODY: Readonly<Record<string, Caller>> = {
  "an operator": {
    ...UNPROVEN,
    call: (method, path, body) =>
      buying.call(method, path, { key: null, body, headers: { Authorization: `Bearer ${inject("operatorKey")}` } }),
  },
  stranger: { ...UNPROVEN, call: (method, path, body) => buying.call(method, path, { key: null, body }) },
};

const OF_TWO: Readonly<Record<string, Caller>> = {
  provider: asAgent(() => pair.provider, ["provider"]),
  "the key of the provider's platform": byKey(() => selling, ["provider"]),
  "a session of the provider's platform": bySession(() => selling, ["provider"]),
  consumer: asAgent(() => pair.consumer, ["consumer"]),
  "the key of the consumer's platform": byKey(() => buying, ["consumer"]),
  "a session of the consumer's platform": bySession(() => buying, ["consumer"]),
  "another agent": asAgent(() => other, []),
  "the key of another platform": byKey(() => third, [], "unknown"),
  "the production key of the provider's platform": inProduction(() => selling),
  "the production key of the consumer's platform": inProduction(() => buying),
  ...NOBODY,
};
const OF_ONE: Readonly<Record<string, Caller>> = {
  "the platform's key": byKey(() => buying, ["provider", "consumer"]),
  "a session of the platform": bySession(() => buying, ["consumer", "provider"]),
  "the platform's production key": inProduction(() => buying),
};

/** Awards stay unpaid, so that only the calls change a dispute. */
const stageOf = (of: Pair, callers: Stage["callers"]): Stage => ({
  world: buying,
  dispute: () => about(of),
  callers,
});
const about = (of: Pair) => disputed(buying, { pair: of, more: { disputed_amount: AMOUNT } });

describe("between two platforms", () => {
  everyActInEveryState(() => stageOf(pair, OF_TWO), ["provider", "consumer"]);

  it.each(Object.entries(OF_TWO))("answers a filing by %s", async (_name, { sides, refused, call }) => {
    const bought = await facilitated(buying, pair);
    const reply = await call("POST", PATH, filing(bought, { disputed_amount: AMOUNT }));
    const answers = {
      forbidden: [403, "forbidden"],
      unknown: [404, "facilitation_not_found"],
      unproven: [401, "invalid_credentials"],
    };
    const files = sides.includes("consumer");
    expect([reply.status, reply.body.code]).toEqual(files ? [201, undefined] : answers[refused]);
    const filed = await rows("select * from disputes where transaction_id = ?", bought.fac.transaction_id);
    expect(filed).toHaveLength(files ? 1 : 0);
  });

  it("a platform hands in evidence for its own side alone, whichever side it names", async () => {
    const { id } = await about(pair);
    for (const [of, side, another] of [
      [buying, "consumer", "provider"],
      [selling, "provider", "consumer"],
    ] as const) {
      const handIn = (submitted_by: Side) =>
        of.call("POST", `${PATH}/${id}/evidence`, { body: { description: "The note.", submitted_by } });
      const refused = await handIn(another);
      expect([refused.status, refused.body.field_errors?.map(({ field }: { field: string }) => field)]).toEqual([
        422,
        ["submitted_by"],
      ]);
      expect(expectStatus(await handIn(side), 201).submitted_by).toBe(side);
    }
  });
});

describe("within one platform", () => {
  everyActInEveryState(() => stageOf(own, OF_ONE), []);
});
