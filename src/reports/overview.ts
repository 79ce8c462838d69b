// The overview of an agent (AGT-35), in one trip whose rows do not grow with the agent's history.
import { toEscrowView } from "../agents/views.ts";
import type { ManagementCall } from "../call.ts";
import { OPEN_COUNTED_MAX, RECENT_EVENTS } from "../core/limits.ts";
import { pickWorstEscrowState } from "../escrow/states.ts";
import { toPerformance } from "../identity/aid.ts";
import { type AgentWithPrincipal, findEscrows } from "../identity/store.ts";
import { listEvents } from "../journal/event-log-store.ts";
import { computeOldestListed, toEventView } from "../journal/event-views.ts";
import { pickRatingMethod } from "../ratings/method.ts";
import { computeRatingFromRow } from "../ratings/signals.ts";
import { readClocks } from "../tasks/clocks.ts";
import { findOpen } from "../tasks/open-store.ts";
import type { OverviewView } from "./responses.ts";

export async function getOverview(call: ManagementCall<AgentWithPrincipal>, did: string): Promise<OverviewView> {
  const { db, tenant, now, deps } = call;
  const { environment } = tenant;
  // A page reads one row more than its limit.
  const newest = { limit: RECENT_EVENTS - 1, after: null, first: computeOldestListed(deps.clock.now()) };
  const { object, escrows, open, events } = await call.read({
    escrows: findEscrows(db, did, environment),
    open: findOpen(db, { did, environment }, { now, real: readClocks(call).real }, OPEN_COUNTED_MAX),
    events: listEvents(db, tenant, { subject: did }, newest),
  });
  const { agent } = object;
  // The rating at this instant, as in the management view (AGT-12).
  const agentRating = computeRatingFromRow(agent, pickRatingMethod(deps.env, environment), now);
  return {
    did,
    performance: toPerformance(deps.config, { ...agent, agentRating }, now),
    escrow_state: pickWorstEscrowState(agent.economicRole, escrows),
    escrow: escrows.map((escrow) => toEscrowView(deps.config, escrow)),
    open: { ...open, disputes: agent.disputesOpen },
    recent_events: events.rows.map(toEventView),
  };
}
