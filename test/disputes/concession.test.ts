// The reserve of a vault for a refund that its provider has promised (DSP-12, DSP-15): all that is disputed, until the refund is paid.
import { beforeAll, describe, expect, it } from "vitest";
import { SECOND_MS } from "../../src/core/limits.ts";
import { facilitated, pairOf } from "../facilitation/support.ts";
import { follow, headTime, heldBy, mineBehind, refundOf, releaseSurplus } from "../follower/support.ts";
import { marketsPath } from "../markets/support.ts";
import { deposit, rows } from "../promotion/support.ts";
import { createWorld, expectStatus, type World } from "../support/world.ts";
import { drive, reserveOf, THRESHOLD } from "../vaults/support.ts";
import { at } from "./instants.ts";
import {
  act,
  arbitrated,
  type Disputed,
  disputed,
  endDays,
  escrowOf,
  file,
  keepReserve,
  pass,
  payOut,
  read,
  recordDays,
  resolve,
} from "./support.ts";

const ALL = 40_000_000;
let world: World;
beforeAll(async () => {
  world = await createWorld();
});

/** A dispute whose vault holds the disputed amount. */
async function filed(): Promise<Disputed> {
  const pair = await pairOf(world);
  await deposit(pair.provider.did, 60_000_000);
  await follow(world);
  return disputed(world, { pair, amount: "40.00" });
}

const PROMISES: Readonly<Record<string, (one: Disputed) => Promise<void>>> = {
  concedes: async ({ provider, id }) => void expectStatus(await act(world, provider, id, "concede"), 200),
  "makes a small offer that is accepted": async ({ provider, consumer, id }) => {
    expectStatus(await act(world, provider, id, "respond", { message: "One.", offer_amount: "1.00" }), 200);
    expectStatus(await act(world, consumer, id, "accept"), 200);
  },
};
async function unpaid(one: Disputed): Promise<void> {
  await pass(one.id, 7);
  await rows(
    "update chain_operations set status = 'failed', reason = 'unpaid', next_check_at = null where kind = 'refund' and status = 'waiting'",
  );
  await endDays(world);
  expect((await read(world, one.consumer, one.id)).status).toBe("arbitration");
}

describe.each(Object.entries(PROMISES))("a provider that %s", (_what, promise) => {
  it("does not lower the reserve, so a later award finds the whole amount", async () => {
    const one = await filed();
    await promise(one);
    expect(await escrowOf(one.provider.did)).toMatchObject({ disputed: 0, owed: ALL });
    await keepReserve(world, one.provider.did);
    expect(await reserveOf(one.provider.did)).toBe(ALL);
    await releaseSurplus(one.provider.did);
    expect(await heldBy(one.provider.did)).toBe(THRESHOLD + ALL);
    await follow(world);
    await unpaid(one);
    expect(await escrowOf(one.provider.did)).toMatchObject({ disputed: ALL, owed: 0 });
    await keepReserve(world, one.provider.did);
    expect(await reserveOf(one.provider.did)).toBe(ALL);
    expectStatus(await resolve(world, one.id, { resolution: "upheld" }), 200);
    await payOut(world, one.id);
    expect(await read(world, one.consumer, one.id)).toMatchObject({ refund_status: "paid", paid_from_vault: "40.00" });
    await keepReserve(world, one.provider.did);
    expect(await reserveOf(one.provider.did)).toBe(0);
  });

  it("lowers the reserve by paying, and raises it again when a reorg removes the refund", async () => {
    const one = await filed();
    await promise(one);
    await refundOf(one.fac.transaction_id, ALL);
    await follow(world);
    await endDays(world);
    expect(await read(world, one.consumer, one.id)).toMatchObject({ refund_status: "paid" });
    expect(await escrowOf(one.provider.did)).toMatchObject({ disputed: 0, owed: 0 });
    await keepReserve(world, one.provider.did);
    expect(await reserveOf(one.provider.did)).toBe(0);
    // The follower leaves this state after a reorg has removed the refund's block.
    await rows(
      `update chain_operations set status = 'waiting', tx_hash = null where kind = 'refund'
        and subject = (select settlement_key from disputes where dispute_id = ?)`,
      one.id,
    );
    await rows("update disputes set due_at = 1 where dispute_id = ?", one.id);
    await recordDays(world, one.id);
    expect(await read(world, one.consumer, one.id)).toMatchObject({ refund_status: "owed" });
    expect(await escrowOf(one.provider.did)).toMatchObject({ disputed: 0, owed: ALL });
  });
});

it("a provider whose sandbox vault has a reserve is not promoted", async () => {
  const one = await filed();
  const { did } = one.provider;
  expectStatus(await act(world, one.provider, one.id, "concede"), 200);
  const body = { environment: "production" };
  const promote = () => world.call("POST", `/v1/agents/${did}/environment`, { key: world.liveKey, body });
  const refused = await promote();
  expect([refused.status, refused.body.code]).toEqual([409, "invalid_status"]);
  expect(refused.body.detail.open).toMatchObject({ disputes: 1 });
});

it("a provider that leaves gets nothing until it has paid the refund that it conceded", async () => {
  const one = await filed();
  const { did } = one.provider;
  expectStatus(await act(world, one.provider, one.id, "concede"), 200);
  await keepReserve(world, did);
  expectStatus(await world.call("DELETE", `${marketsPath(did)}/GLOBAL-USDC?network=base-sepolia`), 204);
  await rows("update escrows set windows_close_at = ? where did = ?", Date.now() - 1_000, did);
  const held = await heldBy(did);
  for (let run = 0; run < 4; run++) await drive(did, world);
  expect(await heldBy(did)).toBeGreaterThanOrEqual(ALL);
  await refundOf(one.fac.transaction_id, ALL);
  await follow(world);
  await endDays(world);
  await keepReserve(world, did);
  await rows("update chain_operations set next_check_at = 1 where kind = 'release' and subject = ?", did);
  for (let run = 0; run < 4; run++) await drive(did, world);
  expect(held).toBeGreaterThan(0);
  expect(await heldBy(did)).toBe(0);
});

describe("a refund from before the filing", () => {
  /** Half of the purchase is refunded, then the other half is disputed. */
  const filedBehind = async (between: () => Promise<World>) => {
    const pair = await pairOf(world);
    await deposit(pair.provider.did, 60_000_000);
    const bought = await facilitated(world, pair, "40.00");
    await refundOf(bought.fac.transaction_id, 20_000_000);
    const dispute = expectStatus(await file(await between(), bought, { disputed_amount: "20.00" }), 201);
    return { ...bought, dispute, id: dispute.dispute_id as string };
  };
  const early = async () => {
    const one = await filedBehind(async () => {
      await follow(world);
      return world;
    });
    expect(one.dispute).toMatchObject({ refunded_before: "20.00" });
    return one;
  };
  // Block times are whole seconds, so the dispute is filed in the second after the refund's.
  const unbooked = () => filedBehind(async () => at(world, (await headTime()) + SECOND_MS));

  it("does not count towards an award of the rest", async () => {
    const one = await early();
    await arbitrated(world, one);
    expectStatus(await resolve(world, one.id, { resolution: "upheld" }), 200);
    await payOut(world, one.id);
    // The rest of the gross leaves nothing for the bounty of one unit.
    expect(await read(world, one.consumer, one.id)).toMatchObject({
      refunded_before: "20.00",
      refund_amount: "20.00",
      paid_from_vault: "20.00",
      refund_status: "paid",
      bounty_outstanding: "1.00",
    });
  });

  it("does not count towards an accepted offer", async () => {
    const one = await early();
    const offer = { message: "I pay you ten more.", offer_amount: "10.00" };
    expectStatus(await act(world, one.provider, one.id, "respond", offer), 200);
    expectStatus(await act(world, one.consumer, one.id, "accept"), 200);
    await endDays(world);
    expect(await read(world, one.consumer, one.id)).toMatchObject({ refund_status: "owed", refund_from: "provider" });
    await refundOf(one.fac.transaction_id, 10_000_000);
    await follow(world);
    await endDays(world);
    expect(await read(world, one.consumer, one.id)).toMatchObject({ refund_status: "paid" });
  });

  it("does not count towards a concession, even if it was booked after the concession", async () => {
    const one = await unbooked();
    expectStatus(await act(world, one.provider, one.id, "concede"), 200);
    await follow(world);
    await endDays(world);
    expect(await read(world, one.consumer, one.id)).toMatchObject({ refunded_before: "20.00", refund_status: "owed" });
    expect((await escrowOf(one.provider.did)).owed).toBe(20_000_000);
    await mineBehind(Date.parse(one.dispute.filed_at) - SECOND_MS);
    await refundOf(one.fac.transaction_id, 20_000_000);
    await follow(world);
    await endDays(world);
    expect(await read(world, one.consumer, one.id)).toMatchObject({ refund_status: "paid" });
  });

  it("counts as earlier by the time of its block, even if it was booked after the filing", async () => {
    const one = await unbooked();
    await follow(world);
    await arbitrated(world, one);
    expectStatus(await resolve(world, one.id, { resolution: "upheld" }), 200);
    expect(await read(world, one.consumer, one.id)).toMatchObject({ refunded_before: "20.00" });
    await payOut(world, one.id);
    expect(await read(world, one.consumer, one.id)).toMatchObject({ paid_from_vault: "20.00" });
  });
});
