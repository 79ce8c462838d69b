// Specification 2.4 and 2.5 on the wire: the agent, its scope, its document, its public status.
import { z } from "@hono/zod-openapi";
import {
  CAPABILITIES_MAX,
  DISPUTE_WINDOW_DAYS_DEFAULT,
  DISPUTE_WINDOW_DAYS_MAX,
  SPENDING_WINDOW_DAYS_MAX,
} from "../core/limits.ts";
import { plainAmount } from "../core/money.ts";
import { amountInput, didParam, httpUrl, instant, listOf, pageQuery, text, wholeNumber } from "../http/schemas.ts";
import { ECONOMIC_ROLES, TIERS } from "./roles.ts";
import { AGENT_STATUSES } from "./states.ts";

const word = z
  .string()
  .regex(
    /^(?! )[^,\p{C}]{1,100}(?<! )$/u,
    "It is 1 to 100 characters, without a comma (lists are written with it) and without spaces around it.",
  );
const unique = (items: string[]) => new Set(items).size === items.length;
const wordList = z
  .array(word)
  .max(CAPABILITIES_MAX)
  .refine(unique, { params: { code: "invalid_value" }, message: "A value stands twice." });

const disputeWindow = z
  .number()
  .int()
  .min(0)
  .max(DISPUTE_WINDOW_DAYS_MAX)
  .openapi({ description: "Days; 0 means final sale." });

/** Signed as it is written, so it is written in one way only. */
const ceiling = amountInput.transform((text, context) => {
  const plain = plainAmount(text);
  if (plain === null)
    context.addIssue({ code: "custom", params: { code: "too_big" }, message: "The amount is out of range." });
  return plain ?? text;
});

const spendingLimit = z.strictObject({
  amount: ceiling,
  currency: z.string().regex(/^[A-Z]{3,6}$/, "It is three to six capital letters, as USDC."),
  window_days: z.number().int().min(1).max(SPENDING_WINDOW_DAYS_MAX),
});

const spendFields = {
  max_transaction_value: ceiling.nullable().optional(),
  spending_limit: spendingLimit.nullable().optional(),
  minimum_counterparty_cert_tier: z.enum(TIERS).nullable().optional(),
  minimum_counterparty_ar: z.number().min(0).max(1).nullable().optional(),
};

/** Refused by the rules in its own words; here so that it is not an unknown field. */
const authorizedMarkets = z
  .unknown()
  .optional()
  .openapi({ type: "array", items: { type: "string" }, deprecated: true });

const scopeInput = z.strictObject({
  authorized_actions: wordList.min(1).openapi({ example: ["sell"] }),
  capabilities: wordList.openapi({ example: ["translation"] }),
  dispute_window_days: disputeWindow.default(DISPUTE_WINDOW_DAYS_DEFAULT),
  authorized_markets: authorizedMarkets,
  ...spendFields,
});

export const agentInput = z
  .strictObject({
    principal_id: z.string().min(1).max(100),
    economic_role: z.enum(ECONOMIC_ROLES),
    cert_tier: z.enum(TIERS).optional(),
    profile: z.strictObject({
      display_name: text(200),
      description: text(2000).nullable().optional(),
      catalog_url: httpUrl.nullable().optional(),
    }),
    endpoint_url: httpUrl,
    scope: scopeInput,
    delegated_by: z
      .string()
      .max(100)
      .nullable()
      .optional()
      .openapi({ description: "The DID of an ACTIVE agent of the same principal." }),
  })
  .openapi("AgentInput", {
    example: {
      principal_id: "prn_01JD3S2Q4N7W8X9Y0Z1A2B3C4D",
      economic_role: "PROVIDER",
      profile: { display_name: "Polyglot", description: "Translates documents.", catalog_url: null },
      endpoint_url: "https://polyglot.example/agent",
      scope: { authorized_actions: ["sell"], capabilities: ["translation"], dispute_window_days: 14 },
    },
  });

export type AgentInput = z.infer<typeof agentInput>;

export const scopePatch = z
  .strictObject({
    authorized_actions: wordList.min(1).optional(),
    capabilities: wordList.optional(),
    dispute_window_days: disputeWindow.optional(),
    authorized_markets: authorizedMarkets,
    ...spendFields,
  })
  .openapi("ScopePatch");

export type ScopePatch = z.infer<typeof scopePatch>;

export const statusPatch = z
  .strictObject({ status: z.enum(["ACTIVE", "SUSPENDED", "TERMINATED"]), reason: text(500).optional() })
  .openapi("StatusPatch");

export type StatusPatch = z.infer<typeof statusPatch>;

export const scopeView = z.object({
  authorized_actions: z.array(z.string()),
  capabilities: z.array(z.string()),
  dispute_window_days: z.number().int(),
  max_transaction_value: z.string().nullable().optional(),
  spending_limit: z
    .object({ amount: z.string(), currency: z.string(), window_days: z.number().int() })
    .nullable()
    .optional(),
  minimum_counterparty_cert_tier: z.string().nullable().optional(),
  minimum_counterparty_ar: z.number().nullable().optional(),
});

const agentFields = {
  did: z.string(),
  principal_id: z.string(),
  environment: z.enum(["sandbox", "production"]),
  economic_role: z.enum(ECONOMIC_ROLES),
  cert_tier: z.enum(TIERS),
  status: z.enum(AGENT_STATUSES),
  suspension_reason: z.string().nullable().openapi({
    description: "Whose suspension it is: `platform`, `principal`, `attestation` or `operator`.",
  }),
  status_reason: z.string().nullable().openapi({ description: "What the platform gave as its reason." }),
  profile: z.object({
    display_name: z.string(),
    description: z.string().nullable(),
    catalog_url: z.string().nullable(),
  }),
  endpoint_url: z.string(),
  scope: scopeView,
  delegated_by: z.string().nullable(),
  version: z.number().int(),
  key_id: z.string().nullable(),
  certificate_expires_at: instant.nullable(),
  agent_rating: z.number().nullable(),
  created_at: instant,
  updated_at: instant,
};

export const agentSummary = z.object(agentFields).openapi("AgentSummary");
export type AgentSummary = z.infer<typeof agentSummary>;
export const agentList = listOf(agentSummary).openapi("AgentList");

export const marketStatus = z.enum(["PROVISIONING", "ACTIVE", "FAILED"]);
export const marketView = z
  .object({
    market: z.string(),
    network: z.string(),
    caip2: z.string(),
    environment: z.enum(["sandbox", "production"]),
    operational_wallet: z.string(),
    escrow_wallet: z.string().nullable(),
    status: marketStatus,
    registration_tx: z.string().nullable(),
    reason: z.string().optional(),
  })
  .openapi("AgentMarket");
export type MarketView = z.infer<typeof marketView>;

const escrowView = z.object({
  network: z.string(),
  caip2: z.string(),
  currency: z.string(),
  escrow_wallet: z.string(),
  balance: z.string(),
  threshold: z.string(),
  state: z.enum(["FUNDING", "ACTIVE", "CONSTRAINED"]),
});

export const agentView = z
  .object({
    ...agentFields,
    authorized_markets: z.array(z.string()),
    markets: z.array(marketView),
    escrow_state: z.enum(["FUNDING", "ACTIVE", "CONSTRAINED"]).nullable(),
    escrow: z.array(escrowView),
  })
  .openapi("Agent");
export type AgentView = z.infer<typeof agentView>;

export const agentQuery = z.strictObject({
  ...pageQuery,
  principal_id: z.string().max(100).optional(),
  status: z.enum(AGENT_STATUSES).optional(),
  economic_role: z.enum(ECONOMIC_ROLES).optional(),
});
export type AgentQuery = z.infer<typeof agentQuery>;

export const agentParams = z.object({ did: didParam });

export const credentialsView = z
  .object({
    did: z.string(),
    status: z.enum(AGENT_STATUSES),
    private_key: z.string().openapi({ description: "PKCS#8 PEM. In this answer only; the service does not store it." }),
    certificate: z.string(),
    certificate_expires_at: instant,
    key_id: z.string(),
    warning: z.string(),
  })
  .openapi("AgentCredentials");

export const statusView = z
  .object({
    did: z.string(),
    status: z.enum(AGENT_STATUSES),
    environment: z.enum(["sandbox", "production"]),
    cert_tier: z.enum(TIERS),
    economic_role: z.enum(ECONOMIC_ROLES),
    escrow_state: z.enum(["FUNDING", "ACTIVE", "CONSTRAINED"]).nullable(),
    agent_rating: z.number().min(0).max(1).nullable(),
    principal_status: z.string(),
    as_of: instant,
  })
  .openapi("AgentStatus");

export const certificateView = z
  .object({ did: z.string(), certificate: z.string(), certificate_expires_at: instant, key_id: z.string() })
  .openapi("AgentCertificate");

export const aidQuery = z.strictObject({ version: wholeNumber(z.number().min(1)).optional() });
