// The entries about a dispute in the activity logs: an act writes one into the log of the platform that acts, and an agent's own act none (DSP-1,
// DSP-7, DSP-8). A filing writes one into the log of the provider's platform, a decision one into both logs (DSP-18).
import { beforeAll, describe, expect, it } from "vitest";
import { DAY_MS } from "../../src/core/limits.ts";
import { facilitated, type Pair, pairOf } from "../facilitation/support.ts";
import { livePair } from "../follower/support.ts";
import { readLog } from "../journal/activity-support.ts";
import { rows } from "../promotion/support.ts";
import { moveClock } from "../support/clock.ts";
import { type Agent, createWorld, expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import { act, arbitrated, type Bought, type Disputed, file, filing, PATH, resolve, richProvider } from "./support.ts";

let world: World;
let provider: Agent;
beforeAll(async () => {
  world = await createWorld();
  provider = await richProvider(world);
});

const entriesOf = async (id: string): Promise<string[]> =>
  (
    await rows(
      "select action from activity_entries where platform_id = ? and subject_type = 'dispute' and subject_id = ? order by seq",
      ...[world.platformId, id],
    )
  ).map(({ action }) => action);

/** A dispute that the platform filed for its consumer. */
async function filed(): Promise<Disputed> {
  const bought = await facilitated(world, await pairOf(world, provider), "1.00");
  const body = filing(bought, { disputed_amount: "0.05" });
  const dispute = expectStatus(await world.call("POST", PATH, { body }), 201);
  return { ...bought, dispute, id: dispute.dispute_id };
}

const OFFER = { message: "Half.", offer_amount: "0.02" };
const ACTS = {
  respond: { by: "provider", body: OFFER, entry: "dispute.answered" },
  evidence: {
    by: "consumer",
    body: { description: "A note.", submitted_by: "consumer" },
    entry: "dispute.evidence_added",
  },
  accept: { by: "consumer", body: undefined, entry: "dispute.accepted" },
  concede: { by: "provider", body: undefined, entry: "dispute.conceded" },
  withdraw: { by: "consumer", body: undefined, entry: "dispute.withdrawn" },
  escalate: { by: "consumer", body: undefined, entry: "dispute.escalated" },
} as const;
type Verb = keyof typeof ACTS;
const byPlatform = ({ id }: Disputed, verb: Verb): Promise<Reply> => {
  const { body }: { readonly body: unknown } = ACTS[verb];
  return world.call("POST", `${PATH}/${id}/${verb}`, body === undefined ? {} : { body });
};

it.each(Object.keys(ACTS) as Verb[])(
  "%s writes one entry if a platform does it, and none if its agent does",
  async (verb) => {
    const { by, body, entry } = ACTS[verb];
    const [own, agents] = [await filed(), await filed()];
    const before = ["dispute.filed"];
    if (verb === "accept" || verb === "escalate") {
      for (const one of [own, agents]) expect((await byPlatform(one, "respond")).status).toBe(200);
      before.push("dispute.answered");
    }
    expect((await byPlatform(own, verb)).status).toBeLessThan(300);
    expect(await entriesOf(own.id)).toEqual([...before, entry]);
    expect((await act(world, agents[by], agents.id, verb, body)).status).toBeLessThan(300);
    expect(await entriesOf(agents.id)).toEqual(before);
  },
);

/** The entries about a dispute in the log of a platform, oldest first. */
const shownTo = async (of: World, id: string): Promise<Json[]> =>
  (await readLog(of, `?subject_id=${id}&limit=100`)).data.toReversed();
const only = async (of: World, id: string, action: string): Promise<Json[]> =>
  (await shownTo(of, id)).filter((entry) => entry.action === action);

const BY = {
  agent: (buying: World, bought: Bought) => file(buying, bought),
  key: (buying: World, bought: Bought) => buying.call("POST", PATH, { body: filing(bought) }),
  session: (buying: World, bought: Bought) => buying.person("POST", PATH, { body: filing(bought) }),
} as const;
type Filer = keyof typeof BY;
const FILERS = Object.keys(BY) as Filer[];
const ACTORS = { key: "management_api", session: "dashboard_admin" } as const;

async function fileBy(filer: Filer, buying: World, pair: Pair): Promise<Disputed> {
  const bought = await facilitated(buying, pair);
  const dispute = expectStatus(await BY[filer](buying, bought), 201);
  return { ...bought, dispute, id: dispute.dispute_id };
}
const pairOfTwo = async (selling: World, buying: World): Promise<Pair> => ({
  provider: await selling.provider(),
  consumer: await buying.consumer(),
});
const TOLD = { action: "dispute.filed", actor: { type: "system", id: "dispute_filing" } };
/** Strings that would reveal who acted in an account. */
const namesOf = ({ key, liveKey, platformId }: World): string[] => [key.slice(0, 20), liveKey.slice(0, 20), platformId];

describe("a filing", () => {
  let [selling, buying] = [] as unknown as [World, World];
  beforeAll(async () => {
    [selling, buying] = [await createWorld(), await createWorld()];
  });

  it.each(FILERS)(
    "by the %s of another platform writes an entry for the provider's platform that does not say who filed",
    async (filer) => {
      const { id } = await fileBy(filer, buying, await pairOfTwo(selling, buying));
      const [entry, ...others] = await shownTo(selling, id);
      expect([entry, others]).toMatchObject([
        { ...TOLD, subject: { type: "dispute", id }, environment: "sandbox" },
        [],
      ]);
      expect(Object.keys(entry).sort()).toEqual([
        "action",
        "actor",
        "environment",
        "id",
        "occurred_at",
        "seq",
        "subject",
      ]);
      const own = await shownTo(buying, id);
      expect(own.map(({ action, actor }) => [action, actor.type])).toEqual(
        filer === "agent" ? [] : [["dispute.filed", ACTORS[filer]]],
      );
      for (const name of [...namesOf(buying), ...own.map(({ actor }) => actor.id)])
        expect(JSON.stringify(entry)).not.toContain(name);
    },
  );

  it.each(FILERS)("by the %s of a platform that has both agents writes one entry", async (filer) => {
    const { id } = await fileBy(filer, selling, await pairOf(selling));
    const [entry, ...others] = await shownTo(selling, id);
    expect(others).toEqual([]);
    expect(entry).toMatchObject(filer === "agent" ? TOLD : { ...TOLD, actor: { type: ACTORS[filer] } });
  });

  it("in production writes an entry of production", async () => {
    const { id } = await fileBy("agent", buying, await livePair(selling, buying));
    expect(await shownTo(selling, id)).toMatchObject([{ ...TOLD, environment: "production" }]);
  });

  it("writes no entry if it is refused, and one if several come at once", async () => {
    const bought = await facilitated(buying, await pairOfTwo(selling, buying));
    const replies = await Promise.all(Array.from({ length: 4 }, () => BY.key(buying, bought)));
    expect(replies.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409]);
    const id = replies.find(({ status }) => status === 201)?.body.dispute_id;
    for (const one of [selling, buying]) expect(await shownTo(one, id)).toHaveLength(1);
  });
});

describe("a decision of the arbiter", () => {
  let [selling, buying] = [] as unknown as [World, World];
  beforeAll(async () => {
    [selling, buying] = [await createWorld(), await createWorld()];
  });
  const WORDS = "The note says 0800 ARBITER.";
  async function decided(own: World, pair: Pair, verdict: Record<string, unknown>): Promise<string> {
    const one = await fileBy("key", own, pair);
    await arbitrated(own, one);
    expectStatus(await resolve(own, one.id, { reason: WORDS, ...verdict }), 200);
    return one.id;
  }

  it.each([
    [{ resolution: "upheld" }, "10.00"],
    [{ resolution: "partially_upheld", refund_amount: "4.5" }, "4.50"],
    [{ resolution: "rejected" }, "0.00"],
  ])("%j writes an entry for both platforms, without the arbiter's words", async (verdict, refund) => {
    const id = await decided(buying, await pairOfTwo(selling, buying), verdict);
    const entry = {
      actor: { type: "operator" },
      subject: { type: "dispute", id },
      environment: "sandbox",
      changes: {
        status: { from: "arbitration", to: "resolved" },
        resolution: { from: null, to: verdict.resolution },
        refund_amount: { from: null, to: refund },
      },
    };
    for (const [own, other] of [
      [selling, buying],
      [buying, selling],
    ] as const) {
      expect(await only(own, id, "dispute.decided")).toMatchObject([entry]);
      const log = JSON.stringify(await shownTo(own, id));
      for (const text of ["0800 ARBITER", ...namesOf(other)]) expect(log).not.toContain(text);
    }
    expect((await shownTo(selling, id)).map(({ action }) => action)).toEqual(["dispute.filed", "dispute.decided"]);
    expect(await shownTo(world, id)).toEqual([]);
  });

  it("between agents of one platform writes one entry", async () => {
    const id = await decided(selling, await pairOf(selling), { resolution: "upheld" });
    expect(await only(selling, id, "dispute.decided")).toHaveLength(1);
  });

  it("writes no entry if it is refused, and one if several come at once", async () => {
    const one = await fileBy("agent", buying, await pairOfTwo(selling, buying));
    expect((await resolve(buying, one.id, { resolution: "upheld" })).status).toBe(409);
    expect(await shownTo(buying, one.id)).toEqual([]);
    await arbitrated(buying, one);
    const verdicts = ["upheld", "rejected"].map((resolution) => resolve(buying, one.id, { resolution }));
    expect((await Promise.all(verdicts)).map(({ status }) => status).sort()).toEqual([200, 409]);
    for (const own of [selling, buying]) expect(await only(own, one.id, "dispute.decided")).toHaveLength(1);
  });
});

describe.each([
  ["the provider's clock is ahead", 30, 0],
  ["the consumer's clock is ahead", 0, 30],
  ["both clocks are ahead", 40, 10],
])("when %s", (_name, sellers, buyers) => {
  it("each platform's entries are dated on its own clock", async () => {
    const [selling, buying] = [await createWorld(), await createWorld()];
    await moveClock(selling, sellers * DAY_MS);
    await moveClock(buying, buyers * DAY_MS);
    const one = await fileBy("key", buying, await pairOfTwo(selling, buying));
    await arbitrated(buying, one);
    expectStatus(await resolve(buying, one.id, { resolution: "upheld" }), 200);
    const datedIn = async (own: World) =>
      (await shownTo(own, one.id)).map(({ action, occurred_at }) => [
        action,
        Math.round((Date.parse(occurred_at) - Date.now()) / DAY_MS) + 0,
      ]);
    const dated = (days: number) => [
      ["dispute.filed", days],
      ["dispute.decided", days],
    ];
    expect([await datedIn(selling), await datedIn(buying)]).toEqual([dated(sellers), dated(buyers)]);
  });
});
