// Measures the size of the database: tables with their indexes, in whole pages, as SQLite itself counts them. D1 has no dbstat, so its rows are
// copied into a database that has it, in the order in which they were written.
import { createHash } from "node:crypto";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import type { Row, Stage } from "./stage.ts";

const OWN_TABLES =
  "name not like 'sqlite\\_%' escape '\\' and name not like '\\_cf%' escape '\\' and name not like 'd1\\_%' escape '\\'";

/** The bytes of all tables. */
export async function readBytes({ sql }: Stage): Promise<number> {
  const [schema = []] = await sql([
    { sql: `select type, name, sql from sqlite_master where sql is not null and ${OWN_TABLES} order by rowid` },
  ]);
  const copy = new DatabaseSync(":memory:");
  try {
    for (const { sql: text } of schema) copy.exec(String(text));
    for (const { type, name, sql: text } of schema)
      if (type === "table") await copyTable(sql, copy, String(name), String(text));
    const [size] = copy.prepare("select sum(s.pgsize) as bytes from dbstat s join sqlite_master m using (name)").all();
    return Number(size?.["bytes"]);
  } finally {
    copy.close();
  }
}

/**
 * The columns with the time of a row's writing; a table's first one counts. A WITHOUT ROWID table with none of them is filled in the order of hashes,
 * which is not the order of its keys.
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
    copy.prepare(into).run(...Object.values(row).map(toStoredValue));
  }
  copy.exec("commit");
}

function toStoredValue(value: unknown): SQLInputValue {
  if (typeof value === "number" || value === null) return value;
  // D1 returns a BLOB as an array of numbers, one for each byte.
  return Array.isArray(value) ? Uint8Array.from(value as number[]) : String(value);
}
