// Tables of principals, their attestations, the Verifiers that give them, and the customers that group principals.
import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import type {
  AccountStop,
  ActivityAction,
  Actor,
  AttestationModel,
  AttestationStop,
  CustomerStatus,
  EntityType,
  Environment,
  PrincipalStatus,
  Tier,
  VerifierStatus,
} from "../../core/vocabulary.ts";
import type { VerifierJwks } from "../../protocol/verifier-keys.ts";

export const customers = sqliteTable(
  "customers",
  {
    customerId: text().primaryKey(),
    platformId: text().notNull(),
    environment: text().$type<Environment>().notNull(),
    name: text().notNull(),
    externalRef: text(),
    status: text().$type<CustomerStatus>().notNull(),
    /** The platform's own note about the suspension. */
    statusNote: text(),
    metadata: text({ mode: "json" }).$type<Record<string, string>>().notNull().default({}),
    /** Without the CLOSED ones. */
    principalCount: integer().notNull().default(0),
    createdAt: integer().notNull(),
    /** Increases with every change, also within one millisecond. */
    updatedAt: integer().notNull().default(0),
  },
  (t) => [
    index("customers_by_status").on(t.platformId, t.environment, t.status, t.customerId),
    uniqueIndex("customers_by_external_ref")
      .on(t.platformId, t.environment, t.externalRef)
      .where(sql`external_ref is not null`),
  ],
);
export type CustomerRow = typeof customers.$inferSelect;

export const principals = sqliteTable(
  "principals",
  {
    principalId: text().primaryKey(),
    platformId: text().notNull(),
    environment: text().$type<Environment>().notNull(),
    /** The platform's own company (ACC-6): it is in no list and under no customer. */
    tenant: integer({ mode: "boolean" }).notNull().default(false),
    legalName: text().notNull(),
    nameFolded: text().notNull(),
    country: text().notNull(),
    entityType: text().$type<EntityType>().notNull(),
    externalRef: text().notNull(),
    customerId: text(),
    status: text().$type<PrincipalStatus>().notNull(),
    /** Follows from the status. Indexes use it in their conditions, because each status change would rewrite them if they used the status. */
    closed: integer({ mode: "boolean" }).notNull().default(false),
    statusReason: text(),
    /** The platform's own note about the suspension. */
    statusNote: text(),
    // The set of what stops it (PRN-19), besides its attestation and its account; `status` follows from the set.
    platformStopped: integer({ mode: "boolean" }).notNull().default(false),
    customerStopped: integer({ mode: "boolean" }).notNull().default(false),
    attestationStop: text().$type<AttestationStop>(),
    /** The state that stops the whole account (ACC-25), stored here so that reading a principal needs no other row. */
    accountStopped: text().$type<AccountStop>(),
    attestationId: text().notNull(),
    attestationVerifierId: text().notNull(),
    attestationModel: text().$type<AttestationModel>().notNull(),
    attestationTier: text().$type<Tier>(),
    /** Whether a proof by its registered Verifier was verified when it was recorded (PRN-27). */
    attestationSigned: integer({ mode: "boolean" }).notNull().default(false),
    attestationIssuedAt: integer().notNull(),
    attestationExpiresAt: integer().notNull(),
    /** The latest instant for the next notice about the attestation's end (PRN-26); null when none is due. */
    expiryNoticeAt: integer(),
    /** How many of its agents sell and have not ended: their role needs a higher tier (PRN-10). */
    providers: integer().notNull().default(0),
    metadata: text({ mode: "json" }).$type<Record<string, string>>().notNull().default({}),
    createdAt: integer().notNull(),
    updatedAt: integer().notNull(),
  },
  (t) => [
    // The tenant principal takes no name from others, and a closed principal releases its own (PRN-3).
    uniqueIndex("principals_by_external_ref")
      .on(t.platformId, t.environment, t.externalRef)
      .where(sql`tenant = 0 and closed = 0`),
    uniqueIndex("principals_by_name")
      .on(t.platformId, t.environment, t.nameFolded, t.country)
      .where(sql`tenant = 0 and closed = 0`),
    index("principals_by_platform").on(t.platformId, t.environment, t.principalId).where(sql`tenant = 0`),
    // Principals that ended by date alone are a range of this index, within those that are ACTIVE (PRN-14).
    index("principals_by_status")
      .on(t.platformId, t.environment, t.status, t.attestationExpiresAt, t.principalId)
      .where(sql`tenant = 0`),
    // Also serves `customer_id=none`: SQLite searches an index for null.
    index("principals_by_customer").on(t.platformId, t.environment, t.customerId, t.principalId).where(sql`tenant = 0`),
    index("principals_due").on(t.attestationExpiresAt).where(sql`status = 'ACTIVE'`),
    index("principals_by_notice").on(t.expiryNoticeAt, t.principalId).where(sql`expiry_notice_at is not null`),
  ],
);
export type PrincipalRow = typeof principals.$inferSelect;

/** A principal's own move, whose entry and event are written later. */
export type PrincipalReport = {
  readonly action: ActivityAction;
  readonly actor: Actor;
  readonly at: number;
  /** In the form of the entry. An event follows if the status has changed. */
  readonly changes: Readonly<Record<string, { readonly from: unknown; readonly to: unknown }>>;
};

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
    /** Whether a key of its Verifier verified the proof. The sandbox keeps a proof of an unregistered Verifier unverified (PRN-27). */
    signed: integer({ mode: "boolean" }).notNull().default(false),
    issuedAt: integer().notNull(),
    expiresAt: integer().notNull(),
    recordedAt: integer().notNull(),
    revokedAt: integer(),
    revocationReason: text(),
  },
  (t) => [
    primaryKey({ columns: [t.verifierId, t.attestationId, t.principalId] }),
    index("attestations_by_principal").on(t.principalId, t.recordedAt, t.verifierId, t.attestationId),
  ],
);
export type AttestationRow = typeof attestations.$inferSelect;

/** The Verifiers that attest principals (PRN-22), with the public keys that sign the attestations. */
export const verifiers = sqliteTable("verifiers", {
  verifierId: text().primaryKey(),
  name: text().notNull(),
  jwks: text({ mode: "json" }).$type<VerifierJwks>().notNull(),
  status: text().$type<VerifierStatus>().notNull(),
  createdAt: integer().notNull(),
  /** Increases with every change, also within one millisecond. */
  updatedAt: integer().notNull(),
});
export type VerifierRow = typeof verifiers.$inferSelect;

/** Credentials of Verifiers that were used: each counts once (PRN-25). Kept until they have expired. */
export const usedCredentials = sqliteTable(
  "used_credentials",
  {
    verifierId: text().notNull(),
    jti: text().notNull(),
    expiresAt: integer().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.verifierId, t.jti] }),
    index("used_credentials_by_end").on(t.expiresAt, t.verifierId, t.jti),
  ],
);

export type UsedCredentialRow = typeof usedCredentials.$inferSelect;
