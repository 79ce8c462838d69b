// Store of the ends that somebody or something gives to open intents: a cancellation, the end of an agent, a payment that settles nothing.
import { and, eq, inArray, or, sql } from "drizzle-orm";
import { move } from "../core/machine.ts";
import { type Database, mustChange, type Statement } from "../db/batch.ts";
import { type IntentRow, paymentIntents } from "../db/tables/money.ts";
import { spendHolds } from "../db/tables/spending.ts";
import { intentMachine } from "./states.ts";

const DIDS_AT_ONCE = 20;

/**
 * Ends the open intents of agents that have ended, where nobody has paid them: now, on the clock of the consumer's platform, which rules an
 * intent. A payment that was mined before still settles one (PAY-14), the job records the rest as it does those that end by themselves, and
 * no consumer is rated for one. The holds keep their own end. `wall`: the instant on the service's clock.
 */
export const endIntentsOf = (db: Database, dids: readonly string[], wall: number): Statement[] =>
  Array.from({ length: Math.ceil(dids.length / DIDS_AT_ONCE) }, (_, n) => {
    const part = dids.slice(n * DIDS_AT_ONCE, (n + 1) * DIDS_AT_ONCE);
    const at = sql`${wall} + case when environment = 'sandbox' then
      (select p.clock_offset_ms from platforms p where p.platform_id = consumer_platform_id) else 0 end`;
    return db
      .update(paymentIntents)
      .set({ expiresAt: at, abandonRated: true })
      .where(
        and(
          // Literal text, so that SQLite uses the partial index.
          sql`status = 'OPEN' and intent_id in (
            select intent_id from payment_intents where status in ('OPEN', 'PAID') and spent_at is null and status = 'OPEN' and ${inArray(paymentIntents.providerDid, part)}
            union all select intent_id from spend_holds where ${inArray(spendHolds.did, part)})`,
          or(inArray(paymentIntents.providerDid, part), inArray(paymentIntents.consumerDid, part)),
          sql`expires_at > ${at}`,
        ),
      );
  });

/** Ends the offer of an open intent now (PAY-23); the job records its end as it does of any other. `rated`: nobody is rated for it. */
export const cancelIntent = (
  db: Database,
  { intentId, expiresAt }: IntentRow,
  { now, rated }: { readonly now: number; readonly rated: boolean },
): Statement[] =>
  mustChange(
    db,
    db
      .update(paymentIntents)
      .set({ expiresAt: now, cancelledAt: now, abandonRated: rated })
      .where(and(eq(paymentIntents.intentId, intentId), sql`status = 'OPEN'`, eq(paymentIntents.expiresAt, expiresAt))),
  );

/**
 * Ends an open intent whose key on the chain was used up by a payment that settles nothing (FAC-22): no payment finds it by its terms, and nobody
 * is rated for it.
 */
export const endSpoiltIntent = (db: Database, { intentId, status }: IntentRow, ended: IntentRow): Statement[] => {
  const { from, to } = move(intentMachine, status, "expire");
  return mustChange(
    db,
    db
      .update(paymentIntents)
      .set({ status: to, expiresAt: ended.expiresAt, terms: "", abandonRated: true })
      .where(and(eq(paymentIntents.intentId, intentId), eq(paymentIntents.status, from))),
  );
};

/** A lost payment that can never be mined again keeps no hold. */
export const endLostHold = (db: Database, { intentId }: IntentRow): Statement[] =>
  mustChange(
    db,
    db
      .update(paymentIntents)
      .set({ lostUntil: null })
      .where(and(eq(paymentIntents.intentId, intentId), sql`status = 'OPEN' and lost_until is not null`)),
  );
