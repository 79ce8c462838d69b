// Specification 4 and contract section 5: the body of authorized_markets.
import { z } from "@hono/zod-openapi";
import { type FieldError, fieldError } from "../core/errors.ts";
import { MARKETS_PER_CALL_MAX } from "../core/limits.ts";
import { listOf, pageQuery } from "../http/schemas.ts";
import { validFields } from "../http/validation.ts";
import { agentParams, marketView } from "./schema.ts";

export const MARKET_PATTERN = /^[A-Z]{2,6}-[A-Z]{3,6}$/;

const address = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/, "It is an address: 0x and 40 hex digits.")
  .refine((value) => !/^0x0{40}$/.test(value), {
    params: { code: "invalid_value" },
    message: "The zero address holds nothing.",
  });

const marketEntry = z.strictObject({
  market: z.string().regex(MARKET_PATTERN).openapi({ example: "DE-USDC" }),
  network: z.string().min(1).max(50).openapi({ example: "base-sepolia" }),
  operational_wallet: address.openapi({ example: "0x70997970c51812dc3a010c7d01b50e0d17dc79c8" }),
});

export const marketInput = z
  .strictObject({ markets: z.array(marketEntry).min(1).max(MARKETS_PER_CALL_MAX) })
  .openapi("MarketInput");

export type MarketInput = z.infer<typeof marketInput>;
export type ProposedMarket = Partial<z.infer<typeof marketEntry>>;

/** What of a faulty body is valid, each entry at its place. */
export const proposedMarkets = (raw: unknown): ProposedMarket[] =>
  entriesOf(raw)
    .slice(0, MARKETS_PER_CALL_MAX)
    .map((entry) => validFields(marketEntry, entry));

/** A malformed identifier has a code of its own (section 7). */
export function marketRules(raw: unknown): FieldError[] {
  return entriesOf(raw).flatMap((entry, i) => {
    const market = typeof entry === "object" && entry !== null && "market" in entry ? entry.market : undefined;
    const malformed = typeof market === "string" && !MARKET_PATTERN.test(market);
    return malformed ? [fieldError(`markets.${i}.market`, "invalid_market_format")] : [];
  });
}

function entriesOf(raw: unknown): unknown[] {
  const markets = typeof raw === "object" && raw !== null && "markets" in raw ? raw.markets : undefined;
  return Array.isArray(markets) ? markets : [];
}

export const marketsView = agentParams.extend({ markets: marketView.array() }).openapi("AuthorizedMarkets");
export const marketsQuery = z.strictObject(pageQuery);
export type MarketsQuery = z.infer<typeof marketsQuery>;
export const marketList = listOf(marketView).openapi("AgentMarketList");
