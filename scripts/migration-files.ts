// Reads the committed migrations in order, split into statements.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const folder = join(import.meta.dirname, "..", "migrations");

export type Migration = { readonly name: string; readonly statements: readonly string[] };

export const migrationNames = (): string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith(".sql"))
    .sort();

export const readMigrations = (): Migration[] =>
  migrationNames().map((name) => ({
    name,
    statements: readFileSync(join(folder, name), "utf8").split("--> statement-breakpoint"),
  }));

/** Throws if migrations that this version does not have made the database, because no migration leads from there to here. */
export function assertKnown(applied: readonly string[]): void {
  const known = new Set(migrationNames());
  if (applied.every((name) => known.has(name))) return;
  throw new Error("this database was made by an earlier version: `npm run reset`");
}
