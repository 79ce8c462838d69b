// Backs the database up and restores it, as `wrangler d1 time-travel restore` does: every row is as it was, but the chain and the Durable Objects do
// not go back.
import { env, type Json } from "./world.ts";

type Backup = ReadonlyMap<string, readonly Json[]>;

const TABLES =
  "select name from sqlite_master where type = 'table' and name not like 'sqlite_%' and name not like '_cf_%' and name not like 'd1_%'";
const STATEMENTS = 200;

export async function backUp(): Promise<Backup> {
  const { results } = await env.DB.prepare(TABLES).all<{ name: string }>();
  const rows = await env.DB.batch<Json>(results.map(({ name }) => env.DB.prepare(`select * from "${name}"`)));
  return new Map(results.map(({ name }, i) => [name, rows[i]?.results ?? []]));
}

export async function restore(backup: Backup): Promise<void> {
  await env.DB.batch([...backup.keys()].map((name) => env.DB.prepare(`delete from "${name}"`)));
  const inserts = [...backup].flatMap(([name, rows]) =>
    rows.map((row) => {
      const columns = Object.keys(row);
      const text = `insert into "${name}" (${columns.join(", ")}) values (${columns.map(() => "?").join(", ")})`;
      return env.DB.prepare(text).bind(...Object.values(row));
    }),
  );
  for (let at = 0; at < inserts.length; at += STATEMENTS) await env.DB.batch(inserts.slice(at, at + STATEMENTS));
}
