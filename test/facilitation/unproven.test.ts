// Certificates are public: a caller that shows only a certificate learns only that its proof failed, whatever its body names (PRF-11, FAC-3).
import { eq } from "drizzle-orm";
import { beforeAll, describe, expect, it } from "vitest";
import { ERRORS } from "../../src/core/errors.ts";
import { certificates } from "../../src/db/tables/agents.ts";
import { type Agent, createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { asProvider, facilitated, PATH, type Paid, paid, pairOf, refused } from "./support.ts";

let world: World;
let open: Paid;
let settled: Paid;
/** The open intent of the terminated agent. */
let endedsOwn: Paid;
let stranger: Agent;
let suspended: Agent;
let ended: Agent;
/** An agent whose certificate was replaced. */
let replaced: Agent;
/** An agent that is a party to none of the intents. */
let third: Agent;
const reads: string[] = [];
beforeAll(async () => {
  world = await createWorld();
  const pair = await pairOf(world);
  open = await paid(world, pair);
  settled = await facilitated(world, pair);
  [stranger, suspended, third] = [await world.consumer(), await world.consumer(), await world.agent("PROVIDER")];
  const stop = (did: string, status: string) => world.call("PATCH", `/v1/agents/${did}/status`, { body: { status } });
  expectStatus(await stop(suspended.did, "SUSPENDED"), 200);
  // The intent of a stopped consumer stays open.
  const closed = await paid(world, await pairOf(world, pair.provider));
  ended = closed.consumer;
  expectStatus(await stop(ended.did, "TERMINATED"), 200);
  endedsOwn = closed;
  replaced = await world.consumer();
  const { db } = world.deps;
  await db.update(certificates).set({ replacedAt: Date.now() }).where(eq(certificates.did, replaced.did));
  const chain = world.deps.chain as { readSettlement: typeof world.deps.chain.readSettlement };
  const read = chain.readSettlement;
  chain.readSettlement = (network, hash) => {
    reads.push(hash);
    return read(network, hash);
  };
});

const named = ({ intent, tx }: Paid) => ({ intent_id: intent.intent_id, payment_tx: tx });
const client = ({ provider, consumer, tx }: Paid) => {
  return { provider_did: provider.did, consumer_did: consumer.did, tx_hash: tx, network: "base-sepolia" };
};
const NOWHERE = `0x${"ab".repeat(32)}`;

const BODIES: [string, () => Json | string][] = [
  ["an open intent and its payment", () => named(open)],
  ["an open intent and no such payment", () => ({ ...named(open), payment_tx: NOWHERE })],
  ["the open intent of a terminated agent", () => named(endedsOwn)],
  ["a settled intent", () => named(settled)],
  ["a settled intent and another payment", () => ({ ...named(settled), payment_tx: open.tx })],
  ["an unknown intent", () => ({ ...named(open), intent_id: "pin_00000000000000000000000000" })],
  ["a network that is not the intent's", () => ({ ...named(open), network: "base" })],
  ["an unknown network", () => ({ ...named(open), network: "atlantis" })],
  ["another provider than the intent's", () => ({ ...named(open), provider_did: stranger.did })],
  ["an open payment, in the client form", () => client(open)],
  ["a settled payment, in the client form", () => client(settled)],
  ["no such payment, in the client form", () => ({ ...client(open), tx_hash: NOWHERE })],
  ["no such agents, in the client form", () => ({ ...client(open), provider_did: "did:aeap:x", consumer_did: "x" })],
  ["an unknown network, in the client form", () => ({ ...client(open), network: "atlantis" })],
  ["nothing", () => ({})],
  ["a part of the client form", () => ({ provider_did: open.provider.did })],
  ["an invalid hash", () => ({ ...named(open), payment_tx: "0x12" })],
  ["two hashes", () => ({ ...named(open), tx_hash: NOWHERE })],
  ["an unknown field", () => ({ ...named(open), more: 1 })],
  ["a list", () => []],
  ["no JSON", () => "{"],
  ["no body", () => ""],
  ["the same key twice", () => '{"intent_id":"a","intent_id":"b"}'],
  ["no UTF-8", () => "\ud800"],
];

const CALLERS: [string, () => Agent][] = [
  ["the consumer", () => open.consumer],
  ["the provider", () => open.provider],
  ["a stranger", () => stranger],
  ["a suspended agent", () => suspended],
  ["a terminated agent", () => ended],
  ["an agent whose certificate was replaced", () => replaced],
];

const without = async (name: string, headers: Promise<Record<string, string>>) => {
  const { [name]: _left, ...rest } = await headers;
  return rest;
};

const PROOFS: [string, (agent: Agent) => Promise<Record<string, string>>][] = [
  ["no signature", async (agent) => ({ ...(await world.proveBound(agent, stranger.did)), "AEAP-Proof": "MEUCIQ==" })],
  ["no header of the proof", (agent) => without("AEAP-Proof", world.proveBound(agent, open.provider.did))],
  ["no header of the time", (agent) => without("AEAP-Timestamp", world.proveBound(agent, open.provider.did))],
  ["a proof bound to another agent", (agent) => world.proveBound(agent, third.did)],
  ["the proof of another request", (agent) => world.prove(agent, "POST", PATH, "another body")],
  [
    "a proof whose time has passed",
    async (agent) => ({
      ...(await world.proveBound(agent, open.provider.did)),
      "AEAP-Timestamp": String(Math.floor(Date.now() / 1_000) - 31),
    }),
  ],
];

describe.each(CALLERS)("without a valid proof, as %s", (_caller, agentOf) => {
  it.each(BODIES)("%s is 401, and the answer reveals nothing about it", async (_name, bodyOf) => {
    const body = bodyOf();
    const rawBody = typeof body === "string" ? body : JSON.stringify(body);
    for (const [, sign] of PROOFS) {
      const headers = await sign(agentOf());
      reads.length = 0;
      const reply = await world.call("POST", PATH, { key: null, headers, rawBody });
      expect([reply.status, reply.body.code, reply.body.field_errors]).toEqual([401, "proof_invalid", undefined]);
      expect(reply.body.message).toBe(ERRORS.proof_invalid.message);
      expect(Object.keys(reply.body.detail).sort()).toEqual(["reason", "service_time", "signed_text"]);
      expect(reads).toEqual([]);
    }
  });
});

it("leaves the intent unchanged: it is facilitated as if no unproven caller had tried", async () => {
  const dids = [open.provider.did, open.consumer.did];
  for (const [, agentOf] of CALLERS) {
    for (const [, sign] of PROOFS) {
      const headers = await sign(agentOf());
      const act = () => world.call("POST", PATH, { key: null, headers, body: {} });
      await refused(world, dids, act, 401, "proof_invalid");
    }
  }
  expectStatus(await asProvider(world, open), 200);
});
