// The budgets of webhooks: operations, deliveries and jobs.
import { BULK, type Budget, EACH, job, KIB, mutation, read, sweep } from "./budget.ts";

/** Wakes the object of the endpoint after the answer. */
const WAKES = { objects: 1 } as const;
const DELIVERIES = "GET /v1/webhooks/{webhook_id}/deliveries";

export const WEBHOOK_BUDGETS: Readonly<Record<string, Budget>> = {
  // The endpoints of the account are counted: ten here, at most 19 before the last one. The account is read, and gets a notice.
  "POST /v1/webhooks": mutation(20, 9, KIB),
  "POST /v1/webhooks (Idempotency-Key)": mutation(21, 11, KIB, { objects: 2 }),
  "POST /v1/webhooks (the last that it may have)": mutation(29, 9, KIB),
  "GET /v1/webhooks": read(24, 8 * KIB),
  "GET /v1/webhooks/{webhook_id}": read(4, KIB),
  "PATCH /v1/webhooks/{webhook_id}": mutation(8, 5, KIB, WAKES),
  // An entry of the activity log for each of the four changes, a notice of the address, and one of the end of its deliveries.
  "PATCH /v1/webhooks/{webhook_id} (all at once)": mutation(13, 21, KIB),
  // The account is read, and gets a notice.
  "DELETE /v1/webhooks/{webhook_id}": mutation(10, 7, 0, WAKES),
  "POST /v1/webhooks/{webhook_id}/rotate-secret": mutation(8, 6, KIB, WAKES),
  "POST /v1/webhooks/{webhook_id}/test": mutation(7, 3, KIB, WAKES),
  [DELIVERIES]: read(27, 8 * KIB),
  // Each delivery that the page skips costs two rows.
  [`${DELIVERIES} (status=delivered)`]: read(30, 8 * KIB),
  [`${DELIVERIES} (event_type=agent.status_changed)`]: read(27, 8 * KIB),
  // A page scans at most a thousand deliveries; a second read of these finds the last of them.
  [`${DELIVERIES} (status=pending)`]: read(2_006, 8 * KIB),
  [`${DELIVERIES} (event_id=evt_1)`]: read(2_006, KIB),
  "POST /v1/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver": mutation(10, 2, KIB, { ...WAKES, queues: 0 }),
  "POST /v1/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver (one that waits)": mutation(12, 2, KIB, {
    ...WAKES,
    queues: 0,
  }),
  "POST /v1/webhooks/{webhook_id}/replay": mutation(14, 3, KIB),
  // The first event after an instant is found among twenty neighbours.
  "POST /v1/webhooks/{webhook_id}/replay (an instant)": mutation(24, 3, KIB),

  // From the fan-out to the end: 5 trips if one delivery is due.
  "message deliver (one)": sweep({ trips: 5, rowsRead: 37, rowsWritten: 7, queues: 1, fetches: 1 }),
  // Each delivery costs 6.6 rows read, with its event, and 5 written: its place, its lease, its end, and its row in the log with its key. Two rows
  // are the mark's and the account's volume.
  "message deliver (a burst of 100)": sweep({
    trips: 12,
    rowsRead: 667,
    rowsWritten: 502,
    queues: 1,
    fetches: 100,
  }),
  "message deliver (the receiver fails)": sweep({ trips: 5, rowsRead: 38, rowsWritten: 8, queues: 1, fetches: 1 }),
  // Each event is read once, and an endpoint is asked for its due deliveries, as above.
  "message deliver (100 events that nobody gets)": sweep({ trips: 5, rowsRead: 120, rowsWritten: 2 }),

  ...job("fan_out_events", { ...BULK, rowsRead: 5 }, { trips: 4, rowsRead: 12, rowsWritten: 4, queues: 1 }),
  // About three rows for each endpoint that has something waiting.
  ...job("deliver_webhooks", { ...BULK, rowsRead: 14 }, { trips: 2, rowsRead: 15, rowsWritten: 1, objects: 1 }),
  // One row is the account, whose mark says when it is due.
  ...job("replay_events", EACH, { trips: 7, rowsRead: 18, rowsWritten: 5, queues: 1 }),
  // About three rows for each endpoint that has something waiting, and for each that has a log.
  ...job("prune_deliveries", { ...BULK, rowsRead: 26 }, { trips: 6, rowsRead: 55, rowsWritten: 3 }),
  ...job("reseal_webhook_secrets", { ...EACH, trips: 2, rowsRead: 4 }, { trips: 6, rowsRead: 9, rowsWritten: 4 }),
};
