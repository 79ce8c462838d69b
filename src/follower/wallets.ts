// Follows the operational wallets that the contract got (CHN-29): for each provider whose wallet the service does not have, the operation of its
// split reads the chain itself. A wallet that neither the service set nor a market asks for raises an alert. A wallet that the provider's own wallet
// has named is the provider's, and payments to it count (FAC-17).
import { noteWallets } from "../agents/store.ts";
import type { EventAt } from "../chain/gateway.ts";
import { hashDid } from "../chain/hashes.ts";
import type { Network } from "../chain/networks.ts";
import { toSplitKey } from "../chain/split.ts";
import { recheckOperations } from "../chain/store.ts";
import type { Deps } from "../context.ts";
import { type Database, readBatch, type Statement } from "../db/batch.ts";
import type { MarketRow } from "../db/tables/agents.ts";
import type { VaultRef } from "../db/tables/chain.ts";
import type { EscrowRow } from "../db/tables/money.ts";
import { wasRegistered } from "../escrow/former-wallets.ts";
import { pickEditionContract } from "../escrow/states.ts";
import { nameWallets } from "../escrow/wallet-store.ts";
import { type Alert, raiseAlert } from "../journal/alerts.ts";
import { findEscrowsByHash, findMarketsByHash, findNamedByHash, findProvidersByHash } from "./lines-store.ts";

export type WalletSet = Extract<EventAt, { kind: "wallet" }>;

export const pickWallets = ({ token }: Network, events: readonly EventAt[], through: number): WalletSet[] =>
  events.filter(
    (event): event is WalletSet =>
      event.kind === "wallet" && event.token === token.toLowerCase() && event.blockNumber <= through,
  );

type FollowedWallets = { readonly vaults: readonly VaultRef[]; readonly statements: readonly Statement[] };
const NO_WALLETS: FollowedWallets = { vaults: [], statements: [] };

/** Takes one more trip if the contract got a wallet. `vaults`: those of the providers whose split is read again. */
export async function followWallets(
  deps: Deps,
  network: Network,
  events: readonly WalletSet[],
): Promise<FollowedWallets> {
  if (events.length === 0) return NO_WALLETS;
  const { db } = deps;
  const hashes = [...new Set(events.map(({ providerDidHash }) => providerDidHash))];
  const { escrows, markets, providers, named } = await readBatch(db, {
    escrows: findEscrowsByHash(db, network.network, hashes),
    markets: findMarketsByHash(db, network.network, hashes),
    providers: findProvidersByHash(db, hashes),
    named: findNamedByHash(
      db,
      network.network,
      events.flatMap(({ providerDidHash, confirmedBy }) =>
        confirmedBy === null ? [] : [[providerDidHash, confirmedBy] as const],
      ),
    ),
  });
  const known = new Map(providers.map(({ did, wallets }) => [did, new Set(wallets.map(([wallet]) => wallet))]));
  for (const { did, wallet } of named) known.get(did)?.add(wallet);
  const news = events.flatMap((event) => {
    const own = escrows.filter(
      (row) => hashDid(row.did) === event.providerDidHash && pickEditionContract(row, network) === event.contract,
    );
    const [escrow] = own;
    const wallet = event.operationalWallet;
    if (!escrow || own.some((row) => wasRegistered(row, wallet, event.minedAt))) return [];
    const wallets = known.get(escrow.did) ?? new Set<string>();
    const by = event.confirmedBy;
    const confirmed = by !== null && (wallets.has(by) || own.some((row) => wasRegistered(row, by, event.minedAt)));
    if (confirmed) wallets.add(wallet);
    const asking = markets.filter(({ did, status }) => did === escrow.did && status !== "FAILED");
    return [{ escrow, event, confirmed, asked: asking.some((row) => asksForWallet(row, wallet)) }];
  });
  const confirmed = news.filter((one) => one.confirmed);
  const strange = news.filter(({ asked }) => !asked);
  const dids = [...new Set(news.map(({ escrow }) => escrow.did))];
  const vaults = new Map(news.map(({ escrow, event }) => [escrow.did, toVaultRef(escrow, event)]));
  return {
    vaults: [...vaults.values()],
    statements: [
      ...recheckSplits(db, network, dids),
      ...nameWallets(
        db,
        confirmed.map(({ escrow, event }) => ({
          did: escrow.did,
          network: network.network,
          wallet: event.operationalWallet,
          since: event.minedAt,
        })),
      ),
      ...[...Map.groupBy(confirmed, ({ escrow }) => escrow.did)].map(([did, own]) =>
        noteWallets(
          db,
          did,
          own.map(({ event }) => [event.operationalWallet, event.minedAt] as const),
        ),
      ),
      ...new Map(
        strange.map(({ escrow, event, confirmed }) => [
          escrow.did,
          raiseAlert(db, toOtherWalletAlert(escrow, event, confirmed)),
        ]),
      ).values(),
    ],
  };
}

const asksForWallet = ({ operationalWallet, pendingWallet }: MarketRow, wallet: string): boolean =>
  [operationalWallet, pendingWallet].includes(wallet);

const toVaultRef = ({ did }: EscrowRow, { contract }: WalletSet): VaultRef => ({ did, contract, wallet: true });

/** Takes nothing from the log: the next minute reads what the contract has. */
const recheckSplits = (db: Database, { network }: Pick<Network, "network">, dids: readonly string[]): Statement[] =>
  recheckOperations(db, toSplitKey(network, ""), dids, Date.now());

/** Reads the splits again whose wallets were set in blocks that a reorg removed. */
export const undoWallets = (db: Database, network: Network, vaults: readonly VaultRef[]): Statement[] =>
  recheckSplits(db, network, [...new Set(vaults.filter(({ wallet }) => wallet).map(({ did }) => did))]);

const toOtherWalletAlert = (
  { did, network, operationalWallet: registered }: EscrowRow,
  { operationalWallet, confirmedBy, blockNumber, txHash }: WalletSet,
  confirmed: boolean,
): Alert => ({
  kind: "operational_wallet",
  subject: `${did} on ${network}`,
  message:
    `Since block ${blockNumber} (${txHash}) the contract pays ${operationalWallet}, which no market of this provider requests; the service has ` +
    `${registered}. ${describeConfirmation(confirmedBy, confirmed)} The provider's markets wait until they request it, or until the contract has theirs.`,
});

const describeConfirmation = (confirmedBy: string | null, confirmed: boolean): string =>
  confirmed
    ? `${confirmedBy}, a wallet of the provider, made the change: payments to the new wallet count.`
    : confirmedBy === null
      ? "No wallet confirmed it: it came through the authority, so if this service did not request it, the registrar's key may be compromised."
      : `${confirmedBy} confirmed it, which is not a known wallet of the provider.`;
