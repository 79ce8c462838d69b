// The contract's threshold follows the rating, through the cron and the queue (MKT-20).
import { eq, sql } from "drizzle-orm";
import { beforeAll, describe, expect, it } from "vitest";
import { hashDid } from "../../src/chain/hashes.ts";
import { HOUR_MS } from "../../src/core/limits.ts";
import { commit } from "../../src/db/batch.ts";
import { agents } from "../../src/db/tables/agents.ts";
import { escrows } from "../../src/db/tables/money.ts";
import { followThreshold, followThresholds } from "../../src/escrow/follow-threshold.ts";
import { moveThreshold, setChainThreshold } from "../../src/escrow/store.ts";
import { later } from "../markets/support.ts";
import { account, payOnChain } from "../support/chain.ts";
import { type Agent, createWorld, expectStatus, type World } from "../support/world.ts";

const NETWORK = "base-sepolia";
let world: World;
let provider: Agent;
beforeAll(async () => {
  world = await createWorld();
  provider = await world.provider();
  const consumer = await world.consumer();
  const intent = await world.intent(consumer, provider, "5000.00");
  const payment_tx = await payOnChain(consumer.did, provider.did, 5_000_000_000, { intentId: intent.intent_id });
  const settled = expectStatus(
    await world.as(provider, "POST", "/v1/facilitate", { intent_id: intent.intent_id, payment_tx }),
    200,
  );
  expectStatus(await world.as(consumer, "POST", `/v1/tasks/${settled.task_id}/confirm`, { outcome: "confirmed" }), 200);
});

const onChain = async () => {
  const read = await world.deps.chain.readProvider(NETWORK, hashDid(provider.did));
  if (!read.ok) throw new Error("the chain does not answer");
  return Number(read.value.threshold);
};
const stored = async () => {
  const [row] = await world.deps.db.select().from(escrows).where(eq(escrows.did, provider.did));
  if (!row) throw new Error("no escrow");
  return row;
};
/** Opens a market of the environment that the key belongs to. */
const open = async (did: string, key: string) => {
  const path = `/v1/agents/${did}/scope/authorized_markets`;
  const market = { market: "GLOBAL-USDC", network: NETWORK, operational_wallet: account(8) };
  const [opened] = expectStatus(await world.call("POST", path, { key, body: { markets: [market] } }), 200).markets;
  expect(opened).toMatchObject({ status: "ACTIVE" });
};
const key = () => ({ did: provider.did, environment: "sandbox" as const, network: NETWORK });

describe("a rating that moves the threshold", () => {
  it("is written to the contract once, and then the contract lags no longer", async () => {
    const before = await stored();
    expect(before.threshold).toBeLessThan(15_000_000);
    expect(before.chainThreshold).toBe(15_000_000);
    expect(await onChain()).toBe(15_000_000);
    expect(await followThreshold(world.deps, key(), later())).toBe(true);
    expect(await onChain()).toBe(before.threshold);
    expect((await stored()).chainThreshold).toBe(before.threshold);
    expect(await followThreshold(world.deps, key(), later())).toBe(true);
  });

  it("is due since the contract first lagged, whatever moves afterwards", async () => {
    const due = async () => {
      const id = `${provider.did} sandbox ${NETWORK}`;
      const [found] = (await followThresholds.find(world.deps, null, 1_000)).filter((row) => row.id === id);
      return found?.at;
    };
    const before = Date.now();
    const equal = await stored();
    await commit(world.deps.db, moveThreshold(world.deps.db, equal, { ...equal, threshold: 9_000_000 }));
    const since = await due();
    expect(since).toBeGreaterThanOrEqual(before - 1);
    expect(since).toBeLessThanOrEqual(Date.now());
    // An hour has passed.
    await world.deps.db
      .update(escrows)
      .set({ behindSince: sql`behind_since - ${HOUR_MS}` })
      .where(eq(escrows.did, provider.did));
    const behind = await stored();
    await commit(world.deps.db, moveThreshold(world.deps.db, behind, { ...behind, threshold: 8_000_000 }));
    await commit(world.deps.db, [setChainThreshold(world.deps.db, key(), 9_000_000)]);
    expect(await due()).toBe(Number(since) - HOUR_MS);
    await commit(world.deps.db, [setChainThreshold(world.deps.db, key(), 8_000_000)]);
    expect(await due()).toBeUndefined();
    // A reorg undoes the contract's threshold.
    await commit(world.deps.db, [setChainThreshold(world.deps.db, key(), 15_000_000)]);
    expect(await due()).toBeGreaterThanOrEqual(before - 1);
    await commit(world.deps.db, [setChainThreshold(world.deps.db, key(), 8_000_000)]);
  });

  it("is not written before it is 5 % of the base away from the contract's (MKT-20)", async () => {
    const { db } = world.deps;
    const { did } = await world.provider();
    const own = { did, environment: "sandbox" as const, network: NETWORK };
    const moved = async (threshold: number) => {
      const [before] = await db.select().from(escrows).where(eq(escrows.did, did));
      if (!before) throw new Error("no escrow");
      await commit(db, moveThreshold(db, before, { ...before, threshold }));
      const due = (await followThresholds.find(world.deps, null, 1_000)).some(({ id }) => id.startsWith(did));
      expect(await followThreshold(world.deps, own, later())).toBe(true);
      const read = await world.deps.chain.readProvider(NETWORK, hashDid(did));
      return [due, read.ok ? Number(read.value.threshold) : null];
    };
    expect(await moved(14_250_001)).toEqual([false, 15_000_000]);
    expect(await moved(14_250_000)).toEqual([true, 14_250_000]);
    expect(await moved(13_600_000)).toEqual([false, 14_250_000]);
    expect(await moved(15_000_000)).toEqual([true, 15_000_000]);
  });

  it("is found by the job only while the contract lags", async () => {
    const sent: unknown[] = [];
    const CHAIN_QUEUE = { send: async (job: unknown) => void sent.push(job) } as never;
    const deps = { ...world.deps, env: { ...world.deps.env, CHAIN_QUEUE } };
    const mine = () => sent.filter((job) => (job as { did: string }).did === provider.did);
    await world.run(followThresholds, deps);
    expect(mine()).toEqual([]);
    await world.deps.db.update(escrows).set({ chainThreshold: 1 }).where(eq(escrows.did, provider.did));
    await world.run(followThresholds, deps);
    expect(mine()).toEqual([{ kind: "follow_threshold", ...key() }]);
  });
});

describe("a vault that both environments use", () => {
  it("has the higher threshold of the two in the contract, whichever moves (MKT-20)", async () => {
    const shared = await world.provider();
    await open(shared.did, world.liveKey);
    const { db } = world.deps;
    const rowOf = async (environment: "sandbox" | "production") => {
      const rows = await db.select().from(escrows).where(eq(escrows.did, shared.did));
      const row = rows.find((each) => each.environment === environment);
      if (!row) throw new Error("no escrow");
      return row;
    };
    const move = async (environment: "sandbox" | "production", threshold: number) => {
      const before = await rowOf(environment);
      await commit(db, moveThreshold(db, before, { ...before, threshold }));
    };
    const isBehind = async () =>
      (await followThresholds.find(world.deps, null, 1_000)).some(({ id }) => id.startsWith(shared.did));
    const followed = async () => {
      for (const environment of ["sandbox", "production"] as const) {
        expect(await followThreshold(world.deps, { ...key(), did: shared.did, environment }, later())).toBe(true);
      }
      expect(await isBehind()).toBe(false);
      const read = await world.deps.chain.readProvider(NETWORK, hashDid(shared.did));
      return read.ok ? Number(read.value.threshold) : null;
    };
    await move("sandbox", 10_500_000);
    expect(await isBehind()).toBe(false);
    expect(await followed()).toBe(15_000_000);
    await move("production", 12_000_000);
    expect(await isBehind()).toBe(true);
    expect(await followed()).toBe(12_000_000);
    await move("sandbox", 14_000_000);
    expect(await followed()).toBe(14_000_000);
    expect([(await rowOf("sandbox")).chainThreshold, (await rowOf("production")).chainThreshold]).toEqual([
      14_000_000, 14_000_000,
    ]);
  });

  it("is registered with the higher threshold when the second environment opens it", async () => {
    const rated = await world.provider();
    const before = (await world.deps.db.select().from(escrows).where(eq(escrows.did, rated.did)))[0];
    if (!before) throw new Error("no escrow");
    await world.deps.db.update(agents).set({ agentRating: 0.9 }).where(eq(agents.did, rated.did));
    await commit(world.deps.db, moveThreshold(world.deps.db, before, { ...before, threshold: 9_000_000 }));
    expect(await followThreshold(world.deps, { ...key(), did: rated.did }, later())).toBe(true);
    await open(rated.did, world.liveKey);
    const rows = await world.deps.db.select().from(escrows).where(eq(escrows.did, rated.did));
    // A rating of the sandbox does not count in production.
    expect(rows.map((row) => [row.environment, row.threshold, row.otherThreshold, row.chainThreshold]).sort()).toEqual([
      ["production", 15_000_000, 9_000_000, 15_000_000],
      ["sandbox", 9_000_000, 15_000_000, 15_000_000],
    ]);
  });
});

describe("a rating that moves while the contract gets the threshold of a market that opens", () => {
  const rate = (did: string, agentRating: number | null) =>
    world.deps.db.update(agents).set({ agentRating }).where(eq(agents.did, did));
  /** The fourth trip reads the rows that the chain's answer is written to. */
  const openWhileRated = async (did: string, rating: number | null) => {
    world.meter.beforeBatch(4, () => rate(did, rating));
    await open(did, world.key);
  };
  const thresholds = async (did: string) =>
    (await world.deps.db.select().from(escrows).where(eq(escrows.did, did)))
      .map((row) => [row.environment, row.threshold, row.otherThreshold, row.chainThreshold])
      .sort();
  const dueSince = async (did: string, environment: string) => {
    const found = await followThresholds.find(world.deps, null, 1_000);
    return found.find(({ id }) => id === `${did} ${environment} ${NETWORK}`)?.at;
  };

  it("makes the contract lag since the escrow opened", async () => {
    const { did } = await world.agent("PROVIDER");
    const before = Date.now();
    await openWhileRated(did, 0.9);
    expect(await thresholds(did)).toEqual([["sandbox", 9_000_000, 0, 15_000_000]]);
    expect(await dueSince(did, "sandbox")).toBeGreaterThanOrEqual(before);
    expect(await dueSince(did, "sandbox")).toBeLessThanOrEqual(Date.now());
  });

  it("makes the contract lag for the other environment since then, although it lagged before", async () => {
    const { did } = await world.agent("PROVIDER");
    await rate(did, 0.9);
    await open(did, world.liveKey);
    const behind = { threshold: 12_000_000, behindSince: 1 };
    await world.deps.db.update(escrows).set(behind).where(eq(escrows.did, did));
    expect(await dueSince(did, "production")).toBe(1);
    const before = Date.now();
    await openWhileRated(did, null);
    // The contract got the threshold that the other environment waited for, and lags with the one that the new environment wants.
    expect(await thresholds(did)).toEqual([
      ["production", 12_000_000, 15_000_000, 12_000_000],
      ["sandbox", 15_000_000, 12_000_000, 12_000_000],
    ]);
    for (const environment of ["sandbox", "production"]) {
      expect(await dueSince(did, environment)).toBeGreaterThanOrEqual(before - 1);
      expect(await dueSince(did, environment)).toBeLessThanOrEqual(Date.now());
    }
  });
});
