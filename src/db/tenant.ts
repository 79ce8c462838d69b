// Tenancy: every read of a platform's rows takes a Tenant first. The platform may be an SQL expression (the owner of the presented key), so that
// authentication and the reads that it guards share one trip.
import { and, eq, type SQL } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import type { Environment } from "../core/vocabulary.ts";

export type Tenant = { readonly environment: Environment; readonly platformId: string | SQL<string> };

/** The owner of a row, once the platform is known. */
export type Owner = { readonly platformId: string; readonly environment: Environment };

type Owned = { platformId: SQLiteColumn; environment: SQLiteColumn };

export const isOfTenant = (table: Owned, tenant: Tenant): SQL => {
  const both = and(eq(table.platformId, tenant.platformId), eq(table.environment, tenant.environment));
  if (!both) throw new Error("unreachable: two conditions are a condition");
  return both;
};
