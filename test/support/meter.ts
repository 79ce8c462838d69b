// Counts the requests to the database: trips, statements, rows read and written. D1's own meta is the source.

export type Reading = {
  trips: number;
  statements: number;
  rowsRead: number;
  rowsWritten: number;
  sql: string[];
  costs: Cost[];
};
/** One statement: what it read and wrote. */
export type Cost = { sql: string; read: number; written: number };
export type Meter = {
  readonly d1: D1Database;
  readonly reading: Reading;
  reset(): void;
  /** Does something right before the n-th batch from now, past the meter: what another caller does between two trips. */
  beforeBatch(n: number, work: () => Promise<unknown>): void;
};

type Meta = { rows_read?: number; rows_written?: number };

type Count = (sqls: string[], results: { meta?: Meta }[]) => void;
type Inner = { statement: D1PreparedStatement; sql: string };

const zero = (): Reading => ({ trips: 0, statements: 0, rowsRead: 0, rowsWritten: 0, sql: [], costs: [] });

export function meter(d1: D1Database): Meter {
  const reading = zero();
  const count: Count = (sqls, results) => {
    reading.trips += 1;
    reading.statements += results.length;
    reading.sql.push(...sqls);
    for (const [i, { meta }] of results.entries()) {
      reading.costs.push({ sql: sqls[i] ?? "?", read: meta?.rows_read ?? 0, written: meta?.rows_written ?? 0 });
      reading.rowsRead += meta?.rows_read ?? 0;
      reading.rowsWritten += meta?.rows_written ?? 0;
    }
  };
  const { wrap, unwrap } = countedStatements(reading, count);
  let waiting: { left: number; work: () => Promise<unknown> } | null = null;
  const metered = {
    prepare: (sql: string) => wrap(d1.prepare(sql), sql),
    batch: async (statements: D1PreparedStatement[]) => {
      if (waiting && --waiting.left === 0) {
        const { work } = waiting;
        waiting = null;
        await work();
      }
      const known = statements.map(unwrap);
      const results = await d1.batch(known.map(({ statement }) => statement));
      count(
        known.map(({ sql }) => sql),
        results,
      );
      return results;
    },
    exec: (sql: string) => d1.exec(sql),
    dump: () => d1.dump(),
    withSession: () => metered,
  };
  return {
    d1: metered as unknown as D1Database,
    reading,
    beforeBatch(n, work) {
      waiting = { left: n, work };
    },
    reset() {
      Object.assign(reading, zero());
    },
  };
}

/** Statements that count themselves when they run alone; a batch takes them apart again. */
function countedStatements(reading: Reading, count: Count) {
  const inner = new WeakMap<object, Inner>();
  const wrap = (statement: D1PreparedStatement, sql: string): D1PreparedStatement => {
    const wrapped = {
      bind: (...values: unknown[]) => wrap(statement.bind(...values), sql),
      all: async () => {
        const result = await statement.all();
        count([sql], [result]);
        return result;
      },
      run: async () => {
        const result = await statement.run();
        count([sql], [result]);
        return result;
      },
      first: async (column?: string) => {
        const result = await statement.all<Record<string, unknown>>();
        count([sql], [result]);
        const row = result.results[0] ?? null;
        return column === undefined ? row : (row?.[column] ?? null);
      },
      // Rows as lists lose the meta: counted as a trip of unknown cost. The service's own trips are batches.
      raw: async () => {
        reading.trips += 1;
        reading.statements += 1;
        reading.sql.push(sql);
        return statement.raw();
      },
    };
    inner.set(wrapped, { statement, sql });
    return wrapped as unknown as D1PreparedStatement;
  };
  const unwrap = (statement: D1PreparedStatement): Inner => inner.get(statement) ?? { statement, sql: "?" };
  return { wrap, unwrap };
}
