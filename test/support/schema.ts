// Runs in Node: prints from the migrations the statements that create the newest version's database at once. The migrations themselves are tested by
// test/db/migrations.node.test.ts.
import { DatabaseSync } from "node:sqlite";
import { readMigrations } from "../../scripts/migration-files.ts";

type Row = Record<string, string | number | bigint | null | Uint8Array>;

/** Tables, then the rows that migrations insert, then indexes and triggers. */
export function printSchema(): string[] {
  const database = new DatabaseSync(":memory:");
  for (const { statements } of readMigrations()) for (const statement of statements) database.exec(statement);
  const made = database
    .prepare("select type, name, sql from sqlite_master where sql is not null and name not like 'sqlite_%'")
    .all() as { type: string; name: string; sql: string }[];
  const tables = made.filter(({ type }) => type === "table");
  const rows = tables.flatMap(({ name }) =>
    (database.prepare(`select * from "${name}"`).all() as Row[]).map((row) => insertOf(name, row)),
  );
  database.close();
  return [
    ...tables.map(({ sql }) => sql),
    ...rows,
    ...made.filter(({ type }) => type !== "table").map(({ sql }) => sql),
  ];
}

function insertOf(table: string, row: Row): string {
  const columns = Object.keys(row).map((column) => `"${column}"`);
  return `insert into "${table}" (${columns.join(", ")}) values (${Object.values(row).map(literalOf).join(", ")})`;
}

function literalOf(value: Row[string] | undefined): string {
  if (value === null || value === undefined) return "null";
  if (typeof value === "string") return `'${value.replaceAll("'", "''")}'`;
  if (value instanceof Uint8Array) return `x'${Buffer.from(value).toString("hex")}'`;
  return String(value);
}
