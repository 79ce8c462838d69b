// The isolate dies at each step of an award (DSP-12, DSP-15): of the decision, of each payout, and of the change of the reserve. The minute's jobs
// finish the work: the consumer is paid once, the books agree with the chain, and each event is written once.
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Pair } from "../facilitation/support.ts";
import { follow, heldBy } from "../follower/support.ts";
import { buyer } from "../payments/support.ts";
import { deposit, rows } from "../promotion/support.ts";
import { type Cut, cutsOf, killAtEveryStep, momentsOfMany, namesOf } from "../support/cuts.ts";
import { createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { reserveOf } from "../vaults/support.ts";
import {
  arbitrated,
  disputed,
  escrowOf,
  keepReserve,
  paidOutOf,
  payOut,
  read,
  resolve,
  workMinute,
} from "./support.ts";

/** Each step makes its own purchase. */

let world: World;
let pair: Pair;
/** The payouts of the vault before the stage. */
let paidBefore: readonly number[];
beforeAll(async () => {
  world = await createWorld();
  pair = { consumer: await buyer(world), provider: await world.provider() };
});
beforeEach(async () => {
  paidBefore = await paidOutOf(pair.provider.did);
});

type Stage = {
  readonly world: World;
  readonly id: string;
  /** The vault's balance before the award, and later deposits, in base units. */
  readonly held: number;
  readonly deposited: number;
};

/** A purchase for 100.00, with a dispute about `amount` in arbitration. */
async function undecided(amount: string): Promise<Stage> {
  const one = await disputed(world, { pair, amount: "100.00", more: { disputed_amount: amount } });
  await arbitrated(world, one);
  return { world, id: one.id, held: await heldBy(pair.provider.did), deposited: 0 };
}
const award = async (by: World, { id }: Stage): Promise<void> => {
  const reply = await resolve(by, id, { resolution: "upheld" });
  if (reply.status !== 409) expectStatus(reply, 200);
};
/** The queue's work after the decision. */
async function settle(by: World, { id }: Stage): Promise<void> {
  expect(await payOut(by, id)).toBe(true);
  expect(await keepReserve(by, pair.provider.did)).toBe(true);
}

/** The refund status and the payout that each event of the dispute reported. */
const toldOf = async (id: string): Promise<string[]> =>
  (
    await rows(
      `select type || ' ' || (object ->> 'refund_status') || ' ' || (object ->> 'paid_from_vault') as said from events
        where object ->> 'dispute_id' = ? order by seq`,
      id,
    )
  )
    .map(({ said }) => said)
    // Whether an event reports a sent transaction depends on where the isolate died.
    .filter((said) => !said.includes(" sent "));
const [FILED, MOVED, RESOLVED] = ["dispute.filed none 0.00", "dispute.updated none 0.00", "dispute.resolved owed 0.00"];

/** Finishes the award, and checks its parts and events. */
async function expectPaid(stage: Stage, cut: Cut, parts: readonly number[], told: readonly string[]): Promise<void> {
  for (const _ of [1, 2]) await workMinute(world, stage.id, pair.provider.did);
  await follow(world);
  const { id, held, deposited } = stage;
  const { did } = pair.provider;
  const sum = parts.reduce((total, part) => total + part, 0);
  const paid = await paidOutOf(did);
  const [lines] = await rows(
    `select sum(amount) as sum, count(*) filter (where kind = 'payout') as payouts from ledger_lines
      where did = ? and reversed = 0`,
    did,
  );
  const left: Json = {
    dispute: await read(world, pair.consumer, id),
    ...{ paid: paid.slice(paidBefore.length), reserve: await reserveOf(did), held: await heldBy(did) },
    ...{ escrow: await escrowOf(did), lines, told: await toldOf(id) },
  };
  paidBefore = paid;
  expect([cut, left]).toMatchObject([
    cut,
    {
      dispute: { status: "resolved", refund_status: "paid", paid_from_vault: (sum / 1e6).toFixed(2) },
      ...{ paid: parts, reserve: 0, held: held + deposited - sum },
      ...{ escrow: { disputed: 0, owed: 0 }, lines: { sum: held + deposited - sum, payouts: paid.length } },
      told: [FILED, MOVED, MOVED, RESOLVED, ...told],
    },
  ]);
}

/** The steps of a stored part: it is read, sent and recorded, and the queues get messages. */
const PAID_PART = [
  ...["DB.batch", "CHAIN_SIGNER.address", "CHAIN_SIGNER.submit", "DB.batch"],
  ...["OUTBOX_QUEUE.send", "CHAIN_QUEUE.send"],
];

describe("an award whose isolate dies", () => {
  it("is decided and paid once, wherever the isolate died", async () => {
    const [PART, TOLD] = [5_000_000, ["dispute.updated paid 5.00"]];
    const cuts = await killAtEveryStep(
      () => undecided("4.00"),
      async (dying, stage) => {
        await award(dying, stage);
        await settle(dying, stage);
      },
      async (stage, cut) => {
        await award(world, stage);
        await expectPaid(stage, cut, [PART], TOLD);
      },
      momentsOfMany(),
    );
    expect(namesOf(cuts)).toEqual(
      cutsOf(
        [
          // The decision, and its messages to the queues.
          ...["DB.batch", "DB.batch", "OUTBOX_QUEUE.send", "CHAIN_QUEUE.send", "CHAIN_QUEUE.send"],
          // The part is stored, sent and recorded.
          ...["DB.batch", "DB.batch", ...PAID_PART],
          // The contract has no reserve, and no pending transaction would set one.
          ...["DB.batch", "CHAIN_SIGNER.withdraw", "DB.batch"],
        ],
        momentsOfMany(),
      ),
    );
  });
});

describe("an award that is more than the vault holds", () => {
  beforeAll(async () => {
    pair = { ...pair, provider: await world.provider() };
  });

  it("is paid in two parts, each once, wherever an isolate dies between them", async () => {
    const AWARD = 21_000_000;
    const cuts = await killAtEveryStep(
      async () => {
        const stage = await undecided("20.00");
        await award(world, stage);
        await settle(world, stage);
        const deposited = AWARD - stage.held;
        await deposit(pair.provider.did, deposited);
        await rows("update chain_operations set next_check_at = 1 where kind = 'payout' and subject = ?", stage.id);
        return { ...stage, deposited };
      },
      settle,
      async (stage, cut) => {
        const { held, deposited } = stage;
        const first = (held / 1e6).toFixed(6).replace(/0{1,4}$/, "");
        const told = [`dispute.updated owed ${first}`, "dispute.updated paid 21.00"];
        await expectPaid(stage, cut, [held, deposited], told);
      },
      momentsOfMany(),
    );
    expect(namesOf(cuts)).toEqual(
      cutsOf(
        [
          ...["DB.batch", "DB.batch", ...PAID_PART],
          // The contract still has the reserve that the first part left, so it is lowered.
          ...["DB.batch", "CHAIN_SIGNER.address", "CHAIN_SIGNER.submit", "DB.batch"],
        ],
        momentsOfMany(),
      ),
    );
  });
});
