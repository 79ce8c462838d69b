// Tables of principals, their attestations, who gives them, the customers that group principals, and unfinished cascades and restatements.
import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import type {
  AccountStop,
  ActivityAction,
  Actor,
  ActorType,
  AttestationModel,
  AttestationStop,
  CascadeTrigger,
  CustomerStatus,
  EntityType,
  Environment,
  PrincipalStatus,
  SuspensionReason,
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
    /** The platform's own words to its suspension. */
    statusNote: text(),
    metadata: text({ mode: "json" }).$type<Record<string, string>>().notNull().default({}),
    /** How many principals it groups: those that are not CLOSED. */
    principalCount: integer().notNull().default(0),
    createdAt: integer().notNull(),
    /** Grows with every change, also within one millisecond. */
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
    /** The platform's own company (ACC-6): in no list, under no customer. */
    tenant: integer({ mode: "boolean" }).notNull().default(false),
    legalName: text().notNull(),
    nameFolded: text().notNull(),
    country: text().notNull(),
    entityType: text().$type<EntityType>().notNull(),
    externalRef: text().notNull(),
    customerId: text(),
    status: text().$type<PrincipalStatus>().notNull(),
    /** As the status says it. Indexes have it in their condition: with the status there, each of its moves would rewrite them. */
    closed: integer({ mode: "boolean" }).notNull().default(false),
    statusReason: text(),
    /** The platform's own words to its suspension. */
    statusNote: text(),
    // The set of what stops it (PRN-19), beside its attestation and its account; `status` follows from the set.
    platformStopped: integer({ mode: "boolean" }).notNull().default(false),
    customerStopped: integer({ mode: "boolean" }).notNull().default(false),
    /** Why the current attestation counts no more, once that is recorded. */
    attestationStop: text().$type<AttestationStop>(),
    /** What stops the whole account (ACC-25). Here, so that a reading of a principal needs no other row. */
    accountStopped: text().$type<AccountStop>(),
    attestationId: text().notNull(),
    attestationVerifierId: text().notNull(),
    attestationModel: text().$type<AttestationModel>().notNull(),
    attestationTier: text().$type<Tier>(),
    /** Whether a proof by its registered Verifier was verified when it was recorded (PRN-27). */
    attestationSigned: integer({ mode: "boolean" }).notNull().default(false),
    attestationIssuedAt: integer().notNull(),
    attestationExpiresAt: integer().notNull(),
    /** When the next notice of the attestation's end is due (PRN-26), at the latest; null when none is. */
    expiryNoticeAt: integer(),
    /** How many of its agents sell and have not ended: their role needs a higher tier (PRN-10). */
    providers: integer().notNull().default(0),
    metadata: text({ mode: "json" }).$type<Record<string, string>>().notNull().default({}),
    createdAt: integer().notNull(),
    updatedAt: integer().notNull(),
  },
  (t) => [
    // The tenant principal takes no name from others, and a closed one gives its own back (PRN-3).
    uniqueIndex("principals_by_external_ref")
      .on(t.platformId, t.environment, t.externalRef)
      .where(sql`tenant = 0 and closed = 0`),
    uniqueIndex("principals_by_name")
      .on(t.platformId, t.environment, t.nameFolded, t.country)
      .where(sql`tenant = 0 and closed = 0`),
    index("principals_by_platform").on(t.platformId, t.environment, t.principalId).where(sql`tenant = 0`),
    // What ended by its date alone is a range beside those that are ACTIVE (PRN-14).
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

/** A principal's own move, whose entry and event are written after it. */
export type PrincipalReport = {
  readonly action: ActivityAction;
  readonly actor: Actor;
  /** The instant of the move. */
  readonly at: number;
  /** As the entry says them. An event follows where the status has changed. */
  readonly changes: Readonly<Record<string, { readonly from: unknown; readonly to: unknown }>>;
};

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
    /** Of a principal that moved with others: the moves that are still to be reported, in their order; null once they are. */
    report: text({ mode: "json" }).$type<readonly PrincipalReport[]>(),
    /** The last agent of a principal that is done, by the order of agents: its creation and its DID. */
    afterAt: integer().notNull().default(0),
    afterDid: text().notNull().default(""),
  },
  // Begins with what is true of each row: whether there is any is an equality, which reads nothing where there is none.
  (t) => [index("cascades_by_start").on(sql`started_at >= 0`, t.startedAt, t.subjectId)],
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
    /** Whether the proof verified by a key of its Verifier. In the sandbox one of an unregistered Verifier is kept unverified (PRN-27). */
    signed: integer({ mode: "boolean" }).notNull().default(false),
    issuedAt: integer().notNull(),
    expiresAt: integer().notNull(),
    recordedAt: integer().notNull(),
    /** When its Verifier, or an operator, took it back (PRN-25). */
    revokedAt: integer(),
    revocationReason: text(),
  },
  (t) => [
    primaryKey({ columns: [t.verifierId, t.attestationId, t.principalId] }),
    index("attestations_by_principal").on(t.principalId, t.recordedAt, t.verifierId, t.attestationId),
  ],
);
export type AttestationRow = typeof attestations.$inferSelect;

/** Who attests principals (PRN-22), with the public keys that sign the attestations. */
export const verifiers = sqliteTable("verifiers", {
  verifierId: text().primaryKey(),
  name: text().notNull(),
  jwks: text({ mode: "json" }).$type<VerifierJwks>().notNull(),
  status: text().$type<VerifierStatus>().notNull(),
  createdAt: integer().notNull(),
  /** Grows with every change, also within one millisecond. */
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

/** A principal whose name or country has changed, while versions of its agents still have to state it. Any run may continue it (ACC-19). */
export const restatements = sqliteTable(
  "restatements",
  {
    principalId: text().primaryKey(),
    startedAt: integer().notNull(),
    /** The last agent that is done, by the order of agents: its creation and its DID. */
    afterAt: integer().notNull(),
    afterDid: text().notNull(),
    /** Who gives back the agents that the end of the last attestation took; null when nobody does. */
    returning: text({ mode: "json" }).$type<Actor>(),
    /** True where the directory records each agent that runs, because a reader may have seen it stopped and no record told of it (DIR-15). */
    relisting: integer({ mode: "boolean" }).notNull().default(false),
  },
  (t) => [
    index("restatements_by_start").on(t.startedAt, t.principalId),
    // Begins with what each row of it is, as that of cascades.
    index("restatements_relisting").on(t.relisting, t.principalId).where(sql`relisting = 1`),
  ],
);
export type RestatementRow = typeof restatements.$inferSelect;
