// The budgets, as data: performance design 4.1 where it names one, and for every other route of the path what it was built to
// cost. Counted exactly, so that any increase fails `npm run bench -- --check`; a decrease is a reason to lower the number.

export type Budget = {
  readonly trips: number;
  readonly rowsRead: number;
  readonly rowsWritten: number;
  /** Calls of Durable Objects: the agent's turn, the proof's single use, the key's begin and end. */
  readonly objects: number;
  readonly queues: number;
  readonly fetches: number;
  readonly bytes: number;
};

const KIB = 1_024;
const NOTHING = { trips: 0, rowsRead: 0, rowsWritten: 0, objects: 0, queues: 0, fetches: 0 } as const;

const read = (rowsRead: number, bytes: number, more: Partial<Budget> = {}): Budget => ({
  ...NOTHING,
  trips: 1,
  rowsRead,
  bytes,
  ...more,
});
/** A call that touches no database. */
const pure = (bytes: number, more: Partial<Budget> = {}): Budget => ({ ...NOTHING, bytes, ...more });
const mutation = (rowsRead: number, rowsWritten: number, bytes: number, more: Partial<Budget> = {}): Budget => ({
  ...NOTHING,
  trips: 2,
  rowsRead,
  rowsWritten,
  queues: 1,
  bytes,
  ...more,
});

export const BUDGETS: Readonly<Record<string, Budget>> = {
  // performance design 4.1, as it stands there (its table counts an agent's turn as no subrequest).
  "GET /v1/agents/{did}/aid": read(3, 6 * KIB),
  "GET /v1/agents/{did}/aid (304)": read(3, 0),
  "GET /.well-known/aeap-ca-jwks": pure(2 * KIB),
  "GET /v1/verify/challenge": pure(300),
  "POST /v1/principals": mutation(15, 16, 2 * KIB),
  "POST /v1/principals (Idempotency-Key)": mutation(15, 16, 2 * KIB, { objects: 2 }),
  "POST /v1/agents": mutation(15, 16, 6 * KIB),
  "POST /v1/agents/{did}/activate": mutation(15, 16, 6 * KIB, { objects: 3 }),
  "POST /v1/facilitate (intent)": mutation(25, 25, 4 * KIB, { objects: 1, fetches: 1 }),
  "POST /v1/facilitate (client form)": mutation(25, 25, 4 * KIB, { objects: 1, fetches: 1 }),

  // The rest of the path. A page of 20 reads each row, its principal's, and one more to know whether there is a next page.
  "GET /v1/principals": read(25, 16 * KIB),
  "GET /v1/principals (external_ref=crm-1)": read(25, 16 * KIB),
  "GET /v1/principals (status=SUSPENDED)": read(25, 16 * KIB),
  "GET /v1/agents (status=DRAFT)": read(45, 24 * KIB),
  "GET /v1/agents (status=SUSPENDED)": read(45, 24 * KIB),
  "GET /v1/agents (economic_role=CONSUMER)": read(45, 24 * KIB),
  "GET /v1/principals/{principal_id}": read(4, 2 * KIB),
  "POST /v1/agents (422)": read(2, 2 * KIB),
  "GET /v1/agents": read(45, 24 * KIB),
  // The key and its platform 2, the agent in its scope 3, one market and one escrow: a range reads one row beyond its end.
  // With the four heaviest counterparties: the rating is of this instant.
  "GET /v1/agents/{did}": read(13, 4 * KIB),
  "PATCH /v1/agents/{did}/scope": mutation(15, 16, 6 * KIB, { objects: 1 }),
  "PATCH /v1/agents/{did}/status": mutation(15, 16, 6 * KIB, { objects: 1 }),
  // One more pair of trips before and after the chain's part, so that a crash between them is resumed; the receipt is asked
  // for until it is there.
  "POST /v1/agents/{did}/scope/authorized_markets": mutation(20, 16, 4 * KIB, { trips: 6, objects: 2, fetches: 8 }),
  "GET /v1/agents/{did}/scope/authorized_markets": read(9, 2 * KIB),
  "GET /v1/platform": read(5, 4 * KIB),
  "GET /v1/agents/{did}/aid (application/jwt)": read(3, 8 * KIB),
  "GET /v1/agents/{did}/aid (earlier version)": read(4, 6 * KIB),
  // The agent, its principal, its escrows (with their environment's look-up) and its four heaviest counterparties.
  "GET /v1/agents/{did}/status": read(9, KIB),
  "GET /v1/agents/{did}/rating": read(6, KIB),
  "GET /v1/agents/{did}/certificate": read(2, 4 * KIB),
  "GET /v1/agents/{did}/did.json": read(2, 2 * KIB),
  "GET /v1/markets": pure(16 * KIB),
  "GET /.well-known/aeap": pure(KIB),
  "GET /v1/rating-method": pure(2 * KIB),
  "POST /v1/verify/certificate": pure(4 * KIB),
  "POST /v1/verify/proof (challenge)": pure(KIB, { objects: 1 }),
  "POST /v1/verify/proof (bound)": pure(KIB),
  "POST /v1/verify/aid": pure(KIB),
  "GET /openapi.json": pure(192 * KIB),
  "GET /healthz": pure(100),
  "POST /v1/payment-intents": mutation(40, 8, 2 * KIB, { objects: 1 }),
  "POST /v1/payment-intents (Idempotency-Key)": mutation(40, 10, 2 * KIB, { objects: 3 }),
  "GET /v1/payment-intents/{intent_id}": read(5, 2 * KIB, { objects: 1 }),
  "GET /v1/payment-address": read(5, KIB, { objects: 1 }),
  "GET /v1/payment-address (intent)": mutation(40, 8, KIB, { objects: 1 }),
  "POST /v1/facilitate (retry)": read(25, 4 * KIB, { objects: 1 }),
  "GET /v1/tasks/{task_id}": read(6, 2 * KIB, { objects: 1 }),
  "POST /v1/tasks/{task_id}/confirm": mutation(45, 16, 2 * KIB, { objects: 1 }),
};

export const BUNDLE_GZIP_KIB = 350;
export const STARTUP_MEDIAN_MS = 150;

/** Ratios of the median latency to aim at, printed beside the measured ones; a slow machine is no reason to fail. */
export const RATIO_TARGETS: Readonly<Record<string, { base: "hello" | "row"; atMost: number }>> = {
  "GET /v1/agents/{did}/aid": { base: "row", atMost: 1.25 },
  "POST /v1/principals": { base: "row", atMost: 3.5 },
  "POST /v1/agents": { base: "row", atMost: 3.5 },
  "POST /v1/facilitate (intent)": { base: "row", atMost: 4 },
  "POST /v1/agents (422)": { base: "row", atMost: 1.5 },
  "GET /v1/agents": { base: "row", atMost: 1.8 },
  "GET /v1/principals": { base: "row", atMost: 1.8 },
};
