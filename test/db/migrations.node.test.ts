// Migrations on a real D1: a database of an earlier version keeps its content and ends with the columns and indexes of
// the tables.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { getPlatformProxy } from "wrangler";
import { readMigrations } from "../../scripts/migration-files.ts";
import { idPattern } from "../../src/core/ids.ts";
import {
  COUNTERPARTIES,
  certify,
  insertAttested,
  insertDeliveries,
  insertDispute,
  insertFirstVersion,
  insertSessions,
  nameWallets,
} from "./first-version.ts";

const root = join(import.meta.dirname, "../..");
const folder = join(root, "migrations");
const migrations = readMigrations();
const files = migrations.map(({ name }) => name);
const statementsOf = (file: string): readonly string[] => {
  const found = migrations.find(({ name }) => name === file);
  if (!found) throw new Error(`no migration ${file}`);
  return found.statements;
};
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
  await db().batch(statementsOf(file).map((statement) => db().prepare(statement)));
}

/** A Worker that has the database alone: wrangler warns of Durable Objects that nothing runs here. */
const CONFIG = { name: "migrations", d1_databases: [{ binding: "DB", database_id: crypto.randomUUID() }] };

beforeAll(async () => {
  const configPath = join(state, "wrangler.json");
  writeFileSync(configPath, JSON.stringify({ ...CONFIG, compatibility_date: "2026-11-01" }));
  proxy = await getPlatformProxy<{ DB: D1Database }>({ configPath, persist: { path: state }, remoteBindings: false });
});
afterAll(async () => {
  await proxy?.dispose();
  rmSync(state, { recursive: true, force: true });
});

const parsed = (value: unknown): unknown => (/^[[{]/.test(String(value)) ? JSON.parse(String(value)) : value);

describe("a database of the first version", () => {
  beforeAll(async () => {
    await apply(files[0] ?? "");
    await insertFirstVersion(db());
    for (const file of files.slice(1)) {
      const text = readFileSync(join(folder, file), "utf8");
      if (text.includes("ADD `consumer_evidence`")) await insertDispute(db());
      if (text.includes("ADD `attestation_signed`")) await insertAttested(db());
      if (text.includes("INTO directory_entries")) await certify(db());
      if (text.includes("ADD `session_id`")) await insertSessions(db());
      if (text.includes("ALTER TABLE `webhook_queue` ADD `event_seq`")) await insertDeliveries(db());
      if (text.includes("INTO `named_wallets`")) await nameWallets(db());
      await apply(file);
    }
  });

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

  it("keeps its sessions, each with an id of its own, and asks them for a confirmation (CRED-27)", async () => {
    const sessions = await rows("select session_id, device, network, confirmed_at from sessions");
    expect(sessions).toHaveLength(2);
    for (const session of sessions) {
      expect(session).toMatchObject({ session_id: expect.stringMatching(idPattern("ses")), confirmed_at: 0 });
    }
    expect(new Set(sessions.map(({ session_id }) => session_id)).size).toBe(2);
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
      { did: "did:a", environment: "sandbox", currency: "USDC", settled: 700, open: 50 },
    ]);
  });

  it("keeps what was spent and settled, in the one currency that there was (HTTP-6)", async () => {
    expect(await rows("select * from spend_ledger order by at")).toEqual([
      { did: "did:a", environment: "sandbox", currency: "USDC", at: 5, total: 300, intent_id: "" },
      { did: "did:a", environment: "sandbox", currency: "USDC", at: 9, total: 700, intent_id: "" },
    ]);
    expect(await rows("select * from spend_holds")).toEqual([
      {
        ...{ did: "did:a", environment: "sandbox", expires_at: 20, intent_id: "pin_1", amount: 50 },
        ...{ network: "base-sepolia", currency: "USDC" },
      },
    ]);
    expect(await rows("select did, settled_volumes from agents order by did")).toEqual([
      { did: "did:a", settled_volumes: '{"USDC":2000}' },
      ...["did:b", "did:c", "did:draft"].map((did) => ({ did, settled_volumes: "{}" })),
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

  it("numbers its events in their order, and delivers those that were not, to receivers of before webhooks", async () => {
    expect(await rows("select seq, id from events order by seq")).toEqual([
      { seq: 1, id: "evt_1" },
      { seq: 2, id: "evt_2" },
      { seq: 3, id: "evt_3" },
    ]);
    expect(await rows("select * from outbox order by name")).toEqual([
      { name: "all", seq: 1 },
      { name: "listed", seq: 2 },
      { name: "webhooks", seq: 3 },
    ]);
    expect(await rows("select seq, subject, listed from events order by seq")).toEqual([
      { seq: 1, subject: null, listed: 1 },
      { seq: 2, subject: null, listed: 1 },
      { seq: 3, subject: "txn_3", listed: null },
    ]);
  });

  it("names the event of each delivery in the place of its body, and keeps what was tried", async () => {
    const each = [0, 1, 2].map((n) => ({ delivery_id: `dlv_${n}`, event_seq: [2, 3, 0][n], next_at: n }));
    for (const table of ["webhook_queue", "webhook_deliveries"])
      expect(await rows(`select delivery_id, event_seq, next_at from ${table} order by delivery_id`)).toEqual(each);
    expect(
      await rows("select sql from sqlite_master where name = 'webhook_deliveries' and sql like '%ROWID%'"),
    ).toEqual([]);
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

  it("brings certified agents into the directory, and nothing twice", async () => {
    const of = "did, status, listed_as, markets, unindexed";
    const entries = () => rows(`select ${of} from directory_entries order by environment, updated_at`);
    const brought = await entries();
    expect(brought).toEqual([
      { did: "did:a", status: "ACTIVE", listed_as: "active", markets: '["DE-USDC"]', unindexed: 1 },
      { did: "did:b", status: "SUSPENDED", listed_as: "suspended", markets: '["AT-USDC","DE-USDC"]', unindexed: 1 },
    ]);
    const file =
      files.find((name) => readFileSync(join(folder, name), "utf8").includes("INTO directory_entries")) ?? "";
    const again = statementsOf(file)
      .map((statement) => statement.replace(/^--.*$/gm, "").trim())
      .filter((statement) => /^(INSERT|DELETE|UPDATE) /.test(statement));
    expect(again).toHaveLength(5);
    const recorded = () => rows("select seq, did from directory_changes");
    const next = "coalesce((select max(pruned_to) from directory_feeds where environment = 'sandbox'), 0) + 1";
    await db().prepare(`insert into directory_changes values ('sandbox', ${next}, 'did:a', 'updated', 1)`).run();
    const before = await recorded();
    await db().batch(again.map((statement) => db().prepare(statement)));
    expect([await entries(), await recorded()]).toEqual([brought, before]);
  });

  it("tells of each attestation whether its Verifier had signed it", async () => {
    const signed = [
      { principal_id: "prn_signed", signed: 1 },
      { principal_id: "prn_unchecked", signed: 0 },
      { principal_id: "prn_unsigned", signed: 0 },
    ];
    const ofPlatform = "from principals where platform_id = 'plt_2' order by principal_id";
    expect(await rows(`select principal_id, attestation_signed as signed ${ofPlatform}`)).toEqual(signed);
    expect(await rows("select principal_id, signed from attestations order by principal_id")).toEqual(signed);
  });

  it("has of each purchase who answers for its sides, and of a dispute what either handed in", async () => {
    const sides = { provider_principal_id: "prn_1", consumer_principal_id: "prn_3" };
    for (const table of ["tasks", "payment_intents"])
      expect(await rows(`select provider_principal_id, consumer_principal_id from ${table}`)).toEqual([sides, sides]);
    expect(await rows("select evidence, consumer_evidence from disputes")).toEqual([
      { evidence: 3, consumer_evidence: 2 },
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

  it("moves wallets that were named on-chain to a table of their own", async () => {
    expect(await rows("select did, wallet from named_wallets")).toEqual([{ did: "did:a", wallet: "0xnamed" }]);
    const [{ former_wallets } = {}] = await rows("select former_wallets from escrows where did = 'did:a'");
    expect(parsed(former_wallets)).toEqual([{ wallet: "0xBefore", until: 5 }]);
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
    expect(await rows("select *, concat_ws(' ', rowid, network, block_number) as place from receipts")).toMatchObject([
      { place: "1 base-sepolia 1", transaction_id: "fac_1", receipt: "receipt-1" },
      { place: "2 base-sepolia 1", transaction_id: "fac_2", receipt: "receipt-2" },
    ]);
  });
});
