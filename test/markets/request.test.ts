// A request for markets that names one twice, or whose chain part fails after the request was stored (MKT-8, MKT-10).
import { eq } from "drizzle-orm";
import { beforeAll, describe, expect, it } from "vitest";
import { Conflict } from "../../src/core/retry.ts";
import { activityEntries } from "../../src/db/tables/journal.ts";
import { resumeProvisioning } from "../../src/markets/provision.ts";
import { account } from "../support/chain.ts";
import { moveClock } from "../support/clock.ts";
import { withSilentChain } from "../support/variants.ts";
import { createWorld, expectStatus, type World } from "../support/world.ts";
import { market, openMarkets, takeMessages } from "./support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

describe("a market that one body names twice", () => {
  it.each([
    ["by one name", "base-sepolia"],
    ["by both names of its network", "eip155:84532"],
  ])("is one market: named %s", async (_name, network) => {
    const { did } = await world.agent("PROVIDER");
    const { markets } = expectStatus(await openMarkets(world, did, [market(), market({ network })]), 200);
    expect(markets).toMatchObject([{ market: "DE-USDC", network: "base-sepolia", status: "ACTIVE" }]);
  });

  it("is refused with two different wallets", async () => {
    const { did } = await world.agent("PROVIDER");
    const twice = [market(), market({ network: "eip155:84532", operational_wallet: account(7) })];
    const { field_errors } = expectStatus(await openMarkets(world, did, twice), 422);
    expect(field_errors).toMatchObject([{ field: "markets.1.operational_wallet", code: "invalid_value" }]);
  });
});

describe("a market whose chain part fails after it was requested", () => {
  // The third trip reads the requested markets for the chain; the fifth writes its answer.
  it.each([
    ["cannot be read", 3, new Error("died")],
    ["cannot be recorded", 5, new Error("died")],
    ["keeps meeting other writers", 3, new Conflict()],
  ])("because it %s waits, is answered, and is in the activity log once", async (_name, trip, fault) => {
    const { did } = await world.agent("PROVIDER");
    world.meter.beforeBatch(trip, () => Promise.reject(fault));
    expect(expectStatus(await openMarkets(world, did, [market()]), 200).markets).toMatchObject([
      { status: "PROVISIONING" },
    ]);
    const entries = await world.deps.db.select().from(activityEntries).where(eq(activityEntries.subjectId, did));
    expect(entries.filter(({ action }) => action === "agent.markets_changed")).toHaveLength(1);
  });

  it("is resumed in a sandbox whose clock is ahead", async () => {
    const { did } = await world.agent("PROVIDER");
    await moveClock(world, 30 * 86_400_000);
    const reply = await openMarkets(withSilentChain(world), did, [market()]);
    await moveClock(world, 0);
    expect(expectStatus(reply, 200).markets).toMatchObject([{ status: "PROVISIONING" }]);
    takeMessages(world, did);
    await world.run(resumeProvisioning);
    // The call that requested it may still be working on it.
    expect(takeMessages(world, did)).toEqual([]);
    await world.run(resumeProvisioning, { ...world.deps, clock: { now: () => world.now() + 120_000 } });
    expect(takeMessages(world, did)).toContainEqual({
      kind: "provision_market",
      did,
      environment: "sandbox",
      network: "base-sepolia",
    });
  });
});
