// Disables an endpoint that answered 410 or has failed for days (EVT-28), with an entry in the activity log and a notice to the account.
import { commitAll } from "../commit.ts";
import type { Deps } from "../context.ts";
import { Conflict } from "../core/retry.ts";
import type { DisabledCause } from "../core/vocabulary.ts";
import { readBatch } from "../db/batch.ts";
import type { EndpointRow } from "../db/tables/webhooks.ts";
import { recordActivity } from "../journal/activity.ts";
import { findAddressee } from "../journal/notice-store.ts";
import { type Notice, recordNotice } from "../journal/notices.ts";
import { updateEndpoint } from "./store.ts";

/** The notice that an endpoint gets no events any longer. It names only the id and the host, because the path may hold a secret. */
export const toDisabledNotice = (
  { environment, webhookId, url }: EndpointRow,
  cause: DisabledCause | "deleted",
): Notice<"customer.webhook_disabled"> => ({
  kind: "customer.webhook_disabled",
  data: { environment, webhookId, host: new URL(url).host, cause },
});

/** False if the owner has changed the endpoint meanwhile: the next failure decides again. */
export async function disableFailing(
  deps: Deps,
  endpoint: EndpointRow,
  cause: Exclude<DisabledCause, "owner">,
): Promise<boolean> {
  const { db, clock } = deps;
  const { webhookId, platformId, updatedAt } = endpoint;
  const now = clock.now();
  const { platform } = await readBatch(db, { platform: findAddressee(db, platformId) });
  if (platform === null) return false;
  try {
    await commitAll(deps, [
      ...updateEndpoint(db, endpoint, {
        status: "disabled",
        disabledCause: cause,
        failingSince: null,
        updatedAt: Math.max(now, updatedAt + 1),
      }),
      recordActivity(db, endpoint, now, {
        action: "webhook.disabled",
        actor: { type: "system", id: "deliver_webhooks" },
        subject: { type: "webhook_endpoint", id: webhookId },
        changes: { status: { from: "enabled", to: "disabled" }, disabled_cause: { from: null, to: cause } },
      }),
      recordNotice(db, platform, now, toDisabledNotice(endpoint, cause)),
    ]);
    return true;
  } catch (thrown) {
    if (thrown instanceof Conflict) return false;
    throw thrown;
  }
}
