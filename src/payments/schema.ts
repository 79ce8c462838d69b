// Specification 2.6 and contract section 6, Payment intent, on the wire.
import { z } from "@hono/zod-openapi";
import { amountInput, instant } from "../http/schemas.ts";
import { INTENT_STATUSES } from "./states.ts";

const did = z.string().min(1).max(100).openapi({ example: "did:aeap:7d0f1a52-3f0c-4d6e-9a41-0c6b8f1f2a3b" });

export const intentInput = z
  .strictObject({
    consumer_did: did,
    provider_did: did,
    amount: amountInput,
    currency: z
      .string()
      .regex(/^[A-Z]{3,6}$/, "It is three to six capital letters, as USDC.")
      .openapi({ example: "USDC" }),
    network: z.string().min(1).max(100).optional().openapi({
      description: "A name or CAIP-2. Default: the network of the provider's market for this buyer.",
      example: "base-sepolia",
    }),
  })
  .openapi("PaymentIntentInput");

export type IntentInput = z.infer<typeof intentInput>;

const hash = z.string().openapi({ description: "keccak256, 0x-prefixed hex." });

/** Where and in what a payment is made. */
const addressFields = {
  contract: z.string().openapi({ description: "The settlement contract." }),
  token: z.string().openapi({ description: "The token's contract." }),
  chain_id: z.number().int().openapi({ example: 84532 }),
  currency: z.string().openapi({ example: "USDC" }),
  decimals: z.number().int().openapi({ example: 6 }),
  network: z.string().openapi({ example: "base-sepolia" }),
  caip2: z.string().openapi({ example: "eip155:84532" }),
};

export const intentView = z
  .object({
    intent_id: z.string(),
    status: z.enum(INTENT_STATUSES),
    amount: z.string().openapi({ description: "Whole currency units.", example: "10.50" }),
    amount_base_units: z
      .string()
      .openapi({ description: "What is paid on-chain, in the token's base units.", example: "10500000" }),
    ...addressFields,
    provider_did: z.string(),
    consumer_did: z.string(),
    provider_did_hash: hash,
    consumer_did_hash: hash,
    intent_hash: hash,
    expires_at: instant,
  })
  .openapi("PaymentIntent");

export type IntentView = z.infer<typeof intentView>;

export const intentParams = z.object({ intent_id: z.string() });

/** Loose, because every refusal of an intent is told in the one way at which these clients stop (public clients, step 5). */
const order = z.string().max(200).optional();
export const addressQuery = z.strictObject({
  market: z
    .string()
    .min(1)
    .max(100)
    .openapi({ description: "A label; the buyer's country decides.", example: "DE-USDC" }),
  network: z.string().min(1).max(100).openapi({ example: "base-sepolia" }),
  consumer_did: order,
  provider_did: order,
  amount: order.openapi({ description: "Whole currency units, as a float prints: `1.0`, `1e-06`." }),
});

export type AddressQuery = z.infer<typeof addressQuery>;

export const addressView = z
  .object({ ...addressFields, intent_id: z.string().optional(), expires_at: instant.optional() })
  .openapi("PaymentAddress");

export type AddressView = z.infer<typeof addressView>;
