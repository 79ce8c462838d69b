// The operational wallets of a provider over time (FAC-17): the present one, and earlier ones while a payment to them may still be facilitated.
import * as z from "zod";
import { DAY_MS } from "../core/limits.ts";
import type { WalletSince } from "../db/tables/agents.ts";
import type { EscrowRow } from "../db/tables/money.ts";

/** A payment is facilitated at most 30 days after its block. */
export const FORMER_WALLETS_KEPT_MS = 31 * DAY_MS;

const formerSchema = z.array(z.object({ wallet: z.string(), until: z.number() }));

type Wallets = Pick<EscrowRow, "operationalWallet" | "formerWallets">;

const parseFormerWallets = ({ formerWallets }: Pick<Wallets, "formerWallets">) =>
  formerSchema.parse(JSON.parse(formerWallets)).map(({ wallet, until }) => ({ wallet: wallet.toLowerCase(), until }));

const isPresentWallet = ({ operationalWallet }: Wallets, wallet: string): boolean =>
  operationalWallet.toLowerCase() === wallet;

/** Whether the service's registrar had set this wallet (lower case) at the instant of a block, in epoch milliseconds. */
export const wasRegistered = (row: Wallets, wallet: string, minedAt: number): boolean =>
  isPresentWallet(row, wallet) ||
  parseFormerWallets(row).some((former) => former.wallet === wallet && minedAt <= former.until);

/** Whether the registrar ever set this wallet for the vault, as far as former wallets are kept. */
export const wasEverRegistered = (row: Wallets, wallet: string): boolean => wasRegistered(row, wallet, 0);

/** Whether a wallet (lower case) was one of a provider's at the instant of a block, in epoch milliseconds (FAC-22). */
export const isOwnWallet = (wallets: readonly WalletSince[], wallet: string, minedAt: number): boolean =>
  wallets.some(([own, since]) => own === wallet && since < minedAt);
