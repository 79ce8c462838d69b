// Migrations on a real D1 end with the columns and indexes of the tables, and refuse a database of an earlier version.
import { cpSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { getPlatformProxy } from "wrangler";
import { readMigrations } from "../../scripts/migration-files.ts";
import { loadOrCreateSecrets } from "../../scripts/secrets.ts";
import { copyOfProject, FREE_PORTS, launch } from "../scripts/commands.ts";

const folder = join(import.meta.dirname, "../../migrations");
type Snapshot = {
  tables: Record<string, { columns: Record<string, { name: string; notNull: boolean }>; indexes: object }>;
};
const newest = readdirSync(join(folder, "meta")).filter((name) => name.endsWith("_snapshot.json"));
const snapshot = JSON.parse(readFileSync(join(folder, "meta", newest.sort().at(-1) ?? ""), "utf8")) as Snapshot;

/** A Worker with only the database: wrangler would warn about Durable Objects that do not run here. */
const CONFIG = { name: "migrations", d1_databases: [{ binding: "DB", database_id: crypto.randomUUID() }] };

describe("the migrations", () => {
  const state = mkdtempSync(join(tmpdir(), "migrations-"));
  let proxy: Awaited<ReturnType<typeof getPlatformProxy<{ DB: D1Database }>>>;
  const rows = async (query: string) => (await proxy.env.DB.prepare(query).all<Record<string, unknown>>()).results;

  beforeAll(async () => {
    const configPath = join(state, "wrangler.json");
    writeFileSync(configPath, JSON.stringify({ ...CONFIG, compatibility_date: "2026-11-01" }));
    proxy = await getPlatformProxy<{ DB: D1Database }>({ configPath, persist: { path: state }, remoteBindings: false });
    for (const { statements } of readMigrations())
      await proxy.env.DB.batch(statements.map((statement) => proxy.env.DB.prepare(statement)));
  });
  afterAll(async () => {
    await proxy?.dispose();
    rmSync(state, { recursive: true, force: true });
  });

  it("create the columns and indexes that the tables define", async () => {
    for (const [table, { columns, indexes }] of Object.entries(snapshot.tables)) {
      const found = await rows(`select name, "notnull" from pragma_table_info('${table}') order by name`);
      const defined = Object.values(columns).map(({ name, notNull }) => ({ name, notnull: Number(notNull) }));
      expect([table, found]).toEqual([table, defined.toSorted((a, b) => (a.name < b.name ? -1 : 1))]);
      const made = await rows(
        `select name from sqlite_master where type = 'index' and sql is not null and tbl_name = '${table}'`,
      );
      expect(made.map(({ name }) => name).sort()).toEqual(Object.keys(indexes).sort());
    }
  });

  it("insert the first status list, and no other row", async () => {
    const filled = [];
    for (const table of Object.keys(snapshot.tables))
      filled.push(...(await rows(`select '${table}' as made, count(*) as number from "${table}" having number > 0`)));
    expect(filled).toEqual([{ made: "status_lists", number: 1 }]);
  });
});

describe("a database of an earlier version", () => {
  const MESSAGE = "this database was made by an earlier version: `npm run reset`";
  let copy = "";

  // Both databases of a project, created by a migration that this version does not have.
  beforeAll(async () => {
    copy = copyOfProject();
    const [current, earlier] = ["0000_tables.sql", "0000_earlier.sql"].map((name) => join(copy, "migrations", name));
    const secrets = join(copy, ".dev/secrets.json");
    await loadOrCreateSecrets(secrets);
    renameSync(`${current}`, `${earlier}`);
    const seeded = launch(process.execPath, ["scripts/database.ts", ".dev/state", secrets], { cwd: copy });
    expect(await seeded.ended).toBe(0);
    renameSync(`${earlier}`, `${current}`);
    cpSync(join(copy, ".dev/state"), join(copy, ".wrangler/state"), { recursive: true });
  });
  afterAll(() => rmSync(copy, { recursive: true, force: true }));

  it("ends `npm start` with a message that names the command to run", async () => {
    const command = launch(process.execPath, ["scripts/start.ts", ...FREE_PORTS], { cwd: copy, env: { DEV_DIR: "" } });
    expect(await command.ended).toBe(1);
    expect(command.errors().trimEnd().endsWith(MESSAGE)).toBe(true);
  });

  it("ends `wrangler dev` with the same message", async () => {
    const wrangler = join(copy, "node_modules/wrangler/bin/wrangler.js");
    const command = launch(process.execPath, [wrangler, "dev", "--port", "0"], { cwd: copy });
    expect(await command.ended).toBe(1);
    expect(command.output()).toContain(MESSAGE);
  });
});
