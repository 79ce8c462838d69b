// Two networks whose tokens have two currencies, with 6 and with 8 decimals.
import { CHAINS } from "../support/chain.ts";

export const EURO = { network: "lab-euro", market: "GLOBAL-EURC", currency: "EURC" } as const;

/** The configuration of such a service. */
export const TWO_CURRENCIES = JSON.stringify(
  CHAINS.filter(({ network }) => network === "base-sepolia" || network === EURO.network),
);
