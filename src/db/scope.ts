// Tenancy, which can't be forgotten: every read of a platform's rows takes a Scope first. The platform may still be an
// expression (the owner of the presented key), so that authentication and the reads it guards share one trip.
import { and, eq, type SQL } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";

export type Environment = "sandbox" | "production";

export type Scope = { readonly environment: Environment; readonly platformId: string | SQL<string> };

type Scoped = { platformId: SQLiteColumn; environment: SQLiteColumn };

export const within = (table: Scoped, scope: Scope): SQL => {
  const both = and(eq(table.platformId, scope.platformId), eq(table.environment, scope.environment));
  if (!both) throw new Error("unreachable: two conditions are a condition");
  return both;
};
