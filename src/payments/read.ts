// Reads an intent for its parties (PAY-17).
import { type AgentCall, type Precheck, precheck } from "../call.ts";
import { ServiceError } from "../core/errors.ts";
import type { IntentRow } from "../db/tables/money.ts";
import { hasHoldEnded } from "../intents/states.ts";
import { findIntent, findIntentFor } from "../intents/store.ts";
import { refuseStrangers } from "./order.ts";
import type { IntentView } from "./responses.ts";
import { toIntentView } from "./views.ts";

export async function getIntent(call: AgentCall, intentId: string): Promise<IntentView> {
  const { intent } = await call.read(
    { intent: findIntentFor(call.db, intentId, call.did, call.now) },
    { clock: (found) => found.intent?.clockOffsetMs },
  );
  refuseNonParties(call, intent);
  const seen = intent.readThrough === null ? null : intent.readThrough + call.ahead;
  const released = hasHoldEnded(intent, seen);
  return toIntentView(call.deps.config, intent, call.now, { released, confirmBy: intent.confirmBy });
}

/** Refuses an unknown intent (404) and a stranger to it (403) before 422. */
export const precheckIntentReading = (call: AgentCall, intentId: string): Precheck =>
  precheck({ intent: findIntent(call.db, intentId) }, ({ intent }) => {
    refuseNonParties(call, intent);
    return [];
  });

export function refuseNonParties<I extends IntentRow>(call: AgentCall, intent: I | null): asserts intent is I {
  if (!intent) throw new ServiceError("not_found");
  refuseStrangers(call, intent);
}
