// The consumer's proof bound to the provider is verified by the agents that the valid parts of the body name, so that the caller of a faulty body or
// an unknown intent is answered like any proven caller (FAC-3).
import { beforeAll, describe, expect, it } from "vitest";
import { type Agent, createWorld, expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import { asConsumer, PATH, type Paid, paid, pairOf, stateOf } from "./support.ts";

let world: World;
let purchase: Paid;
let stranger: Agent;
let other: Agent;
beforeAll(async () => {
  world = await createWorld();
  purchase = await paid(world, await pairOf(world));
  [stranger, other] = [await world.consumer(), await world.agent("PROVIDER")];
});

const UNKNOWN = "pin_00000000000000000000000000";
const named = () => ({ intent_id: purchase.intent.intent_id, payment_tx: purchase.tx });
const client = () => {
  const { provider, consumer, tx } = purchase;
  return { provider_did: provider.did, consumer_did: consumer.did, tx_hash: tx, network: "base-sepolia" };
};
const provider = () => ({ provider_did: purchase.provider.did });

const send = async (caller: Agent, callee: Agent, body: Json): Promise<Reply> => {
  const headers = await world.proveBound(caller, callee.did);
  const rawBody = typeof body === "string" ? body : JSON.stringify(body);
  return world.call("POST", PATH, { key: null, headers, rawBody });
};
const faultsOf = ({ body }: Reply) =>
  body.field_errors?.map(({ field, code }: { field: string; code: string }) => `${field} ${code}`);

describe("the consumer's proof bound to the provider", () => {
  it.each<[string, () => Json, string[]]>([
    ["an invalid hash, by intent", () => ({ ...named(), payment_tx: "0x12" }), ["payment_tx invalid_format"]],
    ["an unknown member, by intent", () => ({ ...named(), more: 1 }), ["more unknown_field"]],
    ["a provider that is no text, by intent", () => ({ ...named(), provider_did: 7 }), ["provider_did invalid_type"]],
    ["no hash, by intent", () => ({ intent_id: named().intent_id }), ["payment_tx required"]],
    ["two hashes, by intent", () => ({ ...named(), tx_hash: `0x${"1".repeat(64)}` }), ["tx_hash invalid_value"]],
    ["an invalid hash, by payment", () => ({ ...client(), tx_hash: "0x12" }), ["tx_hash invalid_format"]],
    ["an intent that is no text", () => ({ ...client(), intent_id: 7 }), ["intent_id invalid_type"]],
    [
      "an unknown intent",
      () => ({ ...provider(), intent_id: UNKNOWN, payment_tx: "0x12" }),
      ["payment_tx invalid_format"],
    ],
    ["the provider alone", () => provider(), ["consumer_did required", "network required", "tx_hash required"]],
  ])("with %s is 422", async (_name, bodyOf, faults) => {
    const reply = await send(purchase.consumer, purchase.provider, bodyOf());
    expect([reply.status, reply.body.code, faultsOf(reply)]).toEqual([422, "validation_failed", faults]);
  });

  it("is not used up by a body that names no act", async () => {
    const headers = await world.proveBound(purchase.consumer, purchase.provider.did);
    const attempt = (body: Json) => world.call("POST", PATH, { key: null, headers, body });
    const open = await paid(world, purchase);
    const good = { intent_id: open.intent.intent_id, payment_tx: open.tx };
    expect((await attempt({ ...good, more: 1 })).status).toBe(422);
    expect((await attempt({ ...good, payment_tx: 1 })).status).toBe(422);
    expectStatus(await attempt(good), 200);
    expect((await attempt({ ...good, more: 1 })).status).toBe(422);
    expect((await attempt(named())).body.type).toBe("replay");
  });

  it("is answered with 404 for an unknown intent if the body names the provider, and with 401 if no agent can verify it", async () => {
    const body = { ...named(), intent_id: UNKNOWN };
    const told = await send(purchase.consumer, purchase.provider, { ...body, ...provider() });
    expect([told.status, told.body.code]).toEqual([404, "not_found"]);
    const untold = await send(purchase.consumer, purchase.provider, body);
    expect([untold.status, untold.body.code]).toEqual([401, "proof_invalid"]);
  });

  it("does not settle another provider's intent", async () => {
    const reply = await send(purchase.consumer, purchase.provider, { ...named(), provider_did: other.did });
    expect([reply.status, reply.body.code]).toEqual([409, "settlement_verification_failed"]);
  });

  it("does not prove another consumer's DID", async () => {
    const before = JSON.stringify(await stateOf(world, purchase.provider.did));
    const reply = await send(purchase.consumer, purchase.provider, { ...named(), consumer_did: stranger.did });
    expect([reply.status, reply.body.code]).toEqual([401, "aeap_verification_failed"]);
    expect(reply.body.detail.reason).toBe("other_agent_named");
    expect(JSON.stringify(await stateOf(world, purchase.provider.did))).toBe(before);
  });
});

describe("a proof that is bound to another agent", () => {
  it.each<[string, () => Json]>([
    ["a fault, by intent", () => ({ ...named(), more: 1 })],
    ["a fault, by payment", () => ({ ...client(), more: 1 })],
    ["an unknown intent", () => ({ ...named(), ...provider(), intent_id: UNKNOWN })],
    ["a body that names another provider than the proof", () => ({ ...named(), provider_did: stranger.did })],
    ["no agent named", () => ({ more: 1 })],
    ["no JSON", () => "{"],
  ])("with %s is proof_invalid", async (_name, bodyOf) => {
    const reply = await send(purchase.consumer, other, bodyOf());
    expect([reply.status, reply.body.code, faultsOf(reply)]).toEqual([401, "proof_invalid", undefined]);
  });
});

describe("a stranger's proof, bound to the provider", () => {
  it.each<[string, () => Json]>([
    ["a good body", named],
    ["a faulty body", () => ({ ...named(), more: 1 })],
  ])("with %s by intent does not tell whose intent it is", async (_name, bodyOf) => {
    const reply = await send(stranger, purchase.provider, bodyOf());
    expect([reply.status, reply.body.code]).toEqual([401, "proof_invalid"]);
  });

  it("is forbidden if the body names the agent that verifies it", async () => {
    const reply = await send(stranger, purchase.provider, { ...named(), ...provider() });
    expect([reply.status, reply.body.code]).toEqual([403, "forbidden"]);
  });
});

it("the provider's proof bound to itself does not prove a consumer", async () => {
  for (const body of [named(), { ...named(), ...provider() }, client()]) {
    const reply = await send(purchase.provider, purchase.provider, body);
    expect([reply.status, reply.body.code]).toEqual([401, "proof_invalid"]);
  }
});

describe("the act of a proof", () => {
  it("by intent covers the intent and the transaction, whatever else the body names", async () => {
    const open = await paid(world, purchase);
    const headers = await world.proveBound(open.consumer, open.provider.did);
    const body = { intent_id: open.intent.intent_id, payment_tx: open.tx };
    const attempt = async (more: Json) =>
      expectStatus(await world.call("POST", PATH, { key: null, headers, body: { ...body, ...more } }), 200);
    const first = await attempt({});
    for (const more of [provider(), { network: "base-sepolia" }, { network: "eip155:84532" }, { tx_hash: open.tx }]) {
      expect(await attempt(more)).toEqual(first);
    }
  });

  it("by payment is the same for a network's name and its CAIP-2 id", async () => {
    const open = await paid(world, purchase);
    const headers = await world.proveBound(open.consumer, open.provider.did);
    const attempt = async (network: string) =>
      expectStatus(
        await world.call("POST", PATH, { key: null, headers, body: { ...client(), tx_hash: open.tx, network } }),
        200,
      );
    expect(await attempt("eip155:84532")).toEqual(await attempt("base-sepolia"));
  });

  it("settles the purchase, because no test above has settled it", async () => {
    expectStatus(await asConsumer(world, purchase), 200);
  });
});
