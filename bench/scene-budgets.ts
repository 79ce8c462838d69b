// The budgets of the scenes that the bench plays apart from single calls: suspensions, a wave of ends, status lists, the movements of a vault.

/**
 * The suspension of a principal with n agents: its rows until the last slice, and the trips of its answer, which waits only for the first slice.
 * Reads each agent's row twice and its certificate once, and for a seller also its market and its vault.
 */
const READ_EACH = { consumer: 3, seller: 5 } as const;
export const SUSPENSION = {
  trips: 2,
  slice: 200,
  // A slice of three agents or more records the last numbers, and reads one row beyond its agents twice. Each further slice also reads its cascade
  // and its principal.
  read: (kind: keyof typeof READ_EACH, n: number, further: number): number =>
    11 + READ_EACH[kind] * n + (n < 3 ? 2 : 7) + 13 * further,
  written: (n: number, further: number): number => 10 * n + (n < 3 ? 9 : 12) + 3 * further,
} as const;

/**
 * A thousand principals with ten agents each end at one instant: the seconds in which they are recorded, and the most by which other calls' p95 may
 * grow.
 */
export const WAVE = { seconds: 600, ratio: 2 } as const;

/**
 * A status list costs its own exceptions, however many certificates it has: signed, its row twice and one row beyond its exceptions; served within
 * the minute. Each taken place among the sixteen of a draw costs two rows; the hourly count reads the places of the newest list.
 */
export const STATUS_LISTS = {
  signed: { trips: 2, read: (exceptions: number): number => 3 + exceptions, written: 1 },
  served: { trips: 1, read: 1 },
  drawn: 33,
  counted: 2 ** 16 + 4,
} as const;

/** The rows that the follower writes for each movement of a vault after the first of a run: cases of one and of `many` movements. */
export const MOVEMENTS = {
  written: 4,
  many: 10,
  cases: [
    ["message follow_chain (a deposit)", "message follow_chain (ten deposits)"],
    ["message follow_chain (a deposit, with a long ledger)", "message follow_chain (ten deposits, with a long ledger)"],
  ],
} as const;

/**
 * Sign-ups ten times a second from one address: the median of others' reads relative to the calm one, and the share of their log-ins that succeed.
 */
export const FLOOD = { ratio: 2, plusMs: 5, logIns: 0.9 } as const;

/**
 * Tasks that are auto-confirmed at one instant: the number a second, and the CPU time of each. `ratio` is an aim: the time of a read, relative to the
 * time without a backlog.
 */
export const BACKLOG = { perSecond: 300, cpuMs: 3, ratio: 2 } as const;

/** One run of each trigger with nothing due, as the mean of a quarter of an hour, with the followers of two networks and all work of their queues. */
export const IDLE: Readonly<Record<string, { trips: number; rowsWritten: number; queues: number }>> = {
  // All looks take one trip, and each follower takes three at most. A follower writes a row.
  "every minute": { trips: 7.5, rowsWritten: 3, queues: 0 },
  // The job's own row, and the age of the events.
  "every hour": { trips: 5, rowsWritten: 3, queues: 0 },
};

/**
 * Rows: all that an act writes in its calls, in the jobs that follow and in the deletion after 30 days, without `chain_operations`. Bytes with
 * indexes: until that deletion, and for ever.
 */
export const ACTS: Readonly<
  Record<string, { readonly rows: number; readonly standing: number; readonly forEver: number }>
> = {
  // Includes its principal. An entry of the activity log with its three places in indexes is about 400 bytes; whole pages are counted.
  agent: { rows: 69, standing: 15_500, forEver: 11_200 },
  market: { rows: 28.5, standing: 5_000, forEver: 3_800 },
  purchase: { rows: 71, standing: 10_400, forEver: 5_700 },
  dispute: { rows: 121, standing: 16_500, forEver: 5_800 },
  delivery: { rows: 6.2, standing: 350, forEver: 0 },
};
