// One trip to read, one trip to write. A read is a query with a mapping of its rows; many reads are one D1 batch. A write is a list of statements; a
// commit is one atomic batch, and `mustChange` makes it all or nothing.
import { getTableColumns, type InferSelectModel, type SQL, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import { Conflict } from "../core/retry.ts";
import { compileOnce } from "./compiled.ts";
import type { Database, PlainStatement, Read, RowsQuery, Statement } from "./statement.ts";

export type { Database, PlainStatement, Read, Statement } from "./statement.ts";

export type Condition = SQL;

export type Reads = { readonly [name: string]: Read<unknown> | undefined };
export type ReadResults<R extends Reads> = {
  -readonly [K in keyof R]: NonNullable<R[K]> extends Read<infer T> ? T : never;
};

export const openDatabase = (d1: D1Database): Database => drizzle(d1, { casing: "snake_case" });

/** Reads from the nearest copy, which may be a replica. Within one request, a read is never older than an earlier read. */
export function openNearest(d1: D1Database): Database {
  const session = d1.withSession("first-unconstrained");
  return openDatabase({
    prepare: (sql) => session.prepare(sql),
    batch: (statements) => session.batch(statements),
    exec: (sql) => d1.exec(sql),
    dump: () => d1.dump(),
    withSession: (constraint) => d1.withSession(constraint),
  });
}

export function read<Row, T>(query: RowsQuery<Row>, map: (rows: Row[]) => T): Read<T> {
  return { statement: query, map };
}
export const readAll = <Row>(query: RowsQuery<Row>): Read<Row[]> => read(query, (rows: Row[]) => rows);
export const readOne = <Row>(query: RowsQuery<Row>): Read<Row | null> => read(query, (rows: Row[]) => rows[0] ?? null);

export function countStatements(db: Database): { readonly db: Database; readonly sent: () => number } {
  let sent = 0;
  const batch: Database["batch"] = (statements) => {
    sent += statements.length;
    return db.batch(statements);
  };
  return { db: Object.create(db, { batch: { value: batch } }) as Database, sent: () => sent };
}

type GatheredBatch = { readonly statements: readonly PlainStatement[] } & PromiseWithResolvers<unknown[]>;

/**
 * Wraps a database for readings that start at the same time, and sends their first batches as one. If that batch fails, it sends each of them alone,
 * so that one bad reading does not fail the others. The first batches must be safe to send twice.
 */
export function gatherFirstReads(db: Database): Database {
  const send = (statements: readonly PlainStatement[]) =>
    db.batch(statements as [PlainStatement]) as Promise<unknown[]>;
  const first: GatheredBatch[] = [];
  let isSent = false;
  const sendFirst = async () => {
    isSent = true;
    try {
      const results = await send(first.flatMap(({ statements }) => statements));
      let at = 0;
      for (const { statements, resolve } of first) {
        resolve(results.slice(at, at + statements.length));
        at += statements.length;
      }
    } catch {
      for (const { statements, resolve, reject } of first) send(statements).then(resolve, reject);
    }
  };
  const batch = (statements: readonly PlainStatement[]) => {
    if (isSent) return send(statements);
    if (first.length === 0) queueMicrotask(sendFirst);
    const one = { statements, ...Promise.withResolvers<unknown[]>() };
    first.push(one);
    return one.promise;
  };
  return Object.create(db, { batch: { value: batch } }) as Database;
}

/** Puts a write inside a batch of reads, for rows that no decision depends on. */
export const toWriteRead = (statement: PlainStatement): Read<null> => ({ statement, map: () => null });

/** Runs all reads in one batch: one trip, one consistent view. */
export async function readBatch<R extends Reads>(db: Database, reads: R): Promise<ReadResults<R>> {
  const names = Object.keys(reads);
  const [first, ...rest] = names.map((name) => (reads[name] as Read<unknown>).statement);
  if (!first) return {} as ReadResults<R>;
  const results = (await db.batch([first, ...rest])) as unknown[];
  const mapped = names.map((name, i) => [name, (reads[name] as Read<unknown>).map(results[i])]);
  return Object.fromEntries(mapped) as ReadResults<R>;
}

/** Runs two sets of reads in one trip: those of the surface, and those that the service requested. */
export async function readTogether<A extends Reads, B extends Reads>(
  db: Database,
  own: A,
  asked: B,
): Promise<[ReadResults<A>, ReadResults<B>]> {
  const prefixed = Object.fromEntries([
    ...Object.entries(own).map(([name, query]) => [`own ${name}`, query] as const),
    ...Object.entries(asked).map(([name, query]) => [`asked ${name}`, query] as const),
  ]);
  const found = await readBatch(db, prefixed);
  const part = (prefix: string, reads: Reads) =>
    Object.fromEntries(
      Object.keys(reads).map((name) => [name, (found as Record<string, unknown>)[`${prefix} ${name}`]]),
    );
  return [part("own", own) as ReadResults<A>, part("asked", asked) as ReadResults<B>];
}

type Present<R> = { [K in keyof R as null extends R[K] ? never : K]: R[K] } & {
  [K in keyof R as null extends R[K] ? K : never]?: NonNullable<R[K]>;
};
export const dropAbsentReads = <R extends Record<string, Read<unknown> | null>>(reads: R): Present<R> =>
  Object.fromEntries(Object.entries(reads).filter(([, query]) => query !== null)) as Present<R>;

/**
 * The statement, and a guard that fails the whole batch unless the statement changed this number of rows, or at least one. The guard reads no row:
 * SQLite raises the error of malformed JSON only in the branch taken.
 */
export const mustChange = (db: Database, statement: Statement, rows?: number): Statement[] => [
  statement,
  rows === undefined ? guardChanged(db, {}) : guardChangedRows(db, { rows }),
];

/** Fails the whole batch unless the condition holds at its place in the batch. */
export const guard = (db: Database, condition: SQL) =>
  // Uses the query builder, because Drizzle cannot put a raw query with parameters into a batch.
  db.select({ kept: sql`json(case when ${condition} then '1' else 'guard' end)` }).from(sql`(select 1)`);

export const CHANGED_ROWS = sql`changes()`;

const guardChanged = compileOnce((db) => guard(db, sql`${CHANGED_ROWS} > 0`));
const guardChangedRows = compileOnce((db) => guard(db, sql`${CHANGED_ROWS} = ${sql.placeholder("rows")}`));

/** Runs one atomic batch. Throws Conflict when a guard or a unique key refused. */
export async function commit(db: Database, statements: readonly Statement[]): Promise<void> {
  const [first, ...rest] = statements.map((one) => ("statement" in one ? one.statement : one));
  if (!first) return;
  try {
    await db.batch([first, ...rest]);
  } catch (cause) {
    if (isConflict(cause)) throw new Conflict(cause);
    throw cause;
  }
}

function isConflict(cause: unknown): boolean {
  for (let error = cause; error instanceof Error; error = error.cause) {
    if (/malformed JSON|UNIQUE constraint failed/.test(error.message)) return true;
  }
  return false;
}

type Aliased<T extends SQLiteTable> = { [K in keyof InferSelectModel<T>]: SQL.Aliased<InferSelectModel<T>[K]> };

/**
 * Selects every column of a table under a prefixed name, for joins: a D1 batch answers rows as objects, so two columns of one name (`status` of the
 * agent and of its principal) would become one.
 */
export function aliasColumns<T extends SQLiteTable>(table: T, prefix: string): Aliased<T> {
  const columns = Object.entries(getTableColumns(table)).map(([name, column]) => [
    name,
    sql`${column}`.mapWith(column).as(`${prefix}_${name}`),
  ]);
  return Object.fromEntries(columns) as Aliased<T>;
}

/** Selects all columns of a row as one JSON array, because a query pays for each column of its result. */
export const toValuesArray = (table: SQLiteTable): SQL =>
  sql`json_array(${sql.join(
    Object.values(getTableColumns(table)).map((column) => sql`${column}`),
    sql`, `,
  )})`;

export function decodeRow<T extends SQLiteTable>(table: T, values: readonly unknown[]): InferSelectModel<T> {
  const entries = Object.entries(getTableColumns(table)).map(([name, column], at) => {
    const value = values[at];
    return [name, value === null ? null : column.mapFromDriverValue(value)];
  });
  return Object.fromEntries(entries) as InferSelectModel<T>;
}
