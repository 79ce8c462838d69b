// The minute's look at a network on which nothing has happened (CHN-24, JOB-15): it books blocks without an event and compares vaults in one row, as
// the queue's message would, and leaves all other cases to the message. Only this file uses the network `lab-quiet`; it books with three
// confirmations.
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { Deps } from "../../src/context.ts";
import { followChains, followQuiet } from "../../src/follower/job.ts";
import { startJobs } from "../../src/jobs/start.ts";
import { deposit, rows } from "../promotion/support.ts";
import { networksWith, spoil } from "../support/chain.ts";
import { labOf } from "../support/lab.ts";
import { withSilentChain } from "../support/variants.ts";
import { createWorld, type Json, type World } from "../support/world.ts";
import { bookedOf, follow, followOnce, transferTo } from "./support.ts";

const LAB = "lab-quiet";
const UNIT = 1_000_000;
const { lab, mine } = labOf(LAB);

let world: World;
let did: string;
beforeAll(async () => {
  world = await createWorld({ NETWORKS: networksWith(LAB) });
  ({ did } = await world.provider({}, "GLOBAL-USDC", LAB));
});
beforeEach(async () => {
  await mine(5);
  await follow(world, LAB);
});
afterEach(async () => {
  await spoil(LAB);
  vi.restoreAllMocks();
});

const follower = async (): Promise<Json> => (await rows("select * from followers where network = ?", LAB))[0];
/** Takes a look, and returns the tables that it wrote. */
async function look(by: World = world): Promise<{ quiet: boolean; wrote: string[] }> {
  by.meter.reset();
  const quiet = await by.serve(() => followQuiet(by.deps, LAB));
  const { sql, written } = by.meter.reading;
  const tables = sql.flatMap((text, at) => {
    const [, table = text] = /^(?:insert into|update|delete from) "(\w+)"/.exec(text) ?? [];
    return (written[at] ?? 0) > 0 ? [`${table} ${written[at]}`] : [];
  });
  return { quiet, wrote: tables };
}
const LEFT = { quiet: false, wrote: [] };

describe("blocks without an event", () => {
  it("are booked as by a message, once two looks have found them", async () => {
    await mine(5);
    const before = await follower();
    expect(await look()).toEqual({ quiet: true, wrote: ["followers 1"] });
    await mine(5);
    expect((await look()).quiet).toBe(true);
    const { read_at, read_through, ...looked } = await follower();
    expect(looked.booked_block).toBe(before.booked_block + 5);
    expect(read_at).toBeGreaterThan(before.read_at);
    expect(read_through).toBeGreaterThan(before.read_through);
    // Messages book at least as much.
    const place = "booked_block = ?, booked_hash = ?, booked_at = ?, head_block = ?, seen = ?";
    const { booked_block, booked_hash, booked_at, head_block, seen } = before;
    const values = [booked_block, booked_hash, booked_at, head_block, seen];
    await rows(`update followers set ${place} where network = ?`, ...values, LAB);
    expect(await follow(world, LAB)).toBe(true);
    const { booked_block: booked } = await follower();
    expect(booked).toBeGreaterThanOrEqual(looked.booked_block);
  });

  it("are read in three trips", async () => {
    expect((await look()).quiet).toBe(true);
    expect(world.meter.reading.trips).toBe(3);
  });

  it("move the comparison of vaults on in the same row", async () => {
    const copied = (await rows("select name from pragma_table_info('escrows')")).map(({ name }) =>
      name === "did" ? "'did:aeap:f' || n.i" : name === "network" ? "'elsewhere'" : name,
    );
    await rows(
      `with recursive n(i) as (select 10 union all select i + 1 from n where i < 60)
        insert into escrows select ${copied.join(", ")} from escrows, n where did = ?`,
      did,
    );
    try {
      const turns: string[] = [];
      for (let minute = 0; minute < 4; minute++) {
        expect(await look()).toEqual({ quiet: true, wrote: ["followers 1"] });
        turns.push((await follower()).checked_did);
      }
      expect(new Set(turns).size).toBeGreaterThan(2);
      expect(turns).toContain("");
    } finally {
      await rows("delete from escrows where network = 'elsewhere'");
      await rows("update followers set checked_did = ''");
    }
  });
});

describe("the notes of booked blocks", () => {
  /** Mines until the next multiple of fifty is far. */
  const align = async () => mine(55 - (Number(await lab("eth_blockNumber")) % 50));
  const noted = async (): Promise<number[]> =>
    (await rows("select number from booked_blocks where network = ? order by number", LAB)).map(({ number }) => number);

  it("are written once for each fifty blocks without an event, and once for each reading with one", async () => {
    await align();
    await deposit(did, UNIT, LAB);
    await mine(3);
    await follow(world, LAB);
    const [begun, before] = [await noted(), (await follower()).booked_block];
    expect(begun.at(-1)).toBe(before);
    const looks: Record<string, number> = {};
    for (let minute = 0; minute < 20; minute++) {
      await mine(5);
      for (const table of (await look()).wrote) looks[table] = (looks[table] ?? 0) + 1;
    }
    const fresh = (await noted()).filter((number) => number > before);
    expect(looks).toEqual({ "followers 1": 20, "booked_blocks 1": 2 });
    expect(fresh).toHaveLength(2);
    expect(fresh.map((number) => Math.floor(number / 50) - Math.floor(before / 50))).toEqual([1, 2]);
  });

  it("reveal a reorg after the newest one, which removes no line and raises an alert", async () => {
    await align();
    await deposit(did, UNIT, LAB);
    await mine(3);
    await follow(world, LAB);
    const lines = await bookedOf(did);
    const note = (await noted()).at(-1) ?? 0;
    for (let minute = 0; minute < 2; minute++) {
      await mine(2);
      expect((await look()).wrote).toEqual(["followers 1"]);
    }
    const { booked_block: booked } = await follower();
    expect(booked).toBeGreaterThan(note);
    await rows("update followers set booked_hash = '0x00' where network = ?", LAB);
    await rows("delete from alerts where kind = 'chain_reorganised'");
    expect(await look()).toEqual(LEFT);
    await follow(world, LAB);
    const { booked_block, booked_hash } = await follower();
    expect([booked_block >= booked, booked_hash === "0x00"]).toEqual([true, false]);
    expect(await bookedOf(did)).toEqual(lines);
    expect(await rows("select 1 from ledger_lines where did = ? and reversed = 1", did)).toEqual([]);
    const alerts = await rows("select subject from alerts where kind = 'chain_reorganised'");
    expect(alerts).toEqual([{ subject: `ledger on ${LAB}` }]);
  });
});

describe("any other case", () => {
  it("is left to the message: an event", async () => {
    await deposit(did, UNIT, LAB);
    const before = (await bookedOf(did)).length;
    expect(await look()).toEqual(LEFT);
    await mine(3);
    expect(await look()).toEqual(LEFT);
    await follow(world, LAB);
    expect(await bookedOf(did)).toHaveLength(before + 1);
    expect((await look()).quiet).toBe(true);
  });

  it("is left to the message: a vault that holds more than its lines say", async () => {
    const [{ vault }] = await rows("select vault from escrows where did = ?", did);
    const before = (await bookedOf(did)).length;
    await transferTo(vault, 7, LAB);
    await mine(5);
    // The first look sees the blocks, the second one would book them.
    const looks = [await look(), await look()];
    expect(looks).toContainEqual(LEFT);
    await follow(world, LAB);
    expect((await bookedOf(did)).slice(before)).toMatchObject([["deposit", 7, expect.any(Number)]]);
    expect((await look()).quiet).toBe(true);
  });

  it.each([
    ["a network that was never read", "delete from followers where network = ?"],
    ["a payment that is bound", `update followers set bound = '["int_1"]' where network = ?`],
    ["a changed escrow without its event", `update followers set turned = '["did:aeap:1"]' where network = ?`],
    ["a block that is not the chain's", "update followers set booked_hash = '0x00' where network = ?"],
    [
      "a different reading of the same blocks",
      "update followers set seen = json_set(seen, '$.digest', '0x00') where network = ?",
    ],
  ])("is left to the message: %s", async (_what, text) => {
    await mine(5);
    expect((await look()).quiet).toBe(true);
    const before = await follower();
    await rows(text, LAB);
    expect(await look()).toEqual(LEFT);
    await rows("delete from followers where network = ?", LAB);
    const names = Object.keys(before);
    const places = names.map(() => "?").join(", ");
    await rows(`insert into followers (${names.join(", ")}) values (${places})`, ...Object.values(before));
    expect((await look()).quiet).toBe(true);
  });

  it("is left to the message: a settlement that was not compared", async () => {
    const { checked_receipt } = await follower();
    const columns = "transaction_id, network, block_number, receipt";
    await rows(`insert into receipts (rowid, ${columns}) values (?, 'txn_1', 'elsewhere', 1, '')`, checked_receipt + 1);
    expect(await look()).toEqual(LEFT);
    await rows("delete from receipts where transaction_id = 'txn_1'");
    expect((await look()).quiet).toBe(true);
  });

  it("is left to the message: a node that does not answer, and another run that is faster", async () => {
    expect(await look(withSilentChain(world))).toEqual(LEFT);
    await mine(5);
    await look();
    const { trips } = world.meter.reading;
    await mine(5);
    world.meter.beforeBatch(trips, () => followOnce(world, LAB));
    expect(await world.serve(() => followQuiet(world.deps, LAB))).toBe(false);
    expect((await look()).quiet).toBe(true);
  });
});

describe("the job of the minute", () => {
  async function minute(by: World): Promise<unknown[]> {
    const sent: unknown[] = [];
    const CHAIN_QUEUE = { send: async (message: unknown) => void sent.push(message) } as never;
    const networks = by.deps.config.networks.filter(({ network }) => network === LAB);
    const deps: Deps = { ...by.deps, config: { ...by.deps.config, networks }, env: { ...by.deps.env, CHAIN_QUEUE } };
    await by.serve(() => startJobs(deps, [followChains]));
    return sent;
  }
  const message = { kind: "follow_chain", network: LAB };

  it("sends a message if the look was not enough or has failed", async () => {
    expect(await minute(world)).toEqual([]);
    expect(await minute(withSilentChain(world))).toEqual([message]);
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    world.meter.beforeBatch(2, () => Promise.reject(new Error("the database is away")));
    expect(await minute(world)).toEqual([message]);
    const alerts = await rows("select message from alerts where kind = 'job_failed' and subject = 'follow_chains'");
    expect(alerts).toEqual([{ message: `${LAB}: the database is away` }]);
  });
});
