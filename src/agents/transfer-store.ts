// Conditions for the batch that moves an agent to another principal.
import { and, eq, type SQL, sql } from "drizzle-orm";
import { isActiveOrFunding } from "../core/vocabulary.ts";
import { type AgentRow, agents } from "../db/tables/agents.ts";
import type { PrincipalRow } from "../db/tables/principals.ts";
import { isPrincipalActive, isPrincipalOpen } from "../principals/store.ts";
import { isDelegateOf } from "./delegation-store.ts";
import { hasActivePrincipal, isSuspendedFor } from "./while-store.ts";

/** Holds if the principal is in good standing and as it was read: the agent's document and row state its attestation. */
export const isPrincipalActiveUnchanged = ({ principalId, updatedAt }: PrincipalRow, now: number): SQL =>
  isPrincipalActive(sql`${principalId}`, now, sql`and p.updated_at = ${updatedAt}`);

/**
 * Holds if an agent may be transferred: the new principal is in good standing and as it was read, and the agent has no delegates. If the agent
 * runs, its present principal is in good standing too. Otherwise that one is neither closed nor has it a revoked attestation, so that no cascade
 * misses the agent, and a suspended agent still has the reason that was read.
 */
export const mayTransferAgent = (
  { did, status, suspensionReason, endsAt }: AgentRow,
  next: PrincipalRow,
  now: number,
): SQL | undefined =>
  and(
    isPrincipalActiveUnchanged(next, now),
    // `updateAgent` leaves out columns that did not change, so the stored end must still be the one that was read.
    eq(agents.endsAt, endsAt),
    sql`not exists (select 1 from agents where ${isDelegateOf(did)})`,
    isActiveOrFunding(status)
      ? hasActivePrincipal(now)
      : sql`${isSuspendedFor(suspensionReason)} and ${isPrincipalOpen(sql`${agents.principalId}`)}`,
  );
