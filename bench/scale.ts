// Fills every table with 1,000 rows of history, and then with many more. The rows that a call reads may depend on its page, but not on the table, the
// platform's age, or the two agents' past.
import { DAY_MS } from "../src/core/limits.ts";
import { type Copies, copyRows, otherId } from "./copies.ts";
import { leaveAccount } from "./persons.ts";
import { DAYS_AHEAD, type Play } from "./play.ts";
import { WEBHOOK_COPIES } from "./webhook-rows.ts";

/** The smaller history. With the larger one, a call may read as many rows as with this one. */
export const FEW = 1_000;
/** Enough for every range to have a row on either side. */
export const NEIGHBOURS = 2;

const EARLIER = (column: string) => `${column} - 1000 * n`;
/** Keys before and after every real one, so that each range has neighbours: SQLite reads one row beyond a range's end. */
const otherDid = (kind: string) =>
  `'did:aeap:' || case n % 2 when 0 then '0000000' else 'fffffff' end || '${kind}-0000-4000-8000-' || printf('%012d', n)`;
const [OTHER_DID, OTHER_BUYER, OTHER_SELLER, OTHER_AHEAD] = [
  otherDid("0"),
  otherDid("1"),
  otherDid("2"),
  otherDid("3"),
];
/** One of a hundred tasks is partial, one is rejected. */
const ANSWER = "case n % 100 when 0 then 'partial' when 1 then 'rejected' else 'confirmed' end";
const HASH = "'0x' || printf('%064d', n)";
const OLD = "'old-' || n";
/** The text of a document that no case reads; only its row counts. */
const NO_TEXT = "'{}'";
const LATER = "4000000000000 + n";

/** A place in one of two lists until both are full, and then in others, none of them the newest; one certificate of a hundred is an exception. */
const LISTED = {
  list_id: "case when n < 131072 then 1 + n % 2 else 1000 + n / 65536 end",
  idx: "case when n < 131072 then n / 2 else n % 65536 end",
  listed_status: "case when n % 100 = 0 then 2 else 0 end",
};

const agentsOf = ({ provider }: Play): Copies[] => {
  const [where, vary] = [`did = '${provider.did}'`, { did: OTHER_DID }];
  return [
    { table: "agents", where, vary: { ...vary, did_hash: OLD, created_at: EARLIER("created_at") } },
    { table: "aids", where, vary: { ...vary, content: NO_TEXT } },
    { table: "aid_versions", where, vary: { ...vary, content: NO_TEXT } },
    // The provider itself has a long history of edits.
    { table: "aid_versions", where, vary: { version: "-n", content: NO_TEXT } },
    { table: "certificates", where, vary: { jti: otherId("crt"), ...LISTED } },
    { table: "agent_markets", where, vary },
    { table: "escrows", where, vary },
    // The provider's own vault has a long history.
    { table: "ledger_lines", where, vary: { tx_hash: HASH, number: "-n" } },
    { table: "chain_operations", where: `subject = '${provider.did}'`, vary: { subject: OTHER_DID } },
  ];
};

/**
 * Principals in every state, each with an agent. Three of ten end before the platform's own now and after real time: one is recorded as ended, one is
 * suspended, and one is not recorded yet. The order of the ends mixes them.
 */
const aheadOf = ({ ahead: { agent, customerId } }: Play): Copies[] => {
  const [principal, did] = [otherId("prn_A"), OTHER_AHEAD];
  const status = (column: string, states: readonly string[]) =>
    `case n % 10 ${states.map((state, i) => `when ${i + 1} then '${state}'`).join(" ")} else ${column} end`;
  const end = (column: string) => `${column} - n - (n % 10 in (0, 1, 3)) * ${(365 - DAYS_AHEAD / 2) * DAY_MS}`;
  return [
    {
      table: "principals",
      where: `principal_id = '${agent.principalId}'`,
      vary: {
        principal_id: principal,
        external_ref: "'old-' || n",
        name_folded: "'old ' || n",
        customer_id: `case when n / 10 % 2 = 0 then '${customerId}' end`,
        status: status("status", ["SUSPENDED", "CLOSED", "ATTESTATION_EXPIRED"]),
        closed: "n % 10 = 2",
        attestation_expires_at: end("attestation_expires_at"),
      },
    },
    {
      table: "agents",
      where: `did = '${agent.did}'`,
      vary: {
        did,
        principal_id: principal,
        external_ref: "'ahead-' || n",
        created_at: EARLIER("created_at"),
        status: status("status", ["SUSPENDED", "REVOKED", "SUSPENDED", "FUNDING"]),
        ends_at: end("ends_at"),
      },
    },
  ];
};

/** The history of the two trading agents, and the open intents of others. */
const purchasesOf = ({ consumer, provider }: Play): Copies[] => {
  const settled = `consumer_did = '${consumer.did}' and provider_did = '${provider.did}'`;
  const others = { consumer_did: OTHER_BUYER, provider_did: OTHER_SELLER };
  const intent = { created_at: EARLIER("created_at"), expires_at: EARLIER("expires_at"), payment_tx: "null" };
  const never = { ...intent, status: "'ABANDONED'", abandon_rated: "1", transaction_id: "null" };
  const open = { ...others, status: "'OPEN'", terms: OLD, payment_tx: "null", expires_at: LATER };
  const waiting = { ...intent, status: "'OPEN'", transaction_id: "null", expires_at: LATER };
  return [
    {
      table: "payment_intents",
      where: `${settled} and status = 'SETTLED'`,
      vary: { intent_id: otherId("pin"), intent_hash: otherId("pin"), ...intent },
    },
    {
      // Intents of the same terms that were never paid.
      table: "payment_intents",
      where: `${settled} and status = 'SETTLED'`,
      vary: { intent_id: otherId("pin_N"), intent_hash: otherId("pin_N"), ...never },
    },
    {
      table: "payment_intents",
      where: settled,
      vary: { intent_id: otherId("pin_O"), intent_hash: otherId("pin_O"), transaction_id: "null", ...open },
    },
    {
      // Open intents of the two agents themselves, with the same terms.
      table: "payment_intents",
      where: `${settled} and status = 'SETTLED'`,
      vary: { intent_id: otherId("pin_P"), intent_hash: otherId("pin_P"), ...waiting },
    },
    {
      table: "transactions",
      where: settled,
      vary: {
        transaction_id: otherId("fac"),
        intent_id: otherId("pin"),
        task_id: otherId("tsk"),
        tx_hash: HASH,
        settlement_id: "'old-' || n",
        settled_at: EARLIER("settled_at"),
      },
    },
    { table: "receipts", where: "true", vary: { transaction_id: otherId("fac"), receipt: NO_TEXT } },
    {
      table: "tasks",
      where: `${settled} and status = 'confirmed'`,
      vary: {
        task_id: otherId("tsk"),
        transaction_id: otherId("fac"),
        answer: ANSWER,
        outcome: ANSWER,
        opened_at: EARLIER("opened_at"),
        confirm_by: EARLIER("confirm_by"),
      },
    },
    {
      table: "tasks",
      where: `${settled} and status = 'open'`,
      vary: { ...others, task_id: otherId("tsk_O"), transaction_id: otherId("fac_O"), confirm_by: LATER },
    },
    { table: "spend_ledger", where: `did = '${consumer.did}'`, vary: { at: EARLIER("at") } },
    { table: "spend_sums", where: `did = '${consumer.did}'`, vary: { did: OTHER_BUYER } },
    { table: "spend_holds", where: "true", vary: { did: OTHER_BUYER, expires_at: LATER } },
    // The holds of the buyer's own open intents.
    {
      table: "spend_holds",
      where: `did = '${consumer.did}'`,
      vary: { expires_at: LATER, intent_id: otherId("pin_P") },
    },
    ...[provider, consumer].map(
      ({ did }): Copies => ({
        table: "rating_counterparties",
        where: `did = '${did}'`,
        vary: { counterparty_principal_id: otherId("prn"), weight: "weight / (n + 1)", weighted: "weighted / (n + 1)" },
      }),
    ),
  ];
};

const OTHER_ADDRESS = "'old-' || n || '@bench.example'";

/** Accounts, with everything that they submit and receive. The account of the calls has many rows of each kind. */
const accountsOf = ({ stage }: Play): Copies[] => {
  const platform_id = otherId("plt");
  const own = `'${stage.platform.platformId}'`;
  return [
    {
      table: "management_keys",
      where: `platform_id = ${own}`,
      vary: { key_hash: "'old-' || n", key_id: otherId("key"), platform_id },
    },
    { table: "passwords", where: "true", vary: { platform_id } },
    {
      table: "sessions",
      where: "true",
      vary: { token_hash: "'old-' || n", platform_id: own, expires_at: LATER },
    },
    {
      table: "account_links",
      where: "true",
      // One day apart, because only a few are allowed in a day.
      vary: { token_hash: "'old-' || n", platform_id: own, created_at: "created_at - 86400000 * n", expires_at: LATER },
    },
    { table: "documents", where: "true", vary: { document_id: otherId("doc"), platform_id: own } },
    { table: "notices", where: "true", vary: { notice_id: otherId("ntc"), platform_id: own, due_at: LATER } },
    {
      table: "announcements",
      where: "true",
      vary: { announcement_id: otherId("ann"), created_at: EARLIER("created_at") },
    },
  ];
};

/** A platform's own rows, and the records of its changes. */
const journalOf = ({ stage, principalId, provider }: Play): Copies[] => [
  {
    table: "platforms",
    where: `platform_id = '${stage.platform.platformId}'`,
    vary: {
      platform_id: otherId("plt"),
      email_folded: OTHER_ADDRESS,
      status: "case when n % 1000 = 0 then 'SUSPENDED' else status end",
    },
  },
  {
    table: "principals",
    where: `principal_id = '${principalId}'`,
    vary: { principal_id: otherId("prn"), external_ref: "'old-' || n", name_folded: "'old ' || n" },
  },
  {
    table: "customers",
    where: `platform_id = '${stage.platform.platformId}'`,
    vary: {
      customer_id: otherId("cus"),
      external_ref: "'old-' || n",
      status: "case when n % 10 = 0 then 'SUSPENDED' else status end",
    },
  },
  { table: "attestations", where: "true", vary: { principal_id: otherId("prn") } },
  { table: "events", where: "true", vary: { id: otherId("evt"), object: NO_TEXT } },
  // One agent has all of a platform's history.
  {
    table: "events",
    where: `agent_did = '${provider.did}'`,
    vary: { id: otherId("evt_A"), object: NO_TEXT, occurred_at: EARLIER("occurred_at") },
  },
  // One subject, one actor and one action have all of a platform's history, before the part that is hashed.
  {
    table: "activity_entries",
    where: `platform_id = '${stage.platform.platformId}' and subject_id = '${principalId}'`,
    vary: { seq: "-n", occurred_at: EARLIER("occurred_at") },
  },
  {
    table: "activity_chains",
    where: `platform_id = '${stage.platform.platformId}'`,
    vary: { platform_id: otherId("plt"), check_at: LATER },
  },
  {
    table: "activity_heads",
    where: `platform_id = '${stage.platform.platformId}'`,
    vary: { seq: "-n", signed_at: "signed_at - 86400000 * n", jws: NO_TEXT },
  },
  { table: "verifiers", where: "true", vary: { verifier_id: otherId("ver") } },
  { table: "operator_entries", where: "true", vary: { occurred_at: EARLIER("occurred_at") } },
  { table: "directory_changes", where: "true", vary: { seq: "seq - 1000000 - n" } },
  { table: "directory_entries", where: `did = '${provider.did}'`, vary: { did: otherDid("d"), terms: "'[]'" } },
  {
    table: "idempotency_outcomes",
    where: "true",
    vary: { request_key: "'old-' || n", body: NO_TEXT, expires_at: LATER },
  },
  {
    table: "alerts",
    where: "true",
    vary: { alert_id: otherId("alr"), subject: "'old ' || n", raised_at: EARLIER("raised_at"), mailed_at: "raised_at" },
  },
];

export const copiesOf = (play: Play): Copies[] => [
  ...accountsOf(play),
  ...journalOf(play),
  ...agentsOf(play),
  ...aheadOf(play),
  ...purchasesOf(play),
  ...WEBHOOK_COPIES,
];

/** Fills every table from `from` to `to` copies. New certificates get places in a separate list. */
export async function fillTo(play: Play, from: number, to: number): Promise<void> {
  const { sql } = play.stage;
  await leaveAccount(play);
  const list = "insert or ignore into status_lists (list_id, size, created_at, counted_at) values (?, 65536, 0, ?)";
  await sql([2, 3].map((id) => ({ sql: list, params: [id, Date.now()] })));
  for (const copies of copiesOf(play)) await copyRows(play.stage, copies, { from, to });
  // Marks the copied settlements as compared with their blocks.
  await sql([{ sql: "update followers set checked_receipt = (select max(rowid) from receipts)" }]);
}
