// Cancels an intent for either party (PAY-23): its offer ends now. The chain is read first, because a paid intent cannot be cancelled. A payment that
// was already sent is mined within 30 seconds and counts, so the hold ends only once a later chain was read (PAY-11).
import type { AgentCall } from "../call.ts";
import { ServiceError } from "../core/errors.ts";
import { CHAIN_LOOK_MS } from "../core/limits.ts";
import type { IntentRow } from "../db/tables/money.ts";
import { toEffectiveIntentStatus } from "../intents/states.ts";
import { findIntentFor, markIntentCancelled } from "../intents/store.ts";
import { recordEventForParties } from "../journal/events.ts";
import { moveHolds } from "../payments/hold-store.ts";
import { refuseNonParties, toIntentView } from "../payments/read.ts";
import type { IntentView } from "../payments/responses.ts";
import { readToNow } from "./follow.ts";

export async function cancelUnpaidIntent(call: AgentCall, intentId: string): Promise<IntentView> {
  const { db, deps, now } = call;
  const { intent: found } = await call.read(
    { intent: findIntentFor(db, intentId, call.did, call.now) },
    { clock: ({ intent: one }) => one?.clockOffsetMs },
  );
  refuseNonParties(call, found);
  const { clockOffsetMs: _ruling, confirmBy: _none, readThrough: _read, ...intent } = found;
  refuseEndedIntent(intent, now);
  if (!(await readToNow(deps, intent.network, Date.now() + CHAIN_LOOK_MS))) {
    const headers = { "Retry-After": String(RETRY_SECONDS) };
    throw new ServiceError("chain_unavailable", { headers });
  }
  // If a payment was seen just now, it has moved the intent: the commit is refused, and the call decides again.
  const cancelled = { ...intent, expiresAt: now, cancelledAt: now };
  const view = toIntentView(deps.config, cancelled, now);
  const rated = call.did !== intent.consumerDid;
  await call.commit(
    [
      ...markIntentCancelled(db, intent, { now, rated }),
      ...moveHolds(db, intent, cancelled),
      ...recordEventForParties(db, intent, now, { type: "intent.abandoned", object: view }),
    ],
    view,
  );
  return view;
}

const RETRY_SECONDS = 2;

/** If the intent was paid, the refusal names the transaction. */
function refuseEndedIntent(intent: IntentRow, now: number): void {
  const status = toEffectiveIntentStatus(intent, now);
  if (status === "OPEN") return;
  throw new ServiceError("invalid_status", {
    message: `The payment intent is ${status}: only an OPEN one can be cancelled.`,
    detail: { status, ...(status === "PAID" && { tx_hash: intent.paymentTx, network: intent.network }) },
  });
}
