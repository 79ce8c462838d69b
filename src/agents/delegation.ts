// Delegation: a delegate's scope lies within its delegator's (AGT-24, AGT-25).
import { type FieldError, toFieldError } from "../core/errors.ts";
import { DELEGATION_DEPTH_MAX } from "../core/limits.ts";
import { compareDecimals } from "../core/text.ts";
import { rankTier } from "../core/vocabulary.ts";
import type { AgentRow } from "../db/tables/agents.ts";
import type { AgentWithPrincipal } from "../identity/store.ts";
import { toEffectiveAgentStatus, toEffectivePrincipalStatus } from "../principals/effective-status.ts";

/** Scope fields as stored; null means unbounded. */
export type Bounds = Pick<
  AgentRow,
  | "authorizedActions"
  | "capabilities"
  | "maxTransactionValue"
  | "spendingLimit"
  | "minimumCounterpartyCertTier"
  | "minimumCounterpartyAr"
>;

/** A proposed delegate: complete, or only the valid parts of a faulty body. */
export type Delegate = { readonly principalId?: string | undefined; readonly scope?: Bounds | undefined };

export function findDelegationFaults(
  { principalId, scope }: Delegate,
  delegator: AgentWithPrincipal | null,
  now: number,
): FieldError[] {
  if (!delegator) return [toFieldError("delegated_by", "not_found")];
  const { agent, principal } = delegator;
  const faults: FieldError[] = [];
  if (principalId !== undefined && agent.principalId !== principalId) {
    faults.push(toFieldError("delegated_by", "invalid_value", "The delegator belongs to another principal."));
  }
  if (toEffectiveAgentStatus(agent.status, toEffectivePrincipalStatus(principal, now)) !== "ACTIVE") {
    faults.push(toFieldError("delegated_by", "invalid_value", "The delegator is not ACTIVE."));
  }
  if (agent.delegators.length + 1 > DELEGATION_DEPTH_MAX) {
    faults.push(
      toFieldError("delegated_by", "invalid_value", `A delegation can be at most ${DELEGATION_DEPTH_MAX} deep.`),
    );
  }
  const wider = scope === undefined ? [] : findExceededFields(scope, agent);
  return [...faults, ...wider.map((field) => toFieldError(`scope.${field}`, "scope_exceeds_delegator"))];
}

/** Lists the scope fields in which a delegate would exceed its delegator. */
export function findExceededFields(delegate: Bounds, delegator: Bounds): string[] {
  const fields: string[] = [];
  if (!delegate.authorizedActions.every((action) => delegator.authorizedActions.includes(action)))
    fields.push("authorized_actions");
  if (!delegate.capabilities.every((capability) => delegator.capabilities.includes(capability)))
    fields.push("capabilities");
  if (isAboveCeiling(delegate.maxTransactionValue, delegator.maxTransactionValue)) fields.push("max_transaction_value");
  if (isWiderLimit(delegate.spendingLimit, delegator.spendingLimit)) fields.push("spending_limit");
  if (isBelowFloor(delegate.minimumCounterpartyCertTier, delegator.minimumCounterpartyCertTier, rankTier)) {
    fields.push("minimum_counterparty_cert_tier");
  }
  if (isBelowFloor(delegate.minimumCounterpartyAr, delegator.minimumCounterpartyAr, (value) => value))
    fields.push("minimum_counterparty_ar");
  return fields;
}

const isAboveCeiling = (mine: string | null, bound: string | null): boolean =>
  bound !== null && (mine === null || compareDecimals(mine, bound) > 0);

function isWiderLimit(mine: Bounds["spendingLimit"], bound: Bounds["spendingLimit"]): boolean {
  if (bound === null) return false;
  if (mine === null) return true;
  // A delegate's limit must be at least as tight, over a window that is not longer.
  return (
    mine.currency !== bound.currency ||
    compareDecimals(mine.amount, bound.amount) > 0 ||
    mine.window_days > bound.window_days
  );
}

function isBelowFloor<T>(mine: T | null, bound: T | null, rank: (value: T) => number): boolean {
  return bound !== null && (mine === null || rank(mine) < rank(bound));
}
