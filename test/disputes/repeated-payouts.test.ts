// Operators repeat payouts that the guardian cancelled (DSP-19). Only this file uses the network `lab-repaid`, whose payouts wait a day.
import { beforeAll, describe, expect, it } from "vitest";
import { DAY_MS, HOUR_MS } from "../../src/core/limits.ts";
import { follow, heldBy, refundOf } from "../follower/support.ts";
import { rows } from "../promotion/support.ts";
import { withVars } from "../support/variants.ts";
import { expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import { reserveOf } from "../vaults/support.ts";
import { type CancelledAwards, type Case, openCancelledAwards, REASON } from "./cancelled-awards.ts";
import { escrowOf, eventsAbout, keepReserve, payOut, read } from "./support.ts";

const LAB = "lab-repaid";

let world: World;
/** Also accepts a second operator's key. */
let both: World;
let awarded: CancelledAwards["awarded"];
let cancel: CancelledAwards["cancel"];
let cancelled: CancelledAwards["cancelled"];
let again: CancelledAwards["again"];
let againByOther: CancelledAwards["againByOther"];
let pass: CancelledAwards["pass"];
beforeAll(async () => {
  ({ world, both, awarded, cancel, cancelled, again, againByOther, pass } = await openCancelledAwards(LAB));
});

const shown = ({ consumer, id }: Case): Promise<Json> => read(world, consumer, id);
const refusal = async (reply: Promise<Reply>) => {
  const { status, body } = await reply;
  return [status, body.code];
};
const entriesOf = async ({ id }: Case): Promise<Json[]> =>
  (await rows("select action, detail from operator_entries where subject_id = ? order by seq", id))
    .filter(({ action }: Json) => action.startsWith("dispute.payout"))
    .map(({ action, detail }: Json) => [action, JSON.parse(detail)]);
const activityOf = async ({ id }: Case): Promise<Json[]> =>
  (
    await rows("select changes from activity_entries where subject_id = ? and action = 'dispute.payout_repeated'", id)
  ).map(({ changes }: Json) => JSON.parse(changes));
/** Returns the escrow's `owed` and the contract's reserve, in base units. */
async function keptFor({ provider: { did } }: Case): Promise<[number, number]> {
  expect(await keepReserve(world, did, LAB)).toBe(true);
  return [(await escrowOf(did)).owed, await reserveOf(did, LAB)];
}

describe("an award whose payout was cancelled", () => {
  it("is paid again, once for each cancellation, when an operator gives a reason", async () => {
    const one = await cancelled();
    expect(await shown(one)).toMatchObject({ refund_status: "outstanding", paid_from_vault: "0.00" });
    const before = (await eventsAbout(one.id)).length;
    expect(expectStatus(await again(one), 200)).toMatchObject({
      ...{ dispute_id: one.id, payout: "begun", amount: "10.00", currency: "USDC" },
      ...{ requested_by: expect.any(String), confirmed_by: null, refund_status: "owed" },
    });
    expect(await shown(one)).toMatchObject({ refund_status: "owed" });
    expect((await escrowOf(one.provider.did)).owed).toBe(10_000_000);
    expect((await eventsAbout(one.id)).slice(before)).toEqual(["dispute.updated"]);
    expect(await entriesOf(one)).toEqual([["dispute.payout_repeated", { amount: "10.00", reason: REASON }]]);
    expect(await activityOf(one)).toEqual([{ refund_status: { from: "outstanding", to: "owed" } }]);
    // A further request is refused, before and after the payout is scheduled.
    expect(await refusal(again(one))).toEqual([409, "invalid_status"]);
    expect(await payOut(world, one.id, LAB)).toBe(true);
    expect(await refusal(again(one))).toEqual([409, "invalid_status"]);
    const held = await heldBy(one.provider.did, LAB);
    await pass();
    for (const _ of [1, 2]) expect(await payOut(world, one.id, LAB)).toBe(true);
    expect(await shown(one)).toMatchObject({ refund_status: "paid", paid_from_vault: "10.00" });
    expect(held - (await heldBy(one.provider.did, LAB))).toBe(10_000_000);
    expect(await refusal(again(one))).toEqual([409, "invalid_status"]);
  });

  it("may be requested again after another cancellation", async () => {
    const one = await cancelled();
    expectStatus(await again(one), 200);
    expect(await payOut(world, one.id, LAB)).toBe(true);
    await cancel(one);
    expect(await shown(one)).toMatchObject({ refund_status: "outstanding" });
    expectStatus(await again(one), 200);
    expect(await payOut(world, one.id, LAB)).toBe(true);
    await pass();
    expect(await payOut(world, one.id, LAB)).toBe(true);
    expect(await shown(one)).toMatchObject({ refund_status: "paid", paid_from_vault: "10.00" });
  });

  it("is begun by one of several requests at once", async () => {
    const one = await cancelled();
    const replies = await Promise.all([1, 2, 3].map(() => again(one)));
    expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 409, 409]);
    expect(await entriesOf(one)).toHaveLength(1);
  });

  it("is paid less what was refunded meanwhile, and not at all if all of it was", async () => {
    const [part, whole] = [await cancelled(), await cancelled()];
    await refundOf(part.transaction, 4_000_000, LAB);
    await refundOf(whole.transaction, 10_000_000, LAB);
    await follow(world, LAB);
    expect(expectStatus(await again(part), 200)).toMatchObject({ amount: "6.00" });
    expect(await refusal(again(whole))).toEqual([409, "invalid_status"]);
  });
});

describe("the vault of a cancelled award", () => {
  /** Moves the cancellation some days into the past. */
  const pastDays = (one: Case, days: number) =>
    rows(
      `update chain_operations set wanted = json_set(wanted, '$.kept_until', cast((wanted ->> 'kept_until') - ? as text)),
         next_check_at = next_check_at - ? where kind = 'payout' and subject = ?`,
      days * DAY_MS,
      days * DAY_MS,
      one.id,
    );
  const dueIn = async ({ id }: Case): Promise<number> => {
    const [{ next_check_at }] = await rows(
      "select next_check_at from chain_operations where kind = 'payout' and subject = ?",
      id,
    );
    return (next_check_at - Date.now()) / HOUR_MS;
  };

  it("reserves the refund for seven days after the cancellation", async () => {
    const one = await cancelled();
    expect(await keptFor(one)).toEqual([10_000_000, 10_000_000]);
    await pastDays(one, 6.9);
    expect([await payOut(world, one.id, LAB), await keptFor(one)]).toEqual([true, [10_000_000, 10_000_000]]);
    await pastDays(one, 0.2);
    expect([await payOut(world, one.id, LAB), await keptFor(one)]).toEqual([true, [0, 0]]);
    expect(await shown(one)).toMatchObject({ refund_status: "outstanding" });
    expect(await alertsOf(`${one.id} on ${LAB}`)).toHaveLength(1);
    // An operator may still repeat the payout.
    expectStatus(await again(one), 200);
    expect(await keptFor(one)).toEqual([10_000_000, 10_000_000]);
  });

  it("reserves only the rest after a partial refund, and nothing after a full one, which marks the award as paid", async () => {
    const [part, whole] = [await cancelled(), await cancelled()];
    await refundOf(part.transaction, 4_000_000, LAB);
    await refundOf(whole.transaction, 10_000_000, LAB);
    await follow(world, LAB);
    // The job checks each award within an hour.
    for (const one of [part, whole]) expect(await dueIn(one)).toBeLessThanOrEqual(1);
    for (const { id } of [part, whole]) expect(await payOut(world, id, LAB)).toBe(true);
    expect([await keptFor(part), await keptFor(whole)]).toEqual([
      [6_000_000, 6_000_000],
      [0, 0],
    ]);
    expect([await shown(part), await shown(whole)]).toMatchObject([
      { refund_status: "outstanding" },
      { refund_status: "paid" },
    ]);
  });
});

describe("repeating a payout", () => {
  it("is refused if it waits or failed for another reason, if the settlement is too old, and for an unknown dispute", async () => {
    const waits = await awarded();
    expect(await refusal(again(waits))).toEqual([409, "invalid_status"]);
    await cancel(waits);
    const age = (days: number) =>
      rows(
        "update transactions set settled_at = settled_at - ? where transaction_id = ?",
        days * DAY_MS,
        waits.transaction,
      );
    await age(401);
    expect(await refusal(again(waits))).toEqual([409, "invalid_status"]);
    await age(-401);
    // The payout failed for another reason.
    await rows("update chain_operations set reason = 'expired' where kind = 'payout' and subject = ?", waits.id);
    expect(await refusal(again(waits))).toEqual([409, "invalid_status"]);
    expect(await refusal(again({ id: "dsp_none" }))).toEqual([404, "not_found"]);
    expect(await refusal(again(waits, world, {}))).toEqual([422, "validation_failed"]);
    expect(await entriesOf(waits)).toEqual([]);
  });
});

const alertsOf = (subject: string) => rows("select kind, message from alerts where subject = ?", subject);

describe("a payout above the limit of one operator", () => {
  it("waits for a second operator, and raises an alert", async () => {
    // The alert of the cancellation is still open, so the request raises one of its own, which is mailed.
    const one = await cancelled(101);
    const first = expectStatus(await again(one, both), 200);
    expect(first).toMatchObject({
      ...{ payout: "waits_for_second_operator", amount: "101.00", confirmed_by: null, refund_status: "outstanding" },
    });
    const asked = [
      { kind: "award", message: expect.stringContaining(`${first.requested_by} asks to pay 101.00 USDC`) },
    ];
    expect(await alertsOf(`${one.id} on ${LAB}, a second operator`)).toEqual(asked);
    expect([await payOut(world, one.id, LAB), await keptFor(one)]).toEqual([true, [101_000_000, 101_000_000]]);
    expect(await shown(one)).toMatchObject({ refund_status: "outstanding" });
    expect(await activityOf(one)).toEqual([]);
    // An operator cannot confirm its own request.
    const twice = await again(one, both);
    expect([twice.status, twice.body.detail]).toEqual([
      409,
      { refund_status: "outstanding", requested_by: first.requested_by, requested_at: expect.any(String) },
    ]);
    const second = expectStatus(await againByOther(one, "I have read the file."), 200);
    expect(second).toMatchObject({ payout: "begun", requested_by: first.requested_by, refund_status: "owed" });
    expect(second.confirmed_by).not.toBe(first.requested_by);
    expect(await entriesOf(one)).toEqual([
      ["dispute.payout_requested", { amount: "101.00", reason: REASON }],
      [
        "dispute.payout_repeated",
        { amount: "101.00", reason: "I have read the file.", requested_by: first.requested_by },
      ],
    ]);
    expect(await payOut(world, one.id, LAB)).toBe(true);
    // A further cancellation removes the first request.
    await cancel(one);
    expect((await againByOther(one)).body).toMatchObject({ payout: "waits_for_second_operator" });
  });

  it("takes the limit from the configuration", async () => {
    const one = await cancelled();
    const strict = withVars(world, { PAYOUT_ALONE_UP_TO: "9.99" });
    expect((await again(one, strict)).body).toMatchObject({ payout: "waits_for_second_operator" });
    const exact = await cancelled();
    expect((await again(exact, withVars(world, { PAYOUT_ALONE_UP_TO: "10" }))).body).toMatchObject({ payout: "begun" });
  });
});
