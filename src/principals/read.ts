// Reads a platform's own principals (PRN-5).
import { type ManagementCall, type Precheck, precheckExists, readPage } from "../call.ts";
import { ServiceError } from "../core/errors.ts";
import { hashListing, type Page, toPage } from "../core/page.ts";
import { isPrincipalListByEnd, listPrincipals } from "./list-store.ts";
import type { PrincipalQuery, PrincipalView } from "./schema.ts";
import { findPrincipal } from "./store.ts";
import { toPrincipalView } from "./views.ts";

export async function getPrincipal(call: ManagementCall, principalId: string): Promise<PrincipalView> {
  const { principal } = await call.read({ principal: findPrincipal(call.db, call.tenant, principalId) });
  if (!principal) throw new ServiceError("not_found");
  return toPrincipalView(principal, call.now);
}

export const precheckOwnPrincipal = (call: ManagementCall, principalId: string): Precheck =>
  precheckExists(findPrincipal(call.db, call.tenant, principalId));

export async function getPrincipals(call: ManagementCall, query: PrincipalQuery): Promise<Page<PrincipalView>> {
  const { customer_id: customerId, external_ref: externalRef, status } = query;
  const filter = { customerId, externalRef, status };
  const page = await readPage(call, query, hashListing("principals", [call.environment], filter));
  const { found } = await call.read({ found: listPrincipals(call.db, call.tenant, filter, call.now, page) });
  const byEnd = isPrincipalListByEnd(filter);
  return toPage(
    found.rows,
    page,
    ({ attestationExpiresAt, createdAt, principalId }) => ({
      at: byEnd ? attestationExpiresAt : createdAt,
      id: principalId,
    }),
    (row) => toPrincipalView(row, call.now),
    found.end,
  );
}
