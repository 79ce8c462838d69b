// Lists of disputes (DSP-9): an agent's own, and those of all agents of an account by page or as CSV.
import { type AgentCall, type ManagementCall, readPage } from "../call.ts";
import { toFieldError, toValidationError } from "../core/errors.ts";
import { hashListing, type Page } from "../core/page.ts";
import { type DisputeFilter, listAccountDisputes, listOwnDisputes, toDisputePosition } from "../disputes/list-store.ts";
import type { DisputeQuery, DisputeView } from "../disputes/schema.ts";
import { toDisputePage, toDisputeView } from "../disputes/views.ts";
import { exportAll } from "./export.ts";

const toDisputeFilter = ({ did, role, status, since, until }: DisputeQuery): DisputeFilter => ({
  did,
  role,
  status,
  since,
  until,
});

/** The credential of the call decides which list it gets. */
export const getDisputes = (call: AgentCall | ManagementCall, query: DisputeQuery): Promise<Page<DisputeView>> =>
  call.surface === "agent" ? getOwnDisputes(call, query) : getAccountDisputes(call, query);

async function getOwnDisputes(call: AgentCall, query: DisputeQuery): Promise<Page<DisputeView>> {
  const { db, deps, did } = call;
  const { did: asked, ...filter } = toDisputeFilter(query);
  if (asked !== undefined && asked !== did) {
    const message = "An agent can list only its own disputes.";
    throw toValidationError([toFieldError("did", "invalid_value", message)]);
  }
  const page = await readPage(call, query, hashListing("own disputes", [did], filter));
  const real = deps.clock.now();
  const { found } = await call.read({ found: listOwnDisputes(db, did, filter, real, page) });
  return toDisputePage(deps.config, found, page, real);
}

async function getAccountDisputes(call: ManagementCall, query: DisputeQuery): Promise<Page<DisputeView>> {
  const { db, tenant, deps, environment } = call;
  const filter = toDisputeFilter(query);
  const page = await readPage(call, query, hashListing("disputes", [environment], filter));
  const real = deps.clock.now();
  const { found } = await call.read({ found: listAccountDisputes(db, tenant, filter, real, page) });
  return toDisputePage(deps.config, found, page, real);
}

/** Exports the disputes that were filed in at most 31 days. */
export function exportDisputes(
  call: ManagementCall,
  query: DisputeQuery,
): Promise<AsyncIterator<readonly DisputeView[]>> {
  const { db, deps } = call;
  const real = deps.clock.now();
  return exportAll(call, query, {
    list: (owner, range, page) => listAccountDisputes(db, owner, { ...toDisputeFilter(query), ...range }, real, page),
    positionOf: toDisputePosition,
    toView: (row) => toDisputeView(deps.config, row, real + row.clockOffsetMs),
  });
}
