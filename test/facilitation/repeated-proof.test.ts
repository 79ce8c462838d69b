// A proof is accepted once, and again only for the act that it was used for (PRF-7, PRF-8), because the provider cannot sign for the consumer.
import { beforeAll, describe, expect, it } from "vitest";
import { createWorld, type Json, type World } from "../support/world.ts";
import { PATH, type Paid, paid, pairOf, refused, stateOf } from "./support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

type Sent = { headers: Record<string, string>; body: Json };
const named = ({ intent, tx }: Paid) => ({ intent_id: intent.intent_id, payment_tx: tx });
const client = ({ provider, consumer, tx }: Paid) => {
  return { provider_did: provider.did, consumer_did: consumer.did, tx_hash: tx, network: "base-sepolia" };
};
const bound = ({ consumer, provider }: Paid) => world.proveBound(consumer, provider.did);
const boundToService = ({ provider }: Paid) => world.proveBound(provider, world.deps.config.serviceDid);
const own = ({ provider }: Paid, body: Json) => world.prove(provider, "POST", PATH, JSON.stringify(body));

const FORMS: [string, (purchase: Paid) => Json, (purchase: Paid, body: Json) => Promise<Record<string, string>>][] = [
  ["the consumer's proof bound to the provider", named, bound],
  ["the consumer's proof, in the client form", client, bound],
  ["the provider's request", named, own],
  ["the provider's request, in the client form", client, own],
  ["the provider's proof bound to the service", named, boundToService],
];
const send = ({ headers, body }: Sent) => world.call("POST", PATH, { key: null, headers, body });

describe.each(FORMS)("under %s", (_, bodyOf, sign) => {
  const signed = async (): Promise<{ purchase: Paid; sent: Sent }> => {
    const purchase = await paid(world, await pairOf(world));
    const body = bodyOf(purchase);
    return { purchase, sent: { headers: await sign(purchase, body), body } };
  };

  it("ten identical calls at once all get the same answer, and settle once", async () => {
    const { purchase, sent } = await signed();
    const replies = await Promise.all(Array.from({ length: 10 }, () => send(sent)));
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200));
    expect(new Set(replies.map(({ text }) => text)).size).toBe(1);
    const { transactions, tasks } = await stateOf(world, purchase.provider.did);
    expect([transactions.length, tasks.length]).toEqual([1, 1]);
  });

  it("any other act is a replay, and changes nothing", async () => {
    const { purchase, sent } = await signed();
    const other = await paid(world, purchase);
    expect((await send(sent)).status).toBe(200);
    const dids = [purchase.provider.did, purchase.consumer.did];
    const act = () => send({ ...sent, body: bodyOf(other) });
    // A proof of the request does not even verify for another body.
    const [code, type] = sign === own ? ["proof_invalid", undefined] : ["aeap_verification_failed", "replay"];
    expect((await refused(world, dids, act, 401, code)).type).toBe(type);
  });
});
