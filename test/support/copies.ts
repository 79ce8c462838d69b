// Copies a stored row many times, as a history.
import { env, type Json } from "./world.ts";

/** The DID of the n-th copy of an agent. */
export const copyDid = (did: string, n: number): string =>
  `did:aeap:${n.toString(16).padStart(8, "0")}${did.slice("did:aeap:".length + 8)}`;
/** The copy's DID as an SQL expression over the row `t` and `i`. */
export const COPY_DID = "'did:aeap:' || printf('%08x', i) || substr(t.did, 18)";

/** `changed` has expressions over the row `t` and `i`, the number of the copy, from `from` + 1 to `to`. */
export async function copyRow(
  table: string,
  where: string,
  changed: Readonly<Record<string, string>>,
  { from = 0, to }: { readonly from?: number; readonly to: number },
): Promise<void> {
  const info = await env.DB.prepare(`select name, type, pk from pragma_table_info('${table}')`).all<Json>();
  // SQLite assigns the number of a copy itself.
  const names = info.results
    .filter(({ pk, type }) => pk !== 1 || String(type).toLowerCase() !== "integer")
    .map(({ name }) => String(name));
  const values = names.map((name) => changed[name] ?? `t.${name}`).join(", ");
  await env.DB.prepare(
    `insert into ${table} (${names.join(", ")}) with recursive n(i) as (select ? + 1 union all select i + 1 from n where i < ?)
     select ${values} from n, (select * from ${table} where ${where} limit 1) t`,
  )
    .bind(from, to)
    .run();
}
