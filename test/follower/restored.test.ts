// Yesterday's database is restored while the chain has gone on (docs/runbooks.md): the follower finds every movement again, payments for intents of
// the backup are facilitated again, nothing counts twice, and a payment for an intent that the backup did not know settles nothing.
import { beforeAll, describe, expect, it } from "vitest";
import {
  asClient,
  asProvider,
  confirm,
  facilitated,
  type Paid,
  type Pair,
  paid,
  pairOf,
  refused,
} from "../facilitation/support.ts";
import { deposit, rows } from "../promotion/support.ts";
import { backUp, restore } from "../support/backup.ts";
import { payOnChain } from "../support/chain.ts";
import { createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { bookedOf, escrowOf, follow, heldBy, linesOf, refundOf, releaseSurplus } from "./support.ts";

const UNIT = 1_000_000;
/** Movements of the vault, with their places on the chain. */
const placesOf = async (did: string): Promise<Json[]> =>
  (await linesOf(did)).map(({ tx_hash, log_index, kind, amount, held, number }) => [
    tx_hash,
    log_index,
    kind,
    amount,
    held,
    number,
  ]);
const sumOf = async (did: string): Promise<number> =>
  (await bookedOf(did)).reduce((sum, [, amount]) => sum + amount, 0);

let world: World;
let pair: Pair;
let did: string;
let known: { first: Paid & { fac: Json }; paidBefore: Paid; facilitatedAfter: Paid; paidAfter: Paid };
let lost: Paid & { fac: Json };
let live: { lines: Json[]; facs: Json[]; escrow: Json };

const intentOf = async ({ consumer }: Pair, id: string): Promise<Json> =>
  expectStatus(await world.as(consumer, "GET", `/v1/payment-intents/${id}`), 200);

beforeAll(async () => {
  world = await createWorld();
  pair = await pairOf(world);
  did = pair.provider.did;
  await deposit(did, 4 * UNIT);
  const first = await facilitated(world, pair, "10.00");
  await follow(world);
  const paidBefore = await paid(world, pair, "11.00");
  const open = async (amount: string) => world.intent(pair.consumer, pair.provider, amount);
  const [second, third] = [await open("12.00"), await open("13.00")];
  const backup = await backUp();

  const payFor = async (intent: Json): Promise<Paid> => ({ ...pair, intent, tx: await payNow(intent) });
  const facilitatedAfter = await payFor(second);
  const facs = [];
  for (const purchase of [facilitatedAfter, paidBefore])
    facs.push(expectStatus(await asProvider(world, purchase), 200));
  expectStatus(await confirm(world, pair.consumer, facs[0].task_id), 200);
  await follow(world);
  // Below the threshold each payment leaves a part in the vault.
  const paidAfter = await payFor(third);
  lost = await facilitated(world, pair, "14.00");
  await deposit(did, 30 * UNIT);
  await releaseSurplus(did);
  await refundOf(first.fac.transaction_id, 2 * UNIT);
  await deposit(did, UNIT);
  await follow(world);
  known = { first, paidBefore, facilitatedAfter, paidAfter };
  live = { lines: await placesOf(did), facs, escrow: await escrowOf(did) };
  await restore(backup);
});

function payNow({ amount_base_units, intent_id: intentId }: Json): Promise<string> {
  return payOnChain(pair.consumer.did, did, Number(amount_base_units), { intentId });
}

describe("a database restored from yesterday", () => {
  it("continues from its last booked block: each movement has one line again, and the lines are what the vault holds", async () => {
    expect((await placesOf(did)).length).toBeLessThan(live.lines.length);
    for (let run = 0; run < 3; run++) await follow(world);
    expect(await placesOf(did)).toEqual(live.lines);
    expect(await sumOf(did)).toBe(await heldBy(did));
    expect(await rows("select * from ledger_differences where did = ?", did)).toEqual([]);
    const refunded = await rows(
      "select amount from refunds where settlement_key = (select settlement_key from transactions where transaction_id = ?)",
      known.first.fac.transaction_id,
    );
    expect(refunded).toEqual([{ amount: 2 * UNIT }]);
  });

  it("finds the payments again: the intents of the backup are PAID, and settlements that were not facilitated do not count", async () => {
    for (const { intent, tx } of [known.paidBefore, known.facilitatedAfter, known.paidAfter]) {
      expect(await intentOf(pair, intent.intent_id)).toMatchObject({
        status: "PAID",
        payment: { tx_hash: tx },
        task_id: null,
      });
    }
    expect(await intentOf(pair, known.first.intent.intent_id)).toMatchObject({ status: "SETTLED" });
    const { balance, contributed } = await escrowOf(did);
    const ofFirst = partOf(live.lines, known.first);
    expect(contributed).toBe(ofFirst);
    expect(balance).toBe(
      (await heldBy(did)) -
        [known.paidBefore, known.facilitatedAfter, known.paidAfter, lost].reduce(
          (sum, each) => sum + partOf(live.lines, each),
          0,
        ),
    );
  });

  it("facilitates each of them again for the same intent, once, with another transaction of the same facts and an open task", async () => {
    for (const purchase of [known.facilitatedAfter, known.paidBefore, known.paidAfter]) {
      const facs = await Promise.all(
        [asProvider, asClient, asProvider].map((facilitate) => facilitate(world, purchase)),
      );
      const ids = facs.map((fac) => expectStatus(fac, 200).transaction_id);
      expect(new Set(ids).size).toBe(1);
      const before = live.facs.find(({ tx_hash }) => tx_hash === purchase.tx);
      if (!before) continue;
      const { gross_amt, fee_amt, escrow_credited, operational_amt, intent_id, transaction_id, task_id } =
        facs[0]?.body ?? {};
      expect(before).toMatchObject({ gross_amt, fee_amt, escrow_credited, operational_amt, intent_id });
      expect(transaction_id).not.toBe(before.transaction_id);
      expect(expectStatus(await world.as(pair.provider, "GET", `/v1/tasks/${task_id}`), 200).status).toBe("open");
    }
    await follow(world);
    const { balance, contributed } = await escrowOf(did);
    // Everything that counted before, except the payment for an intent that the backup did not know.
    expect(contributed).toBe(live.escrow.contributed + partOf(live.lines, known.paidAfter) - partOf(live.lines, lost));
    expect(balance).toBe((await heldBy(did)) - partOf(live.lines, lost));
    expect(await placesOf(did)).toEqual(live.lines);
    const settled = await rows("select tx_hash from transactions where provider_did = ?", did);
    expect(new Set(settled.map(({ tx_hash }) => tx_hash)).size).toBe(4);
    expect(settled).toHaveLength(4);
    const sums = await rows("select settled, open from spend_sums where did = ?", pair.consumer.did);
    expect(sums).toEqual([{ settled: 46 * UNIT, open: 0 }]);
  });

  it("lacks intents that were opened after the backup: such a payment is in the vault, settles nothing and does not count", async () => {
    const agents = [did, pair.consumer.did];
    await refused(world, agents, () => asProvider(world, lost), 404, "not_found");
    const client = () => asClient(world, lost);
    const { detail } = await refused(world, agents, client, 409, "settlement_verification_failed");
    expect(detail).toEqual({ failed_check: "no_matching_intent" });
    expect(partOf(await placesOf(did), lost)).toBeGreaterThan(0);
    // New purchases work.
    expect((await facilitated(world, pair, "1.00")).fac.status).toBe("settled");
  });
});

/** The amount that a payment put into the vault. */
function partOf(lines: readonly Json[], { tx }: { readonly tx: string }): number {
  return lines
    .filter(([hash, , kind]) => hash === tx && kind === "settlement")
    .reduce((sum, [, , , amount]) => sum + amount, 0);
}
