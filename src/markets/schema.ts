// The public list of markets on the wire (MKT-2).
import * as z from "zod";
import { listOf, pageQuery, url } from "../http/schemas.ts";

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

export const marketList = listOf(marketListing).register(z.globalRegistry, { id: "MarketList" });

export const marketQuery = z.strictObject(pageQuery);
export type MarketQuery = z.infer<typeof marketQuery>;
