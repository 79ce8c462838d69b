// Contract section 1, Networks: the configured chains, from the variable NETWORKS. Parsed strictly: a wrong address would send
// money nowhere.
import { z } from "zod";
import type { Network } from "./gateway.ts";

const address = z.string().regex(/^0x[0-9a-fA-F]{40}$/);
const networksSchema = z.array(
  z.object({
    network: z.string(),
    chain_id: z.number().int().positive(),
    kind: z.enum(["testnet", "mainnet"]),
    rpc_url: z.url(),
    fallback_rpc_url: z.url().optional(),
    settlement_contract: address,
    token: address,
    currency: z.string().regex(/^[A-Z]{3,6}$/),
    decimals: z.number().int().min(0).max(18),
    required_confirmations: z.number().int().min(1),
    explorer: z.url().optional(),
  }),
);

export const parseNetworks = (text: string): readonly Network[] => networksSchema.parse(JSON.parse(text));
