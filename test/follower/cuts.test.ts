// The isolate dies at each step of booking a provider's own refund (CHN-24, CHN-27, DSP-12), and the next runs finish it: the refund is booked once,
// its dispute has it once, and the vault is not touched.
import { beforeAll, expect, it } from "vitest";
import { act, disputed, endDays, escrowOf, read, recordDays } from "../disputes/support.ts";
import type { Pair } from "../facilitation/support.ts";
import { buyer } from "../payments/support.ts";
import { rows } from "../promotion/support.ts";
import { account } from "../support/chain.ts";
import { cutsOf, killAtEveryStep, momentsOfMany, namesOf } from "../support/cuts.ts";
import { createWorld, expectStatus, type World } from "../support/world.ts";
import { awaitedOf, follow, heldBy, linesOf, refundOf, settlementOf } from "./support.ts";

const DISPUTED = 10_000;
/** Each step has its own purchase. */

let world: World;
let pair: Pair;
beforeAll(async () => {
  world = await createWorld();
  pair = { consumer: await buyer(world), provider: await world.provider() };
});

type Stage = { readonly world: World; readonly id: string; readonly transactionId: string; readonly tx: string };

/** A dispute that the provider has conceded and paid from its own wallet, in a block that was not read yet. */
async function paidBack(): Promise<Stage> {
  const one = await disputed(world, { pair, amount: "1.00", more: { disputed_amount: "0.01" } });
  expectStatus(await act(world, one.provider, one.id, "concede"), 200);
  const tx = await refundOf(one.fac.transaction_id, DISPUTED, "base-sepolia", account(8));
  return { world, id: one.id, transactionId: one.fac.transaction_id, tx };
}

/** Runs the follower, and the job for the dispute. */
async function book(by: World, { id }: Stage): Promise<void> {
  await follow(by);
  await recordDays(by, id);
}

async function left({ id, transactionId }: Stage) {
  const settlement = await settlementOf(transactionId);
  const told = await rows(
    "select type || ' ' || (object ->> 'refund_status') as said from events where object ->> 'dispute_id' = ? order by seq",
    id,
  );
  const { disputed, owed } = await escrowOf(pair.provider.did);
  const lines = await linesOf(pair.provider.did);
  return {
    refund: await awaitedOf(settlement),
    booked: await rows("select amount, tx_hash from refunds where settlement_key = ?", settlement.settlementKey),
    dispute: await read(world, pair.consumer, id),
    told: told.map(({ said }) => said),
    ...{ disputed, owed, sum: lines.reduce((total, { amount }) => total + amount, 0) },
  };
}

it("books a provider's own refund once, at whichever step the isolate dies", async () => {
  const cuts = await killAtEveryStep(
    paidBack,
    book,
    async (stage, cut) => {
      await follow(world);
      await endDays(world);
      expect([cut, await left(stage)]).toMatchObject([
        cut,
        {
          refund: { status: "done", reason: null, tx_hash: stage.tx, next_check_at: null },
          booked: [{ amount: DISPUTED, tx_hash: stage.tx }],
          dispute: { status: "resolved", refund_status: "paid", paid_from_vault: "0.00" },
          told: ["dispute.filed none", "dispute.resolved owed", "dispute.updated paid"],
          ...{ disputed: 0, owed: 0, sum: await heldBy(pair.provider.did) },
        },
      ]);
    },
    momentsOfMany(),
  );
  const recorded = ["DB.batch", "DB.batch", "DB.batch"];
  expect(namesOf(cuts)).toEqual(
    cutsOf(
      [
        // The follower notes what it has read, books it once it has read it again, and compares the settlement with its line. The comparison of the
        // vault with its lines writes nothing, and the next minute finds nothing new.
        ...Array.from({ length: 16 }, () => "DB.batch"),
        // The job pays the dispute, sends to both queues, and finds nothing else.
        ...[...recorded, "OUTBOX_QUEUE.send", "CHAIN_QUEUE.send", "DB.batch"],
      ],
      momentsOfMany(),
    ),
  );
});
