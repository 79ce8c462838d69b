// Schemas of an agent's scope and profile, and of the parameters of its public routes. The documents are in responses.ts (HTTP-33).
import * as z from "zod";
import { INTENTS_FROM } from "../core/vocabulary.ts";
import { amount, buildWholeNumberSchema, did, fraction, registeredUrl, tier } from "../http/schemas.ts";

export const agentParams = z.object({ did: did });

export const intentsFrom = z.enum(INTENTS_FROM).register(z.globalRegistry, { id: "IntentsFrom" });

export const scopeView = z
  .object({
    authorized_actions: z.array(z.string()),
    capabilities: z.array(z.string()),
    dispute_window_days: z.number().int(),
    max_transaction_value: amount.nullable().optional(),
    spending_limit: z
      .object({ amount, currency: z.string(), window_days: z.number().int() })
      .register(z.globalRegistry, { id: "SpendingLimit" })
      .nullable()
      .optional(),
    minimum_counterparty_cert_tier: tier.nullable().optional(),
    minimum_counterparty_ar: fraction.nullable().optional(),
    intents_from: intentsFrom.optional(),
  })
  .register(z.globalRegistry, { id: "AgentScope" });

export const profileView = z
  .object({ display_name: z.string(), description: z.string().nullable(), catalog_url: registeredUrl.nullable() })
  .register(z.globalRegistry, { id: "AgentProfile" });

const documentNumber = buildWholeNumberSchema(z.number().min(1)).optional();
export const aidQuery = z
  .strictObject({ version: documentNumber, revision: documentNumber })
  .refine(({ version, revision }) => version === undefined || revision === undefined, {
    path: ["revision"],
    params: { code: "invalid_value" },
    message: "Must not be given together with version.",
  });
