// Runs before `wrangler dev` bundles the Worker, and stops it if an earlier version made the local database: wrangler would serve that database, and
// every call would fail. A folder without a database passes.
import { globSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { assertKnown } from "./migration-files.ts";

const DATABASES = join(import.meta.dirname, "..", ".wrangler/state/v3/d1/**/*.sqlite");

function readAppliedMigrations(file: string): string[] {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const rows = database.prepare("select name from pragma_table_list where name = 'd1_migrations'").all();
    if (rows.length === 0) return [];
    return database
      .prepare("select name from d1_migrations")
      .all()
      .map(({ name }) => String(name));
  } finally {
    database.close();
  }
}

try {
  for (const file of globSync(DATABASES)) assertKnown(readAppliedMigrations(file));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}
