// The escrow that is shown is the booked one, and `as_of_block` names its block (MKT-26, FAC-11).
import { beforeAll, describe, expect, it } from "vitest";
import { asProvider, paid, pairOf } from "../facilitation/support.ts";
import { follow, heldBy } from "../follower/support.ts";
import { deposit, rows } from "../promotion/support.ts";
import { headOf } from "../support/chain.ts";
import { createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { UNIT } from "./support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const vaultOf = async (did: string): Promise<Json> =>
  expectStatus(await world.call("GET", `/v1/agents/${did}/escrow`), 200).escrow[0];
const bookedBlock = async (): Promise<number | null> =>
  (await rows("select booked_block from followers where network = 'base-sepolia'"))[0]?.["booked_block"] ?? null;

describe("as_of_block", () => {
  it("is the last booked block, and a later deposit is shown once its block is booked", async () => {
    const { did } = await world.provider();
    await rows("delete from followers");
    expect((await vaultOf(did)).as_of_block).toBeNull();
    await follow(world);
    const before = await vaultOf(did);
    expect(before.as_of_block).toBe(await bookedBlock());
    await deposit(did, UNIT);
    expect(await vaultOf(did)).toEqual(before);
    expect(await heldBy(did)).toBe(UNIT);
    await follow(world);
    const after = await vaultOf(did);
    expect(after).toMatchObject({ as_of_block: await bookedBlock(), held: "1.00" });
    expect(after.as_of_block).toBe(await headOf("base-sepolia"));
  });

  it("is in the answer to a facilitation and to its retry, and in no list or event", async () => {
    await follow(world);
    const purchase = await paid(world, await pairOf(world), "10.00");
    const first = expectStatus(await asProvider(world, purchase), 200);
    expect(first.as_of_block).toBe(await bookedBlock());
    await follow(world);
    expect(await bookedBlock()).toBeGreaterThan(first.as_of_block);
    expect(expectStatus(await asProvider(world, purchase), 200)).toEqual(first);
    const { data } = expectStatus(await world.call("GET", "/v1/transactions"), 200);
    const [event] = await rows("select object from events where type = 'transaction.settled'");
    for (const shown of [data[0], JSON.parse(event?.["object"] ?? "{}")]) {
      expect(shown.facilitation_id).toBe(first.facilitation_id);
      expect(shown).not.toHaveProperty("as_of_block");
    }
  });
});
