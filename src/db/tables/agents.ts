// Specification 2.4, 2.5 and 2.8, as stored: agents, what is signed about them, their markets and their counterparties.
import { sql } from "drizzle-orm";
import { index, integer, primaryKey, real, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import type {
  AgentStatus,
  EconomicRole,
  Environment,
  IntentsFrom,
  MarketStatus,
  SuspensionReason,
  Tier,
} from "../../core/vocabulary.ts";

export const agents = sqliteTable(
  "agents",
  {
    did: text().primaryKey(),
    platformId: text().notNull(),
    environment: text().$type<Environment>().notNull(),
    principalId: text().notNull(),
    economicRole: text().$type<EconomicRole>().notNull(),
    certTier: text().$type<Tier>().notNull(),
    displayName: text().notNull(),
    description: text(),
    catalogUrl: text(),
    endpointUrl: text().notNull(),
    authorizedActions: text({ mode: "json" }).$type<string[]>().notNull(),
    capabilities: text({ mode: "json" }).$type<string[]>().notNull(),
    disputeWindowDays: integer().notNull(),
    maxTransactionValue: text(),
    spendingLimit: text({ mode: "json" }).$type<{ amount: string; currency: string; window_days: number }>(),
    minimumCounterpartyCertTier: text().$type<Tier>(),
    minimumCounterpartyAr: real(),
    intentsFrom: text().$type<IntentsFrom>().notNull().default("anyone"),
    /** The DIDs of whom its scope was delegated by, nearest first. Fixed at registration, so no cycle can arise. */
    delegators: text({ mode: "json" }).$type<string[]>().notNull(),
    status: text().$type<AgentStatus>().notNull(),
    suspensionReason: text().$type<SuspensionReason>(),
    /** Where a suspended agent returns to: ACTIVE, or FUNDING when its escrow was never funded. */
    suspendedFrom: text().$type<AgentStatus>(),
    statusNote: text(),
    /** +1 at every change that the platform controls: what its edits are guarded by. */
    version: integer().notNull(),
    /** +1 at every change of what the document says, by whomever. A signed document of an earlier one is stale. */
    revision: integer().notNull(),
    certificateJti: text(),
    certificateExpiresAt: integer(),
    keyId: text(),
    publicJwk: text({ mode: "json" }).$type<{ kty: "EC"; crv: "P-256"; x: string; y: string }>(),
    // Ratings: forward-decayed sums and what was last published.
    ratingWeight: real().notNull().default(0),
    ratingWeighted: real().notNull().default(0),
    ratingInteractions: integer().notNull().default(0),
    ratingCounterparties: integer().notNull().default(0),
    agentRating: real(),
    settledVolume: integer().notNull().default(0),
    disputesOpen: integer().notNull().default(0),
    disputesResolvedFor: integer().notNull().default(0),
    disputesResolvedAgainst: integer().notNull().default(0),
    createdAt: integer().notNull(),
    updatedAt: integer().notNull(),
  },
  (t) => [
    index("agents_by_platform").on(t.platformId, t.environment, t.createdAt, t.did),
    index("agents_by_status").on(t.platformId, t.environment, t.status, t.createdAt, t.did),
    index("agents_by_role").on(t.platformId, t.environment, t.economicRole, t.createdAt, t.did),
    index("agents_by_principal").on(t.principalId, t.createdAt, t.did),
  ],
);
export type AgentRow = typeof agents.$inferSelect;

/** The document as it was last signed, whole; stale when the agent's revision has moved on. A DRAFT has none. */
export const aids = sqliteTable("aids", {
  did: text().primaryKey(),
  revision: integer().notNull(),
  /** Canonical JSON of what is signed. */
  content: text().notNull(),
  /** Detached JWS. */
  proof: text().notNull(),
});

/** What the platform controlled in each version, signed and immutable. The newest one holds the agent's certificate. */
export const aidVersions = sqliteTable(
  "aid_versions",
  {
    did: text().notNull(),
    version: integer().notNull(),
    content: text().notNull(),
    proof: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.did, t.version] })],
);

/** Every certificate that was issued, by its place in a status list. Its text stands in the documents that state it. */
export const certificates = sqliteTable(
  "certificates",
  {
    did: text().notNull(),
    jti: text().notNull(),
    /** Thumbprint of the agent's key. */
    keyId: text().notNull(),
    /** Thumbprint of the CA key that signed. */
    caKid: text().notNull(),
    listId: integer().notNull(),
    idx: integer().notNull(),
    /** What the status list says of it beside its dates: CERTIFICATE_STATUS of the protocol. */
    listedStatus: integer().notNull().default(0),
    issuedAt: integer().notNull(),
    expiresAt: integer().notNull(),
    /** The instant from which it is replaced; null while it is current. */
    replacedAt: integer(),
  },
  (t) => [
    primaryKey({ columns: [t.did, t.jti] }),
    // No two certificates share a place in a status list; a draw that is taken is drawn again.
    uniqueIndex("certificates_by_place").on(t.listId, t.idx),
    // What a list is made of: its cost is that of the exceptions, not of the certificates.
    index("certificates_exceptions")
      .on(t.listId, t.expiresAt, t.idx, t.listedStatus, t.replacedAt)
      .where(sql`listed_status <> 0 or replaced_at is not null`),
  ],
);
export type CertificateRow = typeof certificates.$inferSelect;

/** The status lists, the newest of which gives places, with the text that was signed last. */
export const statusLists = sqliteTable("status_lists", {
  listId: integer().primaryKey(),
  size: integer().notNull(),
  /** When its places were last counted. */
  countedAt: integer().notNull().default(0),
  createdAt: integer().notNull(),
  signedAt: integer(),
  signed: text(),
});

/** A provider's market on a network. Its environment is the key's that set it: production waits for the promotion. */
export const agentMarkets = sqliteTable(
  "agent_markets",
  {
    did: text().notNull(),
    environment: text().$type<Environment>().notNull(),
    market: text().notNull(),
    network: text().notNull(),
    operationalWallet: text().notNull(),
    escrowWallet: text(),
    status: text().$type<MarketStatus>().notNull(),
    registrationTx: text(),
    reason: text(),
    createdAt: integer().notNull(),
    updatedAt: integer().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.did, t.environment, t.market, t.network] }),
    index("agent_markets_provisioning").on(t.updatedAt).where(sql`status = 'PROVISIONING'`),
  ],
);
export type MarketRow = typeof agentMarkets.$inferSelect;

/** The two sums of each counterparty principal, from which one counterparty's share is clipped. */
export const ratingCounterparties = sqliteTable(
  "rating_counterparties",
  {
    did: text().notNull(),
    counterpartyPrincipalId: text().notNull(),
    weight: real().notNull(),
    weighted: real().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.did, t.counterpartyPrincipalId] }),
    index("rating_counterparties_heaviest").on(t.did, t.weight),
  ],
);
export type CounterpartyRow = typeof ratingCounterparties.$inferSelect;
