// Market codes, and the markets that cover a buyer (MKT-1, MKT-3): those of its country, of regions that contain it, and of the world.

/** Jurisdictions that are more than one country, and the countries in them. */
export const REGIONS: Readonly<Record<string, ReadonlySet<string>>> = {
  EU: new Set("AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK".split(" ")),
};

export const EVERYWHERE = "GLOBAL";

export const formatMarketCode = (jurisdiction: string, currency: string): string => `${jurisdiction}-${currency}`;

/** The markets that cover a buyer of this country, narrowest first. */
export function findCoveringMarkets(country: string, currency: string): string[] {
  const regions = Object.keys(REGIONS).filter((region) => REGIONS[region]?.has(country));
  return [country, ...regions, EVERYWHERE].map((jurisdiction) => formatMarketCode(jurisdiction, currency));
}

export const listMarketJurisdictions = (countries: Iterable<string>): string[] =>
  [...new Set([...countries, ...Object.keys(REGIONS), EVERYWHERE])].sort();
