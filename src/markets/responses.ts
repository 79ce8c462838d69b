// Responses about markets: the public list (MKT-2) and a provider's own markets (MKT-5, MKT-10).
import * as z from "zod";
import { marketView } from "../agents/schema.ts";
import { buildListSchema } from "../http/response-parts.ts";
import { url } from "../http/schemas.ts";
import { agentParams } from "../identity/schema.ts";

export const networkView = z
  .object({
    network: z.string(),
    caip2: z.string(),
    chain_id: z.number().int(),
    kind: z.enum(["testnet", "mainnet"]),
    settlement_contract: z.string(),
    token: z.string(),
    decimals: z.number().int(),
    required_confirmations: z.number().int(),
    explorer: url.nullable(),
  })
  .register(z.globalRegistry, { id: "Network" });

export const marketListing = z
  .object({
    market: z.string(),
    jurisdiction: z.string(),
    currency: z.string(),
    networks: z.array(networkView),
  })
  .register(z.globalRegistry, { id: "Market" });

export type MarketListing = z.infer<typeof marketListing>;

export const marketList = buildListSchema(marketListing).register(z.globalRegistry, { id: "MarketList" });

// ---- A provider's own markets (MKT-5, MKT-10) ----------------------------------------------------------------------------

export const marketsView = agentParams
  .extend({ markets: marketView.array() })
  .register(z.globalRegistry, { id: "AuthorizedMarkets" });
export const ownMarketList = buildListSchema(marketView).register(z.globalRegistry, { id: "AgentMarketList" });
