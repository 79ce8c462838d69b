// Conditions for writes of agents, on facts outside their rows that must hold at the commit.
import { type SQL, sql } from "drizzle-orm";
import type { SuspensionReason } from "../core/vocabulary.ts";
import { agents } from "../db/tables/agents.ts";
import { isPrincipalActive } from "../principals/store.ts";

/** For an agent that begins to run: its principal is in good standing at the commit, so that no cascade misses it (AGT-18). */
export const hasActivePrincipal = (now: number): SQL => isPrincipalActive(sql`${agents.principalId}`, now);

/** Like `hasActivePrincipal`, and the attestation still ends when the agent's row is to say so (PRN-14). */
export const hasAttestationUntil = (now: number, endsAt: number): SQL =>
  isPrincipalActive(sql`${agents.principalId}`, now, sql`and p.attestation_expires_at = ${endsAt}`);

/** For a suspended agent: it is still suspended for the reason that was read. */
export const isSuspendedFor = (reason: SuspensionReason | null): SQL => sql`suspension_reason is ${reason}`;

/** For agents that were suspended with their account: that reason still holds, and their principal is in good standing at the commit (AGT-18). */
export const mayReactivateWithAccount = (now: number): SQL =>
  sql`suspension_reason = 'operator' and ${hasActivePrincipal(now)}`;

/** For agents that were suspended with their principal: that reason still holds, and it is in good standing at the commit. */
export const mayReactivateWithPrincipal = (now: number): SQL =>
  sql`suspension_reason in ('principal', 'attestation') and ${hasActivePrincipal(now)}`;
