// What one request costs, counted where it is spent: D1 by its own meta, statement by statement; calls of Durable Objects,
// queues and other bindings; outbound fetches. performance design 4.1: these numbers repeat exactly, so they can be budgets.

export type StatementCost = { sql: string; rowsRead: number; rowsWritten: number };
/** What a request asked of the world around it. Rows that came as lists have no meta: they count as `unmetered`. */
export type Cost = {
  trips: StatementCost[][];
  unmetered: number;
  objects: Record<string, number>;
  queues: number;
  fetches: number;
  others: number;
};
/** What the Durable Objects did inside themselves. */
export type ObjectWork = { storageCalls: number; rowsWritten: number; fetches: number };

export const newCost = (): Cost => ({ trips: [], unmetered: 0, objects: {}, queues: 0, fetches: 0, others: 0 });

type Answer = { meta?: { rows_read?: number; rows_written?: number } };
type Known = { statement: D1PreparedStatement; sql: string };

/** The database, with every trip written into the cost. A trip that D1 refuses is a trip as well. */
export function meterD1(d1: D1Database, cost: Cost): D1Database {
  const known = new WeakMap<object, Known>();
  const trip = async <T>(sqls: readonly string[], run: () => Promise<T>, answers: (result: T) => Answer[]) => {
    const entry = sqls.map((sql): StatementCost => ({ sql, rowsRead: 0, rowsWritten: 0 }));
    cost.trips.push(entry);
    const result = await run();
    for (const [i, { meta }] of answers(result).entries()) {
      const statement = entry[i];
      if (!statement) continue;
      statement.rowsRead = meta?.rows_read ?? 0;
      statement.rowsWritten = meta?.rows_written ?? 0;
    }
    return result;
  };
  const one = (statement: D1PreparedStatement, sql: string) =>
    trip(
      [sql],
      () => statement.all<Record<string, unknown>>(),
      (result) => [result],
    );
  const wrap = (statement: D1PreparedStatement, sql: string): D1PreparedStatement => {
    const wrapped = {
      bind: (...values: unknown[]) => wrap(statement.bind(...values), sql),
      all: () => one(statement, sql),
      run: () => one(statement, sql),
      first: async (column?: string) => {
        const row = (await one(statement, sql)).results[0] ?? null;
        return column === undefined ? row : (row?.[column] ?? null);
      },
      raw: () => {
        cost.unmetered += 1;
        return trip(
          [sql],
          () => statement.raw(),
          () => [],
        );
      },
    };
    known.set(wrapped, { statement, sql });
    return wrapped as unknown as D1PreparedStatement;
  };
  const metered = {
    prepare: (sql: string) => wrap(d1.prepare(sql), sql),
    batch: (statements: D1PreparedStatement[]) => {
      const parts = statements.map((statement) => known.get(statement) ?? { statement, sql: "?" });
      return trip(
        parts.map(({ sql }) => sql),
        () => d1.batch(parts.map(({ statement }) => statement)),
        (results) => results,
      );
    },
    exec: (sql: string) => d1.exec(sql),
    dump: () => d1.dump(),
    withSession: () => metered,
  };
  return metered as unknown as D1Database;
}

/** The binding, with every call of a method told; what a method returns is handed on, wrapped where `inner` says how. */
export function tellCalls<T extends object>(target: T, told: () => void, inner?: (result: unknown) => unknown): T {
  return new Proxy(target, {
    get(object, name) {
      const member = Reflect.get(object, name) as unknown;
      if (typeof member !== "function") return member;
      return (...args: unknown[]) => {
        told();
        const result: unknown = Reflect.apply(member, object, args);
        return inner ? inner(result) : result;
      };
    },
  });
}

/** Each call on a stub is one request of that class's object; asking for the stub is none. */
export function meterObjects<T extends object>(namespace: T, name: string, cost: Cost): T {
  const told = () => {
    cost.objects[name] = (cost.objects[name] ?? 0) + 1;
  };
  const isStub = (value: unknown): value is object => typeof value === "object" && value !== null && "id" in value;
  return tellCalls(
    namespace,
    () => undefined,
    (result) => (isStub(result) ? tellCalls(result, told) : result),
  );
}
