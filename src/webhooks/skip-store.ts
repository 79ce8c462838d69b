// Walks over the endpoints that have rows in a table whose key begins with the endpoint's id, without reading those rows.
import { type SQL, sql } from "drizzle-orm";
import { type Database, type Read, read } from "../db/batch.ts";

/** `oldest`: the least of the aggregates. `looked`: the last endpoint that was looked at; null after the last of all. */
export type SkipResult = { readonly ids: string[]; readonly oldest: number | null; readonly looked: string | null };

/** At most `limit` endpoints after `after`, each with an aggregate of its rows. Those whose aggregate is null are skipped. */
export const skipEndpoints = (table: SQL, holds: SQL, after: string, limit: number) => ({
  limit,
  from: sql`(with recursive ids (id, n) as (
      select (select min(webhook_id) from ${table} where webhook_id > ${after}), 1
      union all
      select (select min(webhook_id) from ${table} where webhook_id > id), n + 1 from ids where id is not null and n < ${limit})
    select id, (select ${holds} from ${table} where webhook_id = id) as holds from ids where id is not null)`,
});

export const readSkipped = (db: Database, { from, limit }: ReturnType<typeof skipEndpoints>): Read<SkipResult> =>
  read(db.select({ id: sql<string>`id`, holds: sql<number | null>`holds` }).from(from), (rows) => ({
    ids: rows.flatMap(({ id, holds }) => (holds === null ? [] : [id])),
    oldest: rows.reduce<number | null>(
      (least, { holds }) => (holds === null ? least : Math.min(least ?? holds, holds)),
      null,
    ),
    looked: rows.length < limit ? null : (rows.at(-1)?.id ?? null),
  }));
