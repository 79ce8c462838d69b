// Reads a platform's own principals (PRN-5).
import { type ManagementCall, readPage } from "../call.ts";
import { hashListing, type Page, toPage } from "../core/page.ts";
import type { PrincipalRow } from "../db/tables/principals.ts";
import { isPrincipalListByEnd, listPrincipals } from "./list-store.ts";
import type { PrincipalQuery, PrincipalView } from "./schema.ts";
import { findPrincipal } from "./store.ts";
import { toPrincipalView } from "./views.ts";

export const findNamedPrincipal = ({ db, tenant }: ManagementCall, { principal_id }: { principal_id: string }) =>
  findPrincipal(db, tenant, principal_id);

export const getPrincipal = async (call: ManagementCall<PrincipalRow>): Promise<PrincipalView> =>
  toPrincipalView((await call.read({})).object, call.now);

export async function getPrincipals(call: ManagementCall, query: PrincipalQuery): Promise<Page<PrincipalView>> {
  const { customer_id: customerId, external_ref: externalRef, status } = query;
  const filter = { customerId, externalRef, status };
  const page = await readPage(call, query, hashListing("principals", [call.environment], filter));
  const { found } = await call.read({ found: listPrincipals(call.db, call.tenant, filter, call.now, page) });
  const byEnd = isPrincipalListByEnd(filter);
  return toPage(
    found,
    page,
    ({ attestationExpiresAt, createdAt, principalId }) => ({
      at: byEnd ? attestationExpiresAt : createdAt,
      id: principalId,
    }),
    (row) => toPrincipalView(row, call.now),
  );
}
