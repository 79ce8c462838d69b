// The roles as a table, and the faults of a body against it (AGT-2 to AGT-7).
import { type FieldError, fieldError } from "../core/errors.ts";
import { type EconomicRole, isTier, REQUIRED_TIERS, TIERS, type Tier, tierRank } from "../core/vocabulary.ts";

/** The roles that can be registered; ENTERPRISE is refused (AGT-2). */
export const REGISTRABLE_ROLES = ["CONSUMER", "PROVIDER"] as const satisfies readonly EconomicRole[];
export type RegistrableRole = (typeof REGISTRABLE_ROLES)[number];

type Role = {
  readonly must: string;
  readonly mustNot: string;
  readonly tiers: readonly Tier[];
  readonly spends: boolean;
  readonly sells: boolean;
};

const tiersFrom = (lowest: Tier): readonly Tier[] => TIERS.slice(tierRank(lowest));

export const ROLES: Readonly<Record<RegistrableRole, Role>> = {
  CONSUMER: {
    must: "purchase",
    mustNot: "sell",
    tiers: tiersFrom(REQUIRED_TIERS.CONSUMER),
    spends: true,
    sells: false,
  },
  PROVIDER: {
    must: "sell",
    mustNot: "purchase",
    tiers: tiersFrom(REQUIRED_TIERS.PROVIDER),
    spends: false,
    sells: true,
  },
};

const isRegistrable = (value: unknown): value is RegistrableRole => REGISTRABLE_ROLES.some((role) => role === value);
/** An ENTERPRISE agent would sell as a PROVIDER does; none can be registered. */
const roleOf = (role: EconomicRole): Role => ROLES[isRegistrable(role) ? role : "PROVIDER"];
export const defaultTier = (role: RegistrableRole): Tier => REQUIRED_TIERS[role];
export const sells = (role: EconomicRole): boolean => roleOf(role).sells;

const SPEND_FIELDS = [
  "max_transaction_value",
  "spending_limit",
  "minimum_counterparty_cert_tier",
  "minimum_counterparty_ar",
  "intents_from",
] as const;

type Fields = Record<string, unknown>;
const asFields = (value: unknown): Fields => (typeof value === "object" && value !== null ? (value as Fields) : {});
const given = (fields: Fields, name: string): boolean => fields[name] !== undefined && fields[name] !== null;

/** Cross-field faults of a registration, found beside all other faults of the body. */
export function registrationFaults(raw: unknown): FieldError[] {
  const body = asFields(raw);
  const role = body["economic_role"];
  const faults: FieldError[] = [];
  if (role !== undefined && !isRegistrable(role)) faults.push(fieldError("economic_role", "invalid_economic_role"));
  if (given(body, "cert_tier") && !isTier(body["cert_tier"])) faults.push(fieldError("cert_tier", "invalid_cert_tier"));
  if (!isRegistrable(role)) return faults;
  const tier = body["cert_tier"];
  if (isTier(tier) && !ROLES[role].tiers.includes(tier))
    faults.push(fieldError("cert_tier", "cert_tier_role_mismatch"));
  return [...faults, ...profileFaults(role, body), ...scopeFaults(role, asFields(body["scope"]), "scope.", true)];
}

/** A catalogue is what a seller has (AGT-5). */
export function profileFaults(role: EconomicRole, raw: unknown): FieldError[] {
  const hasCatalogue = given(asFields(asFields(raw)["profile"]), "catalog_url");
  return hasCatalogue && !roleOf(role).sells ? [fieldError("profile.catalog_url", "catalog_url_not_permitted")] : [];
}

/** Judges scope fields by the role. `prefix` is their place in the body; `whole` makes absent actions a fault. */
export function scopeFaults(role: EconomicRole, scope: Fields, prefix: string, whole: boolean): FieldError[] {
  const { must, mustNot, spends, sells } = roleOf(role);
  const faults: FieldError[] = [];
  const actions = scope["authorized_actions"];
  if (Array.isArray(actions) && (whole || actions.length > 0)) {
    const wrong = actions.includes(mustNot) || !actions.includes(must);
    const message = `A ${role} must include ${must} and must not include ${mustNot}.`;
    if (wrong) faults.push(fieldError(`${prefix}authorized_actions`, "authorized_action_role_mismatch", message));
  }
  for (const field of spends ? [] : SPEND_FIELDS) {
    if (given(scope, field)) faults.push(fieldError(`${prefix}${field}`, "field_not_allowed_for_role"));
  }
  if (scope["authorized_markets"] !== undefined) {
    const message = "Markets are opened through POST /v1/agents/{did}/scope/authorized_markets.";
    faults.push(
      sells
        ? fieldError(`${prefix}authorized_markets`, "invalid_field", message)
        : fieldError(`${prefix}authorized_markets`, "field_not_allowed_for_role"),
    );
  }
  return faults;
}
