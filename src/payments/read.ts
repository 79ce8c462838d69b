// Reads an intent for its parties (PAY-17).
import type { AgentCall } from "../call.ts";
import { ServiceError } from "../core/errors.ts";
import { refuseStrangers } from "./order.ts";
import type { IntentView } from "./schema.ts";
import { findIntent } from "./store.ts";
import { toIntentView } from "./views.ts";

export async function getIntent(call: AgentCall, intentId: string): Promise<IntentView> {
  const { intent } = await call.read(
    { intent: findIntent(call.db, intentId) },
    { clock: (found) => found.intent?.clockOffsetMs },
  );
  if (!intent) throw new ServiceError("not_found");
  refuseStrangers(call, intent);
  return toIntentView(call.deps.config, intent, call.now);
}
