// The production actions that each stage of an account permits (ACC-16). Every refusal of production is looked up in this table.
import { type ErrorCode, ServiceError } from "./errors.ts";
import type { PlatformStatus } from "./vocabulary.ts";

export const PRODUCTION_STAGES = ["unaccredited", "accredited", "promoted"] as const;
export type ProductionStage = (typeof PRODUCTION_STAGES)[number];

/** `act`: any call of a session in production, an agent's promotion, a production market. */
export const PRODUCTION_ACTIONS = ["promote", "rotate_key", "act"] as const;
export type ProductionAction = (typeof PRODUCTION_ACTIONS)[number];

/** The code of the refusal; null where the action is allowed. */
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
