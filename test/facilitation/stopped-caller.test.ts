// A caller that is not ACTIVE is refused in every form, even with the consumer's proof bound to the provider (FAC-4, PRF-10).
import { eq } from "drizzle-orm";
import { beforeAll, describe, expect, it } from "vitest";
import { platforms } from "../../src/db/tables/accounts.ts";
import { agents, certificates } from "../../src/db/tables/agents.ts";
import { principals } from "../../src/db/tables/principals.ts";
import { createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { asClient, asConsumer, PATH, type Paid, paid, pairOf, refused } from "./support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const byIntent = ({ intent, tx }: Paid) => ({ intent_id: intent.intent_id, payment_tx: tx });
const byPayment = ({ provider, consumer, tx }: Paid) => {
  return { provider_did: provider.did, consumer_did: consumer.did, tx_hash: tx, network: "base-sepolia" };
};
const BODIES: [string, (purchase: Paid) => Json][] = [
  ["by intent", byIntent],
  ["by payment", byPayment],
  ["by intent on an unknown network", (purchase) => ({ ...byIntent(purchase), network: "atlantis" })],
  ["by payment on an unknown network", (purchase) => ({ ...byPayment(purchase), network: "atlantis" })],
  ["with a faulty body", (purchase) => ({ ...byPayment(purchase), tx_hash: "0x12" })],
];
const PROOFS: [string, (purchase: Paid, body: Json) => Promise<Record<string, string>>][] = [
  ["under the proof bound to the provider", ({ consumer, provider }) => world.proveBound(consumer, provider.did)],
  ["under the proof of the request", ({ consumer }, body) => world.prove(consumer, "POST", PATH, JSON.stringify(body))],
];
const FORMS = PROOFS.flatMap(([proof, sign]) => BODIES.map(([form, bodyOf]) => [proof, form, sign, bodyOf] as const));

type State = {
  readonly stop: (purchase: Paid) => Promise<unknown>;
  readonly status: number;
  readonly code: string;
  readonly detail?: (purchase: Paid) => Json;
};
const notActive = (status: string) => ({
  status: 409,
  code: "agent_not_active",
  detail: ({ consumer }: Paid) => ({ did: consumer.did, status }),
});
const patch = async (did: string, status: string) =>
  expectStatus(await world.call("PATCH", `/v1/agents/${did}/status`, { body: { status } }), 200);
const replace = (did: string) =>
  world.deps.db.update(certificates).set({ replacedAt: Date.now() }).where(eq(certificates.did, did));
const STATES: Readonly<Record<string, State>> = {
  suspended: { ...notActive("SUSPENDED"), stop: ({ consumer }) => patch(consumer.did, "SUSPENDED") },
  funding: {
    ...notActive("FUNDING"),
    stop: ({ consumer }) => world.deps.db.update(agents).set({ status: "FUNDING" }).where(eq(agents.did, consumer.did)),
  },
  "of a suspended principal": {
    ...notActive("SUSPENDED"),
    stop: ({ consumer }) =>
      world.deps.db
        .update(principals)
        .set({ status: "SUSPENDED" })
        .where(eq(principals.principalId, consumer.principalId)),
  },
  "of a suspended platform": {
    status: 403,
    code: "account_suspended",
    stop: () =>
      world.deps.db.update(platforms).set({ status: "SUSPENDED" }).where(eq(platforms.platformId, world.platformId)),
  },
  terminated: {
    status: 401,
    code: "aeap_verification_failed",
    stop: ({ consumer }) => patch(consumer.did, "TERMINATED"),
  },
  "whose certificate was replaced": {
    status: 401,
    code: "aeap_verification_failed",
    stop: ({ consumer }) => replace(consumer.did),
  },
};

describe.each(Object.entries(STATES))("a consumer %s", (_state, { stop, status, code, detail }) => {
  let purchase: Paid;
  beforeAll(async () => {
    // Uses a platform of its own, because one case suspends it.
    world = await createWorld();
    purchase = await paid(world, await pairOf(world));
    await stop(purchase);
  });

  it.each(FORMS)("is refused %s, %s", async (_proof, _form, sign, bodyOf) => {
    const body = bodyOf(purchase);
    const headers = await sign(purchase, body);
    const act = () => world.call("POST", PATH, { key: null, headers, body });
    const refusal = await refused(world, [purchase.provider.did, purchase.consumer.did], act, status, code);
    if (detail) expect(refusal.detail).toEqual(detail(purchase));
  });
});

it("an active consumer is accepted in both forms", async () => {
  world = await createWorld();
  const pair = await pairOf(world);
  expectStatus(await asConsumer(world, await paid(world, pair)), 200);
  const purchase = await paid(world, pair);
  const headers = await world.proveBound(pair.consumer, pair.provider.did);
  expectStatus(await world.call("POST", PATH, { key: null, headers, body: byPayment(purchase) }), 200);
  expectStatus(await asClient(world, purchase), 200);
});
