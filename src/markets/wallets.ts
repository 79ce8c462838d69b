// Compares the wallets of markets: the contract has one split for an agent and a network, whatever the environment (MKT-9).
import type { Environment, MarketStatus } from "../core/vocabulary.ts";
import type { MarketRow } from "../db/tables/agents.ts";

export const sameMarket = (a: MarketRow, b: MarketRow): boolean => a.market === b.market && a.network === b.network;

/** True when production has another wallet on a network than the requested one: a sandbox key never moves it (MKT-9). */
export const holdsOtherWallet = (asked: readonly MarketRow[], production: readonly MarketRow[]): boolean =>
  production.some(
    (row) =>
      row.status !== "FAILED" &&
      asked.some((one) => one.network === row.network && one.operationalWallet !== row.operationalWallet),
  );

/**
 * The wallet that the contract should have for these markets of one network, of both environments; null when none of them needs one. The
 * last request counts, and production before the sandbox (MKT-9).
 */
export function wishedWallet(rows: readonly MarketRow[]): string | null {
  const ofState = (environment: Environment, status: MarketStatus) =>
    rows.find((row) => row.environment === environment && row.status === status)?.operationalWallet;
  return (
    ofState("production", "PROVISIONING") ??
    ofState("production", "ACTIVE") ??
    ofState("sandbox", "PROVISIONING") ??
    ofState("sandbox", "ACTIVE") ??
    null
  );
}

/** The wallet of the rows on a network. */
export const walletOn = (rows: readonly MarketRow[], network: string): string =>
  rows.find((row) => row.network === network)?.operationalWallet ?? "";
