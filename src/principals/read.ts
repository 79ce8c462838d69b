// Reads a platform's own principals (PRN-5).
import { askedPage, type ManagementCall } from "../call.ts";
import { ServiceError } from "../core/errors.ts";
import { listingOf, type Page, toPage } from "../core/page.ts";
import type { PrincipalQuery, PrincipalView } from "./schema.ts";
import { findPrincipal, listPrincipals } from "./store.ts";
import { toPrincipalView } from "./views.ts";

export async function getPrincipal(call: ManagementCall, principalId: string): Promise<PrincipalView> {
  const { principal } = await call.read({ principal: findPrincipal(call.db, call.tenant, principalId) });
  if (!principal) throw new ServiceError("not_found");
  return toPrincipalView(principal, call.now);
}

export async function getPrincipals(call: ManagementCall, query: PrincipalQuery): Promise<Page<PrincipalView>> {
  const { customer_id: customerId, external_ref: externalRef, status } = query;
  const filter = { customerId, externalRef, status };
  const page = await askedPage(call, query, listingOf("principals", [call.environment], filter));
  const { rows } = await call.read({
    rows: listPrincipals(call.db, call.tenant, { ...filter, now: call.now }, page),
  });
  return toPage(
    rows,
    page,
    (row) => ({ at: row.createdAt, id: row.principalId }),
    (row) => toPrincipalView(row, call.now),
  );
}
