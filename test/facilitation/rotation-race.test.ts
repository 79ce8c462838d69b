// A facilitation at the same moment as a rotation of either party's key (AGT-32, FAC-13): it is recorded once, or refused for the key that has
// just ended and recorded with the next one.
import { beforeAll, describe, expect, it } from "vitest";
import { importPrivateKeyPem } from "../../src/protocol/ecdsa.ts";
import { type Agent, createWorld, env, expectStatus, type Json, type World } from "../support/world.ts";
import { asConsumer, type Paid, paid, pairOf } from "./support.ts";

const ROUNDS = 50;

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const rotate = async (agent: Agent): Promise<Agent> => {
  const { private_key: pem, certificate } = expectStatus(
    await world.call("POST", `/v1/agents/${agent.did}/rotate-key`),
    200,
  );
  return { ...agent, certificate, pem, privateKey: await importPrivateKeyPem(pem) };
};
const settled = async ({ intent }: Paid): Promise<Json[]> =>
  (
    await env.DB.prepare("select transaction_id, provider_aid_version from transactions where intent_id = ?")
      .bind(intent.intent_id)
      .all<Json>()
  ).results;

describe("at the same moment as a rotation", () => {
  it("of the provider's key, a facilitation by its consumer is recorded once, under a version that the provider had", async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const purchase = await paid(world, await pairOf(world));
      const [before] = await env.DB.prepare("select version from agents where did = ?")
        .bind(purchase.provider.did)
        .all<Json>()
        .then(({ results }) => results);
      const [reply] = await Promise.all([asConsumer(world, purchase), rotate(purchase.provider)]);
      expect(reply.status, reply.text).toBe(200);
      const transactions = await settled(purchase);
      expect(transactions).toHaveLength(1);
      expect([before?.version, before?.version + 1]).toContain(transactions[0]?.provider_aid_version);
    }
  }, 120_000);

  it("of the consumer's key, its facilitation is recorded once: at once, or under the key that came", async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const purchase = await paid(world, await pairOf(world));
      const acts = [() => asConsumer(world, purchase), () => rotate(purchase.consumer)] as const;
      const [reply, consumer] = await (round % 2 === 0
        ? Promise.all([acts[0](), acts[1]()])
        : Promise.all([acts[1](), acts[0]()]).then(([moved, answered]) => [answered, moved] as const));
      if (reply.status !== 200) {
        expect([reply.status, reply.body.code]).toEqual([401, "aeap_verification_failed"]);
        expect(await settled(purchase)).toEqual([]);
        expectStatus(await asConsumer(world, { ...purchase, consumer }), 200);
      }
      expect(await settled(purchase)).toHaveLength(1);
    }
  }, 120_000);
});
