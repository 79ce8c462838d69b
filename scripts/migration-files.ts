// Reads the committed migrations in order, split into statements.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const folder = join(import.meta.dirname, "..", "migrations");

export type Migration = { readonly name: string; readonly statements: readonly string[] };

export function readMigrations(): Migration[] {
  const names = readdirSync(folder).filter((name) => name.endsWith(".sql"));
  return names.sort().map((name) => ({
    name,
    statements: readFileSync(join(folder, name), "utf8").split("--> statement-breakpoint"),
  }));
}
