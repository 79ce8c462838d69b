// A market is `{JURISDICTION}-{CURRENCY}`. The buyer's country decides which of a provider's markets cover a
// payment: its own, a region that contains it, or the whole world.

/** Jurisdictions that are more than one country, and the countries in them. */
export const REGIONS: Readonly<Record<string, ReadonlySet<string>>> = {
  EU: new Set("AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK".split(" ")),
};

export const EVERYWHERE = "GLOBAL";

export const marketCode = (jurisdiction: string, currency: string): string => `${jurisdiction}-${currency}`;

/** The markets that cover a buyer of this country, the narrowest first. */
export function marketsCovering(country: string, currency: string): string[] {
  const regions = Object.keys(REGIONS).filter((region) => REGIONS[region]?.has(country));
  return [country, ...regions, EVERYWHERE].map((jurisdiction) => marketCode(jurisdiction, currency));
}

/** Every jurisdiction that a market can name, given the countries that the service operates in. */
export const marketJurisdictions = (countries: Iterable<string>): string[] =>
  [...new Set([...countries, ...Object.keys(REGIONS), EVERYWHERE])].sort();
