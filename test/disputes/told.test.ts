// A purchase and a dispute report a change of their provider's escrow once (MKT-17), with the agent as a reading shows it at that moment. An award
// counts what the provider has refunded itself.
import { beforeAll, describe, expect, it } from "vitest";
import { facilitated, pairOf } from "../facilitation/support.ts";
import { follow, heldBy, refundOf } from "../follower/support.ts";
import { deposit, rows } from "../promotion/support.ts";
import { type Agent, createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { act, arbitrated, disputed, payOut, read, resolve } from "./support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const toldOf = async ({ did }: Agent): Promise<Json[]> =>
  (
    await rows(
      "select object from events where agent_did = ? and type = 'agent.escrow_state_changed' order by seq",
      did,
    )
  ).map(({ object }) => JSON.parse(object));
const recordsOf = async ({ did }: Agent): Promise<number> =>
  (await rows("select seq from directory_changes where did = ?", did)).length;
const shown = async ({ did }: Agent): Promise<Json> => expectStatus(await world.call("GET", `/v1/agents/${did}`), 200);

/** Expects one event and one directory record of an act. */
async function expectTold(provider: Agent, act: () => Promise<unknown>): Promise<Json> {
  const [told, records] = [await toldOf(provider), await recordsOf(provider)];
  await act();
  const after = (await toldOf(provider)).slice(told.length);
  const { certificate: _certificate, ...now } = await shown(provider);
  expect(after).toEqual([now]);
  expect(after[0].markets).toHaveLength(1);
  expect(await recordsOf(provider)).toBe(records + 1);
  return after[0];
}

describe("an escrow that turns", () => {
  it("is reported at a purchase, at a filing, and at each end of a dispute", async () => {
    const pair = await pairOf(world);
    const bought = await facilitated(world, pair);
    expectStatus(
      await world.as(pair.consumer, "POST", `/v1/tasks/${bought.task}/confirm`, { outcome: "confirmed" }),
      200,
    );
    for (const end of ["withdraw", "concede", "award"]) {
      let one: Awaited<ReturnType<typeof disputed>> | undefined;
      const filed = await expectTold(pair.provider, async () => {
        one = await disputed(world, { pair, amount: "10.00" });
      });
      expect(filed.escrow_state).toBe("CONSTRAINED");
      if (!one) throw new Error("nothing was filed");
      const { id } = one;
      if (end === "award") await arbitrated(world, one);
      const ended = await expectTold(pair.provider, async () => {
        if (end === "withdraw") expectStatus(await act(world, pair.consumer, id, "withdraw"), 200);
        if (end === "concede") expectStatus(await act(world, pair.provider, id, "concede"), 200);
        if (end === "award") expectStatus(await resolve(world, id, { resolution: "upheld" }), 200);
      });
      expect(ended.escrow_state).toBe("FUNDING");
    }
  });

  it("is reported at the purchase that fills the vault", async () => {
    const pair = await pairOf(world);
    await deposit(pair.provider.did, 14_999_999);
    await follow(world);
    const filled = await expectTold(pair.provider, () => facilitated(world, pair));
    expect(filled.escrow_state).toBe("ACTIVE");
  });
});

describe("an award that the provider refunds before the vault pays", () => {
  it("is paid with its bounty, and takes nothing from the vault", async () => {
    const pair = await pairOf(world);
    const one = await disputed(world, { pair, amount: "10.00" });
    await arbitrated(world, one);
    const { transaction_id } = one.fac;
    const held = await heldBy(pair.provider.did);
    await refundOf(transaction_id, 5_000_000);
    await follow(world);
    expectStatus(await resolve(world, one.id, { resolution: "partially_upheld", refund_amount: "4" }), 200);
    await payOut(world, one.id);
    expect(await read(world, one.consumer, one.id)).toMatchObject({
      paid_from_vault: "0.00",
      bounty_outstanding: "0.00",
    });
    expect(await heldBy(pair.provider.did)).toBe(held);
  });

  it("counts the refund as soon as the chain shows it, before it is booked", async () => {
    const pair = await pairOf(world);
    const one = await disputed(world, { pair, amount: "10.00" });
    await arbitrated(world, one);
    await deposit(pair.provider.did, 20_000_000);
    await follow(world);
    const held = await heldBy(pair.provider.did);
    await refundOf(one.fac.transaction_id, 3_000_000);
    expectStatus(await resolve(world, one.id, { resolution: "partially_upheld", refund_amount: "4" }), 200);
    await payOut(world, one.id);
    expect(await heldBy(pair.provider.did)).toBe(held - 2_000_000);
    expect(await read(world, one.consumer, one.id)).toMatchObject({ refund_status: "owed", paid_from_vault: "2.00" });
    await follow(world);
    await rows("update chain_operations set next_check_at = 1 where kind = 'payout' and subject = ?", one.id);
    await payOut(world, one.id);
    expect(await heldBy(pair.provider.did)).toBe(held - 2_000_000);
    expect(await read(world, one.consumer, one.id)).toMatchObject({
      refund_status: "paid",
      paid_from_vault: "2.00",
      bounty_outstanding: "0.00",
    });
  });
});
