// Reads a platform's own endpoints (EVT-22).
import { type ManagementCall, readPage } from "../call.ts";
import { ServiceError } from "../core/errors.ts";
import { hashListing, type Page, toPage } from "../core/page.ts";
import type { EndpointRow } from "../db/tables/webhooks.ts";
import type { WebhookView } from "./responses.ts";
import type { WebhookQuery } from "./schema.ts";
import { findEndpoint, listEndpoints } from "./store.ts";
import { toWebhookView } from "./views.ts";

/** Secrets expire and deliveries are pruned in real time, whatever a sandbox clock says. */
export const readRealTime = ({ deps }: ManagementCall): number => deps.clock.now();

export const findNamedWebhook = ({ db, tenant }: ManagementCall, { webhook_id }: { webhook_id: string }) =>
  findEndpoint(db, tenant, webhook_id);

export const getWebhook = async (call: ManagementCall<EndpointRow>): Promise<WebhookView> =>
  toWebhookView((await call.read({})).object, readRealTime(call));

export async function getWebhooks(call: ManagementCall, query: WebhookQuery): Promise<Page<WebhookView>> {
  const page = await readPage(call, query, hashListing("webhooks", [call.environment], {}));
  const { rows } = await call.read({ rows: listEndpoints(call.db, call.tenant, page) });
  const now = readRealTime(call);
  return toPage(
    rows,
    page,
    (row) => ({ at: row.createdAt, id: row.webhookId }),
    (row) => toWebhookView(row, now),
  );
}

/** @throws 409 if the endpoint is disabled */
export function requireEnabled({ status }: EndpointRow): void {
  if (status === "enabled") return;
  throw new ServiceError("invalid_status", { message: "The endpoint is disabled.", detail: { status } });
}
