// Tables of principals, their attestations, the customers that group them, and unfinished cascades and restatements.
import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import type {
  AccountStop,
  ActorType,
  AttestationModel,
  CascadeTrigger,
  CustomerStatus,
  EntityType,
  Environment,
  PrincipalStatus,
  SuspensionReason,
  Tier,
} from "../../core/vocabulary.ts";

export const customers = sqliteTable(
  "customers",
  {
    customerId: text().primaryKey(),
    platformId: text().notNull(),
    environment: text().$type<Environment>().notNull(),
    name: text().notNull(),
    externalRef: text(),
    status: text().$type<CustomerStatus>().notNull(),
    createdAt: integer().notNull(),
  },
  (t) => [index("customers_by_platform").on(t.platformId, t.environment, t.customerId)],
);

export const principals = sqliteTable(
  "principals",
  {
    principalId: text().primaryKey(),
    platformId: text().notNull(),
    environment: text().$type<Environment>().notNull(),
    /** The platform's own company (ACC-6): in no list, under no customer. */
    tenant: integer({ mode: "boolean" }).notNull().default(false),
    legalName: text().notNull(),
    nameFolded: text().notNull(),
    country: text().notNull(),
    entityType: text().$type<EntityType>().notNull(),
    externalRef: text().notNull(),
    customerId: text(),
    status: text().$type<PrincipalStatus>().notNull(),
    statusReason: text(),
    /** What stops the whole account (ACC-25). Here, so that a reading of a principal needs no other row. */
    accountStopped: text().$type<AccountStop>(),
    attestationId: text().notNull(),
    attestationVerifierId: text().notNull(),
    attestationModel: text().$type<AttestationModel>().notNull(),
    attestationTier: text().$type<Tier>(),
    attestationIssuedAt: integer().notNull(),
    attestationExpiresAt: integer().notNull(),
    createdAt: integer().notNull(),
    updatedAt: integer().notNull(),
  },
  (t) => [
    // The tenant principal takes no name from others (PRN-3).
    uniqueIndex("principals_by_external_ref").on(t.platformId, t.environment, t.externalRef).where(sql`tenant = 0`),
    uniqueIndex("principals_by_name").on(t.platformId, t.environment, t.nameFolded, t.country).where(sql`tenant = 0`),
    index("principals_by_platform").on(t.platformId, t.environment, t.principalId).where(sql`tenant = 0`),
    index("principals_by_status").on(t.platformId, t.environment, t.status, t.principalId).where(sql`tenant = 0`),
    // Also serves `customer_id=none`: SQLite searches an index for null.
    index("principals_by_customer").on(t.platformId, t.environment, t.customerId, t.principalId).where(sql`tenant = 0`),
    index("principals_due").on(t.attestationExpiresAt).where(sql`status = 'ACTIVE'`),
  ],
);
export type PrincipalRow = typeof principals.$inferSelect;

/** A principal or an account of which some agents still have to follow in their own rows. Any run may continue it (PRN-17). */
export const cascades = sqliteTable(
  "cascades",
  {
    /** The id of the principal or of the platform account. */
    subjectId: text().primaryKey(),
    trigger: text().$type<CascadeTrigger>().notNull(),
    reason: text().$type<SuspensionReason>().notNull(),
    actorType: text().$type<ActorType>().notNull(),
    actorId: text().notNull(),
    startedAt: integer().notNull(),
  },
  (t) => [index("cascades_by_start").on(t.startedAt, t.subjectId)],
);
export type CascadeRow = typeof cascades.$inferSelect;

/** Every attestation ever recorded; the current one is also on its principal's row. */
export const attestations = sqliteTable(
  "attestations",
  {
    attestationId: text().notNull(),
    principalId: text().notNull(),
    verifierId: text().notNull(),
    model: text().$type<AttestationModel>().notNull(),
    tier: text().$type<Tier>(),
    proof: text(),
    issuedAt: integer().notNull(),
    expiresAt: integer().notNull(),
    recordedAt: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.principalId, t.attestationId] })],
);
export type AttestationRow = typeof attestations.$inferSelect;

/** A principal whose name or country has changed, while versions of its agents still have to state it. Any run may continue it (ACC-19). */
export const restatements = sqliteTable(
  "restatements",
  {
    principalId: text().primaryKey(),
    startedAt: integer().notNull(),
    /** The last agent that is done, by the order of agents: its creation and its DID. */
    afterAt: integer().notNull(),
    afterDid: text().notNull(),
  },
  (t) => [index("restatements_by_start").on(t.startedAt, t.principalId)],
);
export type RestatementRow = typeof restatements.$inferSelect;
