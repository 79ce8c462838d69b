// Specification 4, authorized_markets, the chain's side: provisions the escrow wallet and registers the settlement split on-chain.
// First the intent is written (PROVISIONING), then the chain is asked, then what it says is written: a crash between any
// two leaves a row that the queue or the cron takes up again, and registering twice changes nothing.
import { updateAgent } from "../agents/store.ts";
import { toMarketView } from "../agents/views.ts";
import type { ChainResult, ProviderOnChain, ProviderRegistration, RegistrationOutcome } from "../chain/gateway.ts";
import { didHash } from "../chain/hashes.ts";
import { type Network, networkNamed } from "../chain/networks.ts";
import { createChainSender } from "../chain/sender.ts";
import type { Deps } from "../context.ts";
import { systemClock } from "../core/clock.ts";
import { FIRST } from "../core/due.ts";
import type { ErrorCode } from "../core/errors.ts";
import { ESCROW_BASE_THRESHOLD, MINUTE_MS } from "../core/limits.ts";
import { parseAmount } from "../core/money.ts";
import { retryConflicts } from "../core/retry.ts";
import { isEnvironment, isFinal, OTHER_ENVIRONMENT } from "../core/vocabulary.ts";
import { commit, readBatch, type Statement } from "../db/batch.ts";
import type { AgentRow, MarketRow } from "../db/tables/agents.ts";
import type { EscrowRow } from "../db/tables/money.ts";
import { escrowStateAt } from "../escrow/states.ts";
import { putEscrow } from "../escrow/store.ts";
import { escrowThreshold } from "../escrow/threshold.ts";
import { type AidSource, certificateIn, signVersion } from "../identity/aid.ts";
import { findEscrows, findMarkets, findNewestVersion, findPublicAgent } from "../identity/store.ts";
import type { EachJob } from "../jobs/job.ts";
import { recordEvent } from "../journal/events.ts";
import { recordDirectoryChange } from "../journal/feed.ts";
import { registrarOn } from "../objects/signers.ts";
import { findStalledMarkets, noteRegistration, updateMarket } from "./store.ts";

const ATTEMPTS = 5;

export const sameMarket = (a: MarketRow, b: MarketRow): boolean => a.market === b.market && a.network === b.network;

export type Provisioning = Pick<MarketRow, "did" | "environment" | "network">;

/**
 * Brings the chain to what the rows ask for, and the rows to what the chain says. True when nothing is left to do; false when
 * time ran out first. Safe to run at any time, by anyone, twice.
 */
export async function provisionMarkets(deps: Deps, job: Provisioning, until: number): Promise<boolean> {
  const { db } = deps;
  const { did, environment, network: name } = job;
  const { found, markets, escrows, production } = await readBatch(db, {
    found: findPublicAgent(db, did),
    markets: findMarkets(db, did, environment),
    escrows: findEscrows(db, did, environment),
    production: findMarkets(db, did, "production"),
  });
  const network = deps.config.networks.find((known) => known.network === name);
  const waiting = markets.filter((row) => row.network === name && row.status === "PROVISIONING");
  const [first] = waiting;
  if (!found || !network || !first) return true;
  const forbidden = forbiddenBy(found.agent, first, production);
  if (forbidden !== null) {
    await settleMarkets(deps, job, { failed: forbidden, wallet: first.operationalWallet });
    return true;
  }
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

/** What may have become so while the market waited: nobody is told of it but by the market's reason. */
function forbiddenBy(agent: AgentRow, asked: MarketRow, production: readonly MarketRow[]): ErrorCode | null {
  if (isFinal(agent.status)) return "agent_status_not_mutable";
  return asked.environment === "sandbox" && holdsOtherWallet([asked], production) ? "environment_mismatch" : null;
}

/** The chain has one split for an agent and a network, whatever the environment: a sandbox key never moves real money. */
export const holdsOtherWallet = (asked: readonly MarketRow[], production: readonly MarketRow[]): boolean =>
  production.some(
    (row) =>
      row.status !== "FAILED" &&
      asked.some((one) => one.network === row.network && one.operationalWallet !== row.operationalWallet),
  );

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
const settleMarkets = (deps: Deps, job: Provisioning, result: Result): Promise<void> =>
  retryConflicts(ATTEMPTS, () => settleOnce(deps, job, result));

type MarketMove = { readonly before: MarketRow; readonly after: MarketRow };

async function settleOnce(deps: Deps, job: Provisioning, result: Result): Promise<void> {
  const { db } = deps;
  const now = deps.clock.now();
  const { did, environment, network } = job;
  const { found, newest, markets, escrows, otherMarkets, otherEscrows } = await readBatch(db, {
    found: findPublicAgent(db, did),
    newest: findNewestVersion(db, did),
    markets: findMarkets(db, did, environment),
    escrows: findEscrows(db, did, environment),
    otherMarkets: findMarkets(db, did, OTHER_ENVIRONMENT[environment]),
    otherEscrows: findEscrows(db, did, OTHER_ENVIRONMENT[environment]),
  });
  // Another wallet may have been asked for meanwhile: what waits for that is not answered by this.
  const waiting = markets
    .filter((row) => row.network === network)
    .filter((row) => row.status === "PROVISIONING" && row.operationalWallet === result.wallet);
  if (!found || waiting.length === 0) return;
  // A production market opened while a sandbox key's transaction was on its way: the chain is told its wallet again.
  const overtaken = environment === "sandbox" && !("failed" in result) && holdsOtherWallet(waiting, otherMarkets);
  const forbidden = isFinal(found.agent.status)
    ? "agent_status_not_mutable"
    : overtaken
      ? "environment_mismatch"
      : null;
  const said: Result = forbidden === null ? result : { failed: forbidden, wallet: result.wallet };
  const again = otherMarkets
    .filter((row) => overtaken && row.network === network && row.status === "ACTIVE")
    .map((row): MarketMove => ({ before: row, after: { ...row, status: "PROVISIONING", updatedAt: now } }));
  const known = escrows.find((row) => row.network === network);
  const moves = waiting.map((row): MarketMove => ({ before: row, after: settledRow(row, said, known, now) }));
  const settled = moves.map(({ after }) => after);
  // The chain has one split: what is open there follows it, in both environments.
  const following = [...markets, ...otherMarkets]
    .filter((row) => !("failed" in said) && row.network === network && row.status === "ACTIVE")
    .filter((row) => row.operationalWallet !== said.wallet)
    .map((row) => ({ before: row, after: { ...row, operationalWallet: said.wallet, updatedAt: now } }));
  const written = [...moves, ...following, ...again];
  const statements: Statement[] = written.flatMap(({ before, after }) => updateMarket(db, before, after));
  const escrow = "failed" in said ? null : escrowRow(deps, job, said, known, now);
  const otherEscrow = otherEscrows.find((row) => row.network === network);
  if (escrow) {
    const { operationalWallet, chainThreshold } = escrow;
    statements.push(putEscrow(db, escrow));
    if (otherEscrow) statements.push(putEscrow(db, { ...otherEscrow, operationalWallet, chainThreshold }));
  }
  const own = environment === found.agent.environment;
  const ownEscrows = escrow ? [...escrows.filter((row) => row.network !== network), escrow] : escrows;
  const changed = written.some(
    ({ before, after }) =>
      before.environment === found.agent.environment && (before.status === "ACTIVE" || after.status === "ACTIVE"),
  );
  if (changed && !isFinal(found.agent.status)) {
    const after = (own ? markets : otherMarkets).map(
      (row) => written.find(({ before }) => before === row)?.after ?? row,
    );
    const certificate = newest && certificateIn(newest.content);
    const source = { ...found, certificate, markets: after, escrows: own ? ownEscrows : otherEscrows };
    statements.push(...(await documentChange(deps, source, now)));
  }
  const owner = { platformId: found.agent.platformId, environment };
  for (const row of settled.filter((one) => escrow !== null && one.status === "ACTIVE")) {
    statements.push(
      recordEvent(db, owner, now, { type: "market.provisioned", object: { did, ...toMarketView(deps.config, row) } }),
    );
  }
  await commit(db, statements);
  if (again.length > 0)
    await deps.env.CHAIN_QUEUE.send({ kind: "provision_market", did, environment: "production", network });
}

/** A market that the chain has goes on with the wallet that the chain has, when another is refused. */
function settledRow(row: MarketRow, result: Result, known: EscrowRow | undefined, now: number): MarketRow {
  if ("failed" in result) {
    const { failed: reason } = result;
    const kept = row.escrowWallet !== null && reason !== "agent_status_not_mutable";
    if (!kept || !known) return { ...row, status: "FAILED", reason, updatedAt: now };
    return { ...row, status: "ACTIVE", operationalWallet: known.operationalWallet, reason, updatedAt: now };
  }
  const { onChain, tx } = result;
  const registrationTx = tx ?? row.registrationTx;
  return { ...row, status: "ACTIVE", escrowWallet: onChain.vault, registrationTx, reason: null, updatedAt: now };
}

/**
 * The vault as the chain has it when the first market opens. Later it is not written from a reading that others may have
 * overtaken: its balance follows the settlements, its threshold the rating, and only what the contract splits by is said here.
 */
function escrowRow(
  deps: Deps,
  job: Provisioning,
  { onChain, base, wallet }: Exclude<Result, { failed: string }>,
  known: EscrowRow | undefined,
  now: number,
): EscrowRow {
  const threshold = Number(onChain.threshold);
  if (known) return { ...known, operationalWallet: wallet, chainThreshold: threshold };
  const { currency } = networkNamed(deps.config.networks, job.network);
  const balance = Number(onChain.balance);
  return {
    ...job,
    currency,
    vault: onChain.vault,
    operationalWallet: wallet,
    balance,
    baseThreshold: base,
    threshold,
    chainThreshold: threshold,
    state: escrowStateAt("FUNDING", balance, threshold),
    updatedAt: now,
  };
}

/** The agent's own environment: its document states the market, and the directory is told. `source` has the markets as they are now. */
export async function documentChange(deps: Deps, source: AidSource, now: number): Promise<Statement[]> {
  const { db } = deps;
  const { agent: before, certificate } = source;
  const agent: AgentRow = { ...before, version: before.version + 1, revision: before.revision + 1, updatedAt: now };
  const { version, updatedAt } = agent;
  return [
    ...updateAgent(db, before, { version, updatedAt }, { documented: true }),
    ...(await signVersion(db, deps, { ...source, agent }, now)),
    ...(certificate === null ? [] : [recordDirectoryChange(db, agent.environment, agent.did, "updated", now)]),
  ];
}

function baseThreshold(network: Network): number {
  const parsed = parseAmount(ESCROW_BASE_THRESHOLD, network.decimals);
  if (!parsed.ok) throw new Error("unreachable: the base threshold fits every token");
  return parsed.units;
}

/** What a crash or a slow chain left: the queue takes it up again. */
export const resumeProvisioning: EachJob = {
  kind: "each",
  name: "resume_market_provisioning",
  find: async ({ db, clock }, after, limit) => {
    const { stalled } = await readBatch(db, {
      stalled: findStalledMarkets(db, clock.now() - MINUTE_MS, after ?? FIRST, limit),
    });
    return stalled;
  },
  record: async ({ env }, id) => {
    const [did, environment, network] = id.split(" ");
    if (did === undefined || !isEnvironment(environment) || network === undefined) return false;
    await env.CHAIN_QUEUE.send({ kind: "provision_market", did, environment, network });
    return true;
  },
};
