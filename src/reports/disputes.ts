// Lists of disputes (DSP-9): an agent's own, and those of all agents of an account by page or as CSV.
import { type AgentCall, type ManagementCall, readPage } from "../call.ts";
import { toFieldError, toValidationError } from "../core/errors.ts";
import { hashListing, type Page } from "../core/page.ts";
import { type ListedDispute, listAccountDisputes, listOwnDisputes, toDisputePosition } from "../disputes/list-store.ts";
import type { DisputeQuery, DisputeView } from "../disputes/schema.ts";
import { toDisputePage, toDisputeView } from "../disputes/views.ts";
import { type AccountList, answerAccountPage, exportAll, toAccountFilter } from "./export.ts";

/** The credential of the call decides which list it gets. */
export const getDisputes = (call: AgentCall | ManagementCall, query: DisputeQuery): Promise<Page<DisputeView>> =>
  call.surface === "agent" ? getOwnDisputes(call, query) : getAccountDisputes(call, query);

async function getOwnDisputes(call: AgentCall, query: DisputeQuery): Promise<Page<DisputeView>> {
  const { db, deps, did } = call;
  const { did: asked, ...filter } = toAccountFilter(query);
  if (asked !== undefined && asked !== did) {
    const message = "An agent can list only its own disputes.";
    throw toValidationError([toFieldError("did", "invalid_value", message)]);
  }
  const page = await readPage(call, query, hashListing("own disputes", [did], filter));
  const real = deps.clock.now();
  const { found } = await call.read({ found: listOwnDisputes(db, did, filter, real, page) });
  return toDisputePage(deps.config, found, page, real);
}

function buildDisputeList({ db, deps }: ManagementCall, query: DisputeQuery): AccountList<ListedDispute, DisputeView> {
  const real = deps.clock.now();
  return {
    list: (owner, range, page) => listAccountDisputes(db, owner, { ...toAccountFilter(query), ...range }, real, page),
    positionOf: toDisputePosition,
    toView: (row) => toDisputeView(deps.config, row, real + row.clockOffsetMs),
  };
}

function getAccountDisputes(call: ManagementCall, query: DisputeQuery): Promise<Page<DisputeView>> {
  const listing = hashListing("disputes", [call.environment], toAccountFilter(query));
  return answerAccountPage(call, query, listing, buildDisputeList(call, query));
}

/** Exports the disputes that were filed in at most 31 days. */
export const exportDisputes = (call: ManagementCall, query: DisputeQuery) =>
  exportAll(call, query, buildDisputeList(call, query));
