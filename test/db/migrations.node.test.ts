// Migrations on a real D1: a database of an earlier version keeps its content and ends with the columns and indexes of
// the tables.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { devNull, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { getPlatformProxy } from "wrangler";

const root = join(import.meta.dirname, "../..");
const folder = join(root, "migrations");
const files = readdirSync(folder)
  .filter((name) => name.endsWith(".sql"))
  .sort();
type Snapshot = {
  tables: Record<string, { columns: Record<string, { name: string; notNull: boolean }>; indexes: object }>;
};
const newest =
  readdirSync(join(folder, "meta"))
    .filter((name) => name.endsWith("_snapshot.json"))
    .sort()
    .at(-1) ?? "";
const snapshot = JSON.parse(readFileSync(join(folder, "meta", newest), "utf8")) as Snapshot;

let proxy: Awaited<ReturnType<typeof getPlatformProxy<{ DB: D1Database }>>>;
const state = mkdtempSync(join(tmpdir(), "migrations-"));
const db = () => proxy.env.DB;
const rows = async (query: string) => (await db().prepare(query).all<Record<string, unknown>>()).results;

async function apply(file: string): Promise<void> {
  const statements = readFileSync(join(folder, file), "utf8").split("--> statement-breakpoint");
  await db().batch(statements.map((statement) => db().prepare(statement)));
}

async function insert(table: string, ...values: Record<string, unknown>[]): Promise<void> {
  const statements = values.map((row) => {
    const names = Object.keys(row);
    const places = names.map(() => "?").join(", ");
    return db()
      .prepare(`insert into ${table} (${names.join(", ")}) values (${places})`)
      .bind(...Object.values(row));
  });
  await db().batch(statements);
}

beforeAll(async () => {
  proxy = await getPlatformProxy<{ DB: D1Database }>({
    configPath: join(root, "wrangler.toml"),
    persist: { path: state },
    envFiles: [devNull],
    remoteBindings: false,
  });
}, 60_000);
afterAll(async () => {
  await proxy?.dispose();
  rmSync(state, { recursive: true, force: true });
});

describe("a database of the first version", () => {
  beforeAll(async () => {
    await apply(files[0] ?? "");
    await insertFirstVersion();
    for (const file of files.slice(1)) await apply(file);
  }, 60_000);

  it("has the columns and indexes that the tables say", async () => {
    for (const [table, { columns, indexes }] of Object.entries(snapshot.tables)) {
      const found = await rows(`select name, "notnull" from pragma_table_info('${table}') order by name`);
      const wanted = Object.values(columns).map(({ name, notNull }) => ({ name, notnull: Number(notNull) }));
      expect([table, found]).toEqual([table, wanted.toSorted((a, b) => (a.name < b.name ? -1 : 1))]);
      const made = await rows(
        `select name from sqlite_master where type = 'index' and sql is not null and tbl_name = '${table}'`,
      );
      expect(made.map(({ name }) => name).sort()).toEqual(Object.keys(indexes).sort());
    }
    expect(await rows("select name from sqlite_master where name like 'old!_%' escape '!'")).toEqual([]);
  });

  it("keeps its agents, with the whole chain of their delegators", async () => {
    const chains = await rows("select did, delegators, intents_from from agents order by did");
    expect(chains).toEqual([
      { did: "did:a", delegators: "[]", intents_from: "anyone" },
      { did: "did:b", delegators: '["did:a"]', intents_from: "anyone" },
      { did: "did:c", delegators: '["did:b","did:a"]', intents_from: "anyone" },
      { did: "did:draft", delegators: "[]", intents_from: "anyone" },
    ]);
    expect(await rows("select * from spend_sums")).toEqual([
      { did: "did:a", environment: "sandbox", settled: 700, open: 50 },
    ]);
  });

  it("signs what was stale at its next reading, and nothing of a DRAFT any more", async () => {
    expect(await rows("select did, revision, proof from aids order by did")).toEqual([
      { did: "did:a", revision: 3, proof: "proof-a" },
      { did: "did:b", revision: 3, proof: "proof-b" },
    ]);
    const revisions = await rows("select did, revision from agents where did in ('did:a', 'did:b') order by did");
    expect(revisions.map(({ revision }) => revision)).toEqual([3, 4]);
    expect(await rows("select did, version from aid_versions")).toEqual([{ did: "did:a", version: 2 }]);
  });

  it("keeps its certificates in the list that they name, and gives new places in a small one", async () => {
    expect(await rows("select did, list_id, idx, listed_status, replaced_at from certificates order by idx")).toEqual([
      { did: "did:a", list_id: 1, idx: 77, listed_status: 0, replaced_at: 5 },
      { did: "did:b", list_id: 1, idx: 900_000, listed_status: 2, replaced_at: null },
    ]);
    expect(await rows("select list_id, size from status_lists")).toEqual([
      { list_id: 1, size: 1_048_576 },
      { list_id: 2, size: 65_536 },
    ]);
  });

  it("numbers its events in their order, and delivers those that were not", async () => {
    expect(await rows("select seq, id from events order by seq")).toEqual([
      { seq: 1, id: "evt_1" },
      { seq: 2, id: "evt_2" },
      { seq: 3, id: "evt_3" },
    ]);
    expect(await rows("select * from outbox")).toEqual([{ name: "all", seq: 1 }]);
  });

  it("numbers the activity of each platform in its order, and has it hashed within a day", async () => {
    expect(
      await rows("select platform_id, seq, subject_id, hash from activity_entries order by platform_id, seq"),
    ).toEqual([
      { platform_id: "plt_1", seq: 1, subject_id: "first", hash: null },
      { platform_id: "plt_1", seq: 2, subject_id: "second", hash: null },
      { platform_id: "plt_1", seq: 3, subject_id: "third", hash: null },
      { platform_id: "plt_2", seq: 1, subject_id: "other", hash: null },
    ]);
    const now = Date.now();
    const chains = await rows(
      "select platform_id, seq, hash, head_seq, check_at from activity_chains order by platform_id",
    );
    expect(chains.map(({ check_at: _, ...chain }) => chain)).toEqual([
      { platform_id: "plt_1", seq: 0, hash: "0".repeat(64), head_seq: 0 },
      { platform_id: "plt_2", seq: 0, hash: "0".repeat(64), head_seq: 0 },
    ]);
    for (const { check_at } of chains) expect(Number(check_at)).toBeLessThan(now + 24 * 3_600_000);
  });

  it("finds its events by their agents, and its tasks by what was answered", async () => {
    expect(await rows("select id, agent_did, other_did from events order by seq")).toEqual([
      { id: "evt_1", agent_did: "did:b", other_did: null },
      { id: "evt_2", agent_did: "did:a", other_did: "did:c" },
      { id: "evt_3", agent_did: "did:c", other_did: null },
    ]);
    const settled = { network: "base-sepolia", currency: "USDC", gross: 1_000 };
    const of = "task_id, intent_id, network, currency, gross, answer";
    expect(await rows(`select ${of} from tasks order by task_id`)).toEqual([
      { task_id: "tsk_1", intent_id: "pin_1", ...settled, answer: "partial" },
      { task_id: "tsk_2", intent_id: "pin_2", ...settled, answer: null },
    ]);
  });

  it("tells in the row of an agent what its public status says of its escrows and counterparties, to the last bit", async () => {
    const status = await rows("select did, escrow_states, rating_heaviest from agents where did in ('did:a', 'did:b')");
    expect(
      status.map(({ did, escrow_states, rating_heaviest }) => [did, escrow_states, rating_heaviest].map(parsed)),
    ).toEqual([
      ["did:a", { "base-sepolia": "ACTIVE" }, COUNTERPARTIES.slice(0, 2)],
      ["did:b", {}, []],
    ]);
  });

  it("tells of each market whether it is its agent's only one", async () => {
    const row = "concat_ws(' ', did, environment, market, sole) as row";
    const soles = await rows(`select ${row} from agent_markets order by row`);
    expect(soles.map((sole) => sole["row"])).toEqual([
      "did:a sandbox DE-USDC 1",
      "did:b production DE-USDC 1",
      "did:b sandbox AT-USDC 0",
      "did:b sandbox DE-USDC 0",
    ]);
  });

  it("keeps its settlements and their receipts", async () => {
    expect(await rows("select transaction_id, gross, operational_wallet, consumer_willed from transactions")).toEqual([
      { transaction_id: "fac_1", gross: 1_000, operational_wallet: "0xwallet", consumer_willed: 1 },
      { transaction_id: "fac_2", gross: 1_000, operational_wallet: "0xwallet", consumer_willed: 0 },
    ]);
    expect(await rows("select intent_id, transaction_id from payment_intents order by intent_id")).toEqual([
      { intent_id: "pin_1", transaction_id: "fac_1" },
      { intent_id: "pin_2", transaction_id: "fac_2" },
    ]);
    expect(await rows("select * from receipts")).toEqual([
      { transaction_id: "fac_1", receipt: "receipt-1" },
      { transaction_id: "fac_2", receipt: "receipt-2" },
    ]);
  });
});

/** The two heaviest hold more than a quarter each, and no number of theirs is short in decimals. */
const COUNTERPARTIES = [0.7, 0.5, 0.1, 0.05, 0.03].map((part) => ({
  weight: part * Math.PI * 2 ** 0.3,
  weighted: part * Math.E * 2 ** -0.7,
}));
const parsed = (value: unknown): unknown => (/^[[{]/.test(String(value)) ? JSON.parse(String(value)) : value);

async function insertFirstVersion(): Promise<void> {
  await insert("agents", agent("did:a"), agent("did:b", "did:a"), agent("did:c", "did:b"), agent("did:draft"));
  await db().batch([
    db().prepare("update agents set status = 'DRAFT' where did = 'did:draft'"),
    db().prepare("update agents set status = 'SUSPENDED' where did = 'did:b'"),
    db().prepare("update agents set spend_settled = 700, spend_open = 50 where did = 'did:a'"),
  ]);
  const own = COUNTERPARTIES.map((sums, n) => ({ ...sums, did: "did:a", counterparty_principal_id: `prn_${n}` }));
  await insert("rating_counterparties", ...own);
  await db()
    .prepare("update agents set rating_counterparties = 5, rating_weight = ? where did = 'did:a'")
    .bind(COUNTERPARTIES.reduce((sum, { weight }) => sum + weight, 0))
    .run();
  const aid = { version: 2, revision: 3, content: "{}", stale: 0 };
  await insert(
    "aids",
    { ...aid, did: "did:a", proof: "proof-a" },
    { ...aid, did: "did:b", proof: "proof-b", stale: 1 },
  );
  await insert("aids", { ...aid, did: "did:draft", proof: null });
  const signed = (certificate: string | null) => JSON.stringify({ identity: { certificate } });
  const version = { proof: "proof", issued_at: 1 };
  await insert("aid_versions", { ...version, did: "did:a", version: 1, content: signed(null) });
  await insert("aid_versions", { ...version, did: "did:a", version: 2, content: signed("eyJ") });
  const certificate = { key_id: "key", issued_at: 1, expires_at: 9 };
  await insert("certificates", { ...certificate, did: "did:a", jti: "1", status_list_idx: 77, replaced_at: 5 });
  await insert("certificates", { ...certificate, did: "did:b", jti: "2", status_list_idx: 900_000, replaced_at: null });
  const event = { platform_id: "plt_1", environment: "sandbox", type: "agent.activated" };
  const about = (object: Record<string, string>) => ({ ...event, object: JSON.stringify(object) });
  const [both, one] = [about({ provider_did: "did:a", consumer_did: "did:c" }), { provider_did: "did:x" }];
  await insert("events", { ...both, id: "evt_2", occurred_at: 20, dispatched_at: null });
  await insert("events", { ...about({ did: "did:b" }), id: "evt_1", occurred_at: 10, dispatched_at: 11 });
  await insert("events", {
    ...about({ ...one, consumer_did: "did:c" }),
    id: "evt_3",
    occurred_at: 30,
    dispatched_at: 31,
  });
  const open = { network: "base-sepolia", operational_wallet: "0x", status: "ACTIVE", created_at: 1, updated_at: 1 };
  const first = { ...open, did: "did:a", environment: "sandbox", market: "DE-USDC" };
  const second = { ...first, did: "did:b" };
  await insert(
    "agent_markets",
    first,
    second,
    { ...second, market: "AT-USDC" },
    { ...second, environment: "production" },
  );
  await insertSettlements();
  await insertActivity();
}

async function insertActivity(): Promise<void> {
  const platform = { status: "ACCREDITED", legal_name: "Acme", country: "DE", email: "ops@acme.test", created_at: 1 };
  await insert(
    "platforms",
    { ...platform, platform_id: "plt_1", tenant_principal_id: "prn_1", updated_at: 1 },
    { ...platform, platform_id: "plt_2", tenant_principal_id: "prn_2", updated_at: 1 },
  );
  const entry = { environment: "sandbox", action: "agent.registered", actor_type: "system", actor_id: "job" };
  const own = { ...entry, platform_id: "plt_1", subject_type: "agent" };
  await insert(
    "activity_entries",
    { ...own, id: "act_2", occurred_at: 20, subject_id: "second" },
    { ...own, id: "act_1", occurred_at: 10, subject_id: "first" },
    { ...own, id: "act_3", occurred_at: 20, subject_id: "third" },
    { ...own, id: "act_0", occurred_at: 15, subject_id: "other", platform_id: "plt_2" },
  );
}

async function insertSettlements(): Promise<void> {
  const place = { environment: "sandbox", network: "base-sepolia", currency: "USDC" };
  const parties = {
    consumer_did: "did:c",
    provider_did: "did:a",
    consumer_platform_id: "p",
    provider_platform_id: "p",
  };
  await insert("escrows", {
    ...place,
    did: "did:a",
    vault: "0xvault",
    operational_wallet: "0xwallet",
    base_threshold: 1,
    threshold: 1,
    chain_threshold: 1,
    state: "ACTIVE",
    updated_at: 1,
  });
  for (const [n, openedBy] of [
    [1, "did:c"],
    [2, "did:a"],
  ] as const) {
    const intent = { ...place, ...parties, market: "DE-USDC", amount: 1_000, status: "SETTLED", spenders: "[]" };
    await insert("payment_intents", {
      ...intent,
      intent_id: `pin_${n}`,
      opened_by: openedBy,
      created_at: 1,
      expires_at: 2,
    });
    await insert("tasks", {
      task_id: `tsk_${n}`,
      transaction_id: `fac_${n}`,
      environment: "sandbox",
      consumer_did: "did:c",
      provider_did: "did:a",
      ...(n === 1 ? { status: "confirmed", outcome: "partial" } : { status: "auto_confirmed", outcome: "confirmed" }),
      opened_at: 1,
      confirm_by: 2,
    });
    const amounts = { gross: 1_000, fee: 10, escrow: 90, operational: 900, escrow_balance: 90 };
    await insert("transactions", {
      ...place,
      ...parties,
      ...amounts,
      transaction_id: `fac_${n}`,
      intent_id: `pin_${n}`,
      tx_hash: `0x${n}`,
      log_index: 4,
      settlement_id: `0x${n}`,
      payer: "0xpayer",
      escrow_state: "ACTIVE",
      dispute_window_days: 7,
      provider_aid_version: 1,
      block_number: 1,
      block_hash: "0xblock",
      receipt: `receipt-${n}`,
      settled_at: 1,
    });
  }
}

const agent = (did: string, delegatedBy: string | null = null) => ({
  did,
  delegated_by: delegatedBy,
  platform_id: "plt_1",
  environment: "sandbox",
  principal_id: "prn_1",
  economic_role: "CONSUMER",
  cert_tier: "TIER_1",
  display_name: did,
  endpoint_url: "https://agent.example",
  authorized_actions: "[]",
  capabilities: "[]",
  dispute_window_days: 7,
  status: "ACTIVE",
  version: 2,
  revision: 3,
  created_at: 1,
  updated_at: 1,
});
