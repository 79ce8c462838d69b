// Conditions of an agent's way to another principal, for the batch that takes it there.
import { and, eq, type SQL, sql } from "drizzle-orm";
import { isRunning } from "../core/vocabulary.ts";
import { type AgentRow, agents } from "../db/tables/agents.ts";
import type { PrincipalRow } from "../db/tables/principals.ts";
import { principalLetsGo, principalStands } from "../principals/store.ts";
import { delegatesOf } from "./delegation-store.ts";
import { whileStanding, whileSuspendedBy } from "./while-store.ts";

/** A condition for an agent that comes to a principal: it stands, with the attestation that the agent's document and row are given. */
export const whileStandingUnchanged = ({ principalId, updatedAt }: PrincipalRow, now: number): SQL =>
  principalStands(sql`${principalId}`, now, sql`and p.updated_at = ${updatedAt}`);

/**
 * A condition for an agent that comes to another principal: that one stands as it was read; its own
 * one stands too where the agent runs, and has neither ended nor a revoked attestation where it does not, so that no cascade misses it; a suspended one is so by the reason
 * that was read; and none of its delegates stays behind.
 */
export const whileTransferable = (
  { did, status, suspensionReason, endsAt }: AgentRow,
  next: PrincipalRow,
  now: number,
): SQL | undefined =>
  and(
    whileStandingUnchanged(next, now),
    // A column that stays as it was read is not written.
    eq(agents.endsAt, endsAt),
    sql`not exists (select 1 from agents where ${delegatesOf(did)})`,
    isRunning(status)
      ? whileStanding(now)
      : sql`${whileSuspendedBy(suspensionReason)} and ${principalLetsGo(sql`${agents.principalId}`)}`,
  );
