// Operational wallets: compares those of markets, because the contract has one split per agent and network, whatever the environment (MKT-9); limits
// their changes (MKT-24), and records notices about them (MKT-32).
import { noteWalletAsks } from "../agents/store.ts";
import type { WalletChange } from "../chain/gateway.ts";
import type { Deps } from "../context.ts";
import { addDailyRequests, filterLastDay, toIso } from "../core/clock.ts";
import { WALLET_CHANGES_A_DAY } from "../core/limits.ts";
import type { Environment, MarketStatus } from "../core/vocabulary.ts";
import type { Database, Statement } from "../db/batch.ts";
import type { AgentRow, MarketRow } from "../db/tables/agents.ts";
import type { EscrowRow } from "../db/tables/money.ts";
import { wasEverRegistered } from "../escrow/former-wallets.ts";
import { type Changes, recordActivity } from "../journal/activity.ts";
import type { NoticeAccount } from "../journal/alert-store.ts";
import { recordNotice } from "../journal/alerts.ts";

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

// ---- The limit of changes --------------------------------------------------------------------------------------------------

type Asks = Pick<AgentRow, "walletAsks">;

/** Bounds an agent's changes in 24 hours of real time: each may cost the registrar a transaction. */
const BOUND = {
  most: WALLET_CHANGES_A_DAY,
  message: `An agent can change its operational wallets at most ${WALLET_CHANGES_A_DAY} times in 24 hours.`,
};

/**
 * The instants of the last day's changes and of the further ones; null if there are no further ones.
 * @throws ServiceError `rate_limited` when they are too many
 */
export const addWalletChanges = (agent: Asks, further: number, now: number): readonly number[] | null =>
  further === 0 ? null : addDailyRequests(agent.walletAsks, further, now, BOUND);

export const mayChangeWallet = (agent: Asks, now: number): boolean =>
  filterLastDay(agent.walletAsks, now).length < WALLET_CHANGES_A_DAY;

export const recordWalletChange = (db: Database, agent: Asks & Pick<AgentRow, "did">, now: number): Statement =>
  noteWalletAsks(db, agent.did, [...filterLastDay(agent.walletAsks, now), now]);

// ---- Notices ---------------------------------------------------------------------------------------------------------------

type Place = Pick<MarketRow, "did" | "environment" | "network">;

/** The markets and escrows of both environments, as they were before the contract's answer is written. */
export type WalletFacts = {
  readonly account: NoticeAccount | null;
  readonly markets: readonly MarketRow[];
  readonly escrows: readonly EscrowRow[];
};

/** `wallet`: the contract's present wallet; null if the service does not adopt it. */
export type WalletNews = { readonly wallet: string | null; readonly scheduled: WalletChange | null };

/** Records nothing for a first wallet, for the wallet that the escrow has, and for a change that was scheduled before. */
export function recordWalletNews(
  deps: Deps,
  place: Place,
  facts: WalletFacts,
  { wallet, scheduled }: WalletNews,
): Statement[] {
  const previous = findPreviousWallet(place, facts);
  if (previous === null) return [];
  const isKnown = (change: WalletChange): boolean =>
    facts.markets.some(
      (row) =>
        row.network === place.network && row.pendingWallet === change.wallet && row.pendingNonce === change.nonce,
    );
  const asked = { previous, asked: true } as const;
  return [
    ...(wallet === null || wallet === previous
      ? []
      : recordChange(deps, place, facts, { ...asked, wallet, effectiveAt: null })),
    ...(scheduled === null || scheduled.wallet === previous || isKnown(scheduled)
      ? []
      : recordChange(deps, place, facts, { ...asked, wallet: scheduled.wallet, effectiveAt: scheduled.effectiveAt })),
  ];
}

/** The contract has a wallet that no market asks for (MKT-31). */
export function recordStrangeWallet(
  deps: Deps,
  place: Place,
  facts: Omit<WalletFacts, "markets">,
  wallet: string,
): Statement[] {
  const previous = findPreviousWallet(place, facts);
  return previous === null
    ? []
    : recordChange(deps, place, facts, { wallet, previous, effectiveAt: null, asked: false });
}

const findPreviousWallet = ({ network }: Place, { escrows }: Pick<WalletFacts, "escrows">): string | null =>
  escrows.find((row) => row.network === network)?.operationalWallet || null;

type Change = {
  readonly wallet: string;
  readonly previous: string;
  readonly effectiveAt: number | null;
  readonly asked: boolean;
};

/** Writes a mail and an activity entry once for both environments: in the environment of the settled market, or in the agent's own (MKT-32). */
function recordChange(
  { db, clock }: Deps,
  { did, environment, network }: Place,
  { account }: Pick<WalletFacts, "account">,
  change: Change,
): Statement[] {
  if (account === null) return [];
  const now = clock.now();
  const apart = environment === "sandbox" ? account.clockOffsetMs : 0;
  return [
    recordActivity(db, { platformId: account.platformId, environment }, now + apart, {
      action: "agent.wallet_changed",
      actor: { type: "system", id: change.asked ? "provision_market" : "watch_registrations" },
      subject: { type: "agent", id: did },
      changes: toChanges(network, change),
    }),
    recordNotice(db, account, now, {
      kind: "customer.wallet_changed",
      data: { did, environment, network, ...change },
    }),
  ];
}

/** A scheduled wallet takes effect at an instant; until then `from` is paid. */
const toChanges = (network: string, { wallet, previous, effectiveAt }: Change): Changes =>
  effectiveAt === null
    ? { [`operational_wallet.${network}`]: { from: previous, to: wallet } }
    : {
        [`pending_wallet.${network}`]: { from: previous, to: wallet },
        [`effective_at.${network}`]: { from: null, to: toIso(effectiveAt) },
      };
