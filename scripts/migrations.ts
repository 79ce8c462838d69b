// Generates a migration from src/db/tables/ with drizzle-kit and makes new tables WITHOUT ROWID, which drizzle-kit cannot express. The argument names
// the migration by its effect: `npm run migration -- add_nickname_to_customers`. `--check` exits with 1 if a change of the tables has no migration,
// or a migration's name does not begin with a verb.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { migrationNames } from "./migration-files.ts";

const root = join(import.meta.dirname, "..");
const folder = join(root, "migrations");
const journalFile = join(folder, "meta", "_journal.json");
/**
 * Tables with a rowid: tables whose number is their rowid, and tables of large texts, because a row without a rowid keeps about 1,000 bytes in its
 * page and takes a whole page of 4 KiB for the rest.
 */
const WITH_ROWID: ReadonlySet<string> = new Set([
  "aids",
  "aid_versions",
  "dispute_awards",
  "events",
  "operator_entries",
  "receipts",
  "status_lists",
  "webhook_deliveries",
]);
const NAME = /^(?:tables|(?:add|change|drop|fill|index|merge|move|rename|split)(?:_[a-z\d]+)+)$/;
const [given = ""] = process.argv.slice(2);
const name = given === "--check" ? "" : given;
const unnamed = [...migrationNames().map((file) => file.slice(5, -4)), ...(name ? [name] : [])].filter(
  (known) => !NAME.test(known),
);
if (unnamed.length > 0) {
  console.error(`a migration is named by what it does, such as add_nickname_to_customers: ${unnamed.join(", ")}`);
  process.exit(1);
}

const before = new Set(migrationNames());
const journal = existsSync(journalFile) ? readFileSync(journalFile, "utf8") : null;
const run = spawnSync(
  process.execPath,
  [join(root, "node_modules/drizzle-kit/bin.cjs"), "generate", ...(name ? ["--name", name] : [])],
  {
    cwd: root,
    encoding: "utf8",
  },
);
// drizzle-kit exits with 0 even after an error, such as a question that has no answer here.
if (run.status !== 0 || !/No schema changes|Your SQL migration file/.test(run.stdout)) {
  process.stderr.write(`${run.stdout}${run.stderr}`);
  process.exit(1);
}

const added = migrationNames().filter((file) => !before.has(file));
if (!name && added.length > 0) {
  for (const file of added) {
    rmSync(join(folder, file));
    rmSync(join(folder, "meta", `${file.slice(0, 4)}_snapshot.json`), { force: true });
  }
  if (journal !== null) writeFileSync(journalFile, journal);
  console.error("src/db/tables/ has changed: run `npm run migration -- <what it does>`");
  process.exit(1);
}

for (const file of added) {
  const path = join(folder, file);
  const created = readFileSync(path, "utf8").replace(
    /^CREATE TABLE `(\w+)` \([^;]*?^\)/gm,
    (statement, table: string) =>
      WITH_ROWID.has(table.replace(/^__new_/, "")) ? statement : `${statement} WITHOUT ROWID`,
  );
  writeFileSync(path, created);
  console.log(`migrations/${file}`);
}
