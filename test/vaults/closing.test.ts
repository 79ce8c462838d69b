// An account whose provider has sold, lost a dispute and leaves: its owner can close it once the vault is empty, and not before (ACC-27, MKT-29,
// MKT-30).
import { beforeAll, expect, it } from "vitest";
import { DAY_MS } from "../../src/core/limits.ts";
import { close, closeLater, givePassword } from "../cascades/account-support.ts";
import { arbitrated, file, keepReserve, paidOutOf, payOut, read, resolve } from "../disputes/support.ts";
import { facilitated } from "../facilitation/support.ts";
import { balanceOf, bookedOf, escrowOf, follow, heldBy } from "../follower/support.ts";
import { marketsPath } from "../markets/support.ts";
import { deposit, livePrincipal, openLive, outcome, promoted, rows, under } from "../promotion/support.ts";
import { account } from "../support/chain.ts";
import { type Agent, createWorld, expectStatus, type World } from "../support/world.ts";
import { chainThreshold, drive, NETWORK, THRESHOLD, UNIT } from "./support.ts";

let selling: World;
let buying: World;
beforeAll(async () => {
  selling = await createWorld();
  buying = await createWorld();
  await givePassword(selling);
});

const live = async (own: World, agent: Agent): Promise<Agent> =>
  under(agent, await promoted(own, agent.did, { principal_id: await livePrincipal(own) }));

it("closes after a sale that was disputed and paid once the vault was released and left, through every step on the chain", async () => {
  const provider = await selling.agent("PROVIDER");
  const { did } = provider;
  await openLive(selling, did);
  await deposit(did, THRESHOLD);
  await follow(selling);
  const pair = { provider: await live(selling, provider), consumer: await live(buying, await buying.consumer()) };
  const bought = await facilitated(selling, pair, "100.00");
  await deposit(did, 10 * UNIT);
  await follow(selling);
  expect(await heldBy(did)).toBe(25 * UNIT);
  const closing = async () => outcome(await close(selling));

  const { dispute_id: id } = expectStatus(await file(buying, bought, { disputed_amount: "10.00" }), 201);
  expect(await closing()).toEqual([409, "close_blocked_open_disputes"]);
  await arbitrated(selling, { ...bought, id });
  expectStatus(await resolve(selling, id, { resolution: "partially_upheld", refund_amount: "4" }), 200);
  expect(await closing()).toEqual([409, "close_blocked_escrow"]);
  expect(await payOut(selling, id)).toBe(true);
  expect(await keepReserve(selling, did)).toBe(true);
  await follow(selling);
  expect([await paidOutOf(did), await heldBy(did)]).toEqual([[5 * UNIT], 20 * UNIT]);
  expect(await closing()).toEqual([409, "close_blocked_escrow"]);

  const wallet = await balanceOf(account(8));
  const path = `/v1/agents/${did}/escrow/release`;
  expectStatus(await selling.call("POST", path, { key: selling.liveKey, body: { network: NETWORK } }), 200);
  await follow(selling);
  const { threshold } = await escrowOf(did, "production");
  expect(await heldBy(did)).toBe(threshold);
  expect(await closing()).toEqual([409, "close_blocked_escrow"]);

  // The rest secures what was sold until its dispute window is over.
  const market = `${marketsPath(did)}/GLOBAL-USDC?network=${NETWORK}`;
  expectStatus(await selling.call("DELETE", market, { key: selling.liveKey }), 204);
  expect(await drive(did, selling)).toBe(true);
  expect([await heldBy(did), await closing()]).toEqual([threshold, [409, "close_blocked_escrow"]]);
  selling.advance(15 * DAY_MS);
  expect(await drive(did, selling)).toBe(true);
  await follow(selling);
  expect([await heldBy(did), await chainThreshold(did)]).toEqual([0, 0]);
  expect((await balanceOf(account(8))) - wallet).toBe(20 * UNIT);

  expectStatus(await closeLater(selling), 200);
  // The sale put nothing into the vault, which was full.
  const moved = (await bookedOf(did)).filter(([kind]) => kind !== "settlement");
  expect(moved.map(([kind, amount]) => [kind, amount])).toEqual([
    ["deposit", THRESHOLD],
    ["deposit", 10 * UNIT],
    ["payout", -5 * UNIT],
    ["release", threshold - 20 * UNIT],
    ["release", -threshold],
  ]);
  expect(await rows("select status from agents where did = ?", did)).toEqual([{ status: "REVOKED" }]);
  // The buyer reads what it got.
  expect(await read(buying, bought.consumer, id)).toMatchObject({ refund_status: "paid", paid_from_vault: "5.00" });
  expect(await rows("select kind from alerts where subject like ?", `%${did}%`)).toEqual([]);
});
