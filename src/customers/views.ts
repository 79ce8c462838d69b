// Maps a row to the customer of schema.ts.
import { toIso } from "../core/clock.ts";
import type { CustomerRow } from "../db/tables/principals.ts";
import type { CustomerView } from "./schema.ts";

export const toCustomerView = (row: CustomerRow): CustomerView => ({
  customer_id: row.customerId,
  name: row.name,
  external_ref: row.externalRef,
  status: row.status,
  status_note: row.statusNote,
  principal_count: row.principalCount,
  metadata: row.metadata,
  environment: row.environment,
  created_at: toIso(row.createdAt),
  updated_at: toIso(row.updatedAt),
});
