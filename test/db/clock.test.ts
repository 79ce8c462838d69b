// The offset of a sandbox's test clock comes with the rows that the clock rules: each row has the offset of its own platform, and production rows
// have none.
import { describe, expect, it } from "vitest";
import { encodeStoredHash, hashIntent } from "../../src/chain/hashes.ts";
import { type Read, readBatch } from "../../src/db/batch.ts";
import { findDisputable, findDispute, findRefundedDispute } from "../../src/disputes/store.ts";
import { findIntentToSettle, findTimedBuyer } from "../../src/facilitation/store.ts";
import { findSellerIn } from "../../src/identity/authority-store.ts";
import { findTimedAgent } from "../../src/identity/store.ts";
import { findIntentsByHash, findNamedIntent } from "../../src/intents/find-store.ts";
import { findIntent, findIntentFor } from "../../src/intents/store.ts";
import { findSpenders } from "../../src/payments/spend-store.ts";
import { findRatedAgent } from "../../src/ratings/store.ts";
import { findTask, findTaskFor } from "../../src/tasks/store.ts";
import { type Disputed, disputed } from "../disputes/support.ts";
import { livePair } from "../follower/support.ts";
import { moveClock } from "../support/clock.ts";
import { createWorld, type Json, type World } from "../support/world.ts";

const [SELLERS, BUYERS] = [1_000, 2_000];

it("reads the clock of the agent's own platform, whichever platform comes first in the table", async () => {
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

/** Every read of a purchase that carries an offset, by the name of its function. */
async function offsetsOf({ deps: { db } }: World, { fac, task, id, intent, provider, consumer }: Disputed) {
  const hash = hashIntent(intent.intent_id);
  const { transaction_id } = fac;
  const reads: Readonly<Record<string, Read<unknown>>> = {
    findIntent: findIntent(db, intent.intent_id),
    findIntentFor: findIntentFor(db, intent.intent_id, provider.did, Date.now()),
    findIntentToSettle: findIntentToSettle(db, intent.intent_id),
    findNamedIntent: findNamedIntent(db, hash),
    findIntentsNamed: findIntentsByHash(db, [encodeStoredHash(hash)]),
    findTask: findTask(db, task),
    findTaskFor: findTaskFor(db, task, provider.did),
    findDisputable: findDisputable(db, transaction_id),
    findDispute: findDispute(db, id),
    findRefundedDispute: findRefundedDispute(db, id),
    findSellerIn: findSellerIn(db, transaction_id),
    findBuyer: findTimedBuyer(db, consumer.did),
    findSpenders: findSpenders(db, consumer.did, "USDC", { now: Date.now(), ahead: 0 }),
    findTimedProvider: findTimedAgent(db, provider.did),
    findRatedProvider: findRatedAgent(db, provider.did),
  };
  const found = await readBatch(db, reads);
  return Object.fromEntries(
    Object.entries(found).map(([name, read]) => {
      const { clockOffsetMs, providerOffsetMs } = ([read].flat()[0] ?? {}) as Json;
      return [name, [clockOffsetMs, providerOffsetMs]];
    }),
  );
}

describe("a purchase of two platforms whose clocks were moved", () => {
  const opened = async (live: boolean) => {
    const [selling, buying] = [await createWorld(), await createWorld()];
    const pair = live
      ? await livePair(selling, buying)
      : { provider: await selling.provider(), consumer: await buying.consumer() };
    const one = await disputed(buying, { pair });
    await moveClock(selling, SELLERS);
    await moveClock(buying, BUYERS);
    return offsetsOf(buying, one);
  };
  const of = (sellers: unknown, buyers: unknown, both: unknown) => ({
    findIntent: [buyers, undefined],
    findIntentFor: [buyers, undefined],
    findIntentToSettle: [buyers, both],
    findNamedIntent: [undefined, both],
    findIntentsNamed: [buyers, undefined],
    findTask: [buyers, both],
    findTaskFor: [buyers, undefined],
    findDisputable: [buyers, undefined],
    findDispute: [buyers, both],
    findRefundedDispute: [buyers, both],
    findSellerIn: [undefined, both],
    findBuyer: [buyers, undefined],
    findSpenders: [buyers, undefined],
    findTimedProvider: [sellers, undefined],
    findRatedProvider: [sellers, undefined],
  });

  it("has its offsets in its rows in the sandbox", async () => {
    expect(await opened(false)).toEqual(of(SELLERS, BUYERS, SELLERS));
  });

  it("has no offsets in its rows in production", async () => {
    expect(await opened(true)).toEqual(of(0, 0, null));
  });
});
