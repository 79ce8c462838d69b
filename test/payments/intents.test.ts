// Contract section 6, Payment intent: opening and reading.
import { beforeAll, describe, expect, it } from "vitest";
import { didHash, intentHash } from "../../src/chain/hashes.ts";
import { createWorld, type World } from "../support/world.ts";
import { buyer, orderOf, seller } from "./support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

describe("opening an intent", () => {
  it("answers all that is needed to pay, in the contract's fields and no others", async () => {
    const [consumer, provider] = [await buyer(world), await seller(world)];
    const reply = await world.as(consumer, "POST", "/v1/payment-intents", orderOf(consumer, provider));
    const [chain] = world.deps.config.networks;
    expect(reply.status).toBe(201);
    expect(reply.body).toEqual({
      intent_id: expect.stringMatching(/^pin_[0-9A-HJKMNP-TV-Z]{26}$/),
      status: "OPEN",
      amount: "10.00",
      amount_base_units: "10000000",
      contract: chain?.settlement_contract,
      token: chain?.token,
      chain_id: 84532,
      currency: "USDC",
      decimals: 6,
      network: "base-sepolia",
      caip2: "eip155:84532",
      provider_did: provider.did,
      consumer_did: consumer.did,
      provider_did_hash: didHash(provider.did),
      consumer_did_hash: didHash(consumer.did),
      intent_hash: intentHash(reply.body.intent_id),
      expires_at: expect.any(String),
    });
    const life = Date.parse(reply.body.expires_at) - world.now();
    expect(life).toBeGreaterThan(295_000);
    expect(life).toBeLessThanOrEqual(300_000);
  });
});
