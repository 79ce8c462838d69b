// Store of how many intents of an agent are open (AGT-35).
import { type SQL, sql } from "drizzle-orm";
import type { Environment } from "../core/vocabulary.ts";

/**
 * The open intents of an agent at an instant, as an expression: those that wait for a payment, and those that were paid. A provider's are a range of their index; a consumer's are found by the holds
 * on its window, where those of its delegates stand too. No more than `most` are looked at.
 */
export const openIntentsOf = (
  { did, environment }: { readonly did: string; readonly environment: Environment },
  now: number,
  most: number,
): SQL<number> => {
  // Literal text, so that SQLite uses the partial index.
  const stored = sql`select i.expires_at, i.environment, i.status from payment_intents i
    where i.provider_did = ${did} and i.status in ('OPEN', 'PAID') and i.spent_at is null limit ${most}`;
  const sold = sql`select count(*) from (${stored}) listed where environment = ${environment} and (expires_at > ${now} or status = 'PAID')`;
  const held = sql`select h.intent_id from spend_holds h where h.did = ${did} and h.environment = ${environment} and h.expires_at > ${now} limit ${most}`;
  const bought = sql`select count(*) from (${held}) listed cross join payment_intents i on i.intent_id = listed.intent_id
    where i.consumer_did = ${did} and ${isOpen(now)} and i.environment = ${environment}`;
  return sql<number>`((${sold}) + (${bought}))`;
};

/** Literal text, so that SQLite uses the partial index. One that was paid is open until it is facilitated or its time is over. */
const isOpen = (now: number): SQL =>
  sql`i.status in ('OPEN', 'PAID') and i.spent_at is null and (i.expires_at > ${now} or i.status = 'PAID')`;

/** Whether it has one, as an expression. */
export const hasOpenIntent = (
  { did, environment }: { readonly did: string; readonly environment: Environment },
  now: number,
): SQL => {
  const open = sql`i.environment = ${environment} and ${isOpen(now)}`;
  return sql`(exists (select 1 from payment_intents i where i.provider_did = ${did} and ${open})
    or exists (select 1 from spend_holds h cross join payment_intents i on i.intent_id = h.intent_id
      where h.did = ${did} and h.environment = ${environment} and h.expires_at > ${now} and i.consumer_did = ${did} and ${open}))`;
};
