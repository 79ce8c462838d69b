// The offset of a sandbox's test clock comes with the rows whose time it rules: each of its own platform.
import { expect, it } from "vitest";
import { readBatch } from "../../src/db/batch.ts";
import { findTimedBuyer } from "../../src/facilitation/store.ts";
import { moveClock } from "../support/clock.ts";
import { createWorld } from "../support/world.ts";

it("reads the clock of the agent's own platform, whichever comes first in the table", async () => {
  const worlds = [await createWorld(), await createWorld(), await createWorld()];
  for (const [i, world] of worlds.entries()) await moveClock(world, 1_000 * (i + 1));
  const read = await Promise.all(
    worlds.map(async (world) => {
      const { did } = await world.consumer();
      return (await readBatch(world.deps.db, { buyer: findTimedBuyer(world.deps.db, did) })).buyer?.clockOffsetMs;
    }),
  );
  expect(read).toEqual([1_000, 2_000, 3_000]);
});
