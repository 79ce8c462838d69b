// Shows operators the keys of the CA, and how long each is needed (IDN-29).
import type { OperatorCall } from "../call.ts";
import { toIso, toIsoOrNull } from "../core/clock.ts";
import {
  addPresentKeys,
  computeDroppableFrom,
  computeUsableFrom,
  findKeyFaults,
  type NamedKey,
  type SeenKey,
} from "./authority-keys.ts";
import { findAuthorityKeys } from "./authority-store.ts";
import type { AuthorityKeyView, AuthorityView } from "./responses.ts";

export async function getAuthority(call: OperatorCall): Promise<AuthorityView> {
  const { seen } = await call.read({ seen: findAuthorityKeys(call.db) });
  const { keys: named } = await call.deps.ca();
  const now = Date.now();
  return {
    keys: addPresentKeys(named, seen, now).map((key) => toView(key, named, now)),
    faults: findKeyFaults(named, seen, now).map(({ kid, message }) => `${kid}: ${message}`),
  };
}

function toView(key: SeenKey, named: readonly NamedKey[], now: number): AuthorityKeyView {
  const use = named.find(({ kid }) => kid === key.kid)?.use;
  const signs = use === "signing";
  const droppable = computeDroppableFrom(key);
  return {
    kid: key.kid,
    use: use ?? (droppable !== null && droppable > now ? "missing" : "dropped"),
    published_at: toIso(key.publishedAt),
    usable_from: toIso(computeUsableFrom(key)),
    first_certificate_at: toIsoOrNull(key.signsFrom),
    last_certificate_at: toIsoOrNull(key.signedUntil),
    droppable_from: signs ? null : toIso(droppable ?? now),
  };
}
