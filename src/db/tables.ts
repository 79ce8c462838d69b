// Specification section 2, as stored. Instants are epoch milliseconds, money is token base units, lists are JSON text.
// Every table is WITHOUT ROWID (scripts/migrations.ts sees to it): one row written a row, and the key is the order.
import { sql } from "drizzle-orm";
import { index, integer, primaryKey, real, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";

export const platforms = sqliteTable("platforms", {
  platformId: text().primaryKey(),
  status: text().notNull(),
  legalName: text().notNull(),
  tradingName: text(),
  country: text().notNull(),
  email: text().notNull(),
  adminContactEmail: text(),
  registrationNumber: text(),
  registeredAddress: text({ mode: "json" }).$type<Record<string, string>>(),
  website: text(),
  accreditationTier: text().notNull().default("TIER_2"),
  tenantPrincipalId: text().notNull(),
  promotedAt: integer(),
  createdAt: integer().notNull(),
  updatedAt: integer().notNull(),
});

export const managementKeys = sqliteTable(
  "management_keys",
  {
    keyHash: text().primaryKey(),
    keyId: text().notNull(),
    platformId: text().notNull(),
    environment: text().notNull(),
    keyPrefix: text().notNull(),
    createdAt: integer().notNull(),
    /** The instant from which the key fails; null while it is the current one. */
    expiresAt: integer(),
  },
  (t) => [index("management_keys_by_platform").on(t.platformId, t.environment)],
);

export const customers = sqliteTable(
  "customers",
  {
    customerId: text().primaryKey(),
    platformId: text().notNull(),
    environment: text().notNull(),
    name: text().notNull(),
    externalRef: text(),
    status: text().notNull(),
    createdAt: integer().notNull(),
  },
  (t) => [index("customers_by_platform").on(t.platformId, t.environment, t.customerId)],
);

export const principals = sqliteTable(
  "principals",
  {
    principalId: text().primaryKey(),
    platformId: text().notNull(),
    environment: text().notNull(),
    /** The platform's own company, seeded with the account: in no list, under no customer. */
    tenant: integer({ mode: "boolean" }).notNull().default(false),
    legalName: text().notNull(),
    nameFolded: text().notNull(),
    country: text().notNull(),
    entityType: text().notNull(),
    externalRef: text().notNull(),
    customerId: text(),
    status: text().notNull(),
    statusReason: text(),
    attestationId: text().notNull(),
    attestationVerifierId: text().notNull(),
    attestationModel: text().notNull(),
    attestationTier: text(),
    attestationIssuedAt: integer().notNull(),
    attestationExpiresAt: integer().notNull(),
    createdAt: integer().notNull(),
    updatedAt: integer().notNull(),
  },
  (t) => [
    uniqueIndex("principals_by_external_ref").on(t.platformId, t.environment, t.externalRef),
    uniqueIndex("principals_by_name").on(t.platformId, t.environment, t.nameFolded, t.country),
    index("principals_by_platform").on(t.platformId, t.environment, t.principalId).where(sql`tenant = 0`),
    index("principals_by_status").on(t.platformId, t.environment, t.status, t.principalId).where(sql`tenant = 0`),
    // Also of none: SQLite searches an index for null.
    index("principals_by_customer").on(t.platformId, t.environment, t.customerId, t.principalId).where(sql`tenant = 0`),
    index("principals_due").on(t.attestationExpiresAt).where(sql`status = 'ACTIVE'`),
    index("principals_not_active").on(t.status).where(sql`status <> 'ACTIVE'`),
  ],
);

/** Every attestation ever recorded; the current one is also on its principal's row. */
export const attestations = sqliteTable(
  "attestations",
  {
    attestationId: text().notNull(),
    principalId: text().notNull(),
    verifierId: text().notNull(),
    model: text().notNull(),
    tier: text(),
    proof: text(),
    issuedAt: integer().notNull(),
    expiresAt: integer().notNull(),
    recordedAt: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.principalId, t.attestationId] })],
);

export const agents = sqliteTable(
  "agents",
  {
    did: text().primaryKey(),
    platformId: text().notNull(),
    environment: text().notNull(),
    principalId: text().notNull(),
    economicRole: text().notNull(),
    certTier: text().notNull(),
    displayName: text().notNull(),
    description: text(),
    catalogUrl: text(),
    endpointUrl: text().notNull(),
    authorizedActions: text({ mode: "json" }).$type<string[]>().notNull(),
    capabilities: text({ mode: "json" }).$type<string[]>().notNull(),
    disputeWindowDays: integer().notNull(),
    maxTransactionValue: text(),
    spendingLimit: text({ mode: "json" }).$type<{ amount: string; currency: string; window_days: number }>(),
    minimumCounterpartyCertTier: text(),
    minimumCounterpartyAr: real(),
    delegatedBy: text(),
    status: text().notNull(),
    suspensionReason: text(),
    /** Where a suspended agent returns to: ACTIVE, or FUNDING when its escrow was never funded. */
    suspendedFrom: text(),
    statusNote: text(),
    /** +1 at every change that the platform controls, and at any change of what is signed (contract 5, AID). */
    version: integer().notNull(),
    revision: integer().notNull(),
    certificateJti: text(),
    certificate: text(),
    certificateExpiresAt: integer(),
    keyId: text(),
    publicJwk: text({ mode: "json" }).$type<{ kty: string; crv: string; x: string; y: string }>(),
    // Ratings: forward-decayed sums (contract 6, Rating) and what was last published.
    ratingWeight: real().notNull().default(0),
    ratingWeighted: real().notNull().default(0),
    ratingInteractions: integer().notNull().default(0),
    ratingCounterparties: integer().notNull().default(0),
    agentRating: real(),
    settledVolume: integer().notNull().default(0),
    // Spend: what is settled in all, and what open intents hold. The window is a difference of running totals.
    spendSettled: integer().notNull().default(0),
    spendOpen: integer().notNull().default(0),
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
    index("agents_not_active").on(t.status).where(sql`status not in ('DRAFT', 'ACTIVE')`),
  ],
);

/** The signed document as it is served; a stale one is signed again at its next reading. */
export const aids = sqliteTable("aids", {
  did: text().primaryKey(),
  version: integer().notNull(),
  revision: integer().notNull(),
  /** Canonical JSON of what is signed. */
  content: text().notNull(),
  /** Detached JWS; null for a DRAFT. */
  proof: text(),
  stale: integer({ mode: "boolean" }).notNull().default(false),
});

/** What the platform controlled in each version, signed and immutable. */
export const aidVersions = sqliteTable(
  "aid_versions",
  {
    did: text().notNull(),
    version: integer().notNull(),
    content: text().notNull(),
    proof: text().notNull(),
    issuedAt: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.did, t.version] })],
);

export const certificates = sqliteTable(
  "certificates",
  {
    did: text().notNull(),
    jti: text().notNull(),
    keyId: text().notNull(),
    statusListIdx: integer().notNull(),
    issuedAt: integer().notNull(),
    expiresAt: integer().notNull(),
    /** The instant from which it is replaced; null while it is current. */
    replacedAt: integer(),
  },
  (t) => [
    primaryKey({ columns: [t.did, t.jti] }),
    // No two certificates share a place in the status list; a draw that is taken is drawn again.
    uniqueIndex("certificates_by_status").on(t.statusListIdx),
    index("certificates_replaced").on(t.replacedAt).where(sql`replaced_at is not null`),
  ],
);

/** A provider's market on a network. Its environment is the key's that set it: production waits for the promotion. */
export const agentMarkets = sqliteTable(
  "agent_markets",
  {
    did: text().notNull(),
    environment: text().notNull(),
    market: text().notNull(),
    network: text().notNull(),
    operationalWallet: text().notNull(),
    escrowWallet: text(),
    status: text().notNull(),
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

/** Per provider, environment and network: the segregated vault as last seen on-chain. */
export const escrows = sqliteTable(
  "escrows",
  {
    did: text().notNull(),
    environment: text().notNull(),
    network: text().notNull(),
    currency: text().notNull(),
    vault: text().notNull(),
    operationalWallet: text().notNull(),
    balance: integer().notNull().default(0),
    baseThreshold: integer().notNull(),
    threshold: integer().notNull(),
    /** What the contract splits by; it follows `threshold` within a minute or two. */
    chainThreshold: integer().notNull(),
    state: text().notNull(),
    updatedAt: integer().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.did, t.environment, t.network] }),
    index("escrows_behind").on(t.did).where(sql`threshold <> chain_threshold`),
  ],
);

export const paymentIntents = sqliteTable(
  "payment_intents",
  {
    intentId: text().primaryKey(),
    environment: text().notNull(),
    consumerDid: text().notNull(),
    providerDid: text().notNull(),
    consumerPlatformId: text().notNull(),
    providerPlatformId: text().notNull(),
    openedBy: text().notNull(),
    network: text().notNull(),
    market: text().notNull(),
    currency: text().notNull(),
    amount: integer().notNull(),
    status: text().notNull(),
    /** The consumer and its delegators, whose windows this intent counts in. */
    spenders: text({ mode: "json" }).$type<string[]>().notNull(),
    /** Whether the consumer that left it unpaid has been rated for it. */
    abandonRated: integer({ mode: "boolean" }).notNull().default(false),
    createdAt: integer().notNull(),
    expiresAt: integer().notNull(),
  },
  (t) => [
    index("payment_intents_unrated")
      .on(t.expiresAt)
      .where(sql`status = 'ABANDONED' and abandon_rated = 0 and opened_by = consumer_did`),
    // The client form names no intent: newest open one of the pair with this amount.
    index("payment_intents_open_pair")
      .on(t.consumerDid, t.providerDid, t.network, t.amount, t.createdAt)
      .where(sql`status in ('OPEN', 'ABANDONED')`),
    index("payment_intents_due").on(t.expiresAt).where(sql`status = 'OPEN'`),
  ],
);

/** A facilitated settlement: 2.6's transaction record; `transaction_id` and `facilitation_id` are one id. */
export const transactions = sqliteTable(
  "transactions",
  {
    transactionId: text().primaryKey(),
    environment: text().notNull(),
    intentId: text().notNull(),
    taskId: text(),
    consumerDid: text().notNull(),
    providerDid: text().notNull(),
    consumerPlatformId: text().notNull(),
    providerPlatformId: text().notNull(),
    network: text().notNull(),
    currency: text().notNull(),
    txHash: text().notNull(),
    logIndex: integer().notNull(),
    settlementId: text().notNull(),
    payer: text().notNull(),
    gross: integer().notNull(),
    fee: integer().notNull(),
    escrow: integer().notNull(),
    operational: integer().notNull(),
    escrowState: text().notNull(),
    escrowBalance: integer().notNull(),
    disputeWindowDays: integer().notNull(),
    disputeWindowClosesAt: integer(),
    providerAidVersion: integer().notNull(),
    blockNumber: integer().notNull(),
    blockHash: text().notNull(),
    receipt: text().notNull(),
    settledAt: integer().notNull(),
  },
  (t) => [
    uniqueIndex("transactions_by_settlement").on(t.network, t.txHash, t.logIndex),
    uniqueIndex("transactions_by_intent").on(t.intentId),
    index("transactions_by_provider").on(t.providerDid, t.transactionId),
    index("transactions_by_consumer").on(t.consumerDid, t.transactionId),
  ],
);

export const tasks = sqliteTable(
  "tasks",
  {
    taskId: text().primaryKey(),
    transactionId: text().notNull(),
    environment: text().notNull(),
    consumerDid: text().notNull(),
    providerDid: text().notNull(),
    status: text().notNull(),
    outcome: text(),
    score: real(),
    note: text(),
    openedAt: integer().notNull(),
    confirmBy: integer().notNull(),
    closedAt: integer(),
  },
  (t) => [index("tasks_due").on(t.confirmBy).where(sql`status = 'open'`)],
);

/** Running total of what an agent (or its delegates) settled: a window is the newest total less the one before it. */
export const spendLedger = sqliteTable(
  "spend_ledger",
  { did: text().notNull(), at: integer().notNull(), total: integer().notNull() },
  (t) => [primaryKey({ columns: [t.did, t.at] })],
);

/**
 * What each open intent holds of a spender's window, by the instant at which it lets go: what has expired is found in the
 * agent's own rows, whether or not the cron came by. `agents.spend_open` is the sum of an agent's rows here.
 */
export const spendHolds = sqliteTable(
  "spend_holds",
  { did: text().notNull(), expiresAt: integer().notNull(), intentId: text().notNull(), amount: integer().notNull() },
  (t) => [primaryKey({ columns: [t.did, t.expiresAt, t.intentId] })],
);

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

/** What a call with an Idempotency-Key answered, written in the same batch as its effect. */
export const idempotencyOutcomes = sqliteTable(
  "idempotency_outcomes",
  {
    platformId: text().notNull(),
    /** SHA-256 of environment, method, path and key. */
    requestKey: text().notNull(),
    bodyHash: text().notNull(),
    status: integer().notNull(),
    /** JSON; sealed where it holds a once-only secret. */
    body: text().notNull(),
    sealed: integer({ mode: "boolean" }).notNull(),
    expiresAt: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.platformId, t.requestKey] }), index("idempotency_outcomes_due").on(t.expiresAt)],
);

export const activityEntries = sqliteTable(
  "activity_entries",
  {
    platformId: text().notNull(),
    id: text().notNull(),
    environment: text().notNull(),
    occurredAt: integer().notNull(),
    action: text().notNull(),
    actorType: text().notNull(),
    actorId: text().notNull(),
    subjectType: text().notNull(),
    subjectId: text().notNull(),
    changes: text({ mode: "json" }).$type<Record<string, { from: unknown; to: unknown }>>(),
  },
  (t) => [primaryKey({ columns: [t.platformId, t.id] })],
);

/** The outbox: written with the change that it reports, delivered later. */
export const events = sqliteTable(
  "events",
  {
    platformId: text().notNull(),
    environment: text().notNull(),
    id: text().notNull(),
    type: text().notNull(),
    occurredAt: integer().notNull(),
    object: text({ mode: "json" }).$type<Record<string, unknown>>().notNull(),
    dispatchedAt: integer(),
  },
  (t) => [
    primaryKey({ columns: [t.platformId, t.environment, t.id] }),
    index("events_pending").on(t.occurredAt).where(sql`dispatched_at is null`),
  ],
);

/** 2.10: append-only. `seq` is drawn inside the batch, so its order is the order of commits. */
export const directoryChanges = sqliteTable(
  "directory_changes",
  {
    environment: text().notNull(),
    seq: integer().notNull(),
    did: text().notNull(),
    changeType: text().notNull(),
    occurredAt: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.environment, t.seq] })],
);
