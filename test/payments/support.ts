// Buyers and sellers for the tests of payments. Markets are written as provisioning would leave them, because opening an intent does not use the
// chain.
import { eq } from "drizzle-orm";
import { beforeAll, beforeEach } from "vitest";
import type { Environment, EscrowState, MarketStatus } from "../../src/core/vocabulary.ts";
import { commit, readBatch } from "../../src/db/batch.ts";
import { agentMarkets, agents } from "../../src/db/tables/agents.ts";
import { escrows, type IntentRow, paymentIntents } from "../../src/db/tables/money.ts";
import { spendHolds, spendLedger, spendSums } from "../../src/db/tables/spending.ts";
import { toMovedStates } from "../../src/escrow/store.ts";
import { findIntent, settleIntent } from "../../src/intents/store.ts";
import { turnHoldsIntoSpending } from "../../src/payments/hold-store.ts";
import { type Agent, createWorld, type Reply, type World } from "../support/world.ts";

export const WALLET = "0x00000000000000000000000000000000000000aa";

export async function grantMarket(
  world: World,
  did: string,
  market = "GLOBAL-USDC",
  network = "base-sepolia",
  { status = "ACTIVE", environment = "sandbox" }: { status?: MarketStatus; environment?: Environment } = {},
): Promise<void> {
  const { db } = world.deps;
  const now = world.now();
  await commit(db, [
    db.insert(agentMarkets).values({
      did,
      environment,
      market,
      network,
      operationalWallet: WALLET,
      status,
      createdAt: now,
      updatedAt: now,
    }),
  ]);
}

/** An ACTIVE provider with a market; `market: null` for none. */
export async function seller(
  world: World,
  options: { market?: string | null; network?: string; overrides?: Record<string, unknown> } = {},
): Promise<Agent> {
  const provider = await world.agent("PROVIDER", options.overrides);
  if (options.market !== null) await grantMarket(world, provider.did, options.market, options.network);
  return provider;
}

/** Creates a world with a seller for the tests of a file and passes them to `set`. Each test begins at real time. */
export function useSeller(set: (world: World, provider: Agent) => void): void {
  let world: World | undefined;
  beforeAll(async () => {
    world = await createWorld();
    set(world, await seller(world));
  });
  beforeEach(() => {
    if (world) world.offset = 0;
  });
}

export const openIntent = (world: World, consumer: Agent, provider: Agent, amount: string): Promise<Reply> =>
  world.as(consumer, "POST", "/v1/payment-intents", orderOf(consumer, provider, { amount }));

export const buyer = (
  world: World,
  scope: Record<string, unknown> = {},
  overrides: Record<string, unknown> = {},
): Promise<Agent> =>
  world.consumer({
    scope: { authorized_actions: ["purchase"], capabilities: ["translation"], ...scope },
    ...overrides,
  });

export const orderOf = (consumer: { did: string }, provider: { did: string }, extra: Record<string, unknown> = {}) => ({
  consumer_did: consumer.did,
  provider_did: provider.did,
  amount: "10.00",
  currency: "USDC",
  ...extra,
});

export const dailyLimit = (amount: string, window_days = 1) => ({
  spending_limit: { amount, currency: "USDC", window_days },
});

export async function setAgent(world: World, did: string, set: Partial<typeof agents.$inferInsert>): Promise<void> {
  const { db } = world.deps;
  await commit(db, [db.update(agents).set(set).where(eq(agents.did, did))]);
}

export async function setEscrow(
  world: World,
  did: string,
  state: EscrowState,
  network = "base-sepolia",
  environment: Environment = "sandbox",
): Promise<void> {
  const { db } = world.deps;
  const thresholds = { baseThreshold: 15_000_000, threshold: 15_000_000, chainThreshold: 15_000_000 };
  const row = { vault: WALLET, operationalWallet: WALLET, ...thresholds };
  const values = {
    did,
    environment,
    network,
    platformId: world.platformId,
    currency: "USDC",
    state,
    updatedAt: world.now(),
    ...row,
  };
  const target = [escrows.did, escrows.environment, escrows.network];
  await commit(db, [
    db.insert(escrows).values(values).onConflictDoUpdate({ target, set: { state } }),
    db
      .update(agents)
      .set(toMovedStates([{ network, state }]))
      .where(eq(agents.did, did)),
  ]);
}

export async function setSpend(world: World, did: string, set: { settled?: number; open?: number }): Promise<void> {
  const { db } = world.deps;
  const row = { did, environment: "sandbox" as const, currency: "USDC", settled: 0, open: 0, ...set };
  const target = [spendSums.did, spendSums.environment, spendSums.currency];
  await commit(db, [db.insert(spendSums).values(row).onConflictDoUpdate({ target, set })]);
}

/** All rows that an intent may change. */
export async function spendState(world: World, ...dids: string[]) {
  const { db } = world.deps;
  const spends = await Promise.all(
    dids.map(async (did) => {
      const [row] = await db
        .select({ open: spendSums.open, settled: spendSums.settled })
        .from(spendSums)
        .where(eq(spendSums.did, did));
      const holds = await db.select().from(spendHolds).where(eq(spendHolds.did, did));
      const ledger = await db.select().from(spendLedger).where(eq(spendLedger.did, did));
      const intents = await db.select().from(paymentIntents).where(eq(paymentIntents.consumerDid, did));
      return { did, ...(row ?? { open: 0, settled: 0 }), holds, ledger, intents };
    }),
  );
  return spends;
}

export const intentOf = async (world: World, intentId: string): Promise<IntentRow> => {
  const { intent } = await readBatch(world.deps.db, { intent: findIntent(world.deps.db, intentId) });
  if (!intent) throw new Error("no such intent");
  return intent;
};

/** The statements that settle an intent, without their facilitation. */
export const settlementOf = ({ deps: { db } }: World, intent: IntentRow, now: number) => [
  ...settleIntent(db, intent, { transactionId: intent.intentId.replace("pin_", "fac_"), taskId: null }),
  ...turnHoldsIntoSpending(db, intent, now),
];

export const settle = async (world: World, intentId: string, now = world.now()): Promise<void> =>
  commit(world.deps.db, settlementOf(world, await intentOf(world, intentId), now));

export const delegateOf = (world: World, delegator: Agent, scope: Record<string, unknown> = {}): Promise<Agent> =>
  buyer(world, scope, { principal_id: delegator.principalId, delegated_by: delegator.did });
