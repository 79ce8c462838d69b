// The facts that an intent was decided on are checked again inside its batch: a change between the two trips refuses the whole batch (PAY-12).
import { eq } from "drizzle-orm";
import { beforeAll, describe, expect, it } from "vitest";
import { createId } from "../../src/core/ids.ts";
import { Conflict } from "../../src/core/retry.ts";
import { BASE_UNITS_MAX } from "../../src/core/text.ts";
import { commit, readBatch } from "../../src/db/batch.ts";
import { principals } from "../../src/db/tables/principals.ts";
import { holdAmount } from "../../src/payments/hold-store.ts";
import { UNPAID_COLUMNS } from "../../src/payments/open.ts";
import { findSpenders } from "../../src/payments/spend-store.ts";
import { type Agent, createWorld, type World } from "../support/world.ts";
import { buyer, dailyLimit, orderOf, seller, setAgent, setEscrow, setSpend, spendState } from "./support.ts";

let world: World;
let provider: Agent;
/** The provider's delegator. */
let sponsor: Agent | undefined;
beforeAll(async () => {
  world = await createWorld();
});

const endAttestation = (principalId: string) =>
  commit(world.deps.db, [
    world.deps.db
      .update(principals)
      .set({ attestationExpiresAt: world.now() - 1_000 })
      .where(eq(principals.principalId, principalId)),
  ]);

/** Runs the second trip of an intent whose first trip came before `between`. */
async function openAcross(consumer: Agent, between: () => Promise<unknown>): Promise<void> {
  const { db } = world.deps;
  const now = world.now();
  const { spenders } = await readBatch(db, { spenders: findSpenders(db, consumer.did, "USDC", { now, ahead: 0 }) });
  const platformId = world.platformId;
  const intent = {
    intentId: createId("pin", now),
    environment: "sandbox" as const,
    consumerDid: consumer.did,
    providerDid: provider.did,
    consumerPlatformId: platformId,
    providerPlatformId: platformId,
    consumerPrincipalId: consumer.principalId,
    providerPrincipalId: provider.principalId,
    openedBy: consumer.did,
    abandonRated: false,
    network: "base-sepolia",
    market: "GLOBAL-USDC",
    currency: "USDC",
    amount: 6_000_000,
    intentHash: "",
    terms: "",
    payer: null,
    ...UNPAID_COLUMNS,
    operationalWallet: "",
    status: "OPEN" as const,
    spenders: spenders.map(({ agent }) => agent.did),
    createdAt: now,
    expiresAt: now + 300_000,
  };
  await between();
  const sellers = [provider.did, ...(sponsor ? [sponsor.did] : [])].map((did) => ({ did, version: 1, now }));
  await commit(db, holdAmount(db, intent, spenders, sellers, { decimals: 6, clock: { now, ahead: 0 } }));
}

describe("between the two trips", () => {
  const CASES: [string, (parties: { consumer: Agent; delegator: Agent }) => Promise<unknown>][] = [
    ["the consumer is suspended", ({ consumer }) => setAgent(world, consumer.did, { status: "SUSPENDED" })],
    ["the consumer's scope is changed", ({ consumer }) => setAgent(world, consumer.did, { version: 99 })],
    ["a delegator is suspended", ({ delegator }) => setAgent(world, delegator.did, { status: "SUSPENDED" })],
    ["a delegator's scope is changed", ({ delegator }) => setAgent(world, delegator.did, { version: 99 })],
    ["the attestation of the consumer's principal ends", ({ consumer }) => endAttestation(consumer.principalId)],
    ["the provider is suspended", () => setAgent(world, provider.did, { status: "SUSPENDED" })],
    ["the provider's scope is changed", () => setAgent(world, provider.did, { version: 99 })],
    ["the attestation of the provider's principal ends", () => endAttestation(provider.principalId)],
    ["the provider's delegator is suspended", () => setAgent(world, sponsor?.did ?? "", { status: "SUSPENDED" })],
    ["the provider's delegator's scope is changed", () => setAgent(world, sponsor?.did ?? "", { version: 99 })],
    ["the provider's escrow is CONSTRAINED", () => setEscrow(world, provider.did, "CONSTRAINED")],
    ["the delegator's window is filled", ({ delegator }) => setSpend(world, delegator.did, { open: 5_000_000 })],
  ];
  for (const [name, between] of CASES) {
    it(`${name}: the batch is refused, and nothing changes`, async () => {
      sponsor = await world.agent("PROVIDER");
      await setAgent(world, sponsor.did, { version: 1 });
      const overrides = { principal_id: sponsor.principalId, delegated_by: sponsor.did };
      provider = await seller(world, { overrides });
      const delegator = await buyer(world, dailyLimit("10.00"));
      const consumer = await buyer(world, dailyLimit("10.00"), {
        principal_id: delegator.principalId,
        delegated_by: delegator.did,
      });
      await setAgent(world, provider.did, { version: 1 });
      let after: unknown;
      const attempt = openAcross(consumer, async () => {
        await between({ consumer, delegator });
        after = await spendState(world, consumer.did, delegator.did);
      });
      await expect(attempt).rejects.toBeInstanceOf(Conflict);
      expect(await spendState(world, consumer.did, delegator.did)).toEqual(after);
    });
  }

  it("nothing changes: the batch is accepted, even at exactly the limit", async () => {
    sponsor = undefined;
    provider = await seller(world);
    await setAgent(world, provider.did, { version: 1 });
    const consumer = await buyer(world, dailyLimit("6.00"));
    await openAcross(consumer, async () => undefined);
    expect((await spendState(world, consumer.did))[0]).toMatchObject({
      open: 6_000_000,
      holds: [{ amount: 6_000_000 }],
    });
  });
});

describe("an agent's total", () => {
  it("never exceeds what can be counted: an intent beyond 2^53-1 is 422 too_big", async () => {
    provider = await seller(world);
    const consumer = await buyer(world);
    await setSpend(world, consumer.did, { settled: BASE_UNITS_MAX - 10_000_000 });
    const ask = (amount: string) =>
      world.as(consumer, "POST", "/v1/payment-intents", orderOf(consumer, provider, { amount }));
    const over = await ask("10.000001");
    expect([over.status, over.body.field_errors[0]]).toMatchObject([422, { field: "amount", code: "too_big" }]);
    expect((await ask("10.00")).status).toBe(201);
  });
});
