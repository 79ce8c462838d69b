// Specification 4, authorized_markets: provisions the escrow wallet and registers the settlement split on-chain.
// First the intent is written (PROVISIONING), then the chain is asked, then what it says is written: a crash between any
// two leaves a row that the queue or the cron takes up again, and registering twice changes nothing.
import { recordActivity, recordDirectoryChange, recordEvent } from "../activity/store.ts";
import { marketCodes, writeAid } from "../agents/aid.ts";
import type { MarketInput } from "../agents/market-schema.ts";
import type { MarketView } from "../agents/schema.ts";
import {
  type AgentRow,
  type AgentWithPrincipal,
  deleteMarket,
  type EscrowRow,
  findEscrows,
  findMarkets,
  findOwnAgent,
  findPublicAgent,
  findStalledMarkets,
  type MarketRow,
  putEscrow,
  putMarket,
  updateAgent,
} from "../agents/store.ts";
import { toMarketView } from "../agents/views.ts";
import type { ManagementCall } from "../call.ts";
import type { Network, ProviderOnChain } from "../chain/gateway.ts";
import { didHash, isAddress } from "../chain/hashes.ts";
import { createChainSender } from "../chain/sender.ts";
import { registrarOn } from "../chain/signer.ts";
import type { Deps } from "../context.ts";
import { type FieldError, fieldError, ServiceError, validationError } from "../core/errors.ts";
import { ESCROW_BASE_THRESHOLD, MARKET_PROVISION_WAIT_MS, MINUTE_MS } from "../core/limits.ts";
import { parseAmount } from "../core/money.ts";
import { Conflict, commit, readBatch, type Statement } from "../db/batch.ts";
import type { Environment } from "../db/scope.ts";
import { escrowStateAt, escrowThreshold } from "../escrow/threshold.ts";
import { EVERYWHERE, REGIONS } from "../markets/jurisdictions.ts";
import { findNetwork } from "../markets/networks.ts";

const WIDE: ReadonlySet<string> = new Set([...Object.keys(REGIONS), EVERYWHERE]);
const ATTEMPTS = 5;

export async function authorizeMarkets(
  call: ManagementCall,
  did: string,
  input: MarketInput,
): Promise<{ did: string; markets: MarketView[] }> {
  const { db, now, deps, environment } = call;
  const { found, markets, production, caller } = await call.read({
    ...marketReads(call, did),
    production: findMarkets(db, did, "production"),
  });
  const agent = ownAgent(found, environment);
  if (agent.economicRole === "CONSUMER") throw new ServiceError("role_not_permitted");
  refuseFinal(agent);
  const faults = marketFaults(input, deps, environment);
  if (faults.length > 0) throw validationError(faults);

  const wanted = input.markets
    .map((market) => provisioningRow(deps, agent, environment, market, markets, now))
    .filter((row) => row !== null);
  if (wanted.length === 0) return { did, markets: markets.map((row) => toMarketView(deps.config, row)) };
  const networks = [...new Set(wanted.map((row) => row.network))];
  if (environment !== "production") refuseOtherWallet(wanted, production);
  // One split per network: a market that waits there follows the wallet that is asked for last; one that is open follows
  // when the chain has said it.
  const moved = markets
    .filter((row) => row.status === "PROVISIONING")
    .filter((row) => networks.includes(row.network) && !wanted.some((other) => sameMarket(row, other)))
    .filter((row) => row.operationalWallet !== walletOn(wanted, row.network))
    .map((row) => ({ ...row, operationalWallet: walletOn(wanted, row.network), updatedAt: now }));
  await call.commit(
    [
      ...[...wanted, ...moved].map((row) => putMarket(db, row)),
      recordActivity(db, { platformId: agent.platformId, environment }, now, {
        action: "agent.markets_changed",
        actor: caller.actor,
        subject: { type: "agent", id: did },
        changes: {
          authorized_markets: { from: markets.map(codeOf), to: [...new Set([...markets, ...wanted].map(codeOf))] },
        },
      }),
    ],
    null,
  );

  const until = Date.now() + MARKET_PROVISION_WAIT_MS;
  const done = await Promise.all(
    networks.map((network) => provisionMarkets(deps, { did, environment, network }, until)),
  );
  const unfinished = networks.filter((_, i) => !done[i]);
  for (const network of unfinished) await deps.env.JOBS.send({ kind: "provision_market", did, environment, network });
  const after = await readBatch(db, { markets: findMarkets(db, did, environment) });
  return { did, markets: after.markets.map((row) => toMarketView(deps.config, row)) };
}

const marketReads = ({ db, scope, environment }: ManagementCall, did: string) => ({
  found: findOwnAgent(db, scope, did),
  markets: findMarkets(db, did, environment),
  escrows: findEscrows(db, did, environment),
});

const readForMarkets = (call: ManagementCall, did: string) => call.read(marketReads(call, did));

/** The chain has one split for an agent and a network, whatever the environment: a sandbox key never moves real money. */
function refuseOtherWallet(wanted: readonly MarketRow[], production: readonly MarketRow[]): void {
  const other = production.find(
    (row) =>
      row.status !== "FAILED" &&
      wanted.some(
        ({ network, operationalWallet }) => network === row.network && operationalWallet !== row.operationalWallet,
      ),
  );
  if (other) throw new ServiceError("environment_mismatch", { detail: { network: other.network } });
}

/** A live key reaches the platform's sandbox agents here: the market waits for the promotion (contract section 5). */
function ownAgent(found: AgentWithPrincipal | null, environment: Environment): AgentRow {
  const visible = found && (found.agent.environment === environment || environment === "production");
  if (!visible) throw new ServiceError("not_found");
  return found.agent;
}

function refuseFinal(agent: AgentRow): void {
  const final = agent.status === "REVOKED" || agent.status === "TERMINATED";
  if (final) throw new ServiceError("agent_status_not_mutable", { detail: { status: agent.status } });
}

function marketFaults(input: MarketInput, deps: Deps, environment: Environment): FieldError[] {
  const wallets = new Map<string, string>();
  return input.markets.flatMap(({ market, network, operational_wallet }, i) => {
    const at = (field: string) => `markets.${i}.${field}`;
    const known = findNetwork(deps.config.networks, network);
    if (!known && environment === "production")
      throw new ServiceError("market_not_authorized", { detail: { network } });
    const [jurisdiction = "", currency] = market.split("-");
    const faults: FieldError[] = [];
    if (!known) faults.push(fieldError(at("network"), "invalid_value", "No such network; see GET /v1/markets."));
    if (!WIDE.has(jurisdiction) && !deps.config.jurisdictions.has(jurisdiction)) {
      faults.push(fieldError(at("market"), "invalid_value", "The service does not operate in this jurisdiction."));
    }
    if (known && currency !== known.currency) {
      faults.push(fieldError(at("market"), "invalid_value", `The network settles in ${known.currency}.`));
    }
    if (!isAddress(operational_wallet)) {
      const message = "The address's checksum (EIP-55) is wrong: a character is mistyped.";
      faults.push(fieldError(at("operational_wallet"), "invalid_format", message));
    }
    const name = known?.network ?? network;
    const wallet = operational_wallet.toLowerCase();
    const other = wallets.get(name);
    if (other !== undefined && other !== wallet) {
      faults.push(fieldError(at("operational_wallet"), "invalid_value", "A network has one operational wallet."));
    }
    wallets.set(name, wallet);
    return faults;
  });
}

/**
 * The row that asks the chain for this market; null when it is open already, as asked. One whose wallet moves keeps what the
 * chain has said of it, and takes no new intents until the chain says the new wallet too.
 */
function provisioningRow(
  deps: Deps,
  agent: AgentRow,
  environment: Environment,
  asked: MarketInput["markets"][number],
  markets: readonly MarketRow[],
  now: number,
): MarketRow | null {
  const network = findNetwork(deps.config.networks, asked.network)?.network ?? asked.network;
  const { market } = asked;
  const operationalWallet = asked.operational_wallet.toLowerCase();
  const present = markets.find((row) => row.market === market && row.network === network);
  if (present?.status === "ACTIVE" && present.operationalWallet === operationalWallet) return null;
  const fresh = {
    did: agent.did,
    environment,
    market,
    network,
    escrowWallet: null,
    registrationTx: null,
    createdAt: now,
  };
  return { ...(present ?? fresh), operationalWallet, status: "PROVISIONING", reason: null, updatedAt: now };
}

const codeOf = (row: { market: string }): string => row.market;
const sameMarket = (a: MarketRow, b: MarketRow): boolean => a.market === b.market && a.network === b.network;
const walletOn = (rows: readonly MarketRow[], network: string): string =>
  rows.find((row) => row.network === network)?.operationalWallet ?? "";

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
  const sent = await deps.chain.registerProvider(name, registration, registrarOn(deps.env, name));
  if (!sent.ok) return false;
  if (sent.value.state === "refused") {
    await settleMarkets(deps, job, { failed: sent.value.reason, wallet: first.operationalWallet });
    return true;
  }
  const tx = sent.value.state === "submitted" ? sent.value.txHash : null;
  if (tx !== null) {
    const seen = await createChainSender(deps.config.networks).waitForReceipt(
      name,
      tx,
      Math.max(0, until - Date.now()),
    );
    if (!seen.ok || seen.value.state === "waiting") return false;
    if (seen.value.state === "reverted") {
      await settleMarkets(deps, job, { failed: "reverted", wallet: first.operationalWallet });
      return true;
    }
  }
  const onChain = await deps.chain.readProvider(name, providerDidHash);
  if (!onChain.ok || !onChain.value.registered) return false;
  const same = onChain.value.operationalWallet?.toLowerCase() === first.operationalWallet.toLowerCase();
  // Wallet and threshold are two calls on-chain: the next round sends the other.
  if (!same || onChain.value.threshold !== BigInt(threshold))
    return Date.now() < until ? provisionMarkets(deps, job, until) : false;
  await settleMarkets(deps, job, { wallet: first.operationalWallet, onChain: onChain.value, tx, base });
  return true;
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
  const settled = waiting.map((row) => settledRow(row, result, now));
  const owner = { platformId: found.agent.platformId, environment };
  const statements: Statement[] = settled.map((row) => putMarket(db, row));
  if (!("failed" in result)) {
    const following = here
      .filter((row) => row.status === "ACTIVE" && row.operationalWallet !== result.wallet)
      .map((row) => ({ ...row, operationalWallet: result.wallet, updatedAt: now }));
    statements.push(...following.map((row) => putMarket(db, row)));
    const escrow = escrowRow(deps, job, result, escrows, settled, now);
    statements.push(putEscrow(db, escrow));
    const written = [...settled, ...following];
    const after = markets.map((row) => written.find((other) => sameMarket(other, row)) ?? row);
    const escrowsAfter = [...escrows.filter((row) => row.network !== network), escrow];
    if (environment === found.agent.environment)
      statements.push(...(await documentChange(deps, found, after, escrowsAfter, now)));
    for (const row of settled) {
      statements.push(
        recordEvent(db, owner, now, { type: "market.provisioned", object: { did, ...toMarketView(deps.config, row) } }),
      );
    }
  }
  await commit(db, statements);
}

const settledRow = (row: MarketRow, result: Result, now: number): MarketRow =>
  "failed" in result
    ? { ...row, status: "FAILED", reason: result.failed, updatedAt: now }
    : {
        ...row,
        status: "ACTIVE",
        escrowWallet: result.onChain.vault,
        registrationTx: result.tx ?? row.registrationTx,
        reason: null,
        updatedAt: now,
      };

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
async function documentChange(
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

export async function listMarkets(call: ManagementCall, did: string) {
  const { found, markets } = await readForMarkets(call, did);
  ownAgent(found, call.environment);
  return { data: markets.map((row) => toMarketView(call.deps.config, row)), next_cursor: null, has_more: false };
}

/** Takes a market away. The vault and what it holds stay: they belong to the provider, not to the market. */
export async function removeMarket(call: ManagementCall, did: string, market: string, network: string): Promise<null> {
  const { db, now, deps, environment } = call;
  const { found, markets, escrows, caller } = await readForMarkets(call, did);
  const agent = ownAgent(found, environment);
  const name = findNetwork(deps.config.networks, network)?.network;
  const row = markets.find((candidate) => candidate.market === market && candidate.network === name);
  if (!row || !found) throw new ServiceError("not_found");
  refuseFinal(agent);
  const left = markets.filter((candidate) => candidate !== row);
  const own = environment === agent.environment;
  await call.commit(
    [
      ...deleteMarket(db, row),
      ...(own ? await documentChange(deps, found, left, escrows, now) : []),
      recordActivity(db, { platformId: agent.platformId, environment }, now, {
        action: "agent.markets_changed",
        actor: caller.actor,
        subject: { type: "agent", id: did },
        changes: { authorized_markets: { from: marketCodes(markets), to: marketCodes(left) } },
      }),
    ],
    null,
  );
  return null;
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
