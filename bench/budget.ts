// A budget, which limits the cost of an operation or a job, and the common kinds of budget.

export type Budget = {
  readonly trips: number;
  readonly rowsRead: number;
  readonly rowsWritten: number;
  /** Calls of Durable Objects: the agent's lock, the single use of a proof, the begin and the end of an Idempotency-Key. */
  readonly objects: number;
  readonly queues: number;
  readonly fetches: number;
  readonly bytes: number;
  /** Milliseconds of one call, if its caller waits for the answer however much it does. */
  readonly ms?: number;
};

export const KIB = 1_024;
const NOTHING = { trips: 0, rowsRead: 0, rowsWritten: 0, objects: 0, queues: 0, fetches: 0 } as const;

export const read = (rowsRead: number, bytes: number, more: Partial<Budget> = {}): Budget => ({
  ...NOTHING,
  trips: 1,
  rowsRead,
  bytes,
  ...more,
});
/** A page under a clock that was moved: the first trip finds the clock, the second reads the page (ACC-9). */
export const pageAhead = (rowsRead: number, kib: number): Budget => read(2 * rowsRead, kib * KIB, { trips: 2 });
/** A call without the database. */
export const withoutDatabase = (bytes: number, more: Partial<Budget> = {}): Budget => ({ ...NOTHING, bytes, ...more });
export const mutation = (rowsRead: number, rowsWritten: number, bytes: number, more: Partial<Budget> = {}): Budget => ({
  ...NOTHING,
  trips: 2,
  rowsRead,
  rowsWritten,
  queues: 1,
  bytes,
  ...more,
});

/** Moving a clock past many due rows. Each part is recorded in an invocation of its own, which is not counted here. */
export const advance = (rowsRead: number, objects: number): Budget =>
  mutation(rowsRead, 7, KIB, { trips: 8, objects, fetches: 1, ms: 5_000 });

export const sweep = (cost: Partial<Budget>): Budget => ({ ...NOTHING, bytes: 100, ...cost });
/** A job with nothing due: the row of its last run, and an index search. */
export const EACH = { trips: 1, rowsRead: 2, rowsWritten: 0 } as const;
export const BULK = { trips: 1, rowsRead: 3, rowsWritten: 0 } as const;
export const job = (name: string, idle: Partial<Budget>, due?: Partial<Budget>): Record<string, Budget> => ({
  [`job ${name}`]: sweep(idle),
  ...(due && { [`job ${name} (one due)`]: sweep(due) }),
});
