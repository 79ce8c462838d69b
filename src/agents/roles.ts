// The faults of a body that depend on the agent's role (AGT-2 to AGT-7).
import { encodeUtf8 } from "../core/encoding.ts";
import { type FieldError, toFieldError } from "../core/errors.ts";
import { SCOPE_WORDS_MAX_BYTES } from "../core/limits.ts";
import { buys, isRegistrable, listRequiredActions, listTiers, SPEND_FIELDS, sells } from "../core/roles.ts";
import { type EconomicRole, isTier } from "../core/vocabulary.ts";

type Fields = Record<string, unknown>;
export const toFields = (value: unknown): Fields =>
  typeof value === "object" && value !== null ? (value as Fields) : {};
const isGiven = (fields: Fields, name: string): boolean => fields[name] !== undefined && fields[name] !== null;

/** Cross-field faults of a registration, reported together with all other faults of the body. */
export function findRegistrationFaults(raw: unknown): FieldError[] {
  const body = toFields(raw);
  const role = body["economic_role"];
  const faults: FieldError[] = [];
  if (role !== undefined && !isRegistrable(role)) faults.push(toFieldError("economic_role", "invalid_economic_role"));
  if (isGiven(body, "cert_tier") && !isTier(body["cert_tier"]))
    faults.push(toFieldError("cert_tier", "invalid_cert_tier"));
  if (!isRegistrable(role)) return faults;
  const tier = body["cert_tier"];
  if (isTier(tier) && !listTiers(role).includes(tier))
    faults.push(toFieldError("cert_tier", "cert_tier_role_mismatch"));
  const scope = toFields(body["scope"]);
  return [
    ...faults,
    ...findProfileFaults(role, body),
    ...findScopeFaults(role, scope, "scope.", true),
    ...findWordFaults(scope, "scope"),
  ];
}

/** Limits these words, because a certificate that states them has to fit into a header and pass every check of the service. */
export function findWordFaults({ authorized_actions: actions, capabilities }: Fields, field: string): FieldError[] {
  const { length } = encodeUtf8(JSON.stringify([actions, capabilities]));
  const message = `Actions and capabilities must be at most ${SCOPE_WORDS_MAX_BYTES} bytes together, as JSON.`;
  return length > SCOPE_WORDS_MAX_BYTES ? [toFieldError(field, "too_long", message)] : [];
}

/** Only sellers have a catalogue (AGT-5). */
export function findProfileFaults(role: EconomicRole, raw: unknown): FieldError[] {
  const hasCatalogue = isGiven(toFields(toFields(raw)["profile"]), "catalog_url");
  return hasCatalogue && !sells(role) ? [toFieldError("profile.catalog_url", "catalog_url_not_permitted")] : [];
}

/** Checks scope fields against the role. `prefix` is their path in the body; `whole` also reports an empty list of actions. */
export function findScopeFaults(role: EconomicRole, scope: Fields, prefix: string, whole: boolean): FieldError[] {
  const faults: FieldError[] = [];
  const actions = scope["authorized_actions"];
  if (Array.isArray(actions) && (whole || actions.length > 0)) {
    const { must, mustNot } = listRequiredActions(role);
    const wrong =
      mustNot.some((action) => actions.includes(action)) || !must.every((action) => actions.includes(action));
    const not = mustNot.length > 0 ? ` and must not include ${mustNot.join(" and ")}` : "";
    const message = `A ${role} must include ${must.join(" and ")}${not}.`;
    if (wrong) faults.push(toFieldError(`${prefix}authorized_actions`, "authorized_action_role_mismatch", message));
  }
  for (const field of buys(role) ? [] : SPEND_FIELDS) {
    if (isGiven(scope, field)) faults.push(toFieldError(`${prefix}${field}`, "field_not_allowed_for_role"));
  }
  if (scope["authorized_markets"] !== undefined) {
    const message = "Open markets through POST /v1/agents/{did}/scope/authorized_markets.";
    faults.push(
      sells(role)
        ? toFieldError(`${prefix}authorized_markets`, "invalid_field", message)
        : toFieldError(`${prefix}authorized_markets`, "field_not_allowed_for_role"),
    );
  }
  return faults;
}
