// Compares the wallets of markets: the contract has one split for an agent and a network, whatever the environment (MKT-9).
import type { MarketRow } from "../db/tables/agents.ts";

export const sameMarket = (a: MarketRow, b: MarketRow): boolean => a.market === b.market && a.network === b.network;

/** True when production has another wallet on a network than the requested one: a sandbox key never moves it (MKT-9). */
export const holdsOtherWallet = (asked: readonly MarketRow[], production: readonly MarketRow[]): boolean =>
  production.some(
    (row) =>
      row.status !== "FAILED" &&
      asked.some((one) => one.network === row.network && one.operationalWallet !== row.operationalWallet),
  );

/** The wallet of the rows on a network. */
export const walletOn = (rows: readonly MarketRow[], network: string): string =>
  rows.find((row) => row.network === network)?.operationalWallet ?? "";
