// Tables of agents, of their signed documents and certificates, their markets and their counterparties.
import { sql } from "drizzle-orm";
import { customType, index, integer, primaryKey, real, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import type {
  AgentStatus,
  EconomicRole,
  Environment,
  EscrowState,
  IntentsFrom,
  MarketStatus,
  SuspensionReason,
  Tier,
} from "../../core/vocabulary.ts";
import { deflateJson, inflateJson } from "../deflated.ts";

export type AgentJwk = { kty: "EC"; crv: "P-256"; x: string; y: string };

/** A wallet of a provider, in lower case, and since when it is one: epoch milliseconds of real time or of a block. */
export type WalletSince = readonly [wallet: string, since: number];

/** Stored as `x.y`, which is sufficient. Older keys are stored as JSON. */
const pointOfKey = customType<{ data: AgentJwk; driverData: string }>({
  dataType: () => "text",
  toDriver: ({ x, y }) => `${x}.${y}`,
  fromDriver: (stored) => {
    if (stored.startsWith("{")) return JSON.parse(stored);
    const [x = "", y = ""] = stored.split(".");
    return { kty: "EC", crv: "P-256", x, y };
  },
});

export const agents = sqliteTable(
  "agents",
  {
    did: text().primaryKey(),
    /** A short form of the DID's on-chain hash, by which the follower finds a selling agent; empty for others. */
    didHash: text().notNull().default(""),
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
    /** The DIDs of its delegators, nearest first. Fixed at registration, so no cycle can arise (AGT-24). */
    delegators: text({ mode: "json" }).$type<string[]>().notNull(),
    status: text().$type<AgentStatus>().notNull(),
    suspensionReason: text().$type<SuspensionReason>(),
    /** The status that a suspended agent returns to: ACTIVE, or FUNDING when its escrow was never funded (AGT-16). */
    suspendedFrom: text().$type<AgentStatus>(),
    statusNote: text(),
    /** The platform's own name and notes for the agent, which no document contains. */
    externalRef: text(),
    metadata: text({ mode: "json" }).$type<Record<string, string>>().notNull().default({}),
    /** Increased at every change by the platform; guards its edits. */
    version: integer().notNull(),
    /** Increased at every change of the signed content by any actor. A document of an earlier revision is stale (IDN-16, IDN-18). */
    revision: integer().notNull(),
    certificateJti: text(),
    certificateExpiresAt: integer(),
    /** True once it has more certificates than the current one. A single certificate is found by its key. */
    recertified: integer({ mode: "boolean" }).notNull().default(false),
    keyId: text(),
    publicJwk: pointOfKey(),
    /** The key before the last rotation, which counts until an instant of real time (AGT-32). */
    earlierKey: text({ mode: "json" }).$type<{ keyId: string; publicJwk: AgentJwk; until: number }>(),
    // Ratings: forward-decayed sums, and the last published rating (TSK-15).
    ratingWeight: real().notNull().default(0),
    ratingWeighted: real().notNull().default(0),
    ratingInteractions: integer().notNull().default(0),
    ratingCounterparties: integer().notNull().default(0),
    agentRating: real(),
    /** The sums of the counterparties that may be clipped (TSK-14), heaviest first, so that a rating is read from this row alone. */
    ratingHeaviest: text({ mode: "json" })
      .$type<readonly { weight: number; weighted: number }[]>()
      .notNull()
      .default([]),
    /** The earliest instant at which decay will have moved the published rating, by the clock that dates it; null if never (TSK-23). */
    republishAt: integer(),
    /** The clock of `republishAt`: empty for real time, or the platform that has moved its sandbox's clock. */
    republishBy: text().notNull().default(""),
    /** Base units of closed tasks by currency (HTTP-6). */
    settledVolumes: text({ mode: "json" }).$type<Readonly<Record<string, number>>>().notNull().default({}),
    /** The state of its escrow on each network in its environment, written by each batch that moves one of them (MKT-18). */
    escrowStates: text({ mode: "json" }).$type<Readonly<Record<string, EscrowState>>>().notNull().default({}),
    disputesOpen: integer().notNull().default(0),
    disputesResolvedFor: integer().notNull().default(0),
    disputesResolvedAgainst: integer().notNull().default(0),
    walletAsks: text({ mode: "json" }).$type<readonly number[]>(),
    /**
     * The last 50 wallets that were requested or that one of its wallets named on-chain, on any network, with their instants in real time (FAC-22).
     */
    wallets: text({ mode: "json" }).$type<readonly WalletSince[]>().notNull().default([]),
    promotedAt: integer(),
    /** The end of its principal's attestation, as its slice has written it: agents that ended by date alone are a range of the index (PRN-14). */
    endsAt: integer().notNull().default(0),
    createdAt: integer().notNull(),
    updatedAt: integer().notNull(),
  },
  (t) => [
    index("agents_by_platform").on(t.platformId, t.environment, t.createdAt, t.did),
    index("agents_by_status").on(t.platformId, t.environment, t.status, t.endsAt, t.did),
    index("agents_by_role").on(t.platformId, t.environment, t.economicRole, t.createdAt, t.did),
    index("agents_by_principal").on(t.principalId, t.createdAt, t.did),
    uniqueIndex("agents_by_external_ref")
      .on(t.platformId, t.environment, t.externalRef)
      .where(sql`external_ref is not null`),
    index("agents_by_did_hash").on(t.didHash).where(sql`did_hash <> ''`),
    index("agents_by_delegator").on(sql`delegators ->> 0`).where(sql`delegators <> '[]'`),
    index("agents_disputed").on(t.platformId, t.environment, t.principalId).where(sql`disputes_open > 0`),
    index("agents_to_republish").on(t.republishBy, t.republishAt, t.did).where(sql`republish_at is not null`),
    index("agents_stopped_by_operator").on(t.platformId, t.createdAt, t.did).where(sql`suspension_reason = 'operator'`),
  ],
);
export type AgentRow = typeof agents.$inferSelect;

/** The last signed document; stale when the agent's revision is higher. A DRAFT has none. */
export const aids = sqliteTable("aids", {
  did: text().primaryKey(),
  revision: integer().notNull(),
  content: text().notNull(),
  proof: text().notNull(),
});

const deflatedJson = customType<{ data: string; driverData: string | Buffer }>({
  // Bytes keep their type in a text column.
  dataType: () => "text",
  toDriver: deflateJson,
  fromDriver: inflateJson,
});

/** Signed and immutable. The newest one holds the agent's certificate. */
export const aidVersions = sqliteTable(
  "aid_versions",
  {
    did: text().notNull(),
    version: integer().notNull(),
    content: deflatedJson().notNull(),
    proof: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.did, t.version] })],
);

/** Every issued certificate with its place in a status list. Its text is stored in the documents only. */
export const certificates = sqliteTable(
  "certificates",
  {
    did: text().notNull(),
    jti: text().notNull(),
    keyId: text().notNull(),
    caKid: text().notNull(),
    listId: integer().notNull(),
    idx: integer().notNull(),
    /** Its value in the status list, apart from its dates: CERTIFICATE_STATUS of the protocol. */
    listedStatus: integer().notNull().default(0),
    issuedAt: integer().notNull(),
    expiresAt: integer().notNull(),
    replacedAt: integer(),
  },
  (t) => [
    primaryKey({ columns: [t.did, t.jti] }),
    // No two certificates share a place in a status list; a place that is taken is drawn again.
    uniqueIndex("certificates_by_place").on(t.listId, t.idx),
    // The rows that a list is built from, so that a list costs its exceptions and not all its certificates (IDN-14).
    index("certificates_exceptions")
      .on(t.listId, t.expiresAt, t.idx, t.listedStatus, t.replacedAt)
      .where(sql`listed_status <> 0 or replaced_at is not null`),
  ],
);
export type CertificateRow = typeof certificates.$inferSelect;

/** The keys of the CA that its secret has named, by their thumbprints, in real time (IDN-29). */
export const authorityKeys = sqliteTable("authority_keys", {
  kid: text().primaryKey(),
  publishedAt: integer().notNull(),
  signsFrom: integer(),
  signedUntil: integer(),
});
export type AuthorityKeyRow = typeof authorityKeys.$inferSelect;

/** The status lists with their last signed text. New certificates take places in the newest list. */
export const statusLists = sqliteTable("status_lists", {
  listId: integer().primaryKey(),
  size: integer().notNull(),
  countedAt: integer().notNull().default(0),
  createdAt: integer().notNull(),
  signedAt: integer(),
  signed: text(),
});
export type StatusListRow = typeof statusLists.$inferSelect;

/** The mainnet registrations that an account made with its sandbox key, and one row for all unaccredited accounts together (MKT-25). */
export const mainnetTrials = sqliteTable("mainnet_trials", {
  platformId: text().primaryKey(),
  asks: text({ mode: "json" }).$type<readonly number[]>().notNull(),
  total: integer().notNull(),
});
export type MainnetTrials = typeof mainnetTrials.$inferSelect;

/** A provider's market on a network. Its environment is that of the key that opened it (MKT-11). */
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
    /**
     * A requested wallet that waits for the contract's delay (MKT-21), and the instant from which it may be set, in epoch milliseconds of the chain.
     */
    pendingWallet: text(),
    pendingUntil: integer(),
    /** How often this same change was scheduled: a missing schedule of this nonce means that it was cancelled. */
    pendingNonce: integer(),
    createdAt: integer().notNull(),
    updatedAt: integer().notNull(),
    /** Set only while the agent has no other market in the environment, so that a reader of all markets ends with this row. */
    sole: integer({ mode: "boolean" }).notNull().default(false),
  },
  (t) => [
    primaryKey({ columns: [t.did, t.environment, t.market, t.network] }),
    index("agent_markets_pending").on(t.pendingUntil).where(sql`pending_until is not null`),
    index("agent_markets_provisioning").on(t.updatedAt).where(sql`status = 'PROVISIONING'`),
  ],
);
export type MarketRow = Omit<typeof agentMarkets.$inferSelect, "sole">;

/** The two rating sums of each counterparty principal, from which its share is clipped (TSK-14). Sandbox sums do not count in production (AGT-34). */
export const ratingCounterparties = sqliteTable(
  "rating_counterparties",
  {
    did: text().notNull(),
    environment: text().$type<Environment>().notNull(),
    counterpartyPrincipalId: text().notNull(),
    weight: real().notNull(),
    weighted: real().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.did, t.environment, t.counterpartyPrincipalId] }),
    index("rating_counterparties_heaviest").on(t.did, t.environment, t.weight),
  ],
);
export type CounterpartyRow = typeof ratingCounterparties.$inferSelect;
