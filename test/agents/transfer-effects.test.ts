// The effects of a transfer on later events, and the facts that it leaves as they were earned (AGT-33).
import { beforeAll, expect, it } from "vitest";
import { confirm, facilitated, pairOf } from "../facilitation/support.ts";
import { openIntent, seller } from "../payments/support.ts";
import { type Agent, createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { rowsOf } from "./support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const transferred = async (did: string, principal_id: string): Promise<Json> =>
  expectStatus(await world.call("POST", `/v1/agents/${did}/transfer`, { body: { principal_id } }), 200);

const publicRating = async (did: string): Promise<Json> =>
  expectStatus(await world.call("GET", `/v1/agents/${did}/rating`, { key: null }), 200);

it("the new principal's country decides a consumer's markets after the transfer", async () => {
  const shop = await seller(world, { market: "EU-USDC" });
  const consumer = await world.agent("CONSUMER", { principal_id: await world.principal({ country: "FR" }) });
  expectStatus(await openIntent(world, consumer, shop, "1.00"), 201);
  const { certificate } = await transferred(consumer.did, await world.principal({ country: "US" }));
  const refused = await openIntent(world, { ...consumer, certificate }, shop, "1.00");
  expect([refused.status, refused.body.code, refused.body.detail]).toEqual([
    409,
    "market_not_authorized",
    { market: "US-USDC" },
  ]);
});

it("a rating stays as it was earned, under the principal that the counterparty had at the time", async () => {
  const purchase = await facilitated(world);
  const { consumer, provider } = purchase;
  expectStatus(await confirm(world, consumer, purchase.task), 200);
  const ratingOf = async (did: string): Promise<Json> => (await publicRating(did)).agent_rating;
  const earned = async () => [
    await rowsOf("rating_counterparties", "did", provider.did),
    await rowsOf("rating_counterparties", "did", consumer.did),
    await ratingOf(provider.did),
    await ratingOf(consumer.did),
  ];
  const before = await earned();
  expect(before[0].map((row: Json) => row.counterparty_principal_id)).toEqual([consumer.principalId]);
  await transferred(consumer.did, await world.principal());
  await transferred(provider.did, await world.principal());
  expect(await earned()).toEqual(before);
});

it("a task that ends after the transfer rates under the principals of its settlement, and later purchases rate under the new one", async () => {
  const pair = await pairOf(world);
  const { task } = await facilitated(world, pair);
  const to = await world.principal();
  const { certificate } = await transferred(pair.consumer.did, to);
  const after = { ...pair, consumer: { ...pair.consumer, certificate } };
  expectStatus(await confirm(world, after.consumer, task), 200);
  const { counterparties: before } = await publicRating(pair.provider.did);
  expectStatus(await confirm(world, after.consumer, (await facilitated(world, after)).task), 200);
  const earnedUnder = async ({ did }: Agent): Promise<string[]> =>
    (await rowsOf("rating_counterparties", "did", did)).map((row) => row.counterparty_principal_id).sort();
  expect(await earnedUnder(pair.provider)).toEqual([pair.consumer.principalId, to].sort());
  expect(await earnedUnder(pair.consumer)).toEqual([pair.provider.principalId]);
  const { counterparties, interactions } = await publicRating(pair.provider.did);
  expect([before, counterparties, interactions]).toEqual([1, 2, 2]);
});
