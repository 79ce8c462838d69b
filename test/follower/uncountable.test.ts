// Vaults that hold more base units than are counted (HTTP-5, MKT-23): nothing is rounded, the rest counts for nothing, and the follower goes on.
// Anyone may put that much into a vault.
import { beforeAll, expect, it } from "vitest";
import { BASE_UNITS_MAX } from "../../src/core/text.ts";
import { deposit, rows } from "../promotion/support.ts";
import { account } from "../support/chain.ts";
import { createWorld, type World } from "../support/world.ts";
import { bookedOf, escrowOf, follow, heldBy, releaseSurplus } from "./support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const alertsOf = (did: string) => rows("select message from alerts where subject like ?", `${did}%`);

it("counts the largest amount and nothing above it", async () => {
  const { did } = await world.provider();
  await deposit(did, 10);
  await deposit(did, BASE_UNITS_MAX);
  await deposit(did, 3);
  expect(await follow(world)).toBe(true);
  expect(await bookedOf(did)).toEqual([
    ["deposit", 10, 10],
    ["deposit", BASE_UNITS_MAX - 10, BASE_UNITS_MAX],
  ]);
  expect((await escrowOf(did)).balance).toBe(BASE_UNITS_MAX);
  expect(await alertsOf(did)).toEqual([]);
});

it("books an amount that leaves such a vault in full, and the uncounted rest after it", async () => {
  const { did } = await world.provider();
  await deposit(did, BASE_UNITS_MAX);
  await deposit(did, 21);
  await releaseSurplus(did, "base-sepolia", account(8));
  expect(await follow(world)).toBe(true);
  const held = await heldBy(did);
  const left = BASE_UNITS_MAX - held;
  expect(await bookedOf(did)).toEqual([
    ["deposit", BASE_UNITS_MAX, BASE_UNITS_MAX],
    ["release", -(left + 21), held - 21],
    ["deposit", 21, held],
  ]);
  expect((await escrowOf(did)).balance).toBe(held);
  expect(await alertsOf(did)).toEqual([]);
});
