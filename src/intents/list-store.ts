// Store of how many intents of an agent are open (AGT-35).
import { type SQL, sql } from "drizzle-orm";
import type { Environment } from "../core/vocabulary.ts";

/**
 * The open intents of an agent at an instant, as an expression. A provider's are a range of their index; a consumer's are found by the holds
 * on its window, where those of its delegates stand too. No more than `most` are looked at.
 */
export const openIntentsOf = (
  { did, environment }: { readonly did: string; readonly environment: Environment },
  now: number,
  most: number,
): SQL<number> => {
  // Literal text, so that SQLite uses the partial index.
  const stored = sql`select i.expires_at, i.environment from payment_intents i
    where i.provider_did = ${did} and i.status = 'OPEN' limit ${most}`;
  const sold = sql`select count(*) from (${stored}) listed where expires_at > ${now} and environment = ${environment}`;
  const held = sql`select h.intent_id from spend_holds h where h.did = ${did} and h.environment = ${environment} and h.expires_at > ${now} limit ${most}`;
  const bought = sql`select count(*) from (${held}) listed cross join payment_intents i on i.intent_id = listed.intent_id
    where i.consumer_did = ${did} and i.status = 'OPEN' and i.expires_at > ${now} and i.environment = ${environment}`;
  return sql<number>`((${sold}) + (${bought}))`;
};

/** Whether it has one, as an expression. */
export const hasOpenIntent = (
  { did, environment }: { readonly did: string; readonly environment: Environment },
  now: number,
): SQL => {
  const open = sql`i.status = 'OPEN' and i.environment = ${environment} and i.expires_at > ${now}`;
  return sql`(exists (select 1 from payment_intents i where i.provider_did = ${did} and ${open})
    or exists (select 1 from spend_holds h cross join payment_intents i on i.intent_id = h.intent_id
      where h.did = ${did} and h.environment = ${environment} and h.expires_at > ${now} and i.consumer_did = ${did} and ${open}))`;
};
