// Each side's own rows are dated on its own platform's clock (ACC-9), although the buyer's clock rules the purchase: the agent's row, the document,
// the directory's record, the event of the seller's escrow, and each platform's log. No date goes back.
import { beforeAll, describe, expect, it } from "vitest";
import { DAY_MS } from "../../src/core/limits.ts";
import { act, byOperator, disputed, escrowOf, OPERATOR_PATH, overdue, PATH, resolve } from "../disputes/support.ts";
import { asClient, asConsumer, asProvider, facilitated, type Paid, type Pair, paid } from "../facilitation/support.ts";
import { follow, takenAway } from "../follower/support.ts";
import { deposit, rows } from "../promotion/support.ts";
import { moveClock } from "../support/clock.ts";
import { isWhole } from "../support/scale.ts";
import { createWorld, expectStatus, type Json, type Reply, type World } from "../support/world.ts";

const AHEAD = 300;
const dayOf = (instant: number): number => Math.round((instant - Date.now()) / DAY_MS) + 0;

/** How many days the rows of the escrow's last change of state are ahead of real time. */
async function turnOf(did: string): Promise<{ state: string; days: number[] }> {
  const [agent] = await rows("select updated_at from agents where did = ?", did);
  const [feed] = await rows("select occurred_at from directory_changes where did = ? order by seq desc limit 1", did);
  const [event] = await rows(
    "select occurred_at, object from events where agent_did = ? and type = 'agent.escrow_state_changed' order by seq desc limit 1",
    did,
  );
  const { escrow_state: state, updated_at } = JSON.parse(event.object);
  return {
    state,
    days: [agent.updated_at, feed.occurred_at, event.occurred_at, Date.parse(updated_at)].map(dayOf),
  };
}
/** The directory's records are in real time (DIR-6). */
const turned = (state: string, days: number) => ({ state, days: [days, 0, days, days] });

describe.each([
  ["the buyer's clock is ahead", 0, AHEAD],
  ["the seller's clock is ahead", AHEAD, 0],
  ["both are ahead", 40, AHEAD],
])("where %s", (_name, sellers, buyers) => {
  let [selling, buying] = [] as unknown as [World, World];
  beforeAll(async () => {
    [selling, buying] = [await createWorld(), await createWorld()];
    await moveClock(selling, sellers * DAY_MS);
    await moveClock(buying, buyers * DAY_MS);
  });
  const pairOf = async (): Promise<Pair> => ({
    provider: await selling.provider(),
    consumer: await buying.consumer(),
  });
  /** A pair whose provider's vault is one base unit below its threshold. */
  async function almostFunded(): Promise<Pair> {
    const pair = await pairOf();
    const { balance, threshold } = await escrowOf(pair.provider.did);
    await deposit(pair.provider.did, threshold - balance - 1);
    await follow(selling);
    expect((await escrowOf(pair.provider.did)).state).toBe("FUNDING");
    return pair;
  }

  const FACILITATIONS: readonly [string, (purchase: Paid) => Promise<Reply>][] = [
    ["its provider", (purchase) => asProvider(selling, purchase)],
    ["its consumer", (purchase) => asConsumer(buying, purchase)],
    ["its provider in the form of clients", (purchase) => asClient(selling, purchase)],
  ];
  // Each form of facilitation runs on one pair of clocks.
  it.each(isWhole() || sellers === 0 ? FACILITATIONS : FACILITATIONS.slice(0, 1))(
    "a facilitation by %s funds the seller at its own clock's instant, and so does its reversal",
    async (_by, ask) => {
      const pair = await almostFunded();
      const purchase = await paid(buying, pair);
      const fac = expectStatus(await ask(purchase), 200);
      expect(await turnOf(pair.provider.did)).toEqual(turned("ACTIVE", sellers));
      const [bought] = await rows("select settled_at from transactions where transaction_id = ?", fac.transaction_id);
      expect(dayOf(bought.settled_at)).toBe(buyers);
      await takenAway(selling, fac.transaction_id);
      expect(await turnOf(pair.provider.did)).toEqual(turned("FUNDING", sellers));
    },
  );

  it("a dispute constrains the seller at its own clock's instant, and each end of it frees the seller", async () => {
    const pair = await pairOf();
    const { did } = pair.provider;
    const withdrawn = await disputed(buying, { pair, amount: "20.00" });
    expect(dayOf(Date.parse(withdrawn.dispute.filed_at))).toBe(buyers);
    expect(await turnOf(did)).toEqual(turned("CONSTRAINED", sellers));
    expectStatus(await act(buying, pair.consumer, withdrawn.id, "withdraw"), 200);
    expect(await turnOf(did)).toEqual(turned("FUNDING", sellers));
  });

  it("a dispute that is conceded and then goes to arbitration is dated in the same way", async () => {
    const pair = await pairOf();
    const { did } = pair.provider;
    const conceded = await disputed(buying, { pair, amount: "20.00" });
    await overdue(selling, conceded);
    expect(await turnOf(did)).toEqual(turned("CONSTRAINED", sellers));
    const events = await rows(
      "select occurred_at from events where agent_did = ? and type = 'agent.escrow_state_changed'",
      did,
    );
    // Constrained, freed by the concession, and constrained again.
    expect(events.slice(-3).map(({ occurred_at }) => dayOf(occurred_at))).toEqual([sellers, sellers, sellers]);
    expectStatus(await resolve(selling, conceded.id, { resolution: "rejected" }), 200);
    expect(await turnOf(did)).toEqual(turned("FUNDING", sellers));
  });

  it("a deposit funds the seller at its own clock's instant when it is seen", async () => {
    const { provider } = await almostFunded();
    await deposit(provider.did, 1);
    await follow(selling);
    expect(await turnOf(provider.did)).toEqual(turned("ACTIVE", sellers));
  });

  it("each platform's log is dated by its own clock, whichever side acts", async () => {
    const pair = await pairOf();
    const byKey = async (world: World, id: string, verb: string, body?: unknown): Promise<Json> => {
      const reply = await world.call("POST", `${PATH}/${id}/${verb}`, body === undefined ? {} : { body });
      return expectStatus(reply, verb === "evidence" ? 201 : 200);
    };
    const { fac } = await facilitated(buying, pair);
    const filing = { transaction_id: fac.transaction_id, reason: "other", disputed_amount: "1.00" };
    const { dispute_id: id } = expectStatus(await buying.call("POST", PATH, { body: filing }), 201);
    const { responded_at } = await byKey(selling, id, "respond", { message: "It was delivered." });
    expect(dayOf(Date.parse(responded_at))).toBe(buyers);
    for (const world of [selling, buying]) await byKey(world, id, "evidence", { description: "The note." });
    await byKey(selling, id, "concede");
    const logOf = async ({ platformId }: World) => {
      const text =
        "select action, occurred_at from activity_entries where platform_id = ? and subject_id = ? order by seq";
      return (await rows(text, platformId, id)).map(({ action, occurred_at }) => [action, dayOf(occurred_at)]);
    };
    expect(await logOf(selling)).toEqual([
      ["dispute.filed", sellers],
      ["dispute.answered", sellers],
      ["dispute.evidence_added", sellers],
      ["dispute.conceded", sellers],
    ]);
    expect(await logOf(buying)).toEqual([
      ["dispute.filed", buyers],
      ["dispute.evidence_added", buyers],
    ]);
  });
});

it("an agent's row is not dated back if it had a later date", async () => {
  const world = await createWorld();
  const pair = { provider: await world.provider(), consumer: await world.consumer() };
  const { did } = pair.provider;
  const later = Date.now() + AHEAD * DAY_MS;
  await rows("update agents set updated_at = ? where did in (?, ?)", later, did, pair.consumer.did);
  const { id, consumer, task } = await disputed(world, { pair, amount: "20.00" });
  const seen = async () => [
    ...(await rows("select updated_at from agents where did in (?, ?)", did, consumer.did)),
    ...(await rows(
      "select object ->> 'updated_at' as updated_at from events where type = 'agent.escrow_state_changed' and agent_did = ?",
      did,
    )),
  ];
  const dates = async () => new Set((await seen()).map(({ updated_at }) => new Date(updated_at).getTime()));
  expect(await dates()).toEqual(new Set([later]));
  expectStatus(await act(world, consumer, id, "withdraw"), 200);
  expectStatus(await world.as(consumer, "POST", `/v1/tasks/${task}/confirm`, { outcome: "confirmed" }), 200);
  await deposit(did, 60_000_000);
  await follow(world);
  expect(await dates()).toEqual(new Set([later]));
});

it("an operator's list of disputes uses real time, whatever sandbox they are in", async () => {
  const [moved, still] = [await createWorld(), await createWorld()];
  await moveClock(moved, AHEAD * DAY_MS);
  const first = await disputed(moved);
  const second = await disputed(still);
  const listed = expectStatus(await byOperator(still, "GET", `${OPERATOR_PATH}?limit=2`), 200).data;
  expect(listed.map(({ dispute_id }: Json) => dispute_id)).toEqual([second.id, first.id]);
  expect(Date.parse(first.dispute.filed_at)).toBeGreaterThan(Date.now() + (AHEAD - 1) * DAY_MS);
});
