// Compares the wallets of markets: the contract has one split per agent and network, whatever the environment (MKT-9).
import type { WalletChange } from "../chain/gateway.ts";
import type { Environment, MarketStatus } from "../core/vocabulary.ts";
import type { MarketRow } from "../db/tables/agents.ts";
import type { EscrowRow } from "../db/tables/money.ts";
import { wasEverRegistered } from "../escrow/wallets.ts";
import type { Changes } from "../journal/activity.ts";

export const isSameMarket = (a: MarketRow, b: MarketRow): boolean => a.market === b.market && a.network === b.network;

type Pending = Pick<MarketRow, "pendingWallet" | "pendingUntil" | "pendingNonce">;
export const NO_CHANGE: Pending = { pendingWallet: null, pendingUntil: null, pendingNonce: null };

export const toPendingChange = ({ wallet, effectiveAt, nonce }: WalletChange): Pending => ({
  pendingWallet: wallet,
  pendingUntil: effectiveAt,
  pendingNonce: nonce,
});

/** The change for which an open market waits (MKT-21). */
export const toWalletChange = ({ pendingWallet, pendingUntil, pendingNonce }: MarketRow): WalletChange | null =>
  pendingWallet === null || pendingUntil === null || pendingNonce === null
    ? null
    : { wallet: pendingWallet, effectiveAt: pendingUntil, nonce: pendingNonce };

/** The wallet for which a market asks the contract: its own if it waits, the pending one if it is open; null if it asks for none. */
export const pickAskedWallet = (row: MarketRow): string | null =>
  row.status === "PROVISIONING" ? row.operationalWallet : row.status === "ACTIVE" ? row.pendingWallet : null;

export const applyAskedWallet = (row: MarketRow): MarketRow => ({
  ...row,
  operationalWallet: pickAskedWallet(row) ?? row.operationalWallet,
});

/** A market, or an escrow, which stays when its markets are removed. */
type Holder = Pick<EscrowRow, "network" | "operationalWallet"> & { readonly status?: MarketStatus };

/** True if production has another wallet on a network than the requested one: a sandbox key never changes it (MKT-9). */
export const holdsOtherWallet = (asked: readonly MarketRow[], production: readonly Holder[]): boolean =>
  production.some(
    ({ status, network, operationalWallet: wallet }) =>
      status !== "FAILED" &&
      wallet !== "" &&
      asked.some((one) => one.network === network && one.operationalWallet !== wallet.toLowerCase()),
  );

/**
 * The wallet that the contract should have for these markets, of one network and both environments; null if none needs one. The last request
 * counts, and production before the sandbox (MKT-9).
 */
export function decideWallet(rows: readonly MarketRow[]): string | null {
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

/** The wallets that an edit changes, per network, for its activity entry. Null: no market there has a wallet or asks for one. */
export function diffWallets(before: readonly MarketRow[], after: readonly MarketRow[]): Changes {
  const wished = (rows: readonly MarketRow[], network: string) =>
    decideWallet(rows.filter((row) => row.network === network).map(applyAskedWallet));
  const networks = new Set([...before, ...after].map(({ network }) => network));
  return Object.fromEntries(
    [...networks]
      .map((network) => ({ network, from: wished(before, network), to: wished(after, network) }))
      .filter(({ from, to }) => from !== to)
      .map(({ network, from, to }) => [`operational_wallet.${network}`, { from, to }]),
  );
}

/** Networks on which the request names another wallet than the last request, or than the contract has. */
export const findChangedNetworks = (
  asked: readonly MarketRow[],
  markets: readonly MarketRow[],
  escrows: readonly Pick<EscrowRow, "network" | "operationalWallet">[],
): string[] =>
  [...new Set(asked.map(({ network }) => network))].filter((network) => {
    const row = markets.find((one) => one.network === network);
    const known = row
      ? (pickAskedWallet(row) ?? row.operationalWallet)
      : escrows.find((one) => one.network === network)?.operationalWallet.toLowerCase();
    return known !== undefined && known !== "" && known !== findWalletOn(asked, network);
  });

/** The reason of markets that wait while the contract has a wallet that none of them asks for (MKT-31). */
export const OTHER_WALLET = "other_wallet";

/** True if the contract's wallet was never the provider's, as far as its escrows on the network know. */
export const wasNeverProviders = (wallet: string | null, network: string, escrows: readonly EscrowRow[]): boolean => {
  const known = escrows.filter((row) => row.network === network);
  return wallet !== null && known.length > 0 && !known.some((row) => wasEverRegistered(row, wallet));
};

export const findWalletOn = (rows: readonly MarketRow[], network: string): string =>
  rows.find((row) => row.network === network)?.operationalWallet ?? "";
