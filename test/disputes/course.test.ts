// A dispute over the API, from its filing to each kind of end, and its effects on the task, the counts, the escrow and the events (DSP-1 to DSP-16).
import { beforeAll, describe, expect, it } from "vitest";
import { verifyAward } from "../../src/protocol/award.ts";
import { facilitated, pairOf } from "../facilitation/support.ts";
import { rows } from "../promotion/support.ts";
import { createWorld, expectStatus, ISSUER, type World } from "../support/world.ts";
import {
  act,
  arbitrated,
  countsOf,
  disputed,
  escrowOf,
  eventsAbout,
  file,
  filing,
  keepReserve,
  PATH,
  payOut,
  read,
  resolve,
} from "./support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const taskOf = async (task: string) => (await rows("select * from tasks where task_id = ?", task))[0];

describe("filing", () => {
  it("holds the open task, counts the dispute for both agents, and claims the amount from the escrow", async () => {
    const { dispute, id, task, fac, consumer, provider } = await disputed(world);
    expect(dispute).toMatchObject({
      status: "pre_arbitration",
      transaction_id: fac.transaction_id,
      facilitation_id: fac.facilitation_id,
      task_id: task,
      reason: "not_delivered",
      disputed_amount: "10.00",
      bounty_amount: "1.00",
      refund_status: "none",
      resolution: null,
      refund_amount: null,
    });
    expect(Date.parse(dispute.pre_arb_deadline) - Date.parse(dispute.filed_at)).toBe(7 * 86_400_000);
    expect(await taskOf(task)).toMatchObject({ status: "disputed" });
    expect(await countsOf(provider.did)).toEqual({ open: 1, won: 0, lost: 0 });
    expect(await countsOf(consumer.did)).toEqual({ open: 1, won: 0, lost: 0 });
    expect(await escrowOf(provider.did)).toMatchObject({ disputed: 10_000_000, owed: 0, state: "CONSTRAINED" });
    expect(await eventsAbout(id)).toEqual(["dispute.filed"]);
    const confirmed = await world.as(consumer, "POST", `/v1/tasks/${task}/confirm`, { outcome: "confirmed" });
    expect([confirmed.status, confirmed.body.code]).toEqual([409, "invalid_status"]);
    expect(await read(world, provider, id)).toMatchObject({ ...dispute, messages: [], evidence: [], award: null });
  });

  it("works with the platform's key, and takes the reasons of AEA/P clients", async () => {
    const bought = await facilitated(world);
    const { transaction_id: _ours, ...rest } = filing(bought);
    const body = {
      ...rest,
      facilitation_id: bought.fac.facilitation_id,
      reason: "NON_DELIVERY",
      description: "Nothing came.",
      resolution_sought: "REFUND",
      disputed_amount: "1.000000",
      currency: "USDC",
    };
    const dispute = expectStatus(await world.call("POST", PATH, { body }), 201);
    expect(dispute).toMatchObject({
      status: "pre_arbitration",
      reason: "not_delivered",
      disputed_amount: "1.00",
      bounty_amount: "1.00",
      pre_arb_deadline: expect.any(String),
    });
    const again = await file(world, bought);
    expect([again.status, again.body.code, again.body.detail]).toEqual([
      409,
      "dispute_exists",
      { dispute_id: dispute.dispute_id, status: "pre_arbitration" },
    ]);
  });
});

describe("an award", () => {
  it("is paid out of the vault once, and its signature verifies", async () => {
    const pair = await pairOf(world);
    // The vault holds the contributions of two purchases.
    await facilitated(world, pair, "100.00");
    const one = await disputed(world, { pair, amount: "5.00" });
    await keepReserve(world, pair.provider.did);
    await arbitrated(world, one);
    const body = { resolution: "upheld" };
    const resolved = expectStatus(await resolve(world, one.id, body), 200);
    expect(resolved).toMatchObject({
      status: "resolved",
      resolution: "upheld",
      refund_amount: "5.00",
      refund_status: "owed",
      refund_from: "vault",
      bounty_owed_by: "provider",
    });
    const { keys } = expectStatus(await world.call("GET", "/.well-known/aeap-ca-jwks", { key: null }), 200);
    expect(await verifyAward(resolved.award, { keys }, { issuer: ISSUER })).toMatchObject({
      ok: true,
      claims: { jti: one.id, resolution: "upheld", refund_amount: "5.00", bounty_amount: "1.00" },
    });
    expect(await taskOf(one.task)).toMatchObject({
      status: "confirmed",
      outcome: "rejected",
      score: 0,
      verdict: "upheld",
    });
    expect(await countsOf(pair.provider.did)).toEqual({ open: 0, won: 0, lost: 1 });
    expect(await countsOf(pair.consumer.did)).toEqual({ open: 0, won: 1, lost: 0 });
    expect(await escrowOf(pair.provider.did)).toMatchObject({ disputed: 0, owed: 5_000_000 });
    expect(await payOut(world, one.id)).toBe(true);
    expect(await read(world, pair.consumer, one.id)).toMatchObject({
      refund_status: "paid",
      paid_from_vault: "5.00",
      bounty_outstanding: "1.00",
    });
    expect(await escrowOf(pair.provider.did)).toMatchObject({ disputed: 0, owed: 0 });
    expect(await payOut(world, one.id)).toBe(true);
    expect(await eventsAbout(one.id)).toEqual([
      "dispute.filed",
      "dispute.updated",
      "dispute.updated",
      "dispute.resolved",
      "dispute.updated",
    ]);
  });
});

describe("an end by the parties", () => {
  it("a withdrawal resumes the task's window with the time that was left, and the dispute can be filed once more", async () => {
    const bought = await disputed(world);
    const before = await taskOf(bought.task);
    const ended = expectStatus(await act(world, bought.consumer, bought.id, "withdraw"), 200);
    expect(ended).toMatchObject({
      status: "resolved",
      resolution: "withdrawn",
      refund_amount: "0.00",
      refund_status: "none",
    });
    const after = await taskOf(bought.task);
    expect(after?.status).toBe("open");
    expect(after?.confirm_by - before?.confirm_by).toBe(after?.held_ms);
    expect(await countsOf(bought.provider.did)).toEqual({ open: 0, won: 0, lost: 0 });
    expectStatus(await file(world, bought), 201);
    expect(await taskOf(bought.task)).toMatchObject({ status: "disputed" });
  });

  it("a concession upholds the dispute, and the provider owes all that is disputed from its own wallet", async () => {
    const bought = await disputed(world);
    const ended = expectStatus(await act(world, bought.provider, bought.id, "concede"), 200);
    expect(ended).toMatchObject({
      status: "resolved",
      resolution: "upheld",
      refund_amount: "10.00",
      refund_status: "owed",
      refund_from: "provider",
      bounty_outstanding: "1.00",
    });
    expect(await taskOf(bought.task)).toMatchObject({ status: "confirmed", outcome: "rejected" });
  });

  it("an accepted offer settles the dispute", async () => {
    const bought = await disputed(world);
    const none = await act(world, bought.consumer, bought.id, "accept");
    expect([none.status, none.body.code]).toEqual([409, "invalid_status"]);
    const offer = { message: "Half of it came.", offer_amount: "4" };
    expect(expectStatus(await act(world, bought.provider, bought.id, "respond", offer), 200).offer_amount).toBe("4.00");
    const ended = expectStatus(await act(world, bought.consumer, bought.id, "accept"), 200);
    expect(ended).toMatchObject({
      resolution: "settled",
      refund_amount: "4.00",
      refund_from: "provider",
      bounty_owed_by: null,
    });
    expect(await taskOf(bought.task)).toMatchObject({
      status: "confirmed",
      outcome: "partial",
      score: 0.6,
      verdict: null,
    });
  });
});
