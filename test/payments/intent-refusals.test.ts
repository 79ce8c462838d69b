// Every refusal of a payment intent, in the order of PAY-3 (PAY-4 to PAY-6, PAY-8, PAY-9).
import { eq } from "drizzle-orm";
import { beforeAll, describe, expect, it } from "vitest";
import type { MarketStatus } from "../../src/core/vocabulary.ts";
import { commit } from "../../src/db/batch.ts";
import { agentMarkets } from "../../src/db/tables/agents.ts";
import { principals } from "../../src/db/tables/principals.ts";
import { type Agent, createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { buyer, orderOf, seller, setAgent, setEscrow, setSpend, spendState } from "./support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const open = (caller: Agent, order: Record<string, unknown>) => world.as(caller, "POST", "/v1/payment-intents", order);

const setPrincipal = (principalId: string, set: Partial<typeof principals.$inferInsert>) =>
  commit(world.deps.db, [world.deps.db.update(principals).set(set).where(eq(principals.principalId, principalId))]);

describe("refusals", () => {
  type Deal = { consumer: Agent; provider: Agent; delegator: Agent };
  type Case = {
    name: string;
    spoil: (deal: Deal) => Promise<unknown>;
    mend: (deal: Deal) => Promise<unknown>;
    status: number;
    code: string;
    detail?: (deal: Deal) => Record<string, unknown>;
  };

  const policy = (failed_check: string, rest: Record<string, unknown>) => () => ({ failed_check, ...rest });
  /** In the order of PAY-3. The provider opens the intents, so that its own state is refused like a caller's. */
  const CASES: Case[] = [
    {
      name: "agents of two environments",
      spoil: ({ consumer }) => setAgent(world, consumer.did, { environment: "production" }),
      mend: ({ consumer }) => setAgent(world, consumer.did, { environment: "sandbox" }),
      status: 409,
      code: "environment_mismatch",
      detail: () => ({ consumer: "production", provider: "sandbox" }),
    },
    {
      name: "a consumer that is suspended",
      spoil: ({ consumer }) => setAgent(world, consumer.did, { status: "SUSPENDED" }),
      mend: ({ consumer }) => setAgent(world, consumer.did, { status: "ACTIVE" }),
      status: 409,
      code: "agent_not_active",
      detail: ({ consumer }) => ({ did: consumer.did, status: "SUSPENDED" }),
    },
    {
      name: "a consumer whose principal's attestation has ended, though no cron recorded it",
      spoil: ({ consumer }) => setPrincipal(consumer.principalId, { attestationExpiresAt: world.now() - 1 }),
      mend: ({ consumer }) => setPrincipal(consumer.principalId, { attestationExpiresAt: world.now() + 86_400_000 }),
      status: 409,
      code: "agent_not_active",
      detail: ({ consumer }) => ({ did: consumer.did, status: "SUSPENDED", principal_status: "ATTESTATION_EXPIRED" }),
    },
    {
      name: "a delegator that is suspended",
      spoil: ({ delegator }) => setAgent(world, delegator.did, { status: "SUSPENDED" }),
      mend: ({ delegator }) => setAgent(world, delegator.did, { status: "ACTIVE" }),
      status: 409,
      code: "agent_not_active",
      detail: ({ delegator }) => ({ did: delegator.did, status: "SUSPENDED" }),
    },
    {
      name: "a provider whose escrow on the network is CONSTRAINED",
      spoil: ({ provider }) => setEscrow(world, provider.did, "CONSTRAINED"),
      mend: ({ provider }) => setEscrow(world, provider.did, "FUNDING"),
      status: 409,
      code: "escrow_constrained",
      detail: ({ provider }) => ({ did: provider.did, network: "base-sepolia" }),
    },
    {
      name: "a consumer that may not purchase",
      spoil: ({ consumer }) => setAgent(world, consumer.did, { authorizedActions: ["browse"] }),
      mend: ({ consumer }) => setAgent(world, consumer.did, { authorizedActions: ["purchase"] }),
      status: 403,
      code: "role_not_permitted",
      detail: ({ consumer }) => ({ did: consumer.did, economic_role: "CONSUMER", action: "purchase" }),
    },
    {
      name: "a delegator that may no longer purchase",
      spoil: ({ delegator }) => setAgent(world, delegator.did, { authorizedActions: ["browse"] }),
      mend: ({ delegator }) => setAgent(world, delegator.did, { authorizedActions: ["purchase"] }),
      status: 403,
      code: "role_not_permitted",
      detail: ({ delegator }) => ({ did: delegator.did, economic_role: "CONSUMER", action: "purchase" }),
    },
    {
      name: "a provider that may no longer sell",
      spoil: ({ provider }) => setAgent(world, provider.did, { authorizedActions: ["browse"] }),
      mend: ({ provider }) => setAgent(world, provider.did, { authorizedActions: ["sell"] }),
      status: 403,
      code: "role_not_permitted",
      detail: ({ provider }) => ({ did: provider.did, economic_role: "PROVIDER", action: "sell" }),
    },
    {
      name: "a provider whose market is not provisioned yet",
      spoil: ({ provider }) => setMarket(provider.did, "PROVISIONING"),
      mend: ({ provider }) => setMarket(provider.did, "ACTIVE"),
      status: 409,
      code: "market_not_authorized",
      detail: () => ({ market: "DE-USDC" }),
    },
    {
      name: "an amount above the delegator's ceiling",
      spoil: ({ delegator }) => setAgent(world, delegator.did, { maxTransactionValue: "9.99" }),
      mend: ({ delegator }) => setAgent(world, delegator.did, { maxTransactionValue: null }),
      status: 403,
      code: "spend_policy_violation",
      detail: (deal) =>
        policy("max_transaction_value", { limit: "9.99", attempted: "10.00", delegator: deal.delegator.did })(),
    },
    {
      name: "an amount above what remains of the limit",
      spoil: async ({ consumer }) => {
        await setAgent(world, consumer.did, { spendingLimit: { amount: "12.00", currency: "USDC", window_days: 1 } });
        await setSpend(world, consumer.did, { open: 4_000_000 });
      },
      mend: async ({ consumer }) => {
        await setAgent(world, consumer.did, { spendingLimit: null });
        await setSpend(world, consumer.did, { open: 0 });
      },
      status: 403,
      code: "spend_policy_violation",
      detail: policy("spending_limit", { limit: "12.00", attempted: "10.00", remaining: "8.00" }),
    },
    {
      name: "a provider below the tier that the consumer asks for",
      spoil: ({ consumer }) => setAgent(world, consumer.did, { minimumCounterpartyCertTier: "TIER_3" }),
      mend: ({ consumer }) => setAgent(world, consumer.did, { minimumCounterpartyCertTier: null }),
      status: 403,
      code: "spend_policy_violation",
      detail: policy("minimum_counterparty_cert_tier", { limit: "TIER_3", attempted: "TIER_2" }),
    },
    {
      name: "an unrated provider where the consumer asks for a rating",
      spoil: ({ consumer }) => setAgent(world, consumer.did, { minimumCounterpartyAr: 0.5 }),
      mend: ({ consumer }) => setAgent(world, consumer.did, { minimumCounterpartyAr: null }),
      status: 403,
      code: "spend_policy_violation",
      detail: policy("minimum_counterparty_ar", { limit: 0.5, attempted: null }),
    },
  ];

  const setMarket = (did: string, status: MarketStatus) =>
    commit(world.deps.db, [world.deps.db.update(agentMarkets).set({ status }).where(eq(agentMarkets.did, did))]);

  /** The dry run of the same order (PAY-20). */
  const tried = async ({ consumer, provider }: Deal): Promise<Json> => {
    const body = { provider_did: provider.did, amount: "10.00", currency: "USDC", network: "base-sepolia" };
    const path = `/v1/agents/${consumer.did}/spend-policy/evaluate`;
    return expectStatus(await world.call("POST", path, { body }), 200);
  };

  async function delegatedDeal(): Promise<Deal> {
    const delegator = await buyer(world);
    const consumer = await buyer(world, {}, { principal_id: delegator.principalId, delegated_by: delegator.did });
    return { delegator, consumer, provider: await seller(world) };
  }

  for (const { name, spoil, status, code, detail } of CASES) {
    it(`${name}: ${status} ${code}, and nothing changes`, async () => {
      const deal = await delegatedDeal();
      await spoil(deal);
      const before = await spendState(world, deal.consumer.did, deal.delegator.did);
      const reply = await open(deal.provider, orderOf(deal.consumer, deal.provider));
      expect([reply.status, reply.body.code]).toEqual([status, code]);
      if (detail) expect(reply.body.detail).toEqual(detail(deal));
      expect(await spendState(world, deal.consumer.did, deal.delegator.did)).toEqual(before);
      // The key does not know an agent in the other environment.
      if (code === "environment_mismatch") return;
      const { detail: said } = reply.body;
      const { failed_check, ...compared } = said;
      const failed = (await tried(deal)).checks.find(({ passed }: Json) => !passed);
      expect(failed).toMatchObject({ code, ...(failed_check && { check: failed_check }) });
      // The dry run also names the network.
      expect(failed.detail).toMatchObject(failed_check ? compared : said);
      expect(await spendState(world, deal.consumer.did, deal.delegator.did)).toEqual(before);
    });
  }

  it("come in the order of PAY-3: the first of several is answered", async () => {
    const deal = await delegatedDeal();
    const answered: string[] = [];
    for (const { spoil } of [...CASES].reverse()) {
      await spoil(deal);
      const { body } = await open(deal.provider, orderOf(deal.consumer, deal.provider, { network: "base-sepolia" }));
      answered.unshift(body.detail?.failed_check ?? body.code);
    }
    await setAgent(world, deal.consumer.did, { environment: "sandbox" });
    const { checks, allowed } = await tried(deal);
    expect(allowed).toBe(false);
    expect(checks.filter(({ passed }: Json) => !passed).map(({ check }: Json) => check)).toEqual([
      ...["consumer", "delegators", "escrow", "actions", "market"],
      ...["max_transaction_value", "spending_limit", "minimum_counterparty_cert_tier", "minimum_counterparty_ar"],
    ]);
    expect(answered).toEqual([
      "environment_mismatch",
      ...["agent_not_active", "agent_not_active", "agent_not_active"],
      "escrow_constrained",
      ...["role_not_permitted", "role_not_permitted", "role_not_permitted"],
      "market_not_authorized",
      ...["max_transaction_value", "spending_limit", "minimum_counterparty_cert_tier", "minimum_counterparty_ar"],
    ]);
  });

  it("end when the fault is repaired", async () => {
    const deal = await delegatedDeal();
    for (const { spoil, mend, name } of CASES) {
      await spoil(deal);
      await mend(deal);
      // The consumer opens them, because a provider may have only three of its own open for one consumer.
      expect([name, (await open(deal.consumer, orderOf(deal.consumer, deal.provider))).status]).toEqual([name, 201]);
    }
  });

  it("name a provider that is not ACTIVE if the consumer asks, and refuse it as the caller if it asks itself", async () => {
    const [consumer, provider] = [await buyer(world), await seller(world)];
    await setAgent(world, provider.did, { status: "SUSPENDED" });
    for (const caller of [consumer, provider]) {
      const reply = await open(caller, orderOf(consumer, provider));
      expect([reply.status, reply.body.code, reply.body.detail.did]).toEqual([409, "agent_not_active", provider.did]);
    }
  });

  it.each(["ATTESTATION_EXPIRED", "SUSPENDED", "CLOSED"] as const)(
    "name either agent whose principal is %s: agents transact only under an ACTIVE principal (PRN-11)",
    async (status) => {
      const deal = { consumer: await buyer(world), provider: await seller(world) };
      for (const [stopped, caller] of [
        [deal.consumer, deal.provider],
        [deal.provider, deal.consumer],
      ] as const) {
        await setPrincipal(stopped.principalId, { status });
        const { body } = await open(caller, orderOf(deal.consumer, deal.provider));
        // The end of a principal ends its agents.
        const seen = status === "CLOSED" ? "REVOKED" : "SUSPENDED";
        const detail = { did: stopped.did, status: seen, principal_status: status };
        expect(body).toMatchObject({ code: "agent_not_active", detail });
        await setPrincipal(stopped.principalId, { status: "ACTIVE" });
      }
    },
  );

  it("apply to a provider whose delegator is not ACTIVE or may no longer sell", async () => {
    const consumer = await buyer(world);
    const sponsor = await world.agent("PROVIDER");
    const overrides = { principal_id: sponsor.principalId, delegated_by: sponsor.did };
    const provider = await seller(world, { overrides });
    expect((await open(consumer, orderOf(consumer, provider))).status).toBe(201);
    await setAgent(world, sponsor.did, { status: "TERMINATED" });
    const stopped = await open(consumer, orderOf(consumer, provider));
    expect(stopped.body).toMatchObject({
      code: "agent_not_active",
      detail: { did: sponsor.did, status: "TERMINATED" },
    });
    await setAgent(world, sponsor.did, { status: "ACTIVE", authorizedActions: ["refund"] });
    const unable = await open(consumer, orderOf(consumer, provider));
    expect(unable.body).toMatchObject({ code: "role_not_permitted", detail: { did: sponsor.did, action: "sell" } });
  });

  it("answer a provider in the consumer's place with 403 role_not_permitted", async () => {
    const [first, second] = [await seller(world), await seller(world)];
    const reply = await open(first, orderOf(second, first));
    expect([reply.status, reply.body.code, reply.body.detail.did]).toEqual([403, "role_not_permitted", second.did]);
  });

  it("do not apply to an escrow that is CONSTRAINED on another network, or FUNDING on this one", async () => {
    const [consumer, provider] = [await buyer(world), await seller(world)];
    await setEscrow(world, provider.did, "CONSTRAINED", "base");
    await setEscrow(world, provider.did, "FUNDING");
    expect((await open(consumer, orderOf(consumer, provider))).status).toBe(201);
  });
});
