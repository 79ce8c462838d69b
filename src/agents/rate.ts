// Applies a signal to one agent, as one set of statements: its sums, its rating, and the thresholds that follow (TSK-5, MKT-16). The
// document becomes stale and is signed at its next reading.
import type { Deps } from "../context.ts";
import type { Database, Statement } from "../db/batch.ts";
import { type EscrowChange, rated, thresholdMoved } from "../escrow/changes.ts";
import { movedStates, moveThreshold } from "../escrow/store.ts";
import type { AidSource } from "../identity/aid.ts";
import { recordEvent } from "../journal/events.ts";
import { recordDirectoryChange } from "../journal/feed.ts";
import { ratingMethod } from "../ratings/method.ts";
import { addSignal, type SignalChange } from "../ratings/signals.ts";
import { addedVolume, updateRating } from "./store.ts";
import { toAgentView } from "./views.ts";

/** The rows of an agent that a signal can move. */
export type RatedSource = Omit<AidSource, "certificate">;
/** What a closed task was paid, in base units of its currency; it is added to the settled volume. */
export type Volume = { readonly currency: string; readonly units: number };
type Change = Omit<SignalChange, "by"> & { readonly volume?: Volume };

export type Rated = { readonly rating: number | null; readonly statements: Statement[] };

/** Guarded by the agent's sums: after a conflict the caller reads and decides again. */
export function rateAgent(db: Database, deps: Deps, source: RatedSource, change: Change): Rated {
  const { now, volume } = change;
  const before = source.agent;
  const signal = addSignal(db, before, { ...change, by: ratingMethod(deps.env, before.environment) });
  const rating = signal.columns.agentRating;
  const moved = source.escrows.map((escrow) => ({ before: escrow, after: rated(escrow, rating) }));
  const turned = moved.filter(stateMoved).map((escrow) => escrow.after);
  const listed = rating !== before.agentRating || turned.length > 0;
  const set = { ...signal.columns, ...(listed && { updatedAt: now }) };
  const after = { ...source, agent: { ...before, ...set }, escrows: moved.map((escrow) => escrow.after) };
  return {
    rating,
    statements: [
      ...updateRating(db, before, { ...set, ...movedStates(turned), ...(volume && addedVolume(volume)) }),
      ...signal.statements,
      ...moved.filter(thresholdMoved).flatMap((escrow) => moveThreshold(db, escrow.before, escrow.after)),
      ...recordEscrowChange(db, deps, after, moved, listed, now),
    ],
  };
}

const stateMoved = ({ before, after }: EscrowChange): boolean => before.state !== after.state;

/** The event of an escrow that changed its state, and the directory's record of it. */
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
