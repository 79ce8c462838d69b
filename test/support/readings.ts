// Every row of every table. A reading is kept until something is written, so that two readings around a refusal cost one.
import { abortAllDurableObjects } from "cloudflare:test";
import { env, type Json } from "./world.ts";

export type Table = { readonly name: string; readonly key: readonly string[]; readonly rows: readonly Json[] };

/** SQLite's count of changed rows since the object of the database started: a write that is taken back counts as well. */
const CHANGES = "select total_changes() as changes";
const TABLES = `select m.name as "table", c.name as "column", c.pk from sqlite_master m join pragma_table_info(m.name) c
  where m.type = 'table' and m.name not like 'sqlite_%' and m.name not like '_cf_%' and m.name not like 'd1_%'
  order by m.name, c.pk`;

type Keys = ReadonlyMap<string, readonly string[]>;
let keys: Keys | undefined;
let kept: { readonly changes: number; readonly tables: readonly Table[] } | undefined;

/** The rows may be shared by several readings: they are not to be changed. */
export async function readDatabase(): Promise<readonly Table[]> {
  if (kept && (await changesSoFar()) === kept.changes) return kept.tables;
  keys ??= await readKeys();
  const names = [...keys.keys()];
  const [count, ...all] = await env.DB.batch<Json>(
    [CHANGES, ...names.map((name) => `select * from "${name}"`)].map((sql) => env.DB.prepare(sql)),
  );
  const tables = [...keys].map(([name, key], i) => ({ name, key, rows: all[i]?.results ?? [] }));
  kept = { changes: count?.results[0]?.changes, tables };
  return tables;
}

/** What a file read of its own database says nothing about another's. */
export function forgetReadings(): void {
  keys = undefined;
  kept = undefined;
}

/** As a crash of the runtime would: each object loses its memory and begins again from its storage. */
export async function restartObjects(): Promise<void> {
  kept = undefined;
  await abortAllDurableObjects();
}

const changesSoFar = async (): Promise<number | undefined> =>
  (await env.DB.prepare(CHANGES).first<{ changes: number }>())?.changes;

async function readKeys(): Promise<Keys> {
  const { results } = await env.DB.prepare(TABLES).all<{ table: string; column: string; pk: number }>();
  const columns = new Map<string, string[]>();
  for (const { table, column, pk } of results) {
    const key = columns.get(table) ?? [];
    if (pk > 0) key.push(column);
    columns.set(table, key);
  }
  return columns;
}
