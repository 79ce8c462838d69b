// The meter of the bench and the tests. It counts trips to D1 with the rows of each statement, as D1 reports them, calls of Durable Objects, queues
// and other bindings, and outbound fetches. These numbers hardly differ from run to run, so they can be budgets.

export type StatementCost = { sql: string; rowsRead: number; rowsWritten: number };
/** The trips, fetches and calls of objects of one request. */
export type Cost = {
  trips: StatementCost[][];
  /** Trips that D1 refused: a guard, a unique key, a fault. */
  refused: number;
  /** Statements whose rows were read as lists, for which D1 reports no cost. */
  unmetered: number;
  objects: Record<string, number>;
  queues: number;
  fetches: number;
  others: number;
  /** The longest chain of trips and object calls that waited for each other. */
  hops: number;
};
/** The calls that Durable Objects make themselves. */
export type ObjectWork = { storageCalls: number; rowsWritten: number; fetches: number };

export const newCost = (): Cost => ({
  trips: [],
  refused: 0,
  unmetered: 0,
  objects: {},
  queues: 0,
  fetches: 0,
  others: 0,
  hops: 0,
});

/** Makes a trip or an object call; may delay it. */
export type Hop = <T>(go: () => Promise<T>) => Promise<T>;

const runDirectly: Hop = (go) => go();

/**
 * Counts hops as they end; each begins after `delayMs`. A hop that begins after another has ended is the next link of the chain, and concurrent hops
 * are one. A hop that is still running at the answer does not count.
 */
export function countHops(cost: Cost, delayMs: number): Hop {
  return async (go) => {
    const link = cost.hops + 1;
    await new Promise((resolve) => setTimeout(resolve, delayMs));
    try {
      return await go();
    } finally {
      cost.hops = Math.max(cost.hops, link);
    }
  };
}

type Answer = { meta?: { rows_read?: number; rows_written?: number } };
type Known = { statement: D1PreparedStatement; sql: string };

type Trip = <T>(sqls: readonly string[], go: () => Promise<T>, answers: (result: T) => readonly Answer[]) => Promise<T>;

/** Makes trips, and adds each to the cost that is current at its start. A trip that D1 refuses counts as well. */
const countTrips =
  (current: () => Cost, hop: Hop): Trip =>
  async (sqls, go, answers) => {
    const cost = current();
    const entry = sqls.map((sql): StatementCost => ({ sql, rowsRead: 0, rowsWritten: 0 }));
    cost.trips.push(entry);
    const result = await hop(go).catch((refusal: unknown) => {
      cost.refused += 1;
      throw refusal;
    });
    for (const [i, { meta }] of answers(result).entries()) {
      const statement = entry[i];
      if (!statement) continue;
      statement.rowsRead = meta?.rows_read ?? 0;
      statement.rowsWritten = meta?.rows_written ?? 0;
    }
    return result;
  };

/** Adds every trip to the database to the cost that is current at its start. */
export function meterD1(d1: D1Database, current: () => Cost, hop: Hop = runDirectly): D1Database {
  const known = new WeakMap<object, Known>();
  const trip = countTrips(current, hop);
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
        current().unmetered += 1;
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

/** Wraps the database and calls `onRefusal` for every batch that it refuses. */
export const watchRefusals = (d1: D1Database, onRefusal: () => void): D1Database =>
  new Proxy(d1, {
    get(target, name) {
      const member = Reflect.get(target, name) as unknown;
      if (typeof member !== "function") return member;
      if (name !== "batch") return member.bind(target) as unknown;
      return (statements: D1PreparedStatement[]) =>
        target.batch(statements).catch((refusal: unknown) => {
          onRefusal();
          throw refusal;
        });
    },
  });

// ---- The meter of a test ---------------------------------------------------------------------------------------------

export type Reading = {
  trips: number;
  refused: number;
  statements: number;
  rowsRead: number;
  rowsWritten: number;
  sql: string[];
  /** The rows that each statement wrote. */
  written: number[];
};
export type Meter = {
  readonly d1: D1Database;
  /** The cost since the last reset. */
  readonly reading: Reading;
  reset(): void;
  /** Runs `work` right before the n-th trip from now, as another caller between two trips would. */
  beforeBatch(n: number, work: () => Promise<unknown>): void;
};

/** Bounds the memory of random histories, which make hundreds of thousands of trips and read no costs. */
const TRIPS_KEPT = 20_000;

/** Calls `onStatement` for every statement, even of trips that a reset discards. */
export function openMeter(d1: D1Database, onStatement: (sql: string) => void): Meter {
  let cost = newCost();
  let isTooMuch = false;
  let waiting: { left: number; work: () => Promise<unknown> } | null = null;
  const hop: Hop = async (go) => {
    for (const { sql } of cost.trips.at(-1) ?? []) onStatement(sql);
    if (cost.trips.length > TRIPS_KEPT) [cost, isTooMuch] = [newCost(), true];
    if (waiting && --waiting.left === 0) {
      const { work } = waiting;
      waiting = null;
      await work();
    }
    return go();
  };
  return {
    d1: meterD1(d1, () => cost, hop),
    get reading() {
      if (isTooMuch) throw new Error("a reading of more trips than a meter keeps");
      return readingOf(cost);
    },
    beforeBatch(n, work) {
      waiting = { left: n, work };
    },
    reset() {
      [cost, isTooMuch] = [newCost(), false];
    },
  };
}

export function readingOf({ trips, refused }: Cost): Reading {
  const each = trips.flat();
  return {
    trips: trips.length,
    refused,
    statements: each.length,
    rowsRead: sumOf(each, ({ rowsRead }) => rowsRead),
    rowsWritten: sumOf(each, ({ rowsWritten }) => rowsWritten),
    sql: each.map(({ sql }) => sql),
    written: each.map(({ rowsWritten }) => rowsWritten),
  };
}

export const sumOf = <T>(items: Iterable<T>, pick: (item: T) => number): number => {
  let sum = 0;
  for (const item of items) sum += pick(item);
  return sum;
};

// ---- Other bindings --------------------------------------------------------------------------------------------------

/** Wraps a binding and calls `onCall` for every call of a method. `inner` wraps the results of methods. */
export function watchCalls<T extends object>(target: T, onCall: () => void, inner?: (result: unknown) => unknown): T {
  return new Proxy(target, {
    get(object, name) {
      const member = Reflect.get(object, name) as unknown;
      if (typeof member !== "function") return member;
      return (...args: unknown[]) => {
        onCall();
        const result: unknown = Reflect.apply(member, object, args);
        return inner ? inner(result) : result;
      };
    },
  });
}

/** Each call of a stub counts as one request to that class's object; getting the stub does not count. */
export function meterObjects<T extends object>(namespace: T, name: string, cost: Cost, hop: Hop = runDirectly): T {
  const countCall = () => {
    cost.objects[name] = (cost.objects[name] ?? 0) + 1;
  };
  const isStub = (value: unknown): value is object => typeof value === "object" && value !== null && "id" in value;
  const metered = (stub: object) =>
    new Proxy(stub, {
      get(object, member) {
        const method = Reflect.get(object, member) as unknown;
        if (typeof method !== "function") return method;
        return (...args: unknown[]) => {
          countCall();
          return hop(async () => (await Reflect.apply(method, object, args)) as unknown);
        };
      },
    });
  return watchCalls(
    namespace,
    () => undefined,
    (result) => (isStub(result) ? metered(result) : result),
  );
}
