// Agents, their scope and their credentials in requests and answers (AGT-1, AGT-6, AGT-9).
import * as z from "zod";
import {
  CAPABILITIES_MAX,
  DISPUTE_WINDOW_DAYS_DEFAULT,
  DISPUTE_WINDOW_DAYS_MAX,
  ROTATION_GRACE_HOURS_MAX,
  SPENDING_WINDOW_DAYS_MAX,
} from "../core/limits.ts";
import { listRequiredActions, REGISTRABLE_ROLES } from "../core/roles.ts";
import { findNameFault, toPlainAmount, trimSpaces } from "../core/text.ts";
import { MARKET_STATUSES, SUSPENSION_REASONS } from "../core/vocabulary.ts";
import {
  agentStatus,
  amount,
  amountInput,
  buildFixedFieldRule,
  buildNameSchema,
  buildNormalizedSchema,
  buildTextSchema,
  currencyInput,
  did,
  didInput,
  economicRole,
  environment,
  escrowState,
  fraction,
  httpUrl,
  idInput,
  instant,
  metadata,
  pageQuery,
  referenceInput,
  registeredUrl,
  tier,
} from "../http/schemas.ts";
import { intentsFrom, profileView, scopeView } from "../identity/schema.ts";

const WORD_MAX_CHARS = 100;

/** An action or a capability (AGT-9). Lists of them are comma-separated, so it contains no comma. */
const buildWordSchema = () =>
  // Two Unicode forms of a word count as one word.
  buildNormalizedSchema("NFC", WORD_MAX_CHARS)
    .min(1, { abort: true })
    .max(WORD_MAX_CHARS, { abort: true })
    .regex(/^[^,]*$/, { abort: true, error: "Must not contain a comma, which separates the items of a list." })
    .superRefine((value, context) => {
      const fault = value === value.trim() ? findNameFault(value) : "Must not begin or end with a space.";
      if (fault !== null) context.addIssue({ code: "custom", params: { code: "invalid_format" }, message: fault });
    });
const capability = buildWordSchema().register(z.globalRegistry, { id: "Word" });
/** The service knows the actions that its roles need; all others are the platform's own. */
const action = buildWordSchema().register(z.globalRegistry, {
  id: "ActionInput",
  anyOf: [{ enum: listRequiredActions("ENTERPRISE").must }, { type: "string" }],
});
const isUnique = (items: string[]) => new Set(items).size === items.length;
const buildWordListSchema = (item: z.ZodString) =>
  z
    .array(item)
    .max(CAPABILITIES_MAX)
    .refine(isUnique, { params: { code: "invalid_value" }, message: "Must not contain a value twice." });
const capabilities = buildWordListSchema(capability).register(z.globalRegistry, { id: "Words" });
const actions = buildWordListSchema(action).min(1).register(z.globalRegistry, { id: "ActionsInput" });

const disputeWindow = z.number().int().min(0).max(DISPUTE_WINDOW_DAYS_MAX);

const TOO_MANY_DIGITS =
  "Must have at most 40 digits before the point and 40 after it when written without an exponent.";

/** A ceiling is stored in one canonical form, because it is signed as it is written. */
const ceiling = amountInput.transform((text, context) => {
  const plain = toPlainAmount(text);
  if (plain === null)
    context.addIssue({ code: "custom", params: { code: "invalid_format" }, message: TOO_MANY_DIGITS });
  return plain ?? text;
});

const spendingLimit = z
  .strictObject({
    amount: ceiling,
    currency: currencyInput,
    window_days: z.number().int().min(1).max(SPENDING_WINDOW_DAYS_MAX),
  })
  .register(z.globalRegistry, { id: "SpendingLimitInput" });

const spendFields = {
  max_transaction_value: ceiling.nullable().optional(),
  spending_limit: spendingLimit.nullable().optional(),
  minimum_counterparty_cert_tier: tier.nullable().optional(),
  minimum_counterparty_ar: fraction.nullable().optional(),
  intents_from: intentsFrom.optional(),
};

/** Accepted here, so that the role's rules can refuse it with their own code (AGT-7). */
const authorizedMarkets = z.unknown().optional();

const scopeInput = z.strictObject({
  authorized_actions: actions,
  capabilities,
  dispute_window_days: disputeWindow.default(DISPUTE_WINDOW_DAYS_DEFAULT),
  authorized_markets: authorizedMarkets,
  ...spendFields,
});

const descriptionInput = buildTextSchema(2000).nullable().register(z.globalRegistry, { id: "DescriptionInput" });

const PROFILE = {
  display_name: buildNameSchema(200),
  description: descriptionInput.optional(),
  catalog_url: httpUrl.nullable().optional(),
};

export const agentInput = z
  .strictObject({
    principal_id: idInput,
    economic_role: z.enum(REGISTRABLE_ROLES),
    cert_tier: tier.optional(),
    profile: z.strictObject(PROFILE),
    endpoint_url: httpUrl,
    external_ref: referenceInput.optional(),
    metadata: metadata.optional(),
    scope: scopeInput,
    delegated_by: didInput.nullable().optional(),
  })
  .register(z.globalRegistry, { id: "AgentInput" });

export type AgentInput = z.infer<typeof agentInput>;

const PATCHED = {
  profile: z.strictObject(PROFILE).partial().register(z.globalRegistry, { id: "ProfileInput" }),
  endpoint_url: httpUrl,
  external_ref: referenceInput,
  metadata,
};

export const agentPatch = z.strictObject(PATCHED).partial().register(z.globalRegistry, { id: "AgentPatch" });
export type AgentPatch = z.infer<typeof agentPatch>;

/** Refuses members that are fixed or have calls of their own: role, principal, tier, scope and status. */
export const agentPatchRules = buildFixedFieldRule(() => agentView, PATCHED);

export const scopePatch = z
  .strictObject({
    authorized_actions: actions.optional(),
    capabilities: capabilities.optional(),
    dispute_window_days: disputeWindow.optional(),
    authorized_markets: authorizedMarkets,
    ...spendFields,
  })
  .register(z.globalRegistry, { id: "ScopePatch" });

export type ScopePatch = z.infer<typeof scopePatch>;

export const statusPatch = z
  .strictObject({ status: z.enum(["ACTIVE", "SUSPENDED", "TERMINATED"]), reason: buildTextSchema(500).optional() })
  .register(z.globalRegistry, { id: "StatusPatch" });

export type StatusPatch = z.infer<typeof statusPatch>;

export const revocationInput = z
  .strictObject({ reason: buildTextSchema(500) })
  .register(z.globalRegistry, { id: "AgentRevocationInput" });
export type RevocationInput = z.infer<typeof revocationInput>;

export const transferInput = z
  .strictObject({ principal_id: idInput })
  .register(z.globalRegistry, { id: "AgentTransferInput" });
export type TransferInput = z.infer<typeof transferInput>;

export const keyRotationInput = z
  .strictObject({ grace_hours: z.number().int().min(0).max(ROTATION_GRACE_HOURS_MAX).default(0) })
  .register(z.globalRegistry, { id: "AgentKeyRotationInput" });
export type KeyRotationInput = z.infer<typeof keyRotationInput>;

const suspensionReason = z.enum(SUSPENSION_REASONS).register(z.globalRegistry, { id: "SuspensionReason" });

export const agentFields = {
  did,
  principal_id: z.string(),
  environment: environment,
  economic_role: economicRole,
  cert_tier: tier,
  status: agentStatus,
  suspension_reason: suspensionReason.nullable(),
  status_reason: z.string().nullable(),
  profile: profileView,
  endpoint_url: registeredUrl,
  external_ref: z.string().nullable(),
  metadata,
  scope: scopeView,
  delegated_by: did.nullable(),
  version: z.number().int(),
  key_id: z.string().nullable(),
  certificate_expires_at: instant.nullable(),
  agent_rating: fraction.nullable(),
  created_at: instant,
  updated_at: instant,
};

export const marketView = z
  .object({
    market: z.string(),
    network: z.string(),
    caip2: z.string(),
    environment: environment,
    operational_wallet: z.string(),
    escrow_wallet: z.string().nullable(),
    status: z.enum(MARKET_STATUSES).register(z.globalRegistry, { id: "AgentMarketState" }),
    registration_tx: z.string().nullable(),
    reason: z.string().optional(),
    pending_wallet: z
      .object({ operational_wallet: z.string(), effective_at: instant })
      .register(z.globalRegistry, { id: "PendingWallet" })
      .optional(),
  })
  .register(z.globalRegistry, { id: "AgentMarket" });
export type MarketView = z.infer<typeof marketView>;

export const escrowView = z
  .object({
    network: z.string(),
    caip2: z.string(),
    currency: z.string(),
    escrow_wallet: z.string(),
    balance: amount,
    threshold: amount,
    state: escrowState,
  })
  .register(z.globalRegistry, { id: "AgentEscrow" });
export type EscrowView = z.infer<typeof escrowView>;

export const agentView = z
  .object({
    ...agentFields,
    authorized_markets: z.array(z.string()),
    markets: z.array(marketView),
    escrow_state: escrowState.nullable(),
    escrow: z.array(escrowView),
  })
  .register(z.globalRegistry, { id: "Agent" });
export type AgentView = z.infer<typeof agentView>;

export const agentQuery = z.strictObject({
  ...pageQuery,
  principal_id: z.string().max(100).optional(),
  status: agentStatus.optional(),
  economic_role: economicRole.optional(),
  external_ref: z.string().overwrite(trimSpaces).max(200).optional(),
});
export type AgentQuery = z.infer<typeof agentQuery>;
