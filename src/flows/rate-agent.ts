// Contract section 6, Rating and Escrow: what a signal does to one agent, as one set of statements: its sums, its rating,
// the thresholds that follow from it, and its signed document. Used wherever history is made.
import { recordDirectoryChange, recordEvent } from "../activity/store.ts";
import { type AidSource, writeAid } from "../agents/aid.ts";
import { updateAgent } from "../agents/store.ts";
import { toAgentView } from "../agents/views.ts";
import type { Deps } from "../context.ts";
import type { Database, Statement } from "../db/batch.ts";
import type { Environment } from "../db/scope.ts";
import { differs, type EscrowChange, rated } from "../escrow/changes.ts";
import { updateEscrow } from "../escrow/store.ts";
import { addSignal, type SignalChange } from "../ratings/signals.ts";

export type Rated = { readonly source: AidSource; readonly statements: Statement[] };

/** Guarded by the agent's revision: whoever was faster wins, and the caller reads again. */
export async function rateAgent(
  db: Database,
  deps: Deps,
  source: AidSource,
  change: Omit<SignalChange, "by">,
): Promise<Rated> {
  const { now } = change;
  const before = source.agent;
  const by = deps.config.rating[before.environment as Environment];
  const signal = addSignal(db, before, { ...change, by });
  const rating = signal.columns.agentRating;
  const moved = source.escrows.map((escrow) => ({ before: escrow, after: rated(escrow, rating) }));
  const listed = rating !== before.agentRating || moved.some(stateMoved);
  const set = { ...signal.columns, revision: before.revision + 1, ...(listed && { updatedAt: now }) };
  const after: AidSource = { ...source, agent: { ...before, ...set }, escrows: moved.map((escrow) => escrow.after) };
  return {
    source: after,
    statements: [
      ...updateAgent(db, before, set),
      ...signal.statements,
      ...moved.filter(differs).flatMap((escrow) => updateEscrow(db, escrow.before, escrow.after)),
      ...(await writeAid(db, deps, after, now, false)),
      ...announce(db, deps, after, moved, listed, now),
    ],
  };
}

const stateMoved = ({ before, after }: EscrowChange): boolean => before.state !== after.state;

/** The event of an escrow that changed its state, and the directory's record of what it shows. */
export function announce(
  db: Database,
  deps: Deps,
  after: AidSource,
  moved: readonly EscrowChange[],
  listed: boolean,
  now: number,
): Statement[] {
  const { agent } = after;
  const event = { type: "agent.escrow_state_changed", object: toAgentView(deps.config, after, now) } as const;
  return [
    ...(moved.some(stateMoved) ? [recordEvent(db, agent, now, event)] : []),
    ...(listed ? [recordDirectoryChange(db, agent.environment, agent.did, "updated", now)] : []),
  ];
}
