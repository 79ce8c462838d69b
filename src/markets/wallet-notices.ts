// Notices about operational wallets (MKT-32): the wallet that the contract pays for a provider, and scheduled changes. Each change is a mail and
// an entry of the activity log.
import type { WalletChange } from "../chain/gateway.ts";
import type { Deps } from "../context.ts";
import { toIso } from "../core/clock.ts";
import type { Statement } from "../db/batch.ts";
import type { MarketRow } from "../db/tables/agents.ts";
import type { EscrowRow } from "../db/tables/money.ts";
import { type Changes, recordActivity } from "../journal/activity.ts";
import type { NoticeAccount } from "../journal/notice-store.ts";
import { recordNotice } from "../journal/notices.ts";

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

/** Writes mail and entry once for both environments: in the environment of the settled market, or in the agent's own (MKT-32). */
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
