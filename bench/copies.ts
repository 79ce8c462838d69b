// Copies a real row many times within its table, as a history that must not change the cost of a call.
import type { Stage } from "./stage.ts";

/** `vary` has expressions over the row's columns and `n`, the number of the copy. */
export type Copies = {
  readonly table: string;
  /** Finds the row that is copied. */
  readonly where: string;
  readonly vary: Readonly<Record<string, string>>;
};

const AT_ONCE = 20_000;

export const otherId = (prefix: string): string => `'${prefix}_' || printf('%026d', n)`;

/** DIDs of copies, scattered over the keys as random ones are. The factor is odd, so no two of them are equal. */
export const scatteredDid = (did: string): string =>
  `'did:aeap:' || printf('%08x', n * 2654435761 % 4294967296) || '${did.slice("did:aeap:".length + 8)}'`;

/** Copies an agent with its documents and its certificate. `principalId` and the place in a status list are SQL expressions. */
export function copiesOfAgent(
  { did, principalId: owner }: { readonly did: string; readonly principalId: string },
  {
    principalId = `'${owner}'`,
    listId,
    idx,
  }: { readonly principalId?: string; readonly listId: number; readonly idx: string },
): Copies[] {
  const [where, copy] = [`did = '${did}'`, scatteredDid(did)];
  const documented = { did: copy, content: `replace(content, '${did}', ${copy})` };
  const jti = (column: string) => `${column} || '-' || n`;
  return [
    {
      table: "agents",
      where,
      vary: {
        did: copy,
        did_hash: "case did_hash when '' then '' else 'copy-' || n end",
        principal_id: principalId,
        certificate_jti: jti("certificate_jti"),
      },
    },
    { table: "aids", where, vary: documented },
    { table: "aid_versions", where, vary: { did: copy } },
    { table: "certificates", where, vary: { did: copy, jti: jti("jti"), list_id: String(listId), idx } },
  ];
}

/** Makes these copies sellers: copies the markets and vaults. */
export const copiesOfTrade = ({ did }: { readonly did: string }): Copies[] =>
  ["agent_markets", "escrows"].map((table) => ({ table, where: `did = '${did}'`, vary: { did: scatteredDid(did) } }));

/** Makes the copies `from` + 1 to `to`. Throws if there is no row to copy. */
export async function copyRows(
  { sql }: Stage,
  { table, where, vary }: Copies,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<void> {
  const [columns = [], models = []] = await sql([
    { sql: `select name, type, pk from pragma_table_info('${table}')` },
    { sql: `select count(*) as models from (select 1 from ${table} where ${where} limit 1)` },
  ]);
  if (models[0]?.["models"] !== 1) throw new Error(`the bench finds no row of ${table} to copy (${where})`);
  // The number that SQLite assigns is not copied.
  const drawn = columns.find(({ type, pk }) => pk === 1 && String(type).toLowerCase() === "integer");
  const names = columns.map(({ name }) => String(name)).filter((name) => name !== drawn?.["name"]);
  const picked = names.map((name) => vary[name] ?? `m."${name}"`).join(", ");
  const quoted = names.map((name) => `"${name}"`).join(", ");
  const count = { sql: `select count(*) as rows from ${table}` };
  const [before = []] = await sql([count]);
  for (let start = from; start < to; start += AT_ONCE) {
    const last = Math.min(to, start + AT_ONCE);
    // A copy is skipped if its key exists already, such as a place in a status list.
    const copies = `insert or ignore into ${table} (${quoted})
      with recursive numbers (n) as (select ${start + 1} union all select n + 1 from numbers where n < ${last})
      select ${picked} from (select * from ${table} where ${where} limit 1) m, numbers`;
    await sql([{ sql: copies }]);
  }
  const [after = []] = await sql([count]);
  const made = Number(after[0]?.["rows"]) - Number(before[0]?.["rows"]);
  if (made < (to - from) / 2) throw new Error(`of ${to - from} copies in ${table} ${made} arrived`);
}
