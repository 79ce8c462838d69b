// Generates migrations from src/db/tables/ with drizzle-kit and makes new tables WITHOUT ROWID, which drizzle-kit cannot say. `--check`
// exits non-zero when the committed migrations are behind the tables.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const folder = join(root, "migrations");
const journalFile = join(folder, "meta", "_journal.json");
/**
 * Tables with a rowid: those of large texts, because a row without one keeps about 1,000 bytes in its page and takes a whole page of 4 KiB
 * for more, and those whose number is their rowid.
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
const check = process.argv.includes("--check");

const before = new Set(list());
const journal = existsSync(journalFile) ? readFileSync(journalFile, "utf8") : null;
const run = spawnSync(process.execPath, [join(root, "node_modules/drizzle-kit/bin.cjs"), "generate"], {
  cwd: root,
  encoding: "utf8",
});
// drizzle-kit exits with 0 also after an error, such as a question that nobody can answer.
if (run.status !== 0 || !/No schema changes|Your SQL migration file/.test(run.stdout)) {
  process.stderr.write(`${run.stdout}${run.stderr}`);
  process.exit(1);
}

const added = list().filter((name) => !before.has(name));
if (check && added.length > 0) {
  for (const name of added) {
    rmSync(join(folder, name));
    rmSync(join(folder, "meta", `${name.slice(0, 4)}_snapshot.json`), { force: true });
  }
  if (journal !== null) writeFileSync(journalFile, journal);
  console.error("migrations are behind src/db/tables/: run `npm run generate`");
  process.exit(1);
}

for (const name of added) {
  const path = join(folder, name);
  const created = readFileSync(path, "utf8").replace(
    /^CREATE TABLE `(\w+)` \([^;]*?^\)/gm,
    (statement, table: string) =>
      WITH_ROWID.has(table.replace(/^__new_/, "")) ? statement : `${statement} WITHOUT ROWID`,
  );
  writeFileSync(path, created);
  console.log(`migrations/${name}`);
}

function list(): string[] {
  return existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith(".sql")) : [];
}
