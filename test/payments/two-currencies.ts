// Two networks whose tokens are of two currencies, with 6 and with 8 decimals.
import { CHAINS } from "../support/chain.ts";

export const EURO = { network: "lab-euro", market: "GLOBAL-EURC", currency: "EURC" } as const;

/** What such a service is configured with. */
export const TWO_CURRENCIES = JSON.stringify(
  CHAINS.filter(({ network }) => network === "base-sepolia" || network === EURO.network),
);
