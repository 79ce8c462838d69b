// Lists the markets (MKT-2). They come from the configuration, so no database is read.
import { type PublicCall, readPage } from "../call.ts";
import { type Network, toCaip2 } from "../chain/networks.ts";
import type { Config } from "../context.ts";
import { hashListing, type Page, toPage } from "../core/page.ts";
import { formatMarketCode, listMarketJurisdictions } from "./jurisdictions.ts";
import type { MarketListing } from "./responses.ts";
import type { MarketQuery } from "./schema.ts";

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
