// Reads every row of every table. A reading is kept until something is written, so that two readings around a refusal cost one.
import { abortAllDurableObjects } from "cloudflare:test";
import { env, type Json } from "./world.ts";

export type Table = { readonly name: string; readonly key: readonly string[]; readonly rows: readonly Json[] };

/** SQLite's count of changed rows since the object of the database started, including writes that were rolled back. */
const CHANGES = "select total_changes() as changes";
const TABLES = `select m.name as "table", c.name as "column", c.pk from sqlite_master m join pragma_table_info(m.name) c
  where m.type = 'table' and m.name not like 'sqlite_%' and m.name not like '_cf_%' and m.name not like 'd1_%'
  order by m.name, c.pk`;

type Keys = ReadonlyMap<string, readonly string[]>;
let keys: Keys | undefined;
let kept: { readonly changes: number; readonly tables: readonly Table[] } | undefined;

/** Several readings may share the rows, so they must not be changed. */
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

/** Forgets all readings, because another file has another database. */
export function forgetReadings(): void {
  keys = undefined;
  kept = undefined;
}

/** Restarts the objects as a crash of the runtime would: each loses its memory and starts again from its storage. */
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
