// A provider's escrow as its platform reads it, also straight from the chain (MKT-26, MKT-27).
import { beforeAll, describe, expect, it } from "vitest";
import { facilitated, paid, pairOf } from "../facilitation/support.ts";
import { bookedOf, escrowOf, follow, releaseSurplus, transferTo } from "../follower/support.ts";
import { deposit, openLive, rows } from "../promotion/support.ts";
import { headOf } from "../support/chain.ts";
import { withSilentChain } from "../support/variants.ts";
import { createWorld, expectStatus, type Json, type World } from "../support/world.ts";

const UNIT = 1_000_000;
const THRESHOLD = 15 * UNIT;

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const read = async (did: string, key = world.key): Promise<Json> =>
  expectStatus(await world.call("GET", `/v1/agents/${did}/escrow`, { key }), 200);
const sync = async (did: string): Promise<Json> =>
  expectStatus(await world.call("POST", `/v1/agents/${did}/escrow/sync`), 200);

describe("the escrow's report (MKT-26)", () => {
  it("shows the balance, what the vault holds, the thresholds, and the movements newest first", async () => {
    const pair = await pairOf(world);
    const { did } = pair.provider;
    const settled = await facilitated(world, pair, "100.00");
    await paid(world, pair, "10.00");
    await transferTo((await escrowOf(did)).vault, 2 * UNIT);
    await deposit(did, 10 * UNIT);
    await follow(world);
    await releaseSurplus(did);
    await follow(world);
    const { vault } = await escrowOf(did);
    const report = await read(did);
    expect(report).toEqual({
      did,
      escrow_state: "FUNDING",
      escrow: [
        {
          network: "base-sepolia",
          caip2: "eip155:84532",
          currency: "USDC",
          escrow_wallet: vault,
          operational_wallet: expect.stringMatching(/^0x/),
          state: "FUNDING",
          as_of_block: await headOf("base-sepolia"),
          // The vault holds the threshold, but a part of it was not facilitated.
          balance: "14.0005",
          held: "15.00",
          threshold: "15.00",
          base_threshold: "15.00",
          chain_threshold: "15.00",
          contributed: "9.995",
          movements: [
            movement("release", "7.9945", "15.00"),
            movement("deposit", "10.00", "22.9945"),
            { ...movement("deposit", "2.00", "12.9945"), tx_hash: null },
            movement("settlement", "0.9995", "10.9945"),
            { ...movement("settlement", "9.995", "9.995"), transaction_id: settled.fac.transaction_id },
          ],
        },
      ],
    });
  });

  it("shows ten movements of each vault, and reads the same number of rows however many there are", async () => {
    const { did } = await world.provider();
    const measured = async (): Promise<number> => {
      world.meter.reset();
      await read(did);
      return world.meter.reading.rowsRead;
    };
    for (let n = 0; n < 10; n++) await deposit(did, 1);
    await follow(world);
    const few = await measured();
    for (let n = 0; n < 10; n++) await deposit(did, 1);
    await follow(world);
    expect((await read(did)).escrow[0].movements).toHaveLength(10);
    expect(await measured()).toBe(few);
  });

  it("is about the key's environment only", async () => {
    const { did } = await world.provider();
    await openLive(world, did);
    expect((await world.call("GET", `/v1/agents/${did}/escrow`, { key: world.liveKey })).status).toBe(404);
  });

  it("is empty and has no state for a consumer", async () => {
    const { did } = await world.consumer();
    expect(await read(did)).toEqual({ did, escrow_state: null, escrow: [] });
  });
});

describe("a sync (MKT-27)", () => {
  it("books what the chain has without waiting for the minute's job, and answers with the report", async () => {
    const { did } = await world.provider();
    await deposit(did, THRESHOLD);
    const report = await sync(did);
    expect(report.escrow[0]).toMatchObject({ state: "ACTIVE", balance: "15.00", held: "15.00" });
    expect(report).toEqual(await read(did));
    expect(await bookedOf(did)).toEqual([["deposit", THRESHOLD, THRESHOLD]]);
  });

  it("finds an amount that came without an event at once", async () => {
    const { did } = await world.provider();
    await transferTo((await escrowOf(did)).vault, 3 * UNIT);
    expect((await sync(did)).escrow[0]).toMatchObject({ balance: "3.00" });
  });

  it("books once if it is called several times concurrently", async () => {
    const { did } = await world.provider();
    await deposit(did, THRESHOLD);
    await transferTo((await escrowOf(did)).vault, UNIT);
    await Promise.all(Array.from({ length: 8 }, () => sync(did)));
    expect((await bookedOf(did)).reduce((sum, [, amount]) => sum + amount, 0)).toBe(THRESHOLD + UNIT);
    const told = await rows("select type from events where agent_did = ? and type = 'agent.escrow_state_changed'", did);
    expect(told).toHaveLength(1);
  });

  it("is 503 and writes nothing if the chain does not answer", async () => {
    const { did } = await world.provider();
    await follow(world);
    await deposit(did, UNIT);
    const answer = await withSilentChain(world).call("POST", `/v1/agents/${did}/escrow/sync`);
    expect([answer.status, answer.body.code, answer.headers.get("retry-after")]).toEqual([
      503,
      "chain_unavailable",
      "2",
    ]);
    expect(await bookedOf(did)).toEqual([]);
  });

  it("is refused for a consumer and for another platform's agent", async () => {
    const { did } = await world.consumer();
    const refused = await world.call("POST", `/v1/agents/${did}/escrow/sync`);
    expect([refused.status, refused.body.code]).toEqual([403, "role_not_permitted"]);
    const other = await createWorld();
    const foreign = await other.call("POST", `/v1/agents/${did}/escrow/sync`);
    expect([foreign.status, foreign.body.code]).toEqual([404, "not_found"]);
  });
});

const movement = (kind: string, amount: string, held: string): Json => ({
  kind,
  amount,
  held,
  transaction_id: null,
  tx_hash: expect.stringMatching(/^0x[0-9a-f]{64}$/),
  block_number: expect.any(Number),
  mined_at: expect.any(String),
});
