// Contract section 6, Market, on the wire: a market and the networks on which it settles.
import { z } from "@hono/zod-openapi";
import { listOf, pageQuery } from "../http/schemas.ts";

export const networkView = z
  .object({
    network: z.string().openapi({ example: "base-sepolia" }),
    caip2: z.string().openapi({ example: "eip155:84532" }),
    chain_id: z.number().int().openapi({ example: 84532 }),
    kind: z.enum(["testnet", "mainnet"]),
    settlement_contract: z.string(),
    token: z.string(),
    decimals: z.number().int(),
    required_confirmations: z.number().int(),
    explorer: z.string().nullable(),
  })
  .openapi("Network");

export const marketListing = z
  .object({
    market: z.string().openapi({ example: "DE-USDC" }),
    jurisdiction: z.string().openapi({ description: "A country, `EU` or `GLOBAL`.", example: "DE" }),
    currency: z.string().openapi({ example: "USDC" }),
    networks: z.array(networkView),
  })
  .openapi("Market");

export type MarketListing = z.infer<typeof marketListing>;

export const marketList = listOf(marketListing).openapi("MarketList");

export const marketQuery = z.strictObject(pageQuery);
export type MarketQuery = z.infer<typeof marketQuery>;
