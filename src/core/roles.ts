// The roles of agents as one table, which validation, documents, escrow and markets read (AGT-2 to AGT-7, IDN-15), and what the stage of an account
// permits in production.
import { type ErrorCode, ServiceError } from "./errors.ts";
import { type EconomicRole, type PlatformStatus, rankTier, TIERS, type Tier } from "./vocabulary.ts";

type Role = {
  readonly registrable: boolean;
  readonly buys: boolean;
  /** Has a catalogue and markets, and therefore an escrow. */
  readonly sells: boolean;
  /** The lowest tier of the agent, and the tier that its principal's attestation must reach (PRN-10, AGT-4). */
  readonly lowestTier: Tier;
};

export const ROLES = {
  CONSUMER: { registrable: true, buys: true, sells: false, lowestTier: "TIER_1" },
  PROVIDER: { registrable: true, buys: false, sells: true, lowestTier: "TIER_2" },
  ENTERPRISE: { registrable: false, buys: true, sells: true, lowestTier: "TIER_3" },
} as const satisfies Readonly<Record<EconomicRole, Role>>;

type Roles = typeof ROLES;
export type RegistrableRole = {
  [R in keyof Roles]: Roles[R]["registrable"] extends true ? R : never;
}[keyof Roles];

export const isRegistrable = (value: unknown): value is RegistrableRole =>
  typeof value === "string" && Object.hasOwn(ROLES, value) && ROLES[value as EconomicRole].registrable;
export const REGISTRABLE_ROLES = Object.keys(ROLES).filter(isRegistrable);

export const buys = (role: EconomicRole): boolean => ROLES[role].buys;
/** Also whether the document has the escrow's pillar: a consumer's liability runs through its spending limits. */
export const sells = (role: EconomicRole): boolean => ROLES[role].sells;
export const toLowestTier = (role: EconomicRole): Tier => ROLES[role].lowestTier;
export const listTiers = (role: EconomicRole): readonly Tier[] => TIERS.slice(rankTier(toLowestTier(role)));

export function listRequiredActions(role: EconomicRole): {
  readonly must: readonly string[];
  readonly mustNot: readonly string[];
} {
  const trades = [
    ["sell", sells(role)],
    ["purchase", buys(role)],
  ] as const;
  const which = (wanted: boolean) => trades.filter(([, has]) => has === wanted).map(([action]) => action);
  return { must: which(true), mustNot: which(false) };
}

/** The fields of a scope that limit an agent's spending; roles that do not buy have none of them (AGT-6). */
export const SPEND_FIELDS = [
  "max_transaction_value",
  "spending_limit",
  "minimum_counterparty_cert_tier",
  "minimum_counterparty_ar",
  "intents_from",
] as const;

// ---- Production (ACC-16) ------------------------------------------------------------------------------------------------

export const PRODUCTION_STAGES = ["unaccredited", "accredited", "promoted"] as const;
export type ProductionStage = (typeof PRODUCTION_STAGES)[number];

/** `act`: any call of a session in production, an agent's promotion, a production market. */
export const PRODUCTION_ACTIONS = ["promote", "rotate_key", "act"] as const;
export type ProductionAction = (typeof PRODUCTION_ACTIONS)[number];

/** The code of the refusal of an action at a stage; null where it is allowed. Every refusal of production is looked up here. */
export const PRODUCTION: Readonly<Record<ProductionAction, Readonly<Record<ProductionStage, ErrorCode | null>>>> = {
  promote: { unaccredited: "not_accredited", accredited: null, promoted: "already_promoted" },
  rotate_key: { unaccredited: "key_not_provisioned", accredited: "key_not_provisioned", promoted: null },
  act: { unaccredited: "not_accredited", accredited: "production_locked", promoted: null },
};

export type ProductionFacts = { readonly platformStatus: PlatformStatus; readonly promotedAt: number | null };

/** A promotion is never reversed, so it alone identifies the last stage. */
export function toProductionStage({ platformStatus, promotedAt }: ProductionFacts): ProductionStage {
  if (promotedAt !== null) return "promoted";
  return platformStatus === "ACCREDITED" ? "accredited" : "unaccredited";
}

export function requireProduction(action: ProductionAction, account: ProductionFacts): void {
  const code = PRODUCTION[action][toProductionStage(account)];
  if (code !== null) throw new ServiceError(code);
}
