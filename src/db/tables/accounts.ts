// Tables of platform accounts and their credentials: management keys, the password, sessions and mailed links (ACC-1, CRED-5); of their documents
// (ACC-20), and of the notices that wait for their mail (ACC-11).
import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import type {
  AnnouncementKind,
  DocumentStatus,
  DocumentType,
  Environment,
  LinkKind,
  MediaType,
  PlatformStatus,
  Promoter,
  RequiredDocument,
  Tier,
  VerificationDecision,
} from "../../core/vocabulary.ts";
import type { VolumeMarks } from "../../core/volume.ts";

/** The current document of each required type, the number of supporting documents, and how many were submitted on the last day. */
export type CurrentDocuments = { readonly [T in RequiredDocument]?: string } & {
  readonly supporting?: number;
  readonly day?: number;
  readonly submitted?: number;
};

export type ReviewedProfile = {
  readonly legal_name: string | null;
  readonly country: string | null;
  readonly registration_number: string | null;
  readonly registered_address: Record<string, string> | null;
};

/** The members that an account proposes to change; the proposal waits for the operator (ACC-30). */
export type PendingProfile = {
  readonly legal_name?: string;
  readonly country?: string;
  readonly registration_number?: string;
  readonly proposed_at: number;
};

export const platforms = sqliteTable(
  "platforms",
  {
    platformId: text().primaryKey(),
    status: text().$type<PlatformStatus>().notNull(),
    /** Null until the profile names it, like every member of the profile. */
    legalName: text(),
    tradingName: text(),
    country: text(),
    email: text().notNull(),
    /** The address in the form that is compared: an address has one account. */
    emailFolded: text().notNull(),
    /** Set when its owner opened a mailed link, or when it is the account's own address (ACC-29). */
    adminContactEmail: text(),
    pendingContactEmail: text(),
    registrationNumber: text(),
    registeredAddress: text({ mode: "json" }).$type<Record<string, string>>(),
    website: text(),
    accreditationTier: text().$type<Tier>().notNull().default("TIER_2"),
    /** Null until the profile names a legal person: name and country (ACC-6). */
    tenantPrincipalId: text(),
    /** The current documents (ACC-20), stored here so that reading an account needs no other row. */
    documents: text({ mode: "json" }).$type<CurrentDocuments>().notNull().default({}),
    submittedAt: integer(),
    /** The profile that the review sees or has approved: stored at submission, and again at approval (ACC-18). */
    reviewed: text({ mode: "json" }).$type<ReviewedProfile>(),
    pendingProfile: text({ mode: "json" }).$type<PendingProfile>(),
    decision: text().$type<VerificationDecision>(),
    decisionReason: text(),
    decidedAt: integer(),
    promotedAt: integer(),
    promotionBy: text().$type<Promoter>().notNull().default("key"),
    suspensionReason: text(),
    suspendedFrom: text().$type<PlatformStatus>(),
    closedAt: integer(),
    erasedAt: integer(),
    /** The offset of the sandbox's clock, in milliseconds (ACC-9). Production never reads it. */
    clockOffsetMs: integer().notNull().default(0),
    clockMovedAt: integer(),
    /** The instant of that clock up to which everything due in the sandbox is recorded; null while the clock was never moved. */
    clockRecordedTo: integer(),
    /** True soon after the clock was first moved: its sandbox ratings are then found by that clock (TSK-23). */
    ratingsDated: integer({ mode: "boolean" }).notNull().default(false),
    volumeMarks: text({ mode: "json" }).$type<VolumeMarks>(),
    createdAt: integer().notNull(),
    /** Increases with every change, also within one millisecond, so that a change can name the state that it was decided on. */
    updatedAt: integer().notNull(),
  },
  (t) => [
    index("platforms_by_status").on(t.status, t.platformId),
    // A closed account releases its address. The condition does not use the status, because each status change would rewrite the index.
    uniqueIndex("platforms_by_email").on(t.emailFolded).where(sql`closed_at is null`),
    index("platforms_unverified").on(t.createdAt).where(sql`status = 'EMAIL_PENDING'`),
    // The table has few such rows: the minute's sweep reads all of them.
    index("platforms_moved").on(t.platformId).where(sql`clock_offset_ms > 0`),
    index("platforms_to_erase").on(t.closedAt).where(sql`status = 'CLOSED' and erased_at is null`),
  ],
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
    /** Written after the answer, at most once a minute. */
    lastUsedAt: integer(),
  },
  (t) => [
    index("management_keys_by_platform").on(t.platformId, t.expiresAt),
    // One current key for each environment: if two calls issue a key, the second one fails.
    uniqueIndex("management_keys_current").on(t.platformId, t.environment).where(sql`expires_at is null`),
    index("management_keys_ended").on(t.expiresAt).where(sql`expires_at is not null`),
  ],
);
export type KeyRow = typeof managementKeys.$inferSelect;

/**
 * The person who owns an account, one today: the password, and TOTP if it is set up (CRED-28). This is a separate table, so that no read of an
 * account touches it.
 */
export const passwords = sqliteTable(
  "passwords",
  {
    platformId: text().primaryKey(),
    hash: text().notNull(),
    changedAt: integer().notNull(),
    /** Sealed; null while TOTP is not set up. */
    totpSecret: text(),
    totpSealKey: text(),
    /** The instant from which a log-in needs a code; null until the set-up is confirmed. */
    totpConfirmedAt: integer(),
    /** The time step of the last accepted code: a code counts once. */
    totpStep: integer().notNull().default(0),
    recoveryCodes: text({ mode: "json" }).$type<readonly string[]>(),
  },
  (t) => [index("passwords_by_seal_key").on(t.totpSealKey, t.platformId).where(sql`totp_seal_key is not null`)],
);
export type PersonRow = typeof passwords.$inferSelect;

export const sessions = sqliteTable(
  "sessions",
  {
    tokenHash: text().primaryKey(),
    /** Names the session to its owner, who never sees the token again. */
    sessionId: text().notNull().default(""),
    platformId: text().notNull(),
    device: text().notNull().default(""),
    network: text().notNull().default(""),
    createdAt: integer().notNull(),
    confirmedAt: integer().notNull().default(0),
    usedAt: integer().notNull(),
    /** The end of an unused session: the idle or the absolute one, whichever comes first. */
    expiresAt: integer().notNull(),
  },
  (t) => [index("sessions_by_platform").on(t.platformId, t.sessionId), index("sessions_due").on(t.expiresAt)],
);
export type SessionRow = typeof sessions.$inferSelect;

/** The devices and networks of earlier log-ins: a log-in from a new one is mailed to the owner (CRED-29). */
export const seenDevices = sqliteTable(
  "seen_devices",
  {
    platformId: text().notNull(),
    network: text().notNull(),
    device: text().notNull(),
    seenAt: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.platformId, t.network, t.device] }), index("seen_devices_due").on(t.seenAt)],
);

export const accountLinks = sqliteTable(
  "account_links",
  {
    tokenHash: text().primaryKey(),
    platformId: text().notNull(),
    kind: text().$type<LinkKind>().notNull(),
    email: text().notNull(),
    createdAt: integer().notNull(),
    expiresAt: integer().notNull(),
    usedAt: integer(),
  },
  (t) => [
    index("account_links_by_platform").on(t.platformId, t.kind, t.createdAt),
    index("account_links_due").on(t.expiresAt),
  ],
);
export type LinkRow = typeof accountLinks.$inferSelect;

/** Documents of the review; their bytes are in R2 under `<platform_id>/<document_id>`. */
export const documents = sqliteTable(
  "documents",
  {
    documentId: text().primaryKey(),
    platformId: text().notNull(),
    type: text().$type<DocumentType>().notNull(),
    status: text().$type<DocumentStatus>().notNull(),
    /** Empty once it was erased (ACC-23). */
    fileName: text().notNull(),
    mediaType: text().$type<MediaType>().notNull(),
    sizeBytes: integer().notNull(),
    sha256: text().notNull(),
    createdAt: integer().notNull(),
  },
  (t) => [index("documents_by_platform").on(t.platformId, t.documentId)],
);
export type DocumentRow = typeof documents.$inferSelect;

/** Notices that wait for their mail; a sent notice is deleted. They contain no secrets. */
export const notices = sqliteTable(
  "notices",
  {
    noticeId: text().primaryKey(),
    platformId: text().notNull(),
    kind: text().notNull(),
    recipient: text().notNull(),
    data: text({ mode: "json" }).$type<object>().notNull(),
    createdAt: integer().notNull(),
    /** The earliest instant of the mail; each attempt moves it on. */
    dueAt: integer().notNull(),
    attempts: integer().notNull().default(0),
    /** Counts among the mails of an hour (ACC-31). */
    isBounded: integer({ mode: "boolean" }).notNull().default(false),
  },
  (t) => [
    index("notices_due").on(t.dueAt, t.noticeId),
    // One digest gathers the notices to an address until a job takes it.
    uniqueIndex("notices_gathering")
      .on(t.platformId, t.recipient)
      .where(sql`kind = 'customer.digest' and attempts = 0`),
  ],
);
export type NoticeRow = typeof notices.$inferSelect;

export const mailCounts = sqliteTable(
  "mail_counts",
  {
    /** A hash of the address and the count's kind, because the address of a person without an account is not stored. */
    subjectHash: text().notNull(),
    mails: integer().notNull(),
    endsAt: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.endsAt, t.subjectHash] })],
);

/** Announcements of the operator to every admin contact; a walk writes the notices. */
export const announcements = sqliteTable("announcements", {
  announcementId: text().primaryKey(),
  kind: text().$type<AnnouncementKind>().notNull(),
  subject: text().notNull(),
  text: text().notNull(),
  createdAt: integer().notNull(),
});
export type AnnouncementRow = typeof announcements.$inferSelect;
