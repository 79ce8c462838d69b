// Which wallets go together. The chain has one split for an agent and a network, whatever the environment.
import type { MarketRow } from "../db/tables/agents.ts";

export const sameMarket = (a: MarketRow, b: MarketRow): boolean => a.market === b.market && a.network === b.network;

/** Whether production has another wallet on a network than is asked for: a sandbox key never moves real money. */
export const holdsOtherWallet = (asked: readonly MarketRow[], production: readonly MarketRow[]): boolean =>
  production.some(
    (row) =>
      row.status !== "FAILED" &&
      asked.some((one) => one.network === row.network && one.operationalWallet !== row.operationalWallet),
  );

/** The wallet that the rows have on a network. */
export const walletOn = (rows: readonly MarketRow[], network: string): string =>
  rows.find((row) => row.network === network)?.operationalWallet ?? "";
