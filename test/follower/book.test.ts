// The follower books every movement of a vault once, and the escrow's state, event, directory record and document follow (CHN-24, MKT-23).
import { beforeAll, describe, expect, it } from "vitest";
import { asProvider, facilitated, paid, pairOf } from "../facilitation/support.ts";
import { deposit, openLive, promoted, rows } from "../promotion/support.ts";
import { scaled } from "../support/scale.ts";
import { createWorld, expectStatus, type World } from "../support/world.ts";
import { bookedOf, escrowOf, follow, heldBy, linesOf, releaseSurplus, transferTo } from "./support.ts";

const NETWORK = "base-sepolia";
const UNIT = 1_000_000;
const THRESHOLD = 15 * UNIT;
/** 10 % of 100 net of the fee. */
const PART = 9_995_000;

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

describe("a noted block", () => {
  it("is deleted 10,000 blocks later, in the batch that notes another block, and not before", async () => {
    const { did } = await world.provider();
    await follow(world);
    const place = async () => (await rows("select booked_block as at from followers where network = ?", NETWORK))[0].at;
    const noted = async () =>
      (await rows("select number from booked_blocks where network = ?", NETWORK)).map(({ number }) => number);
    const before = await place();
    const [old, young] = [before - 9_999, before - 9_900];
    const note = "insert into booked_blocks (network, number, hash) values (?, ?, '0x01')";
    for (const number of [old, young]) await rows(note, NETWORK, number);
    await deposit(did, UNIT);
    await follow(world);
    expect((await place()) - before).toBeLessThan(99);
    expect(await noted()).not.toContain(old);
    expect(await noted()).toContain(young);
    await rows("delete from booked_blocks where network = ? and number = ?", NETWORK, young);
  });
});

describe("a deposit", () => {
  it("becomes a line and counts, and the escrow that it funds is ACTIVE in event, directory and document", async () => {
    const { did } = await world.provider();
    await deposit(did, THRESHOLD - 1);
    await follow(world);
    expect(await bookedOf(did)).toEqual([["deposit", THRESHOLD - 1, THRESHOLD - 1]]);
    expect(await escrowOf(did)).toMatchObject({ balance: THRESHOLD - 1, state: "FUNDING", contributed: 0 });
    expect(await told(did)).toEqual([]);
    await deposit(did, 1);
    await follow(world);
    expect(await escrowOf(did)).toMatchObject({ balance: THRESHOLD, state: "ACTIVE" });
    expect(await told(did)).toEqual(["agent.escrow_state_changed"]);
    const status = await world.call("GET", `/v1/agents/${did}/status`, { key: null });
    expect(status.body.escrow_state).toBe("ACTIVE");
    const aid = await world.call("GET", `/v1/agents/${did}/aid`, { key: null });
    expect(aid.body.escrow.liability_profile).toMatchObject({ escrow_state: "ACTIVE", total_balance: "15.00" });
    const feed = await rows("select change_type from directory_changes where did = ? order by seq desc limit 1", did);
    expect(feed).toEqual([{ change_type: "updated" }]);
  });

  it("brings an agent out of FUNDING by itself", async () => {
    const provider = await world.agent("PROVIDER");
    await openLive(world, provider.did);
    expect((await promoted(world, provider.did)).status).toBe("FUNDING");
    await deposit(provider.did, THRESHOLD);
    await follow(world);
    const view = await world.call("GET", `/v1/agents/${provider.did}`, { key: world.liveKey });
    expect([view.body.status, view.body.escrow_state]).toEqual(["ACTIVE", "ACTIVE"]);
    const activity = await rows(
      "select actor_type, actor_id from activity_entries where subject_id = ? and action = 'agent.funded'",
      provider.did,
    );
    expect(activity).toEqual([{ actor_type: "system", actor_id: "follow_chains" }]);
    expect((await told(provider.did)).slice(-2).sort()).toEqual(["agent.escrow_state_changed", "agent.status_changed"]);
  });

  it("counts in both environments of a vault", async () => {
    const { did } = await world.provider();
    await openLive(world, did);
    await deposit(did, 4 * UNIT);
    await follow(world);
    expect([(await escrowOf(did)).balance, (await escrowOf(did, "production")).balance]).toEqual([4 * UNIT, 4 * UNIT]);
  });

  it("counts from the start in an environment whose escrow opens after it was booked", async () => {
    const { did } = await world.provider();
    await deposit(did, 4 * UNIT);
    await follow(world);
    await openLive(world, did);
    expect((await escrowOf(did, "production")).balance).toBe(4 * UNIT);
    await follow(world);
    expect((await escrowOf(did, "production")).balance).toBe(4 * UNIT);
  });
});

describe("a settlement", () => {
  it("becomes a line at once, and counts once it is facilitated, in either order", async () => {
    const pair = await pairOf(world);
    const { did } = pair.provider;
    const purchase = await paid(world, pair, "100.00");
    await follow(world);
    expect(await bookedOf(did)).toEqual([["settlement", PART, PART]]);
    expect((await escrowOf(did)).balance).toBe(0);
    expectStatus(await asProvider(world, purchase), 200);
    expect(await escrowOf(did)).toMatchObject({ balance: PART, contributed: PART });
    await facilitated(world, pair, "10.00");
    await follow(world);
    const { balance } = await escrowOf(did);
    expect(balance).toBe(await heldBy(did));
    expect((await linesOf(did)).reduce((sum, { amount }) => sum + amount, 0)).toBe(balance);
  });
});

describe("an amount that came to a vault without an event", () => {
  it("becomes a deposit when the next event shows it", async () => {
    const { did } = await world.provider();
    await transferTo((await escrowOf(did)).vault, 3 * UNIT);
    await deposit(did, 2 * UNIT);
    await follow(world);
    expect(await bookedOf(did)).toEqual([
      ["deposit", 3 * UNIT, 3 * UNIT],
      ["deposit", 2 * UNIT, 5 * UNIT],
    ]);
    expect((await escrowOf(did)).balance).toBe(5 * UNIT);
    const alerts = await rows("select kind, message from alerts where subject = 'deposits on base-sepolia'");
    expect(alerts).toEqual([
      { kind: "reconciliation", message: expect.stringContaining(`the vault of ${did} received 3000000`) },
    ]);
  });

  it("is found without a further event when it is the vault's turn", async () => {
    const { did } = await world.provider();
    await transferTo((await escrowOf(did)).vault, THRESHOLD);
    await follow(world);
    await rows("update followers set checked_did = ? where network = 'base-sepolia'", did.slice(0, -1));
    await follow(world);
    expect(await bookedOf(did)).toEqual([["deposit", THRESHOLD, THRESHOLD]]);
    expect(await escrowOf(did)).toMatchObject({ balance: THRESHOLD, state: "ACTIVE" });
    expect(await told(did)).toEqual(["agent.escrow_state_changed"]);
  });

  it("is found although the page has a vault of an edition that is no longer configured", async () => {
    const dids = [(await world.provider()).did, (await world.provider()).did];
    const [one = "", other = ""] = dids.sort();
    await follow(world);
    await rows("update escrows set contract = ? where did = ?", `0x${"ed".repeat(20)}`, one);
    const { vault } = await escrowOf(other);
    await transferTo(vault, 3 * UNIT);
    // Both vaults are on the next page.
    await rows("update followers set checked_did = ? where network = 'base-sepolia'", one.slice(0, -1));
    await follow(world);
    expect(await bookedOf(other)).toEqual([["deposit", 3 * UNIT, 3 * UNIT]]);
  });
});

describe("an amount that leaves a vault", () => {
  it("becomes a negative line and lowers the balance, and the state follows", async () => {
    const { did } = await world.provider();
    await deposit(did, THRESHOLD + UNIT);
    await follow(world);
    await releaseSurplus(did);
    await follow(world);
    expect(await bookedOf(did)).toEqual([
      ["deposit", THRESHOLD + UNIT, THRESHOLD + UNIT],
      ["release", -UNIT, THRESHOLD],
    ]);
    expect(await escrowOf(did)).toMatchObject({ balance: THRESHOLD, state: "ACTIVE" });
    // More may be released than counts, because the vault also holds settlements that were not facilitated.
    await rows("update escrows set balance = ? where did = ?", THRESHOLD - 2, did);
    await deposit(did, 1);
    await follow(world);
    expect(await escrowOf(did)).toMatchObject({ balance: THRESHOLD - 1, state: "FUNDING" });
  });
});

describe("a follower that runs twice", () => {
  it("books once if its runs are concurrent", async () => {
    const dids = await Promise.all(Array.from({ length: 3 }, async () => (await world.provider()).did));
    for (const did of dids) await deposit(did, THRESHOLD);
    const runs = Array.from({ length: scaled(100) }, () => follow(world));
    expect(await Promise.all(runs)).toEqual(runs.map(() => true));
    for (const did of dids) {
      expect(await bookedOf(did)).toEqual([["deposit", THRESHOLD, THRESHOLD]]);
      expect(await escrowOf(did)).toMatchObject({ balance: THRESHOLD, state: "ACTIVE" });
      expect(await told(did)).toEqual(["agent.escrow_state_changed"]);
    }
  });

  it("resumes where it was after a batch that failed", async () => {
    const { did } = await world.provider();
    await follow(world);
    await deposit(did, UNIT);
    world.meter.beforeBatch(3, () => Promise.reject(new Error("the Worker died")));
    await expect(follow(world)).rejects.toThrow("the Worker died");
    expect(await bookedOf(did)).toEqual([]);
    await follow(world);
    await follow(world);
    expect(await bookedOf(did)).toEqual([["deposit", UNIT, UNIT]]);
  });
});

const told = async (did: string): Promise<string[]> => {
  const found = await rows(
    "select type from events where agent_did = ? and type in ('agent.escrow_state_changed', 'agent.status_changed') order by rowid",
    did,
  );
  // Leaves out the event of the activation, which comes first.
  return found.map(({ type }) => type).filter((type, at) => !(type === "agent.status_changed" && at === 0));
};
