// The isolate dies at each step of a facilitation, and the client asks again with the same proof or a fresh one (FAC-11, FAC-13). Each payment is
// settled once, each event is written once, and windows and vault count it once.
import { beforeAll, describe, expect, it } from "vitest";
import { follow, heldBy } from "../follower/support.ts";
import { buyer, dailyLimit, delegateOf } from "../payments/support.ts";
import { rows } from "../promotion/support.ts";
import { cutsOf, killAtEveryStep, momentsOfMany, namesOf } from "../support/cuts.ts";
import { type Agent, createWorld, expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import { asProvider, PATH, type Paid, paid } from "./support.ts";

const UNIT = 1_000_000;
/** The part of a payment of one unit that the vault receives. */
const CREDITED = 99_950;

let world: World;
let provider: Agent;
let delegator: Agent;
let consumer: Agent;
beforeAll(async () => {
  world = await createWorld();
  provider = await world.provider();
  delegator = await buyer(world, dailyLimit("1000.00"));
  consumer = await delegateOf(world, delegator, dailyLimit("900.00"));
});

type Stage = Paid & { readonly world: World; readonly ask: (by: World) => Promise<Reply> };

/** The consumer's proof bound to the provider, which is presented again unchanged. */
const bound =
  (bodyOf: (purchase: Paid) => Json) =>
  async (purchase: Paid): Promise<Stage["ask"]> => {
    const headers = await world.proveBound(purchase.consumer, purchase.provider.did);
    const body = bodyOf(purchase);
    return (by) => by.call("POST", PATH, { key: null, headers, body });
  };
const byIntent = ({ intent, tx }: Paid) => ({ intent_id: intent.intent_id, payment_tx: tx });
const byPayment = ({ provider, consumer, tx }: Paid) => ({
  ...{ provider_did: provider.did, consumer_did: consumer.did },
  ...{ tx_hash: tx, network: "base-sepolia" },
});

/** The intent decides to which agent a proof may be bound, so it is read before the proof is used. */
const READ_FIRST = ["DB.batch", "REPLAY.use", "DB.batch", "OUTBOX_QUEUE.send"];
const PROVEN_FIRST = ["REPLAY.use", "DB.batch", "DB.batch", "OUTBOX_QUEUE.send"];
type Way = readonly [name: string, ask: (purchase: Paid) => Promise<Stage["ask"]>, steps: readonly string[]];
const WAYS: readonly Way[] = [
  ["by intent, under a bound proof", bound(byIntent), READ_FIRST],
  ["by payment, under a bound proof", bound(byPayment), PROVEN_FIRST],
  [
    "by intent, as its consumer",
    async (purchase) => (by) => by.as(purchase.consumer, "POST", PATH, byIntent(purchase)),
    PROVEN_FIRST,
  ],
  ["by intent, as its provider", async (purchase) => (by) => asProvider(by, purchase), PROVEN_FIRST],
];

const set = (ask: (purchase: Paid) => Promise<Stage["ask"]>) => async (): Promise<Stage> => {
  const purchase = await paid(world, { consumer, provider }, "1.00");
  return { ...purchase, world, ask: await ask(purchase) };
};

/** All rows that the facilitation of one purchase leaves. */
async function recorded({ intent }: Paid): Promise<Json> {
  const of = (table: string, columns: string) =>
    rows(`select ${columns} from ${table} where intent_id = ?`, intent.intent_id);
  const about = (table: string) =>
    rows(
      `select count(*) as n from ${table} where transaction_id in
        (select transaction_id from transactions where intent_id = ?)`,
      intent.intent_id,
    );
  const told = await rows(
    `select type from events where type in ('transaction.settled', 'task.opened') and object ->> 'intent_id' = ?
      order by type`,
    intent.intent_id,
  );
  const [[receipts], [tasks]] = [await about("receipts"), await about("tasks")];
  return {
    intent: await of("payment_intents", "status, transaction_id"),
    transactions: await of("transactions", "transaction_id, tx_hash"),
    spent: (await of("spend_ledger", "did")).map(({ did }) => did).sort(),
    holds: (await of("spend_holds", "did")).length,
    ...{ receipts: receipts?.n, tasks: tasks?.n, told: told.map(({ type }) => type) },
  };
}

/** The sums of both windows, and the part of the vault that counts. */
async function totals(): Promise<Json> {
  const sums = await rows(
    "select settled, open from spend_sums where did in (?, ?) order by did",
    ...[delegator.did, consumer.did],
  );
  const [escrow] = await rows("select contributed, balance from escrows where did = ?", provider.did);
  return { sums, contributed: escrow?.contributed, balance: escrow?.balance };
}
const settledTimes = (n: number): Json => ({
  sums: [1, 2].map(() => ({ settled: n * UNIT, open: 0 })),
  ...{ contributed: n * CREDITED, balance: n * CREDITED },
});

describe("a facilitation whose isolate dies", () => {
  let settled = 0;

  it.each(WAYS)("%s is recorded once, and each repeated call has the same answer", async (_way, ask, steps) => {
    const cuts = await killAtEveryStep(
      set(ask),
      (dying, stage) => stage.ask(dying),
      async (stage, cut) => {
        const before = await recorded(stage);
        const answer = expectStatus(await stage.ask(world), 200);
        const id = answer.transaction_id;
        if (before.transactions.length > 0) expect(before.transactions).toMatchObject([{ transaction_id: id }]);
        expect(expectStatus(await stage.ask(world), 200)).toEqual(answer);
        settled += 1;
        expect([cut, await recorded(stage), await totals()]).toEqual([
          cut,
          {
            intent: [{ status: "SETTLED", transaction_id: id }],
            transactions: [{ transaction_id: id, tx_hash: stage.tx }],
            spent: [delegator.did, consumer.did].sort(),
            ...{ holds: 0, receipts: 1, tasks: 1, told: ["task.opened", "transaction.settled"] },
          },
          settledTimes(settled),
        ]);
      },
      momentsOfMany(),
    );
    settled += 1;
    expect(namesOf(cuts)).toEqual(cutsOf(steps, momentsOfMany()));
  });

  it("leaves one sum in the vault's lines, in the vault's balance that counts, and in the contract", async () => {
    await follow(world);
    const lines = await rows("select amount from ledger_lines where did = ? and reversed = 0", provider.did);
    expect(lines).toEqual(Array.from({ length: settled }, () => ({ amount: CREDITED })));
    expect(await heldBy(provider.did)).toBe(settled * CREDITED);
    expect(await totals()).toEqual(settledTimes(settled));
  });
});
