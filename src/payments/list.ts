// Lists an agent's own intents (PAY-22).
import { type AgentCall, readPage } from "../call.ts";
import { measureAhead } from "../core/clock.ts";
import { hashListing, type Page, toPage } from "../core/page.ts";
import { listIntents } from "../intents/list-store.ts";
import { hasHoldEnded } from "../intents/states.ts";
import type { IntentView } from "./responses.ts";
import type { IntentQuery } from "./schema.ts";
import { toIntentView } from "./views.ts";

export async function getIntents(call: AgentCall, query: IntentQuery): Promise<Page<IntentView>> {
  const { db, deps, did } = call;
  const { status, role } = query;
  const page = await readPage(call, query, hashListing("intents", [did], { status, role }));
  const real = deps.clock.now();
  const { intents } = await call.read({ intents: listIntents(db, did, { status, role }, real, page) });
  return toPage(
    intents,
    page,
    ({ createdAt, intentId }) => ({ at: createdAt, id: intentId }),
    (intent) => {
      // Each intent is judged on its own clock, and block times are shifted to that clock too.
      const offset = intent.clockOffsetMs ?? 0;
      const seen = intent.readThrough === null ? null : intent.readThrough + measureAhead(deps.clock) + offset;
      const shown = { released: hasHoldEnded(intent, seen), confirmBy: intent.confirmBy };
      return toIntentView(deps.config, intent, real + offset, shown);
    },
  );
}
