// A budget: what an operation or a job may cost, and the common kinds of it.

export type Budget = {
  readonly trips: number;
  readonly rowsRead: number;
  readonly rowsWritten: number;
  /** Calls of Durable Objects: the agent's lock, the proof's single use, the begin and end of an Idempotency-Key. */
  readonly objects: number;
  readonly queues: number;
  readonly fetches: number;
  readonly bytes: number;
  /** Milliseconds of one call, of an answer that its caller waits for however much it does. */
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
/** A page under a clock that was moved: the first reading finds the clock, the second one is of the page (ACC-9). */
export const pageAhead = (rowsRead: number, kib: number): Budget => read(2 * rowsRead, kib * KIB, { trips: 2 });
/** A call that touches no database. */
export const pure = (bytes: number, more: Partial<Budget> = {}): Budget => ({ ...NOTHING, bytes, ...more });
export const mutation = (rowsRead: number, rowsWritten: number, bytes: number, more: Partial<Budget> = {}): Budget => ({
  ...NOTHING,
  trips: 2,
  rowsRead,
  rowsWritten,
  queues: 1,
  bytes,
  ...more,
});

/** Of many that fall due: each is recorded in an invocation of its own part, which is not counted here. */
export const advance = (rowsRead: number, objects: number): Budget =>
  mutation(rowsRead, 7, KIB, { trips: 8, objects, fetches: 1, ms: 5_000 });

export const sweep = (cost: Partial<Budget>): Budget => ({ ...NOTHING, bytes: 100, ...cost });
/** Of a job with nothing due: the row of its last run, and what an index finds. */
export const EACH = { trips: 1, rowsRead: 2, rowsWritten: 0 } as const;
export const BULK = { trips: 1, rowsRead: 3, rowsWritten: 0 } as const;
export const job = (name: string, idle: Partial<Budget>, due?: Partial<Budget>): Record<string, Budget> => ({
  [`job ${name}`]: sweep(idle),
  ...(due && { [`job ${name} (one due)`]: sweep(due) }),
});
