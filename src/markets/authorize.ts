// Opens markets, the request's side (MKT-5 to MKT-12): judges the request and writes the rows. provision.ts does the chain's side; a row in
// PROVISIONING is the only link between them (MKT-8).
import { toMarketView } from "../agents/read.ts";
import { refuseFinal } from "../agents/revise.ts";
import type { MarketView } from "../agents/schema.ts";
import { noteWalletAsks, noteWallets } from "../agents/store.ts";
import { type ManagementCall, type ManagementCaller, type Precheck, precheck } from "../call.ts";
import { findNetwork } from "../chain/networks.ts";
import type { Deps } from "../context.ts";
import { systemClock } from "../core/clock.ts";
import { ServiceError, toValidationError } from "../core/errors.ts";
import { MARKET_PROVISION_WAIT_MS } from "../core/limits.ts";
import { sells } from "../core/roles.ts";
import { type ReadResults, readBatch, type Statement } from "../db/batch.ts";
import type { AgentRow, MarketRow } from "../db/tables/agents.ts";
import { parseCertificate } from "../identity/aid.ts";
import { type AgentWithPrincipal, findEscrows, findMarkets } from "../identity/store.ts";
import { recordActivity } from "../journal/activity.ts";
import { buildMarketReads, refuseUnconfirmedWallet, signMarketChange } from "./own.ts";
import { findMarketFaults, provisionMarkets } from "./provision.ts";
import type { MarketInput, ProposedMarket } from "./schema.ts";
import { insertMarket, refusePromoted, updateMarket } from "./store.ts";
import { buildTrialReads, countTrials } from "./trials.ts";
import {
  addWalletChanges,
  diffWallets,
  findChangedNetworks,
  findWalletOn,
  holdsOtherWallet,
  isSameMarket,
  NO_CHANGE,
  OTHER_WALLET,
} from "./wallets.ts";

export async function authorizeMarkets(
  call: ManagementCall<AgentWithPrincipal>,
  did: string,
  input: MarketInput,
): Promise<{ did: string; markets: MarketView[] }> {
  const { db, now, deps, environment } = call;
  const until = systemClock.now() + MARKET_PROVISION_WAIT_MS;
  const facts = await call.read({
    ...buildMarketReads(call, did),
    production: findMarkets(db, did, "production"),
    ...(environment === "sandbox" && { ofProduction: findEscrows(db, did, "production") }),
    ...buildTrialReads(call, input),
  });
  const { caller, object, markets, production, ofProduction = [] } = facts;
  const { agent } = object;
  refuseUnmarketable(object, caller, now);
  const faults = await findMarketFaults(call, did, input.markets, facts.escrows);
  if (faults.length > 0) throw toValidationError(faults);
  refuseUnknownNetwork(input.markets, deps);
  const wanted = toWantedRows(call, agent, input, markets);
  const networks = [...new Set([...wanted, ...findRepeatedChanges(deps, input, markets)].map((row) => row.network))];
  if (networks.length === 0) return { did, markets: markets.map((row) => toMarketView(deps.config, row)) };
  if (environment !== "production" && holdsOtherWallet(wanted, [...production, ...ofProduction]))
    throw new ServiceError("environment_mismatch", { detail: { networks } });
  const known = [...markets, ...production, ...facts.escrows];
  const trials = countTrials(call, agent.platformId, { ...facts, wanted, known });
  const asks = addWalletChanges(agent, findChangedNetworks(wanted, markets, facts.escrows).length, deps.clock.now());
  if (wanted.length > 0)
    await call.commit(
      [...(await recordRequest(call, agent, facts, wanted)), ...recordWallets(db, agent, wanted, asks), ...trials],
      null,
    );

  // The chain may be slow, and a suspension of the agent must not wait for it.
  call.unlock();
  const rows = await askChain(deps, { did, environment }, networks, until);
  return { did, markets: rows.map((row) => toMarketView(deps.config, row)) };
}

function recordWallets(
  db: Deps["db"],
  { did, wallets: known }: AgentRow,
  wanted: readonly MarketRow[],
  asks: readonly number[] | null,
): Statement[] {
  const wallets = wanted.map(({ operationalWallet }) => operationalWallet);
  const now = systemClock.now();
  const isNew = wallets.some((wallet) => !known.some(([one]) => one === wallet));
  return [
    ...(asks === null ? [] : [noteWalletAsks(db, did, asks)]),
    ...(isNew
      ? [
          noteWallets(
            db,
            did,
            wallets.map((wallet) => [wallet, now]),
          ),
        ]
      : []),
  ];
}

/** Open markets whose pending change of wallet is requested again: the present wallet may have confirmed it since (MKT-21). */
const findRepeatedChanges = (deps: Deps, input: MarketInput, markets: readonly MarketRow[]): MarketRow[] =>
  markets.filter((row) =>
    input.markets.some(
      ({ market, network, operational_wallet }) =>
        row.market === market &&
        row.network === findNetwork(deps.config.networks, network)?.network &&
        row.status === "ACTIVE" &&
        row.pendingWallet === operational_wallet.toLowerCase(),
    ),
  );

/** The rows for which the chain has to be asked, each market once. */
function toWantedRows(
  call: ManagementCall,
  agent: AgentRow,
  input: MarketInput,
  markets: readonly MarketRow[],
): MarketRow[] {
  const rows = input.markets
    .map((asked) => toProvisioningRow(call, agent, asked, markets))
    .filter((row) => row !== null);
  return rows.filter((row, i) => rows.findIndex((other) => isSameMarket(other, row)) === i);
}

type Facts = ReadResults<ReturnType<typeof buildMarketReads>> & {
  readonly caller: Pick<ManagementCaller, "actor">;
  readonly object: AgentWithPrincipal;
};

/** The statements that record the request: the markets, the document and the activity entry. */
async function recordRequest(
  { db, deps, now, environment }: ManagementCall,
  agent: AgentRow,
  { object, newest, markets, escrows, caller }: Facts,
  wanted: readonly MarketRow[],
): Promise<Statement[]> {
  // The contract has one split per network (MKT-9): a waiting market takes the last requested wallet; an open one follows when the contract has it.
  const moved = markets
    .filter((row) => row.status === "PROVISIONING")
    .filter((row) => wanted.some((other) => other.network === row.network))
    .filter((row) => !wanted.some((other) => isSameMarket(row, other)))
    .filter((row) => row.operationalWallet !== findWalletOn(wanted, row.network))
    .map((row) => ({ ...row, operationalWallet: findWalletOn(wanted, row.network), updatedAt: deps.clock.now() }));
  // A market that leaves ACTIVE for another wallet also leaves the document (MKT-12).
  const left = wanted.some((row) => markets.some((was) => isSameMarket(was, row) && was.status === "ACTIVE"));
  const asked = markets.map((row) => wanted.find((other) => isSameMarket(other, row)) ?? row);
  const unpromised = left && environment === agent.environment;
  const certificate = newest && parseCertificate(newest.content);
  return [
    ...[...wanted, ...moved].flatMap((row) => {
      const before = markets.find((was) => isSameMarket(was, row));
      return before ? updateMarket(db, before, row) : insertMarket(db, row);
    }),
    ...(unpromised
      ? await signMarketChange(deps, { ...object, certificate, markets: asked, escrows }, now)
      : [refusePromoted(db, agent)]),
    recordActivity(db, { platformId: agent.platformId, environment }, now, {
      action: "agent.markets_changed",
      actor: caller.actor,
      subject: { type: "agent", id: agent.did },
      changes: {
        authorized_markets: {
          from: markets.map(pickMarketCode),
          to: [...new Set([...markets, ...wanted].map(pickMarketCode))],
        },
        // Waiting rows come first, because they have the requested wallet.
        ...diffWallets(markets, [...wanted, ...markets]),
      },
    }),
  ];
}

/**
 * Asks the chain for the stored markets, and returns the markets afterwards. If this fails, the markets stay waiting, and the queue or the
 * minute's job resumes them.
 */
async function askChain(
  deps: Deps,
  owner: Pick<MarketRow, "did" | "environment">,
  networks: readonly string[],
  until: number,
): Promise<MarketRow[]> {
  const provisioned = await Promise.all(
    networks.map((network) => logFailure("provision", provisionMarkets(deps, { ...owner, network }, until))),
  );
  const unfinished = networks.filter((_, i) => provisioned[i] === null);
  for (const network of unfinished)
    await logFailure("queue", deps.env.CHAIN_QUEUE.send({ kind: "provision_market", ...owner, network }));
  const { did, environment } = owner;
  return (
    mergeProvisionedRows(networks, provisioned) ??
    (await readBatch(deps.db, { own: findMarkets(deps.db, did, environment) })).own
  );
}

/** Returns null, and logs a line, if the work failed. */
async function logFailure<T>(step: string, work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (thrown) {
    const message = thrown instanceof Error ? thrown.message : "unknown";
    console.error(JSON.stringify({ event: "markets_left_waiting", step, message }));
    return null;
  }
}

/** Merges the markets from the results for each network; null if a result is missing. */
function mergeProvisionedRows(
  networks: readonly string[],
  provisioned: readonly (MarketRow[] | null)[],
): MarketRow[] | null {
  const [first] = provisioned;
  if (!first || provisioned.includes(null)) return null;
  // Each result is current only for the rows of its own network.
  return first.map(
    (row) => provisioned[networks.indexOf(row.network)]?.find((other) => isSameMarket(row, other)) ?? row,
  );
}

/** Judges the agent, and adds the faults that depend on it, for a body that the schema refused. */
export function precheckMarkets(call: ManagementCall, did: string, proposed: readonly ProposedMarket[]): Precheck {
  const reads = { escrows: findEscrows(call.db, did, call.environment) };
  return precheck<typeof reads, ManagementCaller, AgentWithPrincipal>(reads, ({ object, escrows, caller }) => {
    refuseUnmarketable(object, caller, call.now);
    return findMarketFaults(call, did, proposed, escrows);
  });
}

function refuseUnmarketable(found: AgentWithPrincipal, caller: ManagementCaller, now: number): void {
  refuseUnconfirmedWallet(caller);
  if (!sells(found.agent.economicRole)) throw new ServiceError("role_not_permitted");
  refuseFinal(found, now);
}

function refuseUnknownNetwork(markets: MarketInput["markets"], deps: Deps): void {
  const unknown = markets.find(({ network }) => !findNetwork(deps.config.networks, network));
  if (unknown) throw new ServiceError("market_not_authorized", { detail: { network: unknown.network } });
}

/**
 * The row that asks the chain for this market; null if the market is already open as requested. A market whose wallet changes keeps its vault,
 * and takes no new intents until the contract has the new wallet.
 */
function toProvisioningRow(
  { deps, now, environment }: ManagementCall,
  agent: AgentRow,
  asked: MarketInput["markets"][number],
  markets: readonly MarketRow[],
): MarketRow | null {
  const network = findNetwork(deps.config.networks, asked.network)?.network ?? asked.network;
  const { market } = asked;
  const operationalWallet = asked.operational_wallet.toLowerCase();
  const present = markets.find((row) => row.market === market && row.network === network);
  const changing = present?.pendingWallet ?? null;
  if (present?.status === "ACTIVE" && (changing ?? present.operationalWallet) === operationalWallet) return null;
  const fresh = {
    did: agent.did,
    environment,
    market,
    network,
    escrowWallet: null,
    registrationTx: null,
    ...NO_CHANGE,
    createdAt: now,
  };
  // The job that resumes waiting markets compares this with the service's own clock, not with the sandbox clock.
  const updatedAt = deps.clock.now();
  const waitsAlready = present?.reason === OTHER_WALLET && present.operationalWallet === operationalWallet;
  const reason = waitsAlready ? OTHER_WALLET : null;
  return { ...(present ?? fresh), ...NO_CHANGE, operationalWallet, status: "PROVISIONING", reason, updatedAt };
}

const pickMarketCode = (row: { market: string }): string => row.market;
