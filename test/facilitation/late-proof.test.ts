// Facilitation remembers a used proof for ten minutes, and an honest one that was never used still ends with its window (PRF-2, PRF-8).
import { beforeAll, expect, it } from "vitest";
import { signProof } from "../../src/protocol/proof.ts";
import { createWorld, type Json, type World } from "../support/world.ts";
import { PATH, type Paid, paid, pairOf } from "./support.ts";

const LATE_SECONDS = 60;

let world: World;
let order: Paid;
beforeAll(async () => {
  world = await createWorld();
  const pair = await pairOf(world);
  order = await paid(world, pair);
});

const facilitateWith = async (callee: string): Promise<Json> => {
  const { consumer, intent, tx } = order;
  const timestamp = String(Math.floor(Date.now() / 1_000) - LATE_SECONDS);
  const statement = { kind: "bound", timestamp, callerDid: consumer.did, calleeDid: callee } as const;
  const { proof } = await signProof(statement, consumer.privateKey);
  const headers = { "AEAP-Certificate": consumer.certificate, "AEAP-Proof": proof, "AEAP-Timestamp": timestamp };
  return world.call("POST", PATH, { key: null, headers, body: { intent_id: intent.intent_id, payment_tx: tx } });
};

it("a late proof bound to the provider is proof_invalid, and not a replay", async () => {
  const { status, body } = await facilitateWith(order.provider.did);
  expect([status, body.code, body.type]).toEqual([401, "proof_invalid", undefined]);
  expect(body.detail.reason).toBe("timestamp_too_old");
});

it("a late proof bound to the service is also refused for its time", async () => {
  const { status, body } = await facilitateWith(world.deps.config.serviceDid);
  expect([status, body.code, body.type]).toEqual([401, "proof_invalid", undefined]);
  expect(body.detail.reason).toBe("timestamp_too_old");
});
