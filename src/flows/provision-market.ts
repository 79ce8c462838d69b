// Specification 4, authorized_markets, the chain's side: provisions the escrow wallet and registers the settlement split on-chain.
// First the intent is written (PROVISIONING), then the chain is asked, then what it says is written: a crash between any
// two leaves a row that the queue or the cron takes up again, and registering twice changes nothing.
import { recordDirectoryChange, recordEvent } from "../activity/store.ts";
import { writeAid } from "../agents/aid.ts";
import {
  type AgentRow,
  type AgentWithPrincipal,
  type EscrowRow,
  findEscrows,
  findMarkets,
  findPublicAgent,
  findStalledMarkets,
  type MarketRow,
  noteRegistration,
  putEscrow,
  updateAgent,
  updateMarket,
} from "../agents/store.ts";
import { toMarketView } from "../agents/views.ts";
import type {
  ChainResult,
  Network,
  ProviderOnChain,
  ProviderRegistration,
  RegistrationOutcome,
} from "../chain/gateway.ts";
import { didHash } from "../chain/hashes.ts";
import { createChainSender } from "../chain/sender.ts";
import { registrarOn } from "../chain/signer.ts";
import type { Deps } from "../context.ts";
import { systemClock } from "../core/clock.ts";
import { ESCROW_BASE_THRESHOLD, MINUTE_MS } from "../core/limits.ts";
import { parseAmount } from "../core/money.ts";
import { Conflict, commit, readBatch, type Statement } from "../db/batch.ts";
import { escrowStateAt, escrowThreshold } from "../escrow/threshold.ts";

const ATTEMPTS = 5;

export const sameMarket = (a: MarketRow, b: MarketRow): boolean => a.market === b.market && a.network === b.network;

export type Provisioning = { did: string; environment: string; network: string };

/**
 * Brings the chain to what the rows ask for, and the rows to what the chain says. True when nothing is left to do; false when
 * time ran out first. Safe to run at any time, by anyone, twice.
 */
export async function provisionMarkets(deps: Deps, job: Provisioning, until: number): Promise<boolean> {
  const { db } = deps;
  const { did, environment, network: name } = job;
  const { found, markets, escrows } = await readBatch(db, {
    found: findPublicAgent(db, did),
    markets: findMarkets(db, did, environment),
    escrows: findEscrows(db, did, environment),
  });
  const network = deps.config.networks.find((known) => known.network === name);
  const waiting = markets.filter((row) => row.network === name && row.status === "PROVISIONING");
  const [first] = waiting;
  if (!found || !network || !first) return true;
  const base = baseThreshold(network);
  const escrow = escrows.find((row) => row.network === name);
  const threshold = escrow?.threshold ?? escrowThreshold(base, found.agent.agentRating);
  const providerDidHash = didHash(did);
  const registration = { providerDidHash, operationalWallet: first.operationalWallet, threshold: BigInt(threshold) };
  const sent = await sendOnce(deps, name, first.registrationTx, registration);
  if (!sent.ok) return false;
  if (sent.value.state === "refused") {
    await settleMarkets(deps, job, { failed: sent.value.reason, wallet: first.operationalWallet });
    return true;
  }
  const tx = sent.value.state === "submitted" ? sent.value.txHash : null;
  const seen = tx === null ? null : await waitFor(deps, name, tx, until);
  if (tx !== null && seen === null) {
    await commit(db, [noteRegistration(db, job, tx)]);
    return false;
  }
  if (seen === "reverted") {
    await settleMarkets(deps, job, { failed: "reverted", wallet: first.operationalWallet });
    return true;
  }
  const onChain = await deps.chain.readProvider(name, providerDidHash);
  if (!onChain.ok || !onChain.value.registered) return false;
  const same = onChain.value.operationalWallet?.toLowerCase() === first.operationalWallet.toLowerCase();
  // Wallet and threshold are two calls on-chain: the next round sends the other.
  if (!same || onChain.value.threshold !== BigInt(threshold))
    return systemClock.now() < until ? provisionMarkets(deps, job, until) : false;
  await settleMarkets(deps, job, { wallet: first.operationalWallet, onChain: onChain.value, tx, base });
  return true;
}

/** What became of the transaction; null while the chain has not said so. */
async function waitFor(
  deps: Deps,
  network: string,
  tx: string,
  until: number,
): Promise<"included" | "reverted" | null> {
  const patience = Math.max(0, until - systemClock.now());
  const seen = await createChainSender(deps.config.networks).waitForReceipt(network, tx, patience);
  return !seen.ok || seen.value.state === "waiting" ? null : seen.value.state;
}

/** What an earlier run sent and the chain has not taken into a block yet is waited for, and nothing is sent beside it. */
async function sendOnce(
  deps: Deps,
  network: string,
  earlier: string | null,
  registration: ProviderRegistration,
): Promise<ChainResult<RegistrationOutcome>> {
  const seen = earlier === null ? null : await deps.chain.readSettlement(network, earlier);
  if (seen && !seen.ok) return seen;
  if (earlier !== null && seen?.value.state === "pending" && seen.value.confirmations === 0) {
    return { ok: true, value: { state: "submitted", txHash: earlier } };
  }
  return deps.chain.registerProvider(network, registration, registrarOn(deps.env, network));
}

/** `wallet`: what the chain has now, or what it did not take. */
type Result = { wallet: string } & ({ failed: string } | { onChain: ProviderOnChain; tx: string | null; base: number });

/** Writes what the chain said: markets, escrow, document, event and directory change in one batch. */
async function settleMarkets(deps: Deps, job: Provisioning, result: Result): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await settleOnce(deps, job, result);
    } catch (thrown) {
      if (!(thrown instanceof Conflict) || attempt === ATTEMPTS) throw thrown;
    }
  }
}

async function settleOnce(deps: Deps, job: Provisioning, result: Result): Promise<void> {
  const { db } = deps;
  const now = deps.clock.now();
  const { did, environment, network } = job;
  const { found, markets, escrows } = await readBatch(db, {
    found: findPublicAgent(db, did),
    markets: findMarkets(db, did, environment),
    escrows: findEscrows(db, did, environment),
  });
  const here = markets.filter((row) => row.network === network);
  // Another wallet may have been asked for meanwhile: what waits for that is not answered by this.
  const waiting = here.filter((row) => row.status === "PROVISIONING" && row.operationalWallet === result.wallet);
  if (!found || waiting.length === 0) return;
  const known = escrows.find((row) => row.network === network);
  const moves = waiting.map((row) => ({ before: row, after: settledRow(row, result, known, now) }));
  const settled = moves.map(({ after }) => after);
  const owner = { platformId: found.agent.platformId, environment };
  const statements: Statement[] = moves.flatMap(({ before, after }) => updateMarket(db, before, after));
  const own = environment === found.agent.environment;
  if ("failed" in result) {
    const after = markets.map((row) => settled.find((other) => sameMarket(other, row)) ?? row);
    const promised = settled.some((row) => row.status === "ACTIVE");
    if (own && promised) statements.push(...(await documentChange(deps, found, after, escrows, now)));
  } else {
    const following = here
      .filter((row) => row.status === "ACTIVE" && row.operationalWallet !== result.wallet)
      .map((row) => ({ before: row, after: { ...row, operationalWallet: result.wallet, updatedAt: now } }));
    statements.push(...following.flatMap(({ before, after }) => updateMarket(db, before, after)));
    const escrow = escrowRow(deps, job, result, escrows, settled, now);
    statements.push(putEscrow(db, escrow));
    const written = [...moves, ...following].map(({ after }) => after);
    const after = markets.map((row) => written.find((other) => sameMarket(other, row)) ?? row);
    const escrowsAfter = [...escrows.filter((row) => row.network !== network), escrow];
    if (own) statements.push(...(await documentChange(deps, found, after, escrowsAfter, now)));
    for (const row of settled) {
      statements.push(
        recordEvent(db, owner, now, { type: "market.provisioned", object: { did, ...toMarketView(deps.config, row) } }),
      );
    }
  }
  await commit(db, statements);
}

/** A market that the chain has goes on with the wallet that the chain has, when another is refused. */
function settledRow(row: MarketRow, result: Result, known: EscrowRow | undefined, now: number): MarketRow {
  if ("failed" in result) {
    const { failed: reason } = result;
    if (row.escrowWallet === null || !known) return { ...row, status: "FAILED", reason, updatedAt: now };
    return { ...row, status: "ACTIVE", operationalWallet: known.operationalWallet, reason, updatedAt: now };
  }
  const { onChain, tx } = result;
  const registrationTx = tx ?? row.registrationTx;
  return { ...row, status: "ACTIVE", escrowWallet: onChain.vault, registrationTx, reason: null, updatedAt: now };
}

function escrowRow(
  deps: Deps,
  job: Provisioning,
  result: Exclude<Result, { failed: string }>,
  escrows: readonly EscrowRow[],
  settled: readonly MarketRow[],
  now: number,
): EscrowRow {
  const { onChain, base } = result;
  const before = escrows.find((row) => row.network === job.network);
  const currency = deps.config.networks.find((known) => known.network === job.network)?.currency ?? "USDC";
  const balance = Number(onChain.balance);
  const threshold = Number(onChain.threshold);
  const state = escrowStateAt(before?.state ?? "FUNDING", balance, threshold);
  const operationalWallet = settled[0]?.operationalWallet ?? before?.operationalWallet ?? "";
  return {
    ...job,
    currency,
    vault: onChain.vault,
    operationalWallet,
    balance,
    baseThreshold: base,
    threshold,
    chainThreshold: threshold,
    state,
    updatedAt: now,
  };
}

/** The agent's own environment: its document states the market, and the directory is told. */
export async function documentChange(
  deps: Deps,
  found: AgentWithPrincipal,
  markets: readonly MarketRow[],
  escrows: readonly EscrowRow[],
  now: number,
): Promise<Statement[]> {
  const { db } = deps;
  const { agent: before, principal } = found;
  const agent: AgentRow = { ...before, version: before.version + 1, revision: before.revision + 1, updatedAt: now };
  const { version, revision } = agent;
  return [
    ...updateAgent(db, before, { version, revision, updatedAt: now }),
    ...(await writeAid(db, deps, { agent, principal, markets, escrows }, now, true)),
    ...(agent.certificate === null ? [] : [recordDirectoryChange(db, agent.environment, agent.did, "updated", now)]),
  ];
}

function baseThreshold(network: Network): number {
  const parsed = parseAmount(ESCROW_BASE_THRESHOLD, network.decimals);
  if (!parsed.ok) throw new Error("unreachable: the base threshold fits every token");
  return parsed.units;
}

/** What a crash or a slow chain left: the cron hands it to the queue again. */
export async function resumeProvisioning(deps: Deps, slice: number): Promise<void> {
  const before = deps.clock.now() - MINUTE_MS;
  const { stalled } = await readBatch(deps.db, { stalled: findStalledMarkets(deps.db, before, slice) });
  const jobs = new Map(
    stalled.map(({ did, environment, network }) => [`${did} ${environment} ${network}`, { did, environment, network }]),
  );
  for (const job of jobs.values()) await deps.env.JOBS.send({ kind: "provision_market", ...job });
}
