// The settlement decides which agents a task rates and under which principals: no transfer after it loses or gains a signal (FAC-14, TSK-5, TSK-22).
import { beforeAll, describe, expect, it } from "vitest";
import { arbitrated, file, resolve } from "../disputes/support.ts";
import { asConsumer, confirm, facilitated, type Pair, paid, pairOf } from "../facilitation/support.ts";
import { ratingOf, sumsOf } from "../follower/reversals.ts";
import { follow, takenAway } from "../follower/support.ts";
import { rows } from "../promotion/support.ts";
import { type Agent, createWorld, expectStatus, type Json, type World } from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
  await follow(world);
});

type Bought = Awaited<ReturnType<typeof facilitated>>;
type Side = "provider" | "consumer";
const SIDES = ["provider", "consumer"] as const;
const OTHER = { provider: "consumer", consumer: "provider" } as const;

async function transferred(agent: Agent, principal_id: string): Promise<Agent> {
  const path = `/v1/agents/${agent.did}/transfer`;
  const { certificate } = expectStatus(await world.call("POST", path, { body: { principal_id } }), 200);
  return { ...agent, certificate };
}
/** Transfers one side to the other's principal. */
const together = async (pair: Pair, side: Side): Promise<Pair> => ({
  ...pair,
  [side]: await transferred(pair[side], pair[OTHER[side]].principalId),
});

const upheld = async (bought: Bought) => {
  const { dispute_id: id } = expectStatus(await file(world, bought), 201);
  await arbitrated(world, { ...bought, id });
  expectStatus(await resolve(world, id, { resolution: "upheld" }), 200);
};
const ENDS: Readonly<Record<string, (bought: Bought) => Promise<unknown>>> = {
  rejected: async ({ consumer, task }) =>
    expectStatus(await confirm(world, consumer, task, { outcome: "rejected" }), 200),
  confirmed: async ({ consumer, task }) => expectStatus(await confirm(world, consumer, task), 200),
  "disputed, and upheld by an arbiter": upheld,
};

/** Leaves out the instants of the weights, because each compared rating is of one purchase. */
const rated = async ({ did }: Agent) => {
  const { rating_weight, rating_weighted, rating_interactions, agent_rating } = await ratingOf(did);
  const share = Math.round((rating_weighted / rating_weight) * 1e6);
  return { share, rating_interactions, agent_rating };
};
const under = async ({ did }: Agent): Promise<string[]> =>
  (await sumsOf(did)).map((row: Json) => row.counterparty_principal_id);

describe.each(Object.entries(ENDS))("a task that is %s", (_name, end) => {
  it.each(SIDES)("after the %s was transferred to the other's principal rates both as strangers", async (side) => {
    const plain = await facilitated(world, await pairOf(world));
    await end(plain);
    const pair = await pairOf(world);
    const bought = await facilitated(world, pair);
    const after = await together(pair, side);
    await end({ ...bought, ...after });
    for (const which of SIDES) {
      expect(await rated(pair[which])).toEqual(await rated(plain[which]));
      expect((await rated(pair[which])).agent_rating).toEqual(expect.any(Number));
      expect(await under(pair[which])).toEqual([pair[OTHER[which]].principalId]);
    }
    // A reorg takes the signals back as they were given.
    await takenAway(world, bought.fac.transaction_id);
    for (const which of SIDES) {
      expect(await under(pair[which])).toEqual([]);
      expect(await ratingOf(pair[which].did)).toMatchObject({ rating_interactions: 0, agent_rating: null });
    }
  });
});

it("a verdict about a closed task finds the signals that it replaces, whatever principals the parties were transferred to", async () => {
  const pair = await pairOf(world);
  const bought = await facilitated(world, pair);
  expectStatus(await confirm(world, pair.consumer, bought.task), 200);
  await upheld({ ...bought, ...(await together(pair, "provider")) });
  expect(await ratingOf(pair.provider.did)).toMatchObject({ rating_weighted: 0, rating_interactions: 1 });
  expect(await under(pair.provider)).toEqual([pair.consumer.principalId]);
});

describe("a payment", () => {
  it("between strangers opens a task that may be disputed, even if one principal has both agents when it is facilitated", async () => {
    const pair = await pairOf(world);
    const purchase = await paid(world, pair, "10.00");
    await together(pair, "provider");
    const fac = expectStatus(await asConsumer(world, purchase), 200);
    await transferred(pair.provider, pair.provider.principalId);
    expect(fac.task_id).toEqual(expect.any(String));
    await file(world, { ...purchase, fac, task: fac.task_id }).then((reply) => expectStatus(reply, 201));
    const [task] = await rows(
      "select provider_principal_id as provider, consumer_principal_id as consumer from tasks where task_id = ?",
      fac.task_id,
    );
    expect(task).toEqual({ provider: pair.provider.principalId, consumer: pair.consumer.principalId });
  });

  it("between agents that one principal had when the intent was opened, but no longer has, rates them as strangers", async () => {
    const principal_id = await world.principal();
    const pair = { consumer: await world.consumer({ principal_id }), provider: await world.provider({ principal_id }) };
    const purchase = await paid(world, pair, "10.00");
    const to = await world.principal();
    await transferred(pair.provider, to);
    const { task_id } = expectStatus(await asConsumer(world, purchase), 200);
    expectStatus(await confirm(world, pair.consumer, task_id), 200);
    expect(await under(pair.consumer)).toEqual([to]);
    expect(await under(pair.provider)).toEqual([principal_id]);
  });
});
