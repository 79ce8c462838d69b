// Opens markets on the chain (MKT-6 to MKT-8). The request is judged and written first (PROVISIONING), then the chain is asked, then its answer is
// written (settle.ts). After a crash between any two steps, the queue or the minute's job resumes the row.
import type { ManagementCall } from "../call.ts";
import { listEditionContracts } from "../chain/events.ts";
import { hashDid, isAddress } from "../chain/hashes.ts";
import { findNetwork, type Network, requireNetwork } from "../chain/networks.ts";
import { type Driven, driveSplit } from "../chain/split.ts";
import { computeImplementation, computeVaultAddress } from "../chain/vaults.ts";
import type { Deps } from "../context.ts";
import { BEFORE_FIRST_DUE } from "../core/clock.ts";
import { type ErrorCode, type FieldError, toFieldError } from "../core/errors.ts";
import { MINUTE_MS, SECOND_MS } from "../core/limits.ts";
import { isEnvironment, isFinal, OTHER_ENVIRONMENT } from "../core/vocabulary.ts";
import { commit, readBatch } from "../db/batch.ts";
import type { AgentRow, MarketRow } from "../db/tables/agents.ts";
import type { EscrowRow } from "../db/tables/money.ts";
import { computeBaseThreshold, computeFirstThreshold } from "../escrow/threshold.ts";
import { findAgentRating, findEscrows, findMarkets } from "../identity/store.ts";
import type { EachJob } from "../jobs/job.ts";
import { takeLock } from "../objects/locks.ts";
import { createSigner } from "../objects/signers.ts";
import { EVERYWHERE, REGIONS } from "./jurisdictions.ts";
import type { ProposedMarket } from "./schema.ts";
import { type Provisioning, recordWaiting, settleMarkets } from "./settle.ts";
import { findDueChanges, findStalledMarkets } from "./store.ts";
import {
  applyAskedWallet,
  holdsOtherWallet,
  mayChangeWallet,
  OTHER_WALLET,
  pickAskedWallet,
  recordWalletChange,
  toWalletChange,
} from "./wallets.ts";

/**
 * Brings the contract to the state that the rows request, and the rows to the contract's state. Returns the agent's markets when all is done;
 * null if time ran out or the chain could not be asked. Safe to run at any time and twice.
 */
export async function provisionMarkets(deps: Deps, job: Provisioning, until: number): Promise<MarketRow[] | null> {
  const lasts = Math.max(0, until - Date.now());
  // One run at a time: each reads the present request in its turn, so that no earlier request overwrites a later one on the chain.
  using lock = await takeLock(deps.env, `${job.network} ${job.did}`, lasts, lasts + SECOND_MS);
  return lock ? await provisionUnderLock(deps, job, until) : null;
}

async function provisionUnderLock(deps: Deps, job: Provisioning, until: number): Promise<MarketRow[] | null> {
  const { db, config, env, chain } = deps;
  const { did, environment, network: name } = job;
  const { agent, markets, escrows, others, production } = await readBatch(db, {
    agent: findAgentRating(db, did),
    markets: findMarkets(db, did, environment),
    escrows: findEscrows(db, did, environment),
    others: findEscrows(db, did, OTHER_ENVIRONMENT[environment]),
    production: findMarkets(db, did, "production"),
  });
  const asking = markets.filter((row) => row.network === name && pickAskedWallet(row) !== null);
  const first = asking.find((row) => row.status === "PROVISIONING") ?? asking[0];
  if (!agent || !first) return markets;
  const asked = applyAskedWallet(first);
  const { operationalWallet: wallet } = asked;
  const base = computeBaseThreshold(requireNetwork(config.networks, name));
  const known = escrows.find((row) => row.network === name);
  // A provider that has left the network and returns starts with its first threshold again.
  const own = known && known.baseThreshold > 0 ? known.threshold : computeFirstThreshold(base, environment, agent);
  // Both environments share the vault: the one with the higher threshold decides (MKT-20).
  const threshold = Math.max(own, others.find((row) => row.network === name)?.threshold ?? 0);
  const split = { wallet, threshold, scheduled: toWalletChange(first) };
  // A wallet that was changed from outside is changed back only within the daily limit (MKT-24).
  const returning = asking.some(({ reason }) => reason === OTHER_WALLET);
  if (returning && !mayChangeWallet(agent, deps.clock.now())) return null;
  const forbidden = findRefusalReason(agent, asked, [...production, ...others]);
  const tools = { chain, signer: createSigner(env, "registrar", name) };
  const driven: Driven =
    forbidden === null
      ? await driveSplit(tools, name, did, split, until)
      : { state: "failed", reason: forbidden, txHash: null };
  if (returning && driven.txHash !== null && driven.txHash !== first.registrationTx)
    await commit(db, [recordWalletChange(db, agent, deps.clock.now())]);
  if (driven.state === "waiting") {
    await recordWaiting(deps, job, split, driven);
    return null;
  }
  return settleMarkets(deps, job, { driven, split, base });
}

/** Refusals that arose while the market waited; its `reason` reports them. */
function findRefusalReason(
  agent: Pick<AgentRow, "status">,
  asked: MarketRow,
  production: Parameters<typeof holdsOtherWallet>[1],
): ErrorCode | null {
  if (isFinal(agent.status)) return "agent_status_not_mutable";
  return asked.environment === "sandbox" && holdsOtherWallet([asked], production) ? "environment_mismatch" : null;
}

// ---- Jobs ------------------------------------------------------------------------------------------------------------------

/** Sends markets that a crash or a slow chain left waiting to the queue again. */
export const resumeProvisioning: EachJob = {
  kind: "each",
  name: "resume_market_provisioning",
  find: async ({ db, clock }, after, limit) => {
    const { stalled } = await readBatch(db, {
      stalled: findStalledMarkets(db, clock.now() - MINUTE_MS, after ?? BEFORE_FIRST_DUE, limit),
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

/** Sends open markets whose change of wallet is due to the queue (MKT-21). */
export const applyWalletChanges: EachJob = {
  kind: "each",
  name: "apply_wallet_changes",
  find: async ({ db }, after, limit) => {
    const { due } = await readBatch(db, { due: findDueChanges(db, Date.now(), after ?? BEFORE_FIRST_DUE, limit) });
    return due;
  },
  record: resumeProvisioning.record,
};

// ---- Faults of a request ---------------------------------------------------------------------------------------------------

const WIDE: ReadonlySet<string> = new Set([...Object.keys(REGIONS), EVERYWHERE]);

/** Finds all faults of a request's entries together (MKT-1, MKT-9 to MKT-11, MKT-24). */
export async function findMarketFaults(
  { deps, environment }: Pick<ManagementCall, "deps" | "environment">,
  did: string,
  markets: readonly ProposedMarket[],
  escrows: readonly EscrowRow[],
): Promise<FieldError[]> {
  const vaults = await findVaultsAmong(deps, did, markets, escrows);
  const wallets = new Map<string, string>();
  return markets.flatMap(({ market, network, operational_wallet }, i) => {
    const at = (field: string) => `markets.${i}.${field}`;
    const known = network === undefined ? null : findNetwork(deps.config.networks, network);
    const [jurisdiction = "", currency] = market?.split("-") ?? [];
    const faults: FieldError[] = [];
    // With a live key, an unknown network is `market_not_authorized` instead (MKT-11).
    if (network !== undefined && !known && environment === "sandbox")
      faults.push(toFieldError(at("network"), "invalid_value", "No such network; see GET /v1/markets."));
    if (market !== undefined && !WIDE.has(jurisdiction) && !deps.config.jurisdictions.has(jurisdiction)) {
      faults.push(toFieldError(at("market"), "invalid_value", "The service does not operate in this jurisdiction."));
    }
    if (market !== undefined && known && currency !== known.currency) {
      faults.push(toFieldError(at("market"), "invalid_value", `The network settles in ${known.currency}.`));
    }
    if (operational_wallet === undefined) return faults;
    const wallet = operational_wallet.toLowerCase();
    if (!isAddress(operational_wallet)) {
      const message = "The address's checksum (EIP-55) is wrong: a character is mistyped.";
      faults.push(toFieldError(at("operational_wallet"), "invalid_format", message));
    }
    const what =
      known &&
      (nameNonWallet(known, wallet, did) ?? (vaults.has(formatNetworkAddress(known, wallet)) ? A_VAULT : null));
    if (what) faults.push(toFieldError(at("operational_wallet"), "invalid_value", `Must not be ${what}.`));
    if (network === undefined) return faults;
    const name = known?.network ?? network;
    const other = wallets.get(name);
    if (other !== undefined && other !== wallet) {
      faults.push(
        toFieldError(
          at("operational_wallet"),
          "invalid_value",
          "Must be the same wallet for all markets of a network.",
        ),
      );
    }
    wallets.set(name, wallet);
    return faults;
  });
}

const A_VAULT = "an escrow's vault";

/** Names the kind of an address that cannot be a wallet: a payment to it would be lost, or refused by the contract. */
function nameNonWallet(known: Network, wallet: string, did: string): string | null {
  const editions = listEditionContracts(known);
  if (known.token.toLowerCase() === wallet) return "the network's token";
  if (editions.includes(wallet)) return "the settlement contract";
  const own = editions.flatMap((contract) => [
    computeImplementation(contract),
    computeVaultAddress(contract, hashDid(did)),
  ]);
  return own.includes(wallet) ? A_VAULT : null;
}

const formatNetworkAddress = ({ network }: Pick<Network, "network">, address: string): string =>
  `${network} ${address}`;

/**
 * Finds the vaults of any provider among the wallets. Each network's node is asked once, about wallets that the contract does not have. If it
 * fails or is slow, none is found here, and the plan of the transaction finds them later (MKT-24).
 */
async function findVaultsAmong(
  { chain, config }: Deps,
  did: string,
  markets: readonly ProposedMarket[],
  escrows: readonly EscrowRow[],
): Promise<ReadonlySet<string>> {
  const found = await Promise.all(
    config.networks.map(async (known) => {
      const wallets = pickNewWallets(known, markets, escrows).filter(
        (wallet) => nameNonWallet(known, wallet, did) === null,
      );
      if (wallets.length === 0) return [];
      const vaults = await chain.findVaults(known.network, wallets);
      return vaults.ok ? vaults.value.map((vault) => formatNetworkAddress(known, vault)) : [];
    }),
  );
  return new Set(found.flat());
}

function pickNewWallets(known: Network, markets: readonly ProposedMarket[], escrows: readonly EscrowRow[]): string[] {
  const present = escrows.find(({ network }) => network === known.network)?.operationalWallet.toLowerCase();
  const wallets = markets
    .filter(({ network }) => network !== undefined && findNetwork([known], network) !== null)
    .flatMap(({ operational_wallet }) => operational_wallet?.toLowerCase() ?? []);
  return [...new Set(wallets)].filter((wallet) => wallet !== present);
}
