// Disputes between two platforms whose sandbox clocks differ (ACC-9, DSP-3, DSP-5, DSP-9): the clock of the consumer's platform rules what both sides
// may do, until when a dispute may be filed, and the status in every list. The clocks are moved without recording anything, until the advance at the
// end.
import { beforeAll, describe, expect, it } from "vitest";
import { DAY_MS, HOUR_MS } from "../../src/core/limits.ts";
import { act, byOperator, disputed, file, filing, OPERATOR_PATH, PATH } from "../disputes/support.ts";
import { facilitated, type Pair } from "../facilitation/support.ts";
import { follow } from "../follower/support.ts";
import { deposit, rows } from "../promotion/support.ts";
import { moveClock } from "../support/clock.ts";
import { type Agent, createWorld, expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import { advanced } from "./support.ts";

/** A provider that many disputes do not constrain, because its vault holds enough. */
async function rich(of: World): Promise<Agent> {
  const provider = await of.provider();
  await deposit(provider.did, 100_000_000);
  await follow(of);
  return provider;
}
const storedOf = async (id: string): Promise<Json> =>
  (await rows("select * from disputes where dispute_id = ?", id))[0];
/** How many hours an instant of an answer is ahead of real time. */
const hoursAhead = (instant: string): string =>
  ((Date.parse(instant) - Date.now()) / HOUR_MS).toFixed(0).replace("-0", "0");

describe("the provider's acts", () => {
  let [selling, buying] = [] as unknown as [World, World];
  let pair: Pair;
  beforeAll(async () => {
    [selling, buying] = [await createWorld(), await createWorld()];
    pair = { consumer: await buying.consumer(), provider: await rich(selling) };
  });
  const byKey = (id: string, verb: string, body?: unknown): Promise<Reply> =>
    selling.call("POST", `${PATH}/${id}/${verb}`, body === undefined ? {} : { body });
  const answer = { message: "It was delivered." };

  it("are in time as long as the clock of the consumer's platform says so, and dated by it, by agent and by key", async () => {
    const [byAgent, byPlatform, late] = [
      await disputed(buying, { pair }),
      await disputed(buying, { pair }),
      await disputed(buying, { pair }),
    ];
    // The provider's own clock is far past the days of both parties.
    await moveClock(selling, 30 * DAY_MS);
    for (const reply of [
      await act(selling, pair.provider, byAgent.id, "respond", answer),
      await byKey(byPlatform.id, "respond", answer),
    ]) {
      const { status, responded_at } = expectStatus(reply, 200);
      expect([status, hoursAhead(responded_at)]).toEqual(["pre_arbitration", "0"]);
    }
    const almost = 7 * DAY_MS - 2 * HOUR_MS;
    await moveClock(buying, almost);
    for (const reply of [
      await act(selling, pair.provider, byAgent.id, "concede"),
      await byKey(byPlatform.id, "concede"),
    ]) {
      const { resolution, resolved_at, refund_due } = expectStatus(reply, 200);
      expect([resolution, hoursAhead(resolved_at)]).toEqual(["upheld", "166"]);
      expect(Date.parse(refund_due) - Date.parse(resolved_at)).toBe(7 * DAY_MS);
    }
    await moveClock(buying, 7 * DAY_MS);
    for (const verb of ["respond", "concede", "escalate"]) {
      const body = verb === "respond" ? answer : undefined;
      for (const reply of [await act(selling, pair.provider, late.id, verb, body), await byKey(late.id, verb, body)])
        expect([reply.status, reply.body.code, reply.body.detail]).toEqual([
          409,
          "invalid_status",
          { status: "arbitration" },
        ]);
    }
    expect(await storedOf(late.id)).toMatchObject({ status: "pre_arbitration", messages: 0, resolution: null });
    const evidence = expectStatus(await byKey(late.id, "evidence", { description: "The log." }), 201);
    expect([evidence.submitted_by, hoursAhead(evidence.submitted_at)]).toEqual(["provider", "168"]);
  });
});

describe("the dispute window", () => {
  it("ends on the clock of the consumer's platform, by agent and by key", async () => {
    const [selling, buying] = [await createWorld(), await createWorld()];
    const pair = { consumer: await buying.consumer(), provider: await rich(selling) };
    const early = await facilitated(buying, pair);
    const timely = await facilitated(buying, pair);
    const late = await facilitated(buying, pair);
    await moveClock(selling, 15 * DAY_MS);
    expectStatus(await file(buying, early), 201);
    const almost = 14 * DAY_MS - 2 * HOUR_MS;
    await moveClock(buying, almost);
    expect(hoursAhead(expectStatus(await file(buying, timely), 201).filed_at)).toBe("334");
    await moveClock(buying, 14 * DAY_MS);
    for (const reply of [await file(buying, late), await buying.call("POST", PATH, { body: filing(late) })])
      expect([reply.status, reply.body.code, reply.body.detail]).toEqual([
        409,
        "dispute_window_expired",
        { closed_at: late.fac.dispute_window_closes_at },
      ]);
    // A purchase that was settled on the moved clock has its full window.
    expectStatus(await file(buying, await facilitated(buying, pair)), 201);
  });
});

describe("lists by status", () => {
  let [selling, unmoved, moved] = [] as unknown as [World, World, World];
  let agents: Record<"seller" | "own" | "unmoved" | "moved" | "other", Agent>;
  /** Disputes, named after the platform whose clock rules them; `bought` is a purchase of `selling` from an agent of `moved`. */
  let made: Record<"own" | "unmoved" | "moved" | "bought", string>;
  beforeAll(async () => {
    [selling, unmoved, moved] = [await createWorld(), await createWorld(), await createWorld()];
    agents = {
      seller: await rich(selling),
      own: await selling.consumer(),
      unmoved: await unmoved.consumer(),
      moved: await moved.consumer(),
      other: await rich(moved),
    };
    const { seller, other } = agents;
    made = {
      own: (await disputed(selling, { pair: { consumer: agents.own, provider: seller } })).id,
      unmoved: (await disputed(unmoved, { pair: { consumer: agents.unmoved, provider: seller } })).id,
      moved: (await disputed(moved, { pair: { consumer: agents.moved, provider: seller } })).id,
      bought: (await disputed(selling, { pair: { consumer: agents.own, provider: other } })).id,
    };
  });

  type Name = keyof typeof made;
  /** The lists and the disputes that each shows, newest first. */
  const LISTS: [string, (query: string) => Promise<Reply>, Name[]][] = [
    ["the seller", (query) => selling.as(agents.seller, "GET", query), ["moved", "unmoved", "own"]],
    ["the other seller", (query) => moved.as(agents.other, "GET", query), ["bought"]],
    ["the seller's account", (query) => selling.call("GET", query), ["bought", "moved", "unmoved", "own"]],
    ["a buyer of the seller's account", (query) => selling.as(agents.own, "GET", query), ["bought", "own"]],
    ["the unmoved buyer", (query) => unmoved.as(agents.unmoved, "GET", query), ["unmoved"]],
    ["the unmoved account", (query) => unmoved.call("GET", query), ["unmoved"]],
    ["the moved buyer", (query) => moved.as(agents.moved, "GET", query), ["moved"]],
    ["the moved account", (query) => moved.call("GET", query), ["bought", "moved"]],
    [
      "the operator",
      (query) => byOperator(selling, "GET", query.replace(PATH, OPERATOR_PATH)),
      ["bought", "moved", "unmoved", "own"],
    ],
  ];

  /** Expects that each list by status, complete and in pages of one, agrees with the read of each dispute. */
  async function expectShown(arbitration: readonly Name[]): Promise<void> {
    const stateOf = (name: Name) => (arbitration.includes(name) ? "arbitration" : "pre_arbitration");
    for (const [who, list, whole] of LISTS) {
      const listed = async (query: string): Promise<Json[]> => expectStatus(await list(`${PATH}?${query}`), 200).data;
      const stated = (rowsOf: readonly Json[]) => rowsOf.map(({ dispute_id, status }) => [dispute_id, status]);
      const mine = whole.map((name) => [made[name], stateOf(name)]);
      const ours = (found: Json[]) => found.filter(({ dispute_id }) => Object.values(made).includes(dispute_id));
      expect([who, stated(ours(await listed("limit=100")))]).toEqual([who, mine]);
      for (const status of ["pre_arbitration", "arbitration", "resolved"]) {
        const expected = mine.filter(([, one]) => one === status);
        expect([who, status, stated(ours(await listed(`limit=100&status=${status}`)))]).toEqual([
          who,
          status,
          expected,
        ]);
      }
    }
    for (const name of Object.keys(made) as Name[]) {
      const shown = expectStatus(await byOperator(selling, "GET", `${OPERATOR_PATH}/${made[name]}`), 200);
      expect([name, shown.status]).toEqual([name, stateOf(name)]);
    }
  }
  const unrecorded = async (...names: Name[]) => {
    for (const name of names) expect((await storedOf(made[name])).status).toBe("pre_arbitration");
  };

  it("show each dispute in pre-arbitration when the clocks agree", async () => {
    await expectShown([]);
  });

  it("show a dispute in arbitration, also to the seller, when only its consumer's clock went past its days", async () => {
    await moveClock(moved, 8 * DAY_MS);
    await expectShown(["moved"]);
    await unrecorded("moved");
  });

  it("show purchases of the seller's own account by its clock, and its sales to others by theirs", async () => {
    await moveClock(moved, 0);
    await moveClock(selling, 8 * DAY_MS);
    await expectShown(["own", "bought"]);
    await moveClock(moved, 8 * DAY_MS);
    await expectShown(["own", "bought", "moved"]);
    await unrecorded("own", "bought", "moved", "unmoved");
  });

  it("come in pages of one by status, each dispute once", async () => {
    const walked: string[] = [];
    for (let cursor = ""; ; ) {
      const page = expectStatus(await selling.call("GET", `${PATH}?limit=1&status=arbitration${cursor}`), 200);
      walked.push(...page.data.map(({ dispute_id }: Json) => dispute_id));
      if (!page.has_more) break;
      cursor = `&cursor=${page.next_cursor}`;
    }
    expect(walked).toEqual([made.bought, made.moved, made.own]);
  });

  it("are the same in the CSV as on the page", async () => {
    const csv = async (status: string) => {
      const path = `${PATH}?status=${status}`;
      const { text } = await selling.call("GET", path, { headers: { Accept: "text/csv" } });
      const lines = text.trim().split("\r\n").slice(1);
      return lines.map((line) => [line.split(",")[0], line.includes(",arbitration,")]);
    };
    expect(await csv("arbitration")).toEqual([made.bought, made.moved, made.own].map((id) => [id, true]));
    expect(await csv("pre_arbitration")).toEqual([[made.unmoved, false]]);
  });

  it("show the same after an advance has recorded it", async () => {
    await advanced(moved, 60);
    await advanced(selling, 60);
    for (const name of ["own", "bought", "moved"] as const)
      expect((await storedOf(made[name])).status).toBe("arbitration");
    await unrecorded("unmoved");
    await expectShown(["own", "bought", "moved"]);
  });

  it("use real time in production, whatever the clock of the consumer's sandbox", async () => {
    await rows(
      "update disputes set status = 'pre_arbitration', arbitration_at = null, due_at = answers_until, environment = 'production' where dispute_id = ?",
      made.moved,
    );
    for (const of of [moved, selling]) {
      const listed = async (status: string) =>
        expectStatus(await of.call("GET", `${PATH}?status=${status}`, { key: of.liveKey }), 200).data;
      expect(await listed("arbitration")).toEqual([]);
      expect(await listed("pre_arbitration")).toMatchObject([{ dispute_id: made.moved, status: "pre_arbitration" }]);
    }
  });
});
