// Judges the entries of a request to open markets, and reports all faults of a body together (MKT-1, MKT-9 to MKT-11, MKT-24).
import type { ManagementCall } from "../call.ts";
import { listEditionContracts } from "../chain/events.ts";
import { hashDid, isAddress } from "../chain/hashes.ts";
import { findNetwork, type Network } from "../chain/networks.ts";
import { computeImplementation, computeVaultAddress } from "../chain/vaults.ts";
import type { Deps } from "../context.ts";
import { type FieldError, toFieldError } from "../core/errors.ts";
import type { EscrowRow } from "../db/tables/money.ts";
import type { ProposedMarket } from "./agent-schema.ts";
import { EVERYWHERE, REGIONS } from "./jurisdictions.ts";

const WIDE: ReadonlySet<string> = new Set([...Object.keys(REGIONS), EVERYWHERE]);

export async function findMarketFaults(
  { deps, environment }: Pick<ManagementCall, "deps" | "environment">,
  did: string,
  markets: readonly ProposedMarket[],
  escrows: readonly EscrowRow[],
): Promise<FieldError[]> {
  const vaults = await findVaultsAmong(deps, did, markets, escrows);
  const wallets = new Map<string, string>();
  return markets.flatMap(({ market, network, operational_wallet }, i) => {
    const at = (field: string) => `markets.${i}.${field}`;
    const known = network === undefined ? null : findNetwork(deps.config.networks, network);
    const [jurisdiction = "", currency] = market?.split("-") ?? [];
    const faults: FieldError[] = [];
    // With a live key, an unknown network is `market_not_authorized` instead (MKT-11).
    if (network !== undefined && !known && environment === "sandbox")
      faults.push(toFieldError(at("network"), "invalid_value", "No such network; see GET /v1/markets."));
    if (market !== undefined && !WIDE.has(jurisdiction) && !deps.config.jurisdictions.has(jurisdiction)) {
      faults.push(toFieldError(at("market"), "invalid_value", "The service does not operate in this jurisdiction."));
    }
    if (market !== undefined && known && currency !== known.currency) {
      faults.push(toFieldError(at("market"), "invalid_value", `The network settles in ${known.currency}.`));
    }
    if (operational_wallet === undefined) return faults;
    const wallet = operational_wallet.toLowerCase();
    if (!isAddress(operational_wallet)) {
      const message = "The address's checksum (EIP-55) is wrong: a character is mistyped.";
      faults.push(toFieldError(at("operational_wallet"), "invalid_format", message));
    }
    const what =
      known &&
      (nameNonWallet(known, wallet, did) ?? (vaults.has(formatNetworkAddress(known, wallet)) ? A_VAULT : null));
    if (what) faults.push(toFieldError(at("operational_wallet"), "invalid_value", `Must not be ${what}.`));
    if (network === undefined) return faults;
    const name = known?.network ?? network;
    const other = wallets.get(name);
    if (other !== undefined && other !== wallet) {
      faults.push(
        toFieldError(
          at("operational_wallet"),
          "invalid_value",
          "Must be the same wallet for all markets of a network.",
        ),
      );
    }
    wallets.set(name, wallet);
    return faults;
  });
}

const A_VAULT = "an escrow's vault";

/** Names the kind of an address that cannot be a wallet: a payment to it would be lost, or refused by the contract. */
function nameNonWallet(known: Network, wallet: string, did: string): string | null {
  const editions = listEditionContracts(known);
  if (known.token.toLowerCase() === wallet) return "the network's token";
  if (editions.includes(wallet)) return "the settlement contract";
  const own = editions.flatMap((contract) => [
    computeImplementation(contract),
    computeVaultAddress(contract, hashDid(did)),
  ]);
  return own.includes(wallet) ? A_VAULT : null;
}

const formatNetworkAddress = ({ network }: Pick<Network, "network">, address: string): string =>
  `${network} ${address}`;

/**
 * Finds the vaults of any provider among the wallets. Each network's node is asked once, about wallets that the contract does not have. If it
 * fails or is slow, none is found here, and the plan of the transaction finds them later (MKT-24).
 */
async function findVaultsAmong(
  { chain, config }: Deps,
  did: string,
  markets: readonly ProposedMarket[],
  escrows: readonly EscrowRow[],
): Promise<ReadonlySet<string>> {
  const found = await Promise.all(
    config.networks.map(async (known) => {
      const wallets = pickNewWallets(known, markets, escrows).filter(
        (wallet) => nameNonWallet(known, wallet, did) === null,
      );
      if (wallets.length === 0) return [];
      const vaults = await chain.findVaults(known.network, wallets);
      return vaults.ok ? vaults.value.map((vault) => formatNetworkAddress(known, vault)) : [];
    }),
  );
  return new Set(found.flat());
}

function pickNewWallets(known: Network, markets: readonly ProposedMarket[], escrows: readonly EscrowRow[]): string[] {
  const present = escrows.find(({ network }) => network === known.network)?.operationalWallet.toLowerCase();
  const wallets = markets
    .filter(({ network }) => network !== undefined && findNetwork([known], network) !== null)
    .flatMap(({ operational_wallet }) => operational_wallet?.toLowerCase() ?? []);
  return [...new Set(wallets)].filter((wallet) => wallet !== present);
}
