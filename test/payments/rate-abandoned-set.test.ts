// A message rates abandoned intents as a set (TSK-11, JOB-16): in one batch, with the same result as one intent after another.
import { beforeAll, expect, it } from "vitest";
import type { JobMessage } from "../../src/context.ts";
import { runMessage } from "../../src/jobs/run.ts";
import { abandonIntents } from "../../src/payments/abandon.ts";
import { rateAbandonedIntents } from "../../src/payments/rate.ts";
import { confirm, facilitated } from "../facilitation/support.ts";
import { follow } from "../follower/support.ts";
import { rows } from "../promotion/support.ts";
import { stopped } from "../support/clock.ts";
import { type Agent, createWorld, type World } from "../support/world.ts";

const MINUTE = 60_000;
const DAY = 86_400_000;
/** The third amount has so much weight that it is clipped. */
const AMOUNTS = ["10.00", "2.00", "900.00", "5.00"];

let world: World;
beforeAll(async () => {
  world = stopped(await createWorld());
});

type Left = { readonly consumers: readonly Agent[]; readonly intents: readonly string[] };

/** One consumer leaves an unpaid intent at each seller and a second one at the first; another consumer leaves one at the second seller. */
async function leave(): Promise<Left> {
  const [consumer, other] = [await world.consumer(), await world.consumer()];
  // A purchase first, because they would have no rating otherwise.
  for (const buyer of [consumer, other]) {
    const { task } = await facilitated(world, { consumer: buyer, provider: await world.provider() }, "5.00");
    await confirm(world, buyer, task);
  }
  const sellers: Agent[] = [];
  for (const _ of AMOUNTS) sellers.push(await world.provider({ principal_id: await world.principal() }));
  const open = async (from: Agent, seller: number, amount: string) =>
    (await world.intent(from, sellers[seller] as Agent, amount)).intent_id as string;
  const intents: string[] = [];
  for (const [seller, amount] of AMOUNTS.entries()) intents.push(await open(consumer, seller, amount));
  intents.push(await open(consumer, 0, "7.00"), await open(other, 1, "3.00"));
  return { consumers: [consumer, other], intents };
}

async function abandon(): Promise<void> {
  world.advance(6 * MINUTE);
  await follow(world);
  await world.run(abandonIntents);
  world.advance(DAY);
}

const record = (ids: readonly string[]): Promise<void> =>
  world.serve(() =>
    runMessage(world.deps, [rateAbandonedIntents], { kind: "record", job: rateAbandonedIntents.name, ids }),
  );

const outcome = async ({ consumers, intents }: Left) => [
  ...(await Promise.all(
    consumers.map(({ did }) =>
      rows(
        `select republish_at, revision, (select count(*) from directory_changes c where c.did = a.did) as changes, agent_rating, rating_weight, rating_weighted, rating_interactions, rating_counterparties, rating_heaviest,
          (select json_group_array(json_array(weight, weighted) order by weight) from rating_counterparties r where r.did = a.did) as counterparties,
          (select agent_rating = a.agent_rating from directory_entries d where d.did = a.did) as listed
        from agents a where did = ?`,
        did,
      ),
    ),
  )),
  await rows(
    "select status, abandon_rated from payment_intents where intent_id in (select value from json_each(?))",
    JSON.stringify(intents),
  ),
];

it("leaves the same ratings, counterparties and directory as one intent after another", async () => {
  const [together, single] = [await leave(), await leave()];
  await abandon();
  world.meter.reset();
  await record(together.intents);
  // The trips: the reads, the writes, and the row of the job.
  expect(world.meter.reading.trips).toBe(3);
  for (const id of single.intents) await world.serve(() => rateAbandonedIntents.record(world.deps, id));
  const result = await outcome(together);
  expect(result[0]?.[0]).toMatchObject({ rating_counterparties: 5, rating_interactions: 1, listed: 1 });
  expect(result[1]?.[0]).toMatchObject({ rating_counterparties: 2, listed: 1 });
  expect(result[2]).toEqual(together.intents.map(() => ({ status: "ABANDONED", abandon_rated: 1 })));
  expect(result).toEqual(await outcome(single));
  await record(together.intents);
  expect(await outcome(together)).toEqual(result);
});

it("rates each intent alone if another run has rated one of them meanwhile", async () => {
  const { consumers, intents } = await leave();
  await abandon();
  world.sent.splice(0);
  world.meter.reset();
  world.meter.beforeBatch(2, () => rateAbandonedIntents.record(world.deps, intents[0] as string));
  await record(intents);
  expect(world.meter.reading.refused).toBe(1);
  const messages = world.sent.splice(0).map(({ body }) => body as JobMessage);
  const alone = { kind: "record", job: rateAbandonedIntents.name, ids: intents, alone: true };
  expect(messages.filter(({ kind }) => kind === "record")).toEqual([alone]);
  await world.serve(() => runMessage(world.deps, [rateAbandonedIntents], alone as JobMessage));
  const [first, second, states] = await outcome({ consumers, intents });
  expect([first?.[0], second?.[0]]).toMatchObject([{ rating_counterparties: 5 }, { rating_counterparties: 2 }]);
  expect(states).toEqual(intents.map(() => ({ status: "ABANDONED", abandon_rated: 1 })));
});
