// Applies a signal to one agent, as one set of statements: its sums, its rating, and the thresholds that follow (TSK-5, MKT-16). The
// document becomes stale and is signed at its next reading.
import type { Deps } from "../context.ts";
import type { Database, Statement } from "../db/batch.ts";
import { hasTurned, rated, thresholdMoved } from "../escrow/changes.ts";
import { movedStates, moveThreshold } from "../escrow/store.ts";
import type { AidSource } from "../identity/aid.ts";
import { recordEvent } from "../journal/events.ts";
import { recordDirectoryChange } from "../journal/feed.ts";
import { ratingMethod } from "../ratings/method.ts";
import { addSignal, type SignalChange } from "../ratings/signals.ts";
import { addedVolume, updateRating } from "./store.ts";
import { toAgentView } from "./views.ts";

/** The rows of an agent that a signal can move. `turned`: the batch brings an escrow to another state already, and this tells of it. */
export type RatedSource = Omit<AidSource, "certificate"> & { readonly turned?: boolean };
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
  const turned = moved.filter(hasTurned).map((escrow) => escrow.after);
  const toldOf = turned.length > 0 || source.turned === true;
  const listed = rating !== before.agentRating || toldOf;
  const set = { ...signal.columns, ...(listed && { updatedAt: Math.max(before.updatedAt, now) }) };
  const after = { ...source, agent: { ...before, ...set }, escrows: moved.map((escrow) => escrow.after) };
  return {
    rating,
    statements: [
      ...updateRating(db, before, { ...set, ...movedStates(turned), ...(volume && addedVolume(volume)) }),
      ...signal.statements,
      ...moved.filter(thresholdMoved).flatMap((escrow) => moveThreshold(db, escrow.before, escrow.after)),
      ...recordEscrowChange(db, deps, after, toldOf, listed, now),
    ],
  };
}

/** The event of an escrow that has turned, which is the agent as a reading shows it then, and the directory's record. */
export function recordEscrowChange(
  db: Database,
  deps: Deps,
  after: RatedSource,
  turned: boolean,
  listed: boolean,
  now: number,
): Statement[] {
  const { agent } = after;
  return [
    ...(turned
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
