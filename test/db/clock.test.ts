// The offset of a sandbox's test clock comes with the rows whose time it rules: each of its own platform.
import { eq } from "drizzle-orm";
import { expect, it } from "vitest";
import { readBatch } from "../../src/db/batch.ts";
import { platforms } from "../../src/db/tables/accounts.ts";
import { findTimedBuyer } from "../../src/facilitation/store.ts";
import { createWorld } from "../support/world.ts";

it("reads the clock of the agent's own platform, whichever comes first in the table", async () => {
  const worlds = [await createWorld(), await createWorld(), await createWorld()];
  for (const [i, { deps, platformId }] of worlds.entries()) {
    await deps.db
      .update(platforms)
      .set({ clockOffsetMs: 1_000 * (i + 1) })
      .where(eq(platforms.platformId, platformId));
  }
  const read = await Promise.all(
    worlds.map(async (world) => {
      const { did } = await world.consumer();
      return (await readBatch(world.deps.db, { buyer: findTimedBuyer(world.deps.db, did) })).buyer?.clockOffsetMs;
    }),
  );
  expect(read).toEqual([1_000, 2_000, 3_000]);
});
