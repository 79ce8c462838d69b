// The isolate dies at each step of a repeated payout (DSP-15, DSP-19): of the operator's call, of the schedule, and of the payout a day later, before
// and after each send. The minute's jobs finish the work: the consumer is paid once, and the log has one entry. Only this file uses the network
// `lab-repeated`.
import { beforeAll, describe, expect, it } from "vitest";
import { follow, heldBy } from "../follower/support.ts";
import { rows } from "../promotion/support.ts";
import { type Cut, cutsOf, killAtEveryStep, momentsOfMany, namesOf } from "../support/cuts.ts";
import { withVars } from "../support/variants.ts";
import { expectStatus, type Reply, type World } from "../support/world.ts";
import { reserveOf } from "../vaults/support.ts";
import { type CancelledAwards, type Case, openCancelledAwards, REASON } from "./cancelled-awards.ts";
import { escrowOf, keepReserve, paidOutOf, payOut, read, workMinute } from "./support.ts";

const LAB = "lab-repeated";
/** The whole gross. */
const AWARD = 10_000_000;

let awards: CancelledAwards;
beforeAll(async () => {
  awards = await openCancelledAwards(LAB);
});

type Stage = Case & { readonly world: World; readonly held: number };
async function cancelled(world: World): Promise<Stage> {
  const one = await awards.cancelled();
  return { ...one, world, held: await heldBy(one.provider.did, LAB) };
}

/** A retry is refused if the call had succeeded before the isolate died. */
async function answered(reply: Promise<Reply>): Promise<void> {
  const { status } = await reply;
  if (status !== 409) expectStatus(await reply, 200);
}
const repeat = (by: World, one: Stage): Promise<void> => answered(awards.again(one, by));
const confirm = (by: World, one: Stage): Promise<void> => answered(awards.againByOther(one, REASON, by));
/** The queue's work after the call. */
async function settle(by: World, { id, provider }: Stage): Promise<void> {
  expect(await payOut(by, id, LAB)).toBe(true);
  expect(await keepReserve(by, provider.did, LAB)).toBe(true);
}

/** Runs the minutes after the crash, and those after the contract's delay of a day. Then everything is paid and recorded once. */
async function expectPaidOnce({ id, provider, consumer, held }: Stage, cut: Cut, operators = 1): Promise<void> {
  const { world } = awards;
  const { did } = provider;
  for (const _ of [1, 2]) await workMinute(world, id, did, LAB);
  await awards.pass();
  for (const _ of [1, 2, 3]) await workMinute(world, id, did, LAB);
  await follow(world, LAB);
  const told = await rows("select action from operator_entries where subject_id = ? order by seq", id);
  const [lines] = await rows(
    "select count(*) filter (where kind = 'payout') as payouts from ledger_lines where did = ? and reversed = 0",
    did,
  );
  const left = {
    dispute: await read(world, consumer, id),
    ...{ paid: await paidOutOf(did, LAB), held: await heldBy(did, LAB), reserve: await reserveOf(did, LAB) },
    ...{ escrow: await escrowOf(did), lines, noted: told.map(({ action }) => action).slice(-operators) },
    repeated: (await rows("select 1 from activity_entries where subject_id = ? and action like '%repeated'", id))
      .length,
  };
  expect([cut, left]).toMatchObject([
    cut,
    {
      dispute: { refund_status: "paid", paid_from_vault: "10.00" },
      ...{ paid: [AWARD], held: held - AWARD, reserve: 0 },
      ...{ escrow: { disputed: 0, owed: 0 }, lines: { payouts: 1 }, repeated: 1 },
      noted: ["dispute.payout_requested", "dispute.payout_repeated"].slice(-operators),
    },
  ]);
}

/** The call reads and writes, and sends its queue messages. */
const ASKED = ["DB.batch", "DB.batch", "OUTBOX_QUEUE.send", "CHAIN_QUEUE.send", "CHAIN_QUEUE.send"];
/** The signer's steps for a part. */
const SENT = ["CHAIN_SIGNER.address", "CHAIN_SIGNER.submit"];

describe("a repeated payout whose isolate dies", () => {
  it("while an operator requests it and it is scheduled is paid once, wherever the isolate died", async () => {
    const cuts = await killAtEveryStep(
      () => cancelled(awards.world),
      async (dying, stage) => {
        await repeat(dying, stage);
        await settle(dying, stage);
      },
      async (stage, cut) => {
        await repeat(awards.world, stage);
        await expectPaidOnce(stage, cut);
      },
      momentsOfMany(),
    );
    expect(namesOf(cuts)).toEqual(
      cutsOf(
        [
          ...ASKED,
          // The part is stored, read, scheduled and found scheduled.
          ...["DB.batch", "DB.batch", "DB.batch", ...SENT, "CHAIN_SIGNER.address", "DB.batch", "OUTBOX_QUEUE.send"],
          // The contract's reserve stays as it was.
          ...["DB.batch", "CHAIN_SIGNER.withdraw", "DB.batch"],
        ],
        momentsOfMany(),
      ),
    );
  });

  it("while two operators request it needs both requests, and is paid once", async () => {
    const strict = withVars(awards.both, { PAYOUT_ALONE_UP_TO: "9.99" });
    const cuts = await killAtEveryStep(
      () => cancelled(strict),
      async (dying, stage) => {
        await repeat(dying, stage);
        await confirm(dying, stage);
      },
      async (stage, cut) => {
        await repeat(strict, stage);
        await confirm(strict, stage);
        await expectPaidOnce(stage, cut, 2);
      },
      momentsOfMany(),
    );
    expect(namesOf(cuts)).toEqual(cutsOf(["DB.batch", "DB.batch", ...ASKED], momentsOfMany()));
  });

  it("while it is executed, a day later, is paid once, wherever the isolate died", async () => {
    const cuts = await killAtEveryStep(
      async () => {
        const stage = await cancelled(awards.world);
        await repeat(awards.world, stage);
        await settle(awards.world, stage);
        await awards.pass();
        return stage;
      },
      settle,
      expectPaidOnce,
      momentsOfMany(),
    );
    expect(namesOf(cuts)).toEqual(
      cutsOf(
        [
          // The signer first reports that the schedule is mined, and sends the payout when it is called again.
          ...["DB.batch", ...SENT, ...SENT, "DB.batch", "OUTBOX_QUEUE.send", "CHAIN_QUEUE.send"],
          ...["DB.batch", ...SENT, "DB.batch"],
        ],
        momentsOfMany(),
      ),
    );
  });
});
