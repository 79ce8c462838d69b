// Lists and removes a provider's own markets (MKT-11, MKT-13), and lists the markets of the service (MKT-2).
import { toMarketView } from "../agents/read.ts";
import { refuseFinal } from "../agents/revise.ts";
import type { MarketView } from "../agents/schema.ts";
import { updateAgent } from "../agents/store.ts";
import {
  type ManagementCall,
  type ManagementCaller,
  type Precheck,
  type PublicCall,
  precheck,
  readPage,
} from "../call.ts";
import { findNetwork, type Network, toCaip2 } from "../chain/networks.ts";
import { toSplitKey } from "../chain/split.ts";
import { recheckOperation } from "../chain/store.ts";
import type { Config, Deps } from "../context.ts";
import { ServiceError } from "../core/errors.ts";
import { hashListing, type Page, toPage } from "../core/page.ts";
import { requireConfirmed } from "../core/volume.ts";
import type { Statement } from "../db/batch.ts";
import type { AgentRow } from "../db/tables/agents.ts";
import type { MovedStates } from "../escrow/store.ts";
import { type AidSource, listMarketCodes, parseCertificate, signVersion } from "../identity/aid.ts";
import { type AgentWithPrincipal, findEscrows, findMarkets, findNewestVersion } from "../identity/store.ts";
import { recordActivity } from "../journal/activity.ts";
import { recordDirectoryChange } from "../journal/feed.ts";
import { formatMarketCode, listMarketJurisdictions } from "./jurisdictions.ts";
import type { MarketListing } from "./responses.ts";
import type { MarketQuery } from "./schema.ts";
import { deleteMarket, listMarketRows, refusePromoted } from "./store.ts";
import { diffWallets } from "./wallets.ts";

export async function listMarkets(call: ManagementCall, did: string, query: MarketQuery): Promise<Page<MarketView>> {
  const { db, environment } = call;
  const page = await readPage(call, query, hashListing("agent markets", [environment, did], {}));
  const [market = "", network = ""] = page.after?.id.split(" ") ?? [];
  const { rows } = await call.read({
    rows: listMarketRows(db, did, environment, { limit: page.limit, after: [market, network] }),
  });
  return toPage(
    rows,
    page,
    (row) => ({ at: 0, id: `${row.market} ${row.network}` }),
    (row) => toMarketView(call.deps.config, row),
  );
}

/** Removes a market. The vault and its balance stay: they belong to the provider, not to the market (MKT-13). */
export async function removeMarket(
  call: ManagementCall<AgentWithPrincipal>,
  did: string,
  market: string,
  network: string,
): Promise<null> {
  const { db, now, deps, environment } = call;
  const { object: found, newest, markets, escrows, caller } = await call.read(buildMarketReads(call, did));
  const { agent } = found;
  const name = findNetwork(deps.config.networks, network)?.network;
  const row = markets.find((candidate) => candidate.market === market && candidate.network === name);
  if (!row) throw new ServiceError("not_found");
  refuseUnconfirmedWallet(caller);
  refuseFinal(found, now);
  const left = markets.filter((candidate) => candidate !== row);
  const own = environment === agent.environment;
  const certificate = newest && parseCertificate(newest.content);
  await call.commit(
    [
      ...deleteMarket(db, row),
      // The market's wallet may be on its way to the contract.
      ...(row.status === "PROVISIONING" ? [recheckOperation(db, toSplitKey(row.network, did), Date.now())] : []),
      ...(own
        ? await signMarketChange(deps, { ...found, certificate, markets: left, escrows }, now)
        : [refusePromoted(db, agent)]),
      recordActivity(db, { platformId: agent.platformId, environment }, now, {
        action: "agent.markets_changed",
        actor: caller.actor,
        subject: { type: "agent", id: did },
        changes: {
          authorized_markets: { from: listMarketCodes(markets), to: listMarketCodes(left) },
          ...diffWallets(markets, left),
        },
      }),
    ],
    null,
  );
  return null;
}

export const buildMarketReads = ({ db, environment }: ManagementCall, did: string) => ({
  markets: findMarkets(db, did, environment),
  escrows: findEscrows(db, did, environment),
  newest: findNewestVersion(db, did),
});

/** In production the wallet receives real money (CRED-30). */
export function refuseUnconfirmedWallet(caller: ManagementCaller): void {
  if (caller.environment === "production") requireConfirmed(caller);
}

/** Refuses the call before the faults of the removal are reported. */
export const precheckRemoval = (): Precheck =>
  precheck<Record<never, never>, ManagementCaller>({}, ({ caller }) => {
    refuseUnconfirmedWallet(caller);
    return [];
  });

/**
 * Signs a change of markets of the agent's own environment into a new version of its document (IDN-23), with a directory record. `source` has the new
 * markets; `states` are those of the escrows that the same batch opens in that environment.
 */
export async function signMarketChange(
  deps: Deps,
  source: AidSource,
  now: number,
  states: MovedStates = {},
): Promise<Statement[]> {
  const { db } = deps;
  const { agent: before, certificate } = source;
  const agent: AgentRow = { ...before, version: before.version + 1, revision: before.revision + 1, updatedAt: now };
  const { version, updatedAt } = agent;
  return [
    ...updateAgent(db, before, { version, updatedAt, ...states }, { documented: true, owner: source.principal }),
    ...(await signVersion(db, deps, { ...source, agent }, now)),
    ...(certificate === null ? [] : recordDirectoryChange(db, agent, "updated", listMarketCodes(source.markets))),
  ];
}

// ---- All markets -----------------------------------------------------------------------------------------------------------

/** Answers from the configuration, without the database. */
export async function getMarkets(call: PublicCall, query: MarketQuery): Promise<Page<MarketListing>> {
  const page = await readPage(call, query, hashListing("markets", [], {}));
  const rest = buildMarketListings(call.deps.config).filter(({ market }) => market > (page.after?.id ?? ""));
  return toPage(
    rest.slice(0, page.limit + 1),
    page,
    ({ market }) => ({ at: 0, id: market }),
    (listing) => listing,
  );
}

/** Every jurisdiction with every currency in which some network settles, sorted by code. */
function buildMarketListings(config: Config): MarketListing[] {
  const currencies = [...new Set(config.networks.map((network) => network.currency))];
  const listings = listMarketJurisdictions(config.jurisdictions).flatMap((jurisdiction) =>
    currencies.map((currency) => ({
      market: formatMarketCode(jurisdiction, currency),
      jurisdiction,
      currency,
      networks: config.networks.filter((network) => network.currency === currency).map(toNetworkView),
    })),
  );
  return listings.sort((a, b) => (a.market < b.market ? -1 : 1));
}

const toNetworkView = (network: Network): MarketListing["networks"][number] => ({
  network: network.network,
  caip2: toCaip2(network),
  chain_id: network.chain_id,
  kind: network.kind,
  settlement_contract: network.settlement_contract,
  token: network.token,
  decimals: network.decimals,
  required_confirmations: network.required_confirmations,
  explorer: network.explorer ?? null,
});
