// The parts of webhooks that the bench build runs itself: it commits events, and delivers them where their cost is counted.
import { commitAll } from "../src/commit.ts";
import type { Deps } from "../src/context.ts";
import { computeFirstId } from "../src/core/ids.ts";
import { toEventRow } from "../src/journal/events.ts";
import { insertEvent } from "../src/journal/log-store.ts";
import { deliverDue } from "../src/webhooks/deliver.ts";
import { fanOutEvents } from "../src/webhooks/fan-out.ts";

/** Runs from the fan-out to the end, in this invocation. */
export async function deliverFresh(deps: Deps, webhookId: string): Promise<void> {
  await fanOutEvents(deps);
  await deliverDue(deps, webhookId, () => true);
}

/** Counts the deliveries since an instant that were accepted, and the deliveries that are due now. */
export async function countDelivered(db: D1Database, webhookId: string, since: number) {
  const text = `select (select count(*) from webhook_deliveries where webhook_id = ?1 and delivery_id >= ?2 and status = 'delivered') as taken,
    (select count(*) from webhook_queue where webhook_id = ?1 and next_at <= ?3) as due`;
  const counted = await db.prepare(text).bind(webhookId, computeFirstId("dlv", since), Date.now()).first();
  return { taken: Number(counted?.["taken"]), due: Number(counted?.["due"]) };
}

/** Commits events of an account as the service does, including the message to its outbox. `at`: the instant of the commit. */
export async function commitEvents(
  deps: Deps,
  platformId: string,
  count: number,
): Promise<{ at: number; ids: string[] }> {
  const owner = { platformId, environment: "sandbox" } as const;
  const event = { type: "agent.status_changed", object: OBJECT } as const;
  const rows = Array.from({ length: count }, () => toEventRow(owner, deps.clock.now(), event));
  let at = 0;
  let told: Promise<unknown> | null = null;
  const statements = rows.map((row) => insertEvent(deps.db, row));
  await commitAll(deps, statements, (work) => {
    at = Date.now();
    told = work;
  });
  await told;
  return { at, ids: rows.map(({ id }) => id) };
}

/** An object as long as those of events about an agent. */
const OBJECT = { did: "did:aeap:bench", status: "ACTIVE", text: "x".repeat(1_500) };
