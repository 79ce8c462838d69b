// Tables of platform accounts and their management keys (ACC-1, CRED-5).
import { index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { Environment, PlatformStatus, Tier } from "../../core/vocabulary.ts";

export const platforms = sqliteTable(
  "platforms",
  {
    platformId: text().primaryKey(),
    status: text().$type<PlatformStatus>().notNull(),
    legalName: text().notNull(),
    tradingName: text(),
    country: text().notNull(),
    email: text().notNull(),
    adminContactEmail: text(),
    registrationNumber: text(),
    registeredAddress: text({ mode: "json" }).$type<Record<string, string>>(),
    website: text(),
    accreditationTier: text().$type<Tier>().notNull().default("TIER_2"),
    tenantPrincipalId: text().notNull(),
    promotedAt: integer(),
    /** The offset of the sandbox's clock, in milliseconds (ACC-9). Production never reads it. */
    clockOffsetMs: integer().notNull().default(0),
    createdAt: integer().notNull(),
    updatedAt: integer().notNull(),
  },
  (t) => [index("platforms_by_status").on(t.status, t.platformId)],
);
export type PlatformRow = typeof platforms.$inferSelect;

export const managementKeys = sqliteTable(
  "management_keys",
  {
    keyHash: text().primaryKey(),
    keyId: text().notNull(),
    platformId: text().notNull(),
    environment: text().$type<Environment>().notNull(),
    keyPrefix: text().notNull(),
    createdAt: integer().notNull(),
    /** The instant from which the key fails; null while it is the current one. */
    expiresAt: integer(),
  },
  (t) => [index("management_keys_by_platform").on(t.platformId, t.environment)],
);
