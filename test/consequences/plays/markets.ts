// Plays of a provider's markets (requested, provisioned by the queue, checked again, removed) and of the threshold.
import { and, eq } from "drizzle-orm";
import { recheckOperation } from "../../../src/chain/store.ts";
import { agentMarkets, agents } from "../../../src/db/tables/agents.ts";
import { chainOperations, registeredEditions } from "../../../src/db/tables/chain.ts";
import { escrows } from "../../../src/db/tables/money.ts";
import { followThreshold, followThresholds } from "../../../src/escrow/follow-threshold.ts";
import { toMovedStates } from "../../../src/escrow/store.ts";
import { followChains } from "../../../src/follower/job.ts";
import type { Job } from "../../../src/jobs/job.ts";
import { beginWalk } from "../../../src/jobs/walk-store.ts";
import { moveEditions } from "../../../src/markets/move-editions.ts";
import { applyWalletChanges, provisionMarkets, resumeProvisioning } from "../../../src/markets/provision.ts";
import { tendArbiters, tendSigners } from "../../../src/markets/trials.ts";
import { watchRegistrations } from "../../../src/markets/watch.ts";
import { refusedWallet } from "../../markets/support.ts";
import { rows } from "../../promotion/support.ts";
import { account } from "../../support/chain.ts";
import { withConfig, withSilentChain } from "../../support/variants.ts";
import { createWorld, type Json, type World } from "../../support/world.ts";
import {
  MINUTE,
  marketsOf,
  marketWith,
  must,
  NETWORK,
  ofAgent,
  ofNobody,
  type Play,
  type Plays,
  store,
  follow as toHead,
} from "./stage.ts";

const WALLET = account(8);
const OTHER_WALLET = account(7);
const MORE_THAN_ANYBODY_HAS = 1_000_000;
const IN_TIME = 20_000;

const unmarketed = async (world: World) => (await world.agent("PROVIDER")).did;
const draft = async (world: World) => (await world.draft("PROVIDER")).did;
const provider = async (world: World) => (await world.provider()).did;

const ask =
  (wallet: string, of: (world: World) => World = (world) => world) =>
  (world: World, did: string) =>
    must(200, of(world).call("POST", marketsOf(did), { body: marketWith(wallet) }));
/** The chain refuses an address that has become a vault since the request. */
const askRefused =
  (of?: (world: World) => World) =>
  async (world: World, did: string): Promise<Json> =>
    ask(await refusedWallet(world), of)(world, did);
const askOnMainnet = (world: World, did: string) =>
  must(200, world.call("POST", marketsOf(did), { body: marketWith(WALLET, "base") }));
const askForProduction = (world: World, did: string) =>
  must(200, world.call("POST", marketsOf(did), { key: world.liveKey, body: marketWith(WALLET) }));

async function unanswered(world: World): Promise<string> {
  const did = await unmarketed(world);
  await ask(WALLET, withSilentChain)(world, did);
  return did;
}
async function unansweredEnded(world: World): Promise<string> {
  const did = await unanswered(world);
  await must(200, world.call("PATCH", `/v1/agents/${did}/status`, { body: { status: "TERMINATED" } }));
  return did;
}
/** When the sandbox's queue message runs, the production market is open with another wallet. */
async function unansweredOvertaken(world: World): Promise<string> {
  const did = await unanswered(world);
  const body = marketWith(OTHER_WALLET);
  await must(200, world.call("POST", marketsOf(did), { key: world.liveKey, body }));
  return did;
}
async function unansweredRefused(world: World): Promise<string> {
  const did = await unmarketed(world);
  await askRefused(withSilentChain)(world, did);
  return did;
}
async function unansweredOtherWallet(world: World): Promise<string> {
  const did = await provider(world);
  await askRefused(withSilentChain)(world, did);
  return did;
}
async function marketedForProduction(world: World): Promise<string> {
  const did = await unmarketed(world);
  await askForProduction(world, did);
  return did;
}

/** A production market, as if the chain had it already. */
async function openForProduction(world: World): Promise<string> {
  const did = await unmarketed(world);
  const now = world.now();
  const row = { did, environment: "production", network: NETWORK, market: "GLOBAL-USDC", status: "ACTIVE" } as const;
  const wallets = { operationalWallet: WALLET.toLowerCase(), escrowWallet: account(6) };
  await store(world, (db) => db.insert(agentMarkets).values({ ...row, ...wallets, createdAt: now, updatedAt: now }));
  return did;
}
/** The fourth trip reads the rows that the chain's answer is written to. Before it, the live key requests another wallet. */
async function askWhileProductionMoves(world: World, did: string): Promise<void> {
  const operationalWallet = OTHER_WALLET.toLowerCase();
  world.meter.beforeBatch(4, () =>
    store(world, (db) =>
      db
        .update(agentMarkets)
        .set({ operationalWallet })
        .where(and(eq(agentMarkets.did, did), eq(agentMarkets.environment, "production"))),
    ),
  );
  await ask(WALLET)(world, did);
}

const remove = (key: (world: World) => string) => (world: World, did: string) =>
  must(204, world.call("DELETE", `${marketsOf(did)}/GLOBAL-USDC?network=${NETWORK}`, { key: key(world) }));

const keyOf = (did: string) => ({ did, environment: "sandbox" as const, network: NETWORK });
const provision = (world: World, did: string) => provisionMarkets(world.deps, keyOf(did), Date.now() + IN_TIME);

/** The stored threshold differs from the one in the contract. */
async function behind(world: World): Promise<string> {
  const did = await provider(world);
  await store(world, (db) => db.update(escrows).set({ threshold: 9_000_000 }).where(eq(escrows.did, did)));
  return did;
}
const follow = (of: (world: World) => World) => (world: World, did: string) =>
  followThreshold(of(world).deps, keyOf(did), Date.now() + IN_TIME);

/** Makes the stored state differ from the contract, as a reorg would. */
const saidOtherwise = (wanted: { wallet: string; threshold: string }) => async (world: World) => {
  const did = await provider(world);
  await store(world, (db) => [
    db.update(chainOperations).set({ wanted }).where(eq(chainOperations.subject, did)),
    db.update(agentMarkets).set({ operationalWallet: wanted.wallet.toLowerCase() }).where(eq(agentMarkets.did, did)),
    db
      .update(escrows)
      .set({ threshold: Number(wanted.threshold), chainThreshold: Number(wanted.threshold) })
      .where(eq(escrows.did, did)),
  ]);
  return did;
};
/** The state after another market's wallet has arrived in the contract, and that market was removed. */
async function withdrawn(world: World): Promise<string> {
  const did = await saidOtherwise({ wallet: OTHER_WALLET, threshold: "15000000" })(world);
  await store(world, (db) => [
    recheckOperation(db, { network: NETWORK, kind: "provider_split", subject: did }, world.now()),
  ]);
  return did;
}
async function stillWaiting(world: World): Promise<string> {
  const did = await unanswered(world);
  await provisionMarkets(withSilentChain(world).deps, keyOf(did), Date.now());
  return did;
}
const watch = (world: World, did: string) => watchRegistrations.record(world.deps, `${NETWORK} ${did}`);

/** A provider whose escrow is full, in the vault of an earlier edition. */
const EARLIER = "0x00000000000000000000000000000000000000ed";
async function inEarlierVault(world: World): Promise<string> {
  const did = await provider(world);
  const full = { contract: EARLIER, vault: EARLIER, balance: 15_000_000, state: "ACTIVE" } as const;
  await store(world, (db) => [
    db.update(escrows).set(full).where(eq(escrows.did, did)),
    db
      .update(agents)
      .set(toMovedStates([{ network: NETWORK, state: "ACTIVE" }]))
      .where(eq(agents.did, did)),
  ]);
  return did;
}
async function moveEdition(world: World, did: string) {
  const subject = `${NETWORK} ${did} sandbox`;
  await store(world, (db) => beginWalk(db, "edition_move", subject, { startedAt: 1, payload: null }));
  return moveEditions.record(world.deps, subject);
}

async function stalled(world: World): Promise<void> {
  const did = await unanswered(world);
  const updatedAt = world.now() - 2 * MINUTE;
  await store(world, (db) => db.update(agentMarkets).set({ updatedAt }).where(eq(agentMarkets.did, did)));
}

const withLeastGas = (world: World, low_gas_eth: number): World =>
  withConfig(world, { networks: world.deps.config.networks.map((network) => ({ ...network, low_gas_eth })) });

const nothing = async () => undefined;

const tending = (job: Job): Plays[string] => ({
  "the key has gas, and nothing waits": ofNobody(nothing, (world) => world.run(job)),
  "the key is low on gas": ofNobody(nothing, (world) =>
    world.run(job, withLeastGas(world, MORE_THAN_ANYBODY_HAS).deps),
  ),
});

/** The fortieth of fifty registrations, by an account of its own. */
const crowdedMainnets: Play = async () => {
  const own = await createWorld();
  const did = await unmarketed(own);
  await rows("update platforms set status = 'KYB_PENDING' where platform_id = ?", own.platformId);
  const asks = JSON.stringify(Array.from({ length: 39 }, () => Date.now()));
  await rows("insert or replace into mainnet_trials (platform_id, asks, total) values ('', ?, 39)", asks);
  return async () => {
    await askOnMainnet(own, did);
    return { agent: [did] };
  };
};

export const MARKET_PLAYS: Plays = {
  authorizeMarkets: {
    "the chain answers in time": ofAgent(unmarketed, ask(WALLET)),
    "on a mainnet with a sandbox key": ofAgent(unmarketed, askOnMainnet),
    "on a mainnet with a sandbox key, when accounts that are not accredited have used 80 % of their registrations":
      crowdedMainnets,
    "a DRAFT": ofAgent(draft, ask(WALLET)),
    "a production market of a sandbox agent": ofAgent(unmarketed, askForProduction),
    "the chain does not answer in time": ofAgent(unmarketed, ask(WALLET, withSilentChain)),
    "a production market gets another wallet while the transaction is pending": ofAgent(
      openForProduction,
      askWhileProductionMoves,
    ),
    "the chain refuses": ofAgent(unmarketed, askRefused()),
    "another wallet": ofAgent(provider, ask(OTHER_WALLET)),
    "another wallet, the chain does not answer in time": ofAgent(provider, ask(OTHER_WALLET, withSilentChain)),
    "open already, as requested": ofAgent(provider, ask(WALLET)),
  },
  removeAuthorizedMarket: {
    "a market of the agent's environment": ofAgent(
      provider,
      remove(({ key }) => key),
    ),
    "a production market of a sandbox agent": ofAgent(
      marketedForProduction,
      remove(({ liveKey }) => liveKey),
    ),
  },
  provision_market: {
    "the contract has it": ofAgent(unanswered, provision),
    "a new edition of the contract has it": ofAgent(async (world) => {
      const did = await inEarlierVault(world);
      await moveEdition(world, did);
      return did;
    }, provision),
    "the chain refuses": ofAgent(unansweredRefused, provision),
    "the chain refuses another wallet": ofAgent(unansweredOtherWallet, provision),
    "the chain does not answer": ofAgent(unanswered, (world, did) => provision(withSilentChain(world), did)),
    "a production market with another wallet has opened meanwhile": ofAgent(unansweredOvertaken, provision),
    "the agent has ended meanwhile": ofAgent(unansweredEnded, provision),
  },
  follow_threshold: {
    "the contract has it": ofAgent(
      behind,
      follow((world) => world),
    ),
    "the chain does not answer": ofAgent(behind, follow(withSilentChain)),
  },
  watch_registrations: {
    "the contract still has it": ofAgent(provider, watch),
    "the registration is gone": ofAgent(saidOtherwise({ wallet: OTHER_WALLET, threshold: "15000000" }), watch),
    "the contract has a wallet that no market wants any longer": ofAgent(withdrawn, watch),
    "the markets still wait": ofAgent(stillWaiting, watch),
    "the threshold is gone": ofAgent(saidOtherwise({ wallet: WALLET, threshold: "14000000" }), watch),
  },
  follow_chains: {
    "nothing has happened on the chain": ofNobody(toHead, (world) => world.run(followChains)),
    "handed to the queue: follow_chain": ofNobody(nothing, (world) => world.run(followChains)),
  },
  follow_thresholds: {
    "handed to the queue: follow_threshold": ofNobody(behind, (world) => world.run(followThresholds)),
  },
  resume_market_provisioning: {
    "handed to the queue: provision_market": ofNobody(stalled, (world) => world.run(resumeProvisioning)),
  },
  apply_wallet_changes: {
    "handed to the queue: provision_market": ofNobody(
      async (world) => {
        const did = await provider(world);
        const change = {
          pendingWallet: OTHER_WALLET.toLowerCase(),
          pendingUntil: world.now() - MINUTE,
          pendingNonce: 1,
        };
        await store(world, (db) => db.update(agentMarkets).set(change).where(eq(agentMarkets.did, did)));
      },
      (world) => world.run(applyWalletChanges),
    ),
  },
  move_editions: {
    "the provider sells, and the queue registers it": ofAgent(inEarlierVault, moveEdition),
    "its markets are waiting already, and are handed to the queue again": ofAgent(async (world) => {
      const did = await inEarlierVault(world);
      await moveEdition(world, did);
      return did;
    }, moveEdition),
    "it has no market": ofAgent(async (world) => {
      const did = await provider(world);
      await remove(({ key }) => key)(world, did);
      await store(world, (db) => db.update(escrows).set({ contract: EARLIER }).where(eq(escrows.did, did)));
      return did;
    }, moveEdition),
    "no provider is left in an earlier edition": ofNobody(
      (world) => store(world, (db) => db.delete(registeredEditions)),
      (world) => world.run(moveEditions),
    ),
  },
  tend_signers: tending(tendSigners),
  tend_arbiters: tending(tendArbiters),
};
