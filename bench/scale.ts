// The scaling part (performance design 4.1): every case again at 1,000 and at 20,000 rows of history. What a call reads may
// depend on its page, never on the table, the consumer's history or the provider's.
import type { Play } from "./play.ts";
import type { Row, Stage } from "./stage.ts";

export const SIZES = [1_000, 20_000] as const;
const CHUNK = 5_000;

/** Copies of one row of a table; the columns that must differ are expressions over `n`, the copy's number. */
type Copies = { table: string; of: (play: Play) => string; vary: Record<string, string> };

const EARLIER = (column: string) => `${column} - 1000 * n`;
const OTHER_DID = "'did:aeap:00000000-0000-4000-8000-' || printf('%012d', n)";
const other = (prefix: string) => `'${prefix}_' || printf('%026d', n)`;
const HASH = "'0x' || printf('%064d', n)";
const ONE_OF_ALL = () => "true";

const COPIES: readonly Copies[] = [
  // The platform's tables: what a page is a page of.
  {
    table: "principals",
    of: ({ principalId }) => `principal_id = '${principalId}'`,
    vary: { principal_id: other("prn"), external_ref: "'old-' || n", name_folded: "'old ' || n" },
  },
  {
    table: "agents",
    of: ({ provider }) => `did = '${provider.did}'`,
    vary: { did: OTHER_DID, created_at: EARLIER("created_at") },
  },
  { table: "aids", of: ({ provider }) => `did = '${provider.did}'`, vary: { did: OTHER_DID } },
  { table: "events", of: ONE_OF_ALL, vary: { id: other("evt"), occurred_at: EARLIER("occurred_at") } },
  { table: "activity_entries", of: ONE_OF_ALL, vary: { id: other("act"), occurred_at: EARLIER("occurred_at") } },
  { table: "directory_changes", of: ONE_OF_ALL, vary: { seq: "seq - 1000000 - n" } },
  { table: "idempotency_outcomes", of: ONE_OF_ALL, vary: { request_key: "'old-' || n" } },
  // The history of the two agents that trade.
  {
    table: "aid_versions",
    of: ({ provider }) => `did = '${provider.did}'`,
    vary: { version: "1000000 + n" },
  },
  {
    table: "certificates",
    of: ({ provider }) => `did = '${provider.did}'`,
    vary: { jti: other("crt"), replaced_at: "issued_at", status_list_idx: "10000000 + n" },
  },
  {
    table: "payment_intents",
    of: ({ consumer }) => `consumer_did = '${consumer.did}' and status = 'SETTLED'`,
    vary: { intent_id: other("pin"), created_at: EARLIER("created_at"), expires_at: EARLIER("expires_at") },
  },
  {
    table: "transactions",
    of: ({ consumer }) => `consumer_did = '${consumer.did}'`,
    vary: {
      transaction_id: other("fac"),
      intent_id: other("pin"),
      task_id: other("tsk"),
      tx_hash: HASH,
      settlement_id: "'old-' || n",
      settled_at: EARLIER("settled_at"),
    },
  },
  {
    table: "tasks",
    of: ({ consumer }) => `consumer_did = '${consumer.did}' and status = 'confirmed'`,
    vary: { task_id: other("tsk"), transaction_id: other("fac"), opened_at: EARLIER("opened_at") },
  },
  {
    table: "spend_ledger",
    of: ({ consumer }) => `did = '${consumer.did}'`,
    vary: { at: EARLIER("at") },
  },
  ...(["provider", "consumer"] as const).map(
    (side): Copies => ({
      table: "rating_counterparties",
      of: (play) => `did = '${play[side].did}'`,
      vary: { counterparty_principal_id: other("prn"), weight: "weight / (n + 1)", weighted: "weighted / (n + 1)" },
    }),
  ),
];

/** Fills every table from `from` to `to` copies. */
export async function fillTo(play: Play, from: number, to: number): Promise<string[]> {
  const empty: string[] = [];
  for (const copies of COPIES) {
    const [found = []] = await play.stage.sql([
      { sql: `select * from ${copies.table} where ${copies.of(play)} order by 1 limit 1` },
    ]);
    const [model] = found;
    if (model) await copy(play.stage, copies, model, from, to);
    else empty.push(copies.table);
  }
  return empty;
}

async function copy(stage: Stage, { table, vary }: Copies, model: Row, from: number, to: number): Promise<void> {
  const columns = Object.keys(model);
  const picked = columns.map((column) => vary[column] ?? column).join(", ");
  // The model's own values as a one-row table, so that an expression over a column means the model's.
  const values = columns.map((column) => `json_extract(?1, '$.${column}') as ${column}`).join(", ");
  const sql = `insert into ${table} (${columns.join(", ")})
    select ${picked} from (select ${values}), (select value as n from json_each(?2))`;
  for (let start = from; start < to; start += CHUNK) {
    const numbers = Array.from({ length: Math.min(CHUNK, to - start) }, (_, i) => start + i + 1);
    await stage.sql([{ sql, params: [JSON.stringify(model), JSON.stringify(numbers)] }]);
  }
}
