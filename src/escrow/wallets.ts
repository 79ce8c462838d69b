// The operational wallets of a provider over time (FAC-17): the present one, and those before it as long as a payment to them may still be
// facilitated.
import * as z from "zod";
import { DAY_MS } from "../core/limits.ts";
import type { EscrowRow } from "../db/tables/money.ts";

/** A payment is facilitated at most 30 days after its block. */
export const FORMER_WALLETS_KEPT_MS = 31 * DAY_MS;

const formerSchema = z.array(z.object({ wallet: z.string(), until: z.number() }));

/** The end of a wallet that the service never registered, and that a wallet of the provider has itself named on-chain. */
export const CONFIRMED = Number.MAX_SAFE_INTEGER;

/** Whether the service's registrar had set this wallet (lower case) at the instant of a block, in epoch milliseconds. */
export const wasRegistered = (
  { operationalWallet, formerWallets }: Pick<EscrowRow, "operationalWallet" | "formerWallets">,
  wallet: string,
  minedAt: number,
): boolean =>
  operationalWallet.toLowerCase() === wallet ||
  formerSchema
    .parse(JSON.parse(formerWallets))
    .some((former) => former.wallet.toLowerCase() === wallet && minedAt <= former.until && former.until < CONFIRMED);

/** Whether it was the provider's then: registered, or named by one of its wallets itself. */
export const wasInForce = (
  { operationalWallet, formerWallets }: Pick<EscrowRow, "operationalWallet" | "formerWallets">,
  wallet: string,
  minedAt: number,
): boolean =>
  operationalWallet.toLowerCase() === wallet ||
  formerSchema
    .parse(JSON.parse(formerWallets))
    .some((former) => former.wallet.toLowerCase() === wallet && minedAt <= former.until);

/** Whether it was ever one of the provider's wallets in this vault, as far as those are kept. */
export const wasEver = (
  { operationalWallet, formerWallets }: Pick<EscrowRow, "operationalWallet" | "formerWallets">,
  wallet: string,
): boolean => wasRegistered({ operationalWallet, formerWallets }, wallet, 0);

type OwnedMarket = { readonly operationalWallet: string; readonly pendingWallet: string | null };

/** All wallets of a provider, present, scheduled and former ones, in lower case. */
export const walletsOf = (
  escrows: readonly Pick<EscrowRow, "operationalWallet" | "formerWallets">[],
  markets: readonly OwnedMarket[],
): ReadonlySet<string> =>
  new Set(
    [
      ...escrows.flatMap(({ operationalWallet, formerWallets }) => [
        operationalWallet,
        ...formerSchema.parse(JSON.parse(formerWallets)).map(({ wallet }) => wallet),
      ]),
      ...markets.flatMap(({ operationalWallet, pendingWallet }) => [operationalWallet, pendingWallet ?? ""]),
    ].map((wallet) => wallet.toLowerCase()),
  );
