// Specification 4 and contract section 5: the body of authorized_markets.
import { z } from "@hono/zod-openapi";
import { type FieldError, fieldError } from "../core/errors.ts";
import { MARKETS_PER_CALL_MAX } from "../core/limits.ts";
import { listOf } from "../http/schemas.ts";
import { agentParams, marketView } from "./schema.ts";

export const MARKET_PATTERN = /^[A-Z]{2,6}-[A-Z]{3,6}$/;

const address = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/)
  .refine((value) => !/^0x0{40}$/.test(value), {
    params: { code: "invalid_value" },
    message: "The zero address holds nothing.",
  });

export const marketInput = z
  .strictObject({
    markets: z
      .array(
        z.strictObject({
          market: z.string().regex(MARKET_PATTERN).openapi({ example: "DE-USDC" }),
          network: z.string().min(1).max(50).openapi({ example: "base-sepolia" }),
          operational_wallet: address.openapi({ example: "0x70997970c51812dc3a010c7d01b50e0d17dc79c8" }),
        }),
      )
      .min(1)
      .max(MARKETS_PER_CALL_MAX),
  })
  .openapi("MarketInput");

export type MarketInput = z.infer<typeof marketInput>;

/** A malformed identifier has a code of its own (section 7). */
export function marketRules(raw: unknown): FieldError[] {
  const markets = typeof raw === "object" && raw !== null && "markets" in raw ? raw.markets : undefined;
  if (!Array.isArray(markets)) return [];
  return markets.flatMap((entry: unknown, i) => {
    const market = typeof entry === "object" && entry !== null && "market" in entry ? entry.market : undefined;
    const malformed = typeof market === "string" && !MARKET_PATTERN.test(market);
    return malformed ? [fieldError(`markets.${i}.market`, "invalid_market_format")] : [];
  });
}

export const marketsView = agentParams.extend({ markets: marketView.array() }).openapi("AuthorizedMarkets");
export const marketList = listOf(marketView).openapi("AgentMarketList");
