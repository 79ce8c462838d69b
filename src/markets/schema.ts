// Requests about markets: the pages of their lists (MKT-2, MKT-11), and a provider's own markets (MKT-5, MKT-10).
import * as z from "zod";
import { type FieldError, toFieldError } from "../core/errors.ts";
import { MARKETS_PER_CALL_MAX } from "../core/limits.ts";
import { networkInput, pageQuery, pickValidFields } from "../http/schemas.ts";

export const marketQuery = z.strictObject(pageQuery);
export type MarketQuery = z.infer<typeof marketQuery>;

export const MARKET_PATTERN = /^[A-Z]{2,6}-[A-Z]{3,6}$/;

export const walletInput = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/, "Must be an address: 0x and 40 hexadecimal digits.")
  .refine((value) => !/^0x0{40}$/.test(value), {
    params: { code: "invalid_value" },
    message: "Must not be the zero address.",
  })
  .register(z.globalRegistry, { id: "WalletAddress" });

const marketEntry = z.strictObject({
  market: z.string().regex(MARKET_PATTERN),
  network: networkInput,
  operational_wallet: walletInput,
});

export const marketInput = z
  .strictObject({ markets: z.array(marketEntry).min(1).max(MARKETS_PER_CALL_MAX) })
  .register(z.globalRegistry, { id: "MarketInput" });

export type MarketInput = z.infer<typeof marketInput>;
export type ProposedMarket = Partial<z.infer<typeof marketEntry>>;

/** The valid parts of a faulty body, each entry at its index. */
export const toProposedMarkets = (raw: unknown): ProposedMarket[] =>
  pickMarketEntries(raw)
    .slice(0, MARKETS_PER_CALL_MAX)
    .map((entry) => pickValidFields(marketEntry, entry));

/** A malformed identifier has its own error code (MKT-1). */
export function findMarketFormatFaults(raw: unknown): FieldError[] {
  return pickMarketEntries(raw).flatMap((entry, i) => {
    const market = typeof entry === "object" && entry !== null && "market" in entry ? entry.market : undefined;
    const malformed = typeof market === "string" && !MARKET_PATTERN.test(market);
    return malformed ? [toFieldError(`markets.${i}.market`, "invalid_market_format")] : [];
  });
}

function pickMarketEntries(raw: unknown): unknown[] {
  const markets = typeof raw === "object" && raw !== null && "markets" in raw ? raw.markets : undefined;
  return Array.isArray(markets) ? markets : [];
}
