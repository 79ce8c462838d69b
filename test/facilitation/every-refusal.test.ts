// Every refusal that the chain decides, with a real transaction and in every form (FAC-5 to FAC-8, FAC-13): it changes nothing, and the intent's own
// payment still settles it. See wallet.test.ts and on-chain.test.ts for wallets, tokens, contracts and missing blocks.
import { beforeAll, describe, expect, it } from "vitest";
import { HOUR_MS, LATE_FACILITATION_HOURS, MINUTE_MS } from "../../src/core/limits.ts";
import { account, networksWith, payOnChain } from "../support/chain.ts";
import { createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { asClient, asConsumer, asProvider, type Paid, type Pair, paid, pairOf, refused } from "./support.ts";

const FORMS = { proof: asConsumer, provider: asProvider, client: asClient } as const;
type Form = keyof typeof FORMS;
const NAMES = Object.keys(FORMS) as Form[];

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
/** Creates the same service at a later instant. */
async function later(ms: number): Promise<World> {
  const then = await createWorld();
  then.advance(ms);
  return then;
}

type Refusal = readonly [code: string, detail?: Json];
const unverified = (failed_check: string): Refusal => ["settlement_verification_failed", { failed_check }];
type Case = {
  /** Makes a payment that does not settle the intent. `of` is the service that is asked. */
  readonly pay: (pair: Pair, intent: Json) => Promise<{ tx: string; of?: World }>;
  readonly says: Refusal;
  /** The refusal in the client form, which names no intent, if it differs. */
  readonly client?: Refusal;
  /** False if the intent can no longer be paid. */
  readonly usable?: boolean;
};

const pay = (of: Pair, units: number, options: Parameters<typeof payOnChain>[3] = {}): Promise<string> =>
  payOnChain(of.consumer.did, of.provider.did, units, options);

const CASES: Readonly<Record<string, Case>> = {
  "less than its amount, naming it": {
    pay: async (pair, { intent_id }) => ({ tx: await pay(pair, 9_999_999, { intentId: intent_id }) }),
    says: ["amount_mismatch", { expected: "10.00", settled: "9.999999" }],
  },
  "more than its amount, naming none": {
    pay: async (pair) => ({ tx: await pay(pair, 10_000_001) }),
    says: ["amount_mismatch", { expected: "10.00", settled: "10.000001" }],
    client: unverified("no_matching_intent"),
  },
  "by another consumer": {
    pay: async (pair, { intent_id }) => ({
      tx: await pay({ ...pair, consumer: await world.consumer() }, 10_000_000, { intentId: intent_id }),
    }),
    says: unverified("other_parties"),
  },
  "naming another intent of the pair, of another amount": {
    pay: async (pair) => {
      const other = await world.intent(pair.consumer, pair.provider, "1.00");
      return { tx: await pay(pair, 10_000_000, { intentId: other.intent_id }) };
    },
    says: unverified("other_intent"),
    client: ["amount_mismatch", { expected: "1.00", settled: "10.00" }],
  },
  "that was reverted": {
    pay: async (pair, { intent_id }) => ({
      tx: await pay(pair, 10_000_000, { intentId: intent_id, from: account(4), approved: false }),
    }),
    says: unverified("reverted"),
  },
  "that does not exist": {
    pay: async () => ({ tx: `0x${"cd".repeat(32)}` }),
    says: ["payment_not_found", { state: "unknown", confirmations: 0, required: 1, retry_after: 2 }],
  },
  "on another network": {
    pay: async (pair, { intent_id }) => ({ tx: await pay(pair, 10_000_000, { network: "base", intentId: intent_id }) }),
    says: ["payment_not_found", { state: "unknown", confirmations: 0, required: 1, retry_after: 2 }],
  },
  "with too few confirmations": {
    pay: async (pair, { intent_id }) => {
      const networks = (JSON.parse(networksWith()) as Json[]).map((network) => ({
        ...network,
        required_confirmations: 1e6,
      }));
      const of = await createWorld({ NETWORKS: JSON.stringify(networks) });
      return { tx: await pay(pair, 10_000_000, { intentId: intent_id }), of };
    },
    says: ["payment_not_found", expect.objectContaining({ state: "pending", required: 1e6 })],
    usable: false,
  },
  "after its end": {
    pay: async (pair, { intent_id }) => {
      const of = await later(6 * MINUTE_MS);
      return { tx: await pay(pair, 10_000_000, { intentId: intent_id }), of };
    },
    says: ["intent_expired"],
    usable: false,
  },
  "in time, that was not seen and not asked for within a day": {
    pay: async (pair, { intent_id }) => {
      const tx = await pay(pair, 10_000_000, { intentId: intent_id });
      const of = await later(0);
      // The block keeps its time, and the service's clock has gone on.
      Object.assign(of.deps.clock, { now: () => Date.now() + LATE_FACILITATION_HOURS * HOUR_MS + 6 * MINUTE_MS });
      return { tx, of };
    },
    says: ["intent_expired"],
    usable: false,
  },
};

describe.each(Object.entries(CASES))("a payment %s", (_name, { pay: make, says, client = says, usable = true }) => {
  it("does not settle the intent in any form, and the intent's own payment does", async () => {
    const pair = await pairOf(world);
    const intent = await world.intent(pair.consumer, pair.provider, "10.00");
    const { tx, of = world } = await make(pair, intent);
    const purchase: Paid = { ...pair, intent, tx };
    const agents = [pair.provider.did, pair.consumer.did];
    for (const form of NAMES) {
      const [code, detail] = form === "client" ? client : says;
      const body = await refused(of, agents, () => FORMS[form](of, purchase), 409, code);
      expect([form, body.detail]).toEqual([form, detail]);
    }
    if (!usable) return;
    const right = await pay(pair, 10_000_000, { intentId: intent.intent_id, from: account(6) });
    expectStatus(await asProvider(world, { ...purchase, tx: right }), 200);
  });
});

describe("a used payment", () => {
  it.each(NAMES)("settles no second intent (%s)", async (form) => {
    const first = await paid(world, await pairOf(world), "10.00", { named: false });
    const settled = expectStatus(await FORMS[form](world, first), 200);
    const second = { ...first, intent: await world.intent(first.consumer, first.provider, "10.00") };
    const agents = [first.provider.did, first.consumer.did];
    for (const facilitate of [asConsumer, asProvider]) {
      const act = () => facilitate(world, second);
      const { detail } = await refused(world, agents, act, 409, "settlement_verification_failed");
      expect(detail).toEqual({ failed_check: "already_facilitated" });
    }
    // Without an intent, this is the same request again.
    expect(expectStatus(await asClient(world, second), 200)).toEqual(settled);
    const tx = await pay(first, 10_000_000, { intentId: second.intent.intent_id });
    expect(expectStatus(await FORMS[form](world, { ...second, tx }), 200).intent_id).toBe(second.intent.intent_id);
  });
});

describe("a network that the body names besides the intent", () => {
  it("must be the intent's, or the payment is not looked for", async () => {
    const purchase = await paid(world, await pairOf(world));
    const { provider, consumer, intent, tx } = purchase;
    const agents = [provider.did, consumer.did];
    const body = { intent_id: intent.intent_id, payment_tx: tx, network: "base" };
    const named = () => world.as(provider, "POST", "/v1/facilitate", body);
    const { detail } = await refused(world, agents, named, 409, "settlement_verification_failed");
    expect(detail).toEqual({ failed_check: "network" });
    const client = () => asClient(world, purchase, { network: "base" });
    expect((await refused(world, agents, client, 409, "payment_not_found")).detail.state).toBe("unknown");
    expectStatus(await asProvider(world, purchase), 200);
  });
});

describe("a payment between the environments", () => {
  it("from a sandbox consumer to a production provider is environment_mismatch, whichever agent asks", async () => {
    const live: World = Object.assign(Object.create(world) as World, { key: world.liveKey });
    const provider = await live.provider({ principal_id: world.tenantPrincipalId }, "GLOBAL-USDC", "base");
    const consumer = await world.consumer();
    const body = { consumer_did: consumer.did, provider_did: provider.did, amount: "10.00", currency: "USDC" };
    const order = () => world.as(consumer, "POST", "/v1/payment-intents", { ...body, network: "base" });
    await refused(world, [provider.did, consumer.did], order, 409, "environment_mismatch");
    const tx = await pay({ consumer, provider }, 10_000_000, { network: "base" });
    const purchase = { provider_did: provider.did, consumer_did: consumer.did, tx_hash: tx, network: "base" };
    const headers = () => world.proveBound(consumer, provider.did);
    for (const ask of [
      () => world.as(provider, "POST", "/v1/facilitate", purchase),
      () => world.as(consumer, "POST", "/v1/facilitate", purchase),
      async () => world.call("POST", "/v1/facilitate", { key: null, headers: await headers(), body: purchase }),
    ]) {
      await refused(world, [provider.did, consumer.did], ask, 409, "environment_mismatch");
    }
  });
});

describe("a provider that was suspended after its intent was opened", () => {
  it.each(["provider", "client"] as const)("is refused its own call (%s), but the consumer's settles", async (form) => {
    const purchase = await paid(world, await pairOf(world));
    const { provider, consumer } = purchase;
    const patch = { body: { status: "SUSPENDED" } };
    expectStatus(await world.call("PATCH", `/v1/agents/${provider.did}/status`, patch), 200);
    const own = () => FORMS[form](world, purchase);
    const { detail } = await refused(world, [provider.did, consumer.did], own, 409, "agent_not_active");
    expect(detail).toEqual({ did: provider.did, status: "SUSPENDED" });
    const { task_id } = expectStatus(await asConsumer(world, purchase), 200);
    expect(task_id).not.toBeNull();
  });
});
