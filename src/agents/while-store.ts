// Conditions of writes of agents: facts outside their rows that must hold at the commit.
import { type SQL, sql } from "drizzle-orm";
import type { SuspensionReason } from "../core/vocabulary.ts";
import { agents } from "../db/tables/agents.ts";
import { principalStands } from "../principals/store.ts";

/** A condition for an agent that begins to run: its principal is in good standing at the commit, so that no cascade misses it (AGT-18). */
export const whileStanding = (now: number): SQL => principalStands(sql`${agents.principalId}`, now);

/** The same while the attestation's end is the one that the agent's row is given (PRN-14). */
export const whileAttested = (now: number, endsAt: number): SQL =>
  principalStands(sql`${agents.principalId}`, now, sql`and p.attestation_expires_at = ${endsAt}`);

/** A condition for a suspended agent: it is still the same that stops it. */
export const whileSuspendedBy = (reason: SuspensionReason | null): SQL => sql`suspension_reason is ${reason}`;

/** A condition for agents that are given back: their account took them, and their principal stands at the commit (AGT-18). */
export const whileGivenBack = (now: number): SQL => sql`suspension_reason = 'operator' and ${whileStanding(now)}`;

/** A condition for agents that are reactivated together: a stop of their principal took them, and the principal stands at the commit. */
export const whileTaken = (now: number): SQL =>
  sql`suspension_reason in ('principal', 'attestation') and ${whileStanding(now)}`;
