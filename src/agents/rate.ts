// Specification 2.8 and 3.4: what a signal does to one agent, as one set of statements: its sums, its rating, the thresholds that
// follow from it. Its document says so from its next reading on. Used wherever history is made.
import type { Deps } from "../context.ts";
import type { Database, Statement } from "../db/batch.ts";
import { type EscrowChange, rated, thresholdMoved } from "../escrow/changes.ts";
import { moveThreshold } from "../escrow/store.ts";
import type { AidSource } from "../identity/aid.ts";
import { recordEvent } from "../journal/events.ts";
import { recordDirectoryChange } from "../journal/feed.ts";
import { ratingMethod } from "../ratings/method.ts";
import { addSignal, type SignalChange } from "../ratings/signals.ts";
import { updateRating } from "./store.ts";
import { toAgentView } from "./views.ts";

/** An agent as far as a signal moves it. */
export type RatedSource = Omit<AidSource, "certificate">;
export type Rated = { readonly rating: number | null; readonly statements: Statement[] };

/** Guarded by the agent's sums: whoever was faster wins, and the caller reads again. */
export function rateAgent(db: Database, deps: Deps, source: RatedSource, change: Omit<SignalChange, "by">): Rated {
  const { now } = change;
  const before = source.agent;
  const signal = addSignal(db, before, { ...change, by: ratingMethod(deps.env, before.environment) });
  const rating = signal.columns.agentRating;
  const moved = source.escrows.map((escrow) => ({ before: escrow, after: rated(escrow, rating) }));
  const listed = rating !== before.agentRating || moved.some(stateMoved);
  const set = { ...signal.columns, ...(listed && { updatedAt: now }) };
  const after = { ...source, agent: { ...before, ...set }, escrows: moved.map((escrow) => escrow.after) };
  return {
    rating,
    statements: [
      ...updateRating(db, before, set),
      ...signal.statements,
      ...moved.filter(thresholdMoved).flatMap((escrow) => moveThreshold(db, escrow.before, escrow.after)),
      ...recordEscrowChange(db, deps, after, moved, listed, now),
    ],
  };
}

const stateMoved = ({ before, after }: EscrowChange): boolean => before.state !== after.state;

/** The event of an escrow that changed its state, and the directory's record of what it shows. */
export function recordEscrowChange(
  db: Database,
  deps: Deps,
  after: RatedSource,
  moved: readonly EscrowChange[],
  listed: boolean,
  now: number,
): Statement[] {
  const { agent } = after;
  return [
    ...(moved.some(stateMoved)
      ? [
          recordEvent(db, agent, now, {
            type: "agent.escrow_state_changed",
            object: toAgentView(deps.config, after, now),
          }),
        ]
      : []),
    ...(listed ? [recordDirectoryChange(db, agent.environment, agent.did, "updated", now)] : []),
  ];
}
