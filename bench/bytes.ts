// Measures how large the database grows: the bytes of each table with its indexes, in whole pages, as SQLite itself accounts for them.
// D1 has no dbstat, so its rows are copied into a database that has it, in the order in which they were written.
import { createHash } from "node:crypto";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import type { Row, Stage } from "./stage.ts";

export type TableBytes = ReadonlyMap<string, number>;
/** Tables that are counted apart: their rows are deleted after a while, or delivered. */
export const APART: readonly string[] = ["events", "idempotency_outcomes"];
export type Grown = {
  readonly act: string;
  readonly times: number;
  /** Bytes of one act by table, the largest first. */
  readonly tables: readonly (readonly [table: string, bytes: number])[];
};

const OWN_TABLES =
  "name not like 'sqlite\\_%' escape '\\' and name not like '\\_cf%' escape '\\' and name not like 'd1\\_%' escape '\\'";

export async function readBytes({ sql }: Stage): Promise<TableBytes> {
  const [schema = []] = await sql([
    { sql: `select type, name, sql from sqlite_master where sql is not null and ${OWN_TABLES} order by rowid` },
  ]);
  const copy = new DatabaseSync(":memory:");
  try {
    for (const { sql: text } of schema) copy.exec(String(text));
    for (const { type, name, sql: text } of schema)
      if (type === "table") await copyTable(sql, copy, String(name), String(text));
    const sizes = copy
      .prepare(
        "select m.tbl_name as name, sum(s.pgsize) as bytes from dbstat s join sqlite_master m using (name) group by 1",
      )
      .all();
    return new Map(sizes.map(({ name, bytes }) => [String(name), Number(bytes)]));
  } finally {
    copy.close();
  }
}

/**
 * The columns that say when a row was written, of which a table's first one counts. A WITHOUT ROWID table that has none is filled in the
 * order of hashes, which is no order of its keys.
 */
const TIMES = ["created_at", "occurred_at", "recorded_at", "issued_at", "settled_at", "opened_at", "at"];

async function copyTable(sql: Stage["sql"], copy: DatabaseSync, table: string, text: string): Promise<void> {
  const [rows = []] = await sql([
    { sql: `select * from ${table}${/without rowid/i.test(text) ? "" : " order by rowid"}` },
  ]);
  const time = TIMES.find((name) => rows[0] && name in rows[0]);
  const keyOf = (row: Row): string => createHash("sha256").update(JSON.stringify(row)).digest("hex");
  const keyed = rows.map((row) => ({ row, key: keyOf(row), at: time === undefined ? 0 : Number(row[time]) }));
  if (/without rowid/i.test(text)) keyed.sort((a, b) => a.at - b.at || (a.key < b.key ? -1 : 1));
  copy.exec("begin");
  for (const { row } of keyed) {
    const names = Object.keys(row).map((name) => `"${name}"`);
    const into = `insert into ${table} (${names.join(", ")}) values (${names.map(() => "?").join(", ")})`;
    copy.prepare(into).run(...Object.values(row).map(stored));
  }
  copy.exec("commit");
}

function stored(value: unknown): SQLInputValue {
  if (typeof value === "number" || value === null) return value;
  // D1 returns a BLOB as its bytes, as numbers.
  return Array.isArray(value) ? Uint8Array.from(value as number[]) : String(value);
}

/** The bytes that `times` repetitions of an act have added. */
export function grownBy(act: string, times: number, before: TableBytes, after: TableBytes): Grown {
  const tables = [...after].map(([table, bytes]) => [table, (bytes - (before.get(table) ?? 0)) / times] as const);
  return { act, times, tables: tables.filter(([, bytes]) => bytes > 0).sort(([, a], [, b]) => b - a) };
}

export const bytesOf = ({ tables }: Grown): number =>
  tables.reduce((sum, [table, bytes]) => (APART.includes(table) ? sum : sum + bytes), 0);
