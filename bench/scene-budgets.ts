// The budgets of what the bench plays apart from single calls: suspensions, a wave of ends, status lists, the movements of a vault.

/**
 * The suspension of a principal with n agents: its rows until the last slice, and the trips of its answer, which waits for the first slice alone.
 * Of each agent its row is read twice and its certificate once, of a seller its market and its vault too.
 */
const READ_EACH = { consumer: 3, seller: 5 } as const;
export const SUSPENSION = {
  trips: 2,
  slice: 200,
  // A slice of three agents or more notes the last numbers, and reads one row beyond its agents twice. Each further slice reads its cascade and its
  // principal too.
  read: (kind: keyof typeof READ_EACH, n: number, further: number): number =>
    11 + READ_EACH[kind] * n + (n < 3 ? 2 : 7) + 13 * further,
  written: (n: number, further: number): number => 10 * n + (n < 3 ? 9 : 12) + 3 * further,
} as const;

/** A thousand principals with ten agents each that end at one instant: recorded within so long, while no other call's p95 is so many times as long. */
export const WAVE = { seconds: 600, ratio: 2 } as const;

/**
 * A status list by its own exceptions, however many certificates there are: signed, with its row twice and one beyond its exceptions; served
 * within the minute. Of the sixteen places of a draw each taken one is two rows; the hourly count reads the places of the newest list.
 */
export const STATUS_LISTS = {
  signed: { trips: 2, read: (exceptions: number): number => 3 + exceptions, written: 1 },
  served: { trips: 1, read: 1 },
  drawn: 33,
  counted: 2 ** 16 + 4,
} as const;

/** What the follower writes for each movement of a vault beyond the first of a run: cases of one and of `many` movements. */
export const MOVEMENTS = {
  written: 4,
  many: 10,
  cases: [
    ["message follow_chain (a deposit)", "message follow_chain (ten deposits)"],
    ["message follow_chain (a deposit, with a long ledger)", "message follow_chain (ten deposits, with a long ledger)"],
  ],
} as const;

/** Sign-ups ten times a second from one address: others' median reading, by the calm one, and the share of their log-ins that succeed. */
export const FLOOD = { ratio: 2, plusMs: 5, logIns: 0.9 } as const;

/** Tasks that confirm themselves at one instant: so many a second, and the CPU time of each. `ratio` is an aim: the time of a reading, relative to the time without a backlog. */
export const BACKLOG = { perSecond: 300, cpuMs: 3, ratio: 2 } as const;

/** A run of each trigger with nothing due, in the mean of a quarter of an hour, with the followers of two networks and all that queues work of it. */
export const IDLE: Readonly<Record<string, { trips: number; rowsWritten: number; queues: number }>> = {
  // All looks are one trip, and each follower's are three at most. It writes a row.
  "every minute": { trips: 7.5, rowsWritten: 3, queues: 0 },
  // Its own row, and the age of the events.
  "every hour": { trips: 5, rowsWritten: 3, queues: 0 },
};

/**
 * Rows: all that an act writes, by its calls, by the jobs that follow and by the deletion after 30 days, without `chain_operations`. Bytes with
 * indexes: until that deletion, and for ever.
 */
export const ACTS: Readonly<
  Record<string, { readonly rows: number; readonly standing: number; readonly forEver: number }>
> = {
  // With its principal. An entry of the activity log and its three places in indexes are about 400 bytes; whole pages are counted.
  agent: { rows: 69, standing: 15_500, forEver: 11_200 },
  market: { rows: 28.5, standing: 5_000, forEver: 3_800 },
  purchase: { rows: 71, standing: 10_400, forEver: 5_700 },
  dispute: { rows: 121, standing: 16_500, forEver: 5_800 },
  delivery: { rows: 6.2, standing: 350, forEver: 0 },
};
