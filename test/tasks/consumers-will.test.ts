// An auto-confirmation rates both sides only if the consumer has shown its will: it opened the intent, or its proof came with the facilitation
// (TSK-12).
import { eq } from "drizzle-orm";
import { beforeAll, describe, expect, it } from "vitest";
import { tasks } from "../../src/db/tables/money.ts";
import { autoConfirmTasks } from "../../src/tasks/confirm.ts";
import {
  asClient,
  asConsumer,
  asProvider,
  confirm,
  PATH,
  type Paid,
  type Pair,
  pairOf,
  stateOf,
} from "../facilitation/support.ts";
import { payOnChain } from "../support/chain.ts";
import { createWorld, expectStatus, type World } from "../support/world.ts";

let world: World;
let pair: Pair;
beforeAll(async () => {
  world = await createWorld();
  pair = await pairOf(world);
});

type Opener = "consumer" | "provider";
async function paidIntentOf(opener: Opener): Promise<Paid> {
  const body = { consumer_did: pair.consumer.did, provider_did: pair.provider.did, amount: "10.00", currency: "USDC" };
  const intent = expectStatus(await world.as(pair[opener], "POST", "/v1/payment-intents", body), 201);
  const tx = await payOnChain(pair.consumer.did, pair.provider.did, 10_000_000, { intentId: intent.intent_id });
  return { ...pair, intent, tx };
}

const clientBody = ({ provider, consumer, tx }: Paid) => {
  return { provider_did: provider.did, consumer_did: consumer.did, tx_hash: tx, network: "base-sepolia" };
};
const FORMS = {
  "the consumer's proof": asConsumer,
  "the consumer's proof in the client form": async (_: World, paid: Paid) => {
    const headers = await world.proveBound(paid.consumer, paid.provider.did);
    return world.call("POST", PATH, { key: null, headers, body: clientBody(paid) });
  },
  "the consumer itself": (_: World, paid: Paid) => world.as(paid.consumer, "POST", PATH, clientBody(paid)),
  "the provider": asProvider,
  "the provider in the client form": asClient,
} as const;

/** The number of signals that each side has. */
async function signals(): Promise<number[]> {
  const agents = [pair.provider, pair.consumer];
  const { agents: rows, sums } = await stateOf(world, ...agents.map(({ did }) => did));
  return agents.map(({ did }) => {
    const row = rows.find((one) => one.did === did);
    const counterparties = sums.filter((one) => one.did === did).length;
    expect(row?.ratingCounterparties).toBe(counterparties);
    expect(row?.agentRating === null).toBe(row?.ratingInteractions === 0);
    return row?.ratingInteractions ?? Number.NaN;
  });
}

describe("an auto-confirmation", () => {
  it.each<[Opener, keyof typeof FORMS, number]>([
    ["consumer", "the consumer's proof", 1],
    ["consumer", "the provider", 1],
    ["consumer", "the provider in the client form", 1],
    ["provider", "the consumer's proof", 1],
    ["provider", "the consumer's proof in the client form", 1],
    ["provider", "the consumer itself", 1],
    ["provider", "the provider", 0],
    ["provider", "the provider in the client form", 0],
  ])("of an intent that the %s opened, facilitated by %s: %i signals for each side", async (opener, form, more) => {
    const before = await signals();
    const paid = await paidIntentOf(opener);
    const { task_id: task } = expectStatus(await FORMS[form](world, paid), 200);
    await world.deps.db
      .update(tasks)
      .set({ confirmBy: world.now() - 1 })
      .where(eq(tasks.taskId, task));
    expect(await world.run(autoConfirmTasks)).toBe(1);
    const [row] = await world.deps.db.select().from(tasks).where(eq(tasks.taskId, task));
    expect(row).toMatchObject({ status: "auto_confirmed", outcome: "confirmed" });
    expect(await signals()).toEqual(before.map((count) => count + more));
  });

  it("gives no signal when a late confirmation records it", async () => {
    const before = await signals();
    const paid = await paidIntentOf("provider");
    const { task_id: task } = expectStatus(await asProvider(world, paid), 200);
    await world.deps.db
      .update(tasks)
      .set({ confirmBy: world.now() - 1 })
      .where(eq(tasks.taskId, task));
    expect((await confirm(world, paid.consumer, task)).body.code).toBe("confirmation_window_closed");
    expect(await signals()).toEqual(before);
  });
});

it("a confirmation by the consumer gives signals, whichever agent opened and facilitated", async () => {
  const before = await signals();
  const paid = await paidIntentOf("provider");
  const { task_id: task } = expectStatus(await asProvider(world, paid), 200);
  expectStatus(await confirm(world, paid.consumer, task), 200);
  expect(await signals()).toEqual(before.map((count) => count + 1));
});
