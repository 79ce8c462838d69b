// An escrow that moves to the vault of another edition (CHN-22) loses no claim of a dispute that came meanwhile, and frees none.
import { beforeAll, expect, it } from "vitest";
import { commit, readBatch } from "../../src/db/batch.ts";
import { moveVault } from "../../src/escrow/store.ts";
import { findEscrows } from "../../src/identity/store.ts";
import { rows } from "../promotion/support.ts";
import { createWorld, type World } from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

it.each(["disputed", "owed", "balance"])("refuses the move if the %s has changed meanwhile", async (column) => {
  const { db } = world.deps;
  const { did } = await world.provider();
  const [before] = (await readBatch(db, { escrows: findEscrows(db, did, "sandbox") })).escrows;
  if (!before) throw new Error("no escrow");
  const move = () => commit(db, moveVault(db, before, { ...before, vault: "0xanother" }));
  await rows(`update escrows set ${column} = ${column} + 5 where did = ?`, did);
  await expect(move()).rejects.toThrow();
  expect(await rows(`select vault, ${column} as moved from escrows where did = ?`, did)).toEqual([
    { vault: before.vault, moved: before[column as "owed"] + 5 },
  ]);
  await rows(`update escrows set ${column} = ${column} - 5 where did = ?`, did);
  await move();
  expect(await rows("select vault from escrows where did = ?", did)).toEqual([{ vault: "0xanother" }]);
});
