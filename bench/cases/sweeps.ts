// Each job of the minute's trigger, from its start to its end: with nothing due, as in most minutes, and with one row due.
import { type Case, nameOf } from "../case.ts";
import { copyRows } from "../copies.ts";
import { leaveNotice } from "../persons.ts";
import {
  agent,
  buyAndFacilitate,
  follow,
  openAndPay,
  openIntent,
  openProvider,
  type Play,
  principal,
} from "../play.ts";
import { send } from "../wire.ts";
import { hashLog } from "./activity.ts";
import { DIRECTORY_SWEEPS } from "./directory.ts";
import { leaveDays, leaveDueOperation, restOperation } from "./disputes.ts";
import { change, drain, runOf } from "./drain.ts";
import { raise } from "./operators.ts";
import { endSession, leaveUnreached, leaveUnverified } from "./passwords.ts";
import { leaveRestatement } from "./profile.ts";
import { leaveSealedTotp } from "./sessions.ts";
import { WEBHOOK_SWEEPS } from "./webhooks.ts";

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

type Sweep = {
  readonly job: string;
  /** Records what the cases before have left due, so that it does not count here. */
  readonly settle?: (play: Play) => Promise<unknown>;
  /** Makes one row due. */
  readonly arrange?: (play: Play) => Promise<unknown>;
  /** The number of rows that it records when nothing is due. */
  readonly always?: number;
};

/** Registers a principal with an ACTIVE agent. */
async function registerActiveAgent({ stage, next }: Play): Promise<string> {
  const principalId = await principal(stage, stage.platform, next());
  await agent(stage, stage.platform, "CONSUMER", principalId);
  return principalId;
}

async function endAttestation(play: Play): Promise<void> {
  const text = "update principals set attestation_expires_at = ? where principal_id = ?";
  await change(play.stage, text, Date.now() - SECOND_MS, await registerActiveAgent(play));
}

/** A principal whose attestation ends in 20 days. */
async function endSoon({ stage, next }: Play): Promise<void> {
  const principalId = await principal(stage, stage.platform, next());
  const text = "update principals set attestation_expires_at = ?, expiry_notice_at = ? where principal_id = ?";
  await change(stage, text, Date.now() + 20 * 24 * HOUR_MS, Date.now() - SECOND_MS, principalId);
}

async function leaveCascade(play: Play): Promise<void> {
  const [principalId, now] = [await registerActiveAgent(play), Date.now()];
  const ended =
    "update principals set status = 'ATTESTATION_EXPIRED', attestation_expires_at = ? where principal_id = ?";
  await change(play.stage, ended, now - SECOND_MS, principalId);
  const noted = `insert into walks (kind, subject, started_at, after_at, after_id, "trigger", payload)
    values ('cascade', ?, ?, 0, '', 'principal_stops', ?)`;
  const payload = { reason: "attestation", actor: { type: "system", id: "attestation_expiry" } };
  await change(play.stage, noted, principalId, now, JSON.stringify(payload));
}

/** Ends an intent after the chain was read to its head. */
async function endIntent(play: Play): Promise<string> {
  const intentId = await openIntent(play, play);
  const ended = Date.now() - MINUTE_MS;
  for (const table of ["payment_intents", "spend_holds"]) {
    await change(play.stage, `update ${table} set expires_at = ? where intent_id = ?`, ended, intentId);
  }
  await follow(play);
  return intentId;
}

/** Leaves an intent that was paid a month ago and never facilitated. */
async function leavePaid(play: Play): Promise<void> {
  const { intentId } = await openAndPay(play, play);
  await follow(play);
  const text = "update payment_intents set paid_at = ? where intent_id = ?";
  await change(play.stage, text, Date.now() - 31 * 24 * HOUR_MS, intentId);
}

async function leaveUnrated(play: Play): Promise<void> {
  const intentId = await endIntent(play);
  await send(play.stage.origin, runOf("abandon_intents", 1));
  const text = "update payment_intents set expires_at = ? where intent_id = ?";
  await change(play.stage, text, Date.now() - 25 * HOUR_MS, intentId);
}

async function endTask(play: Play): Promise<void> {
  const { taskId } = await buyAndFacilitate(play);
  await change(play.stage, "update tasks set confirm_by = ? where task_id = ?", Date.now() - SECOND_MS, taskId);
}

const leaveOutcome = ({ stage, next }: Play) =>
  change(
    stage,
    `insert into idempotency_outcomes (platform_id, request_key, body_hash, status, body, sealed, expires_at)
      values (?, ?, '', 200, '{}', 0, ?)`,
    stage.platform.platformId,
    `ended ${next()}`,
    Date.now() - SECOND_MS,
  );

const leaveEvent = ({ stage, next }: Play) =>
  change(
    stage,
    `insert into events (platform_id, environment, id, type, occurred_at, object)
      values (?, 'sandbox', ?, 'agent.status_changed', ?, '{}')`,
    stage.platform.platformId,
    `evt_${next()}`,
    Date.now(),
  );

/** Leaves an event that existed a month ago. */
async function leaveOldEvent(play: Play): Promise<void> {
  await leaveEvent(play);
  const noted = "insert into event_marks (at, seq) select ?, min(seq) from events";
  await change(play.stage, "update outbox set seq = (select max(seq) from events)");
  await change(play.stage, noted, Date.now() - 31 * 24 * HOUR_MS);
}

const fallBehind = ({ stage, idle }: Play) =>
  change(
    stage,
    "update escrows set threshold = chain_threshold - base_threshold / 20, behind_since = ? where did = ?",
    Date.now(),
    idle.did,
  );

const stallMarket = ({ stage, idle }: Play) =>
  change(
    stage,
    `insert or replace into agent_markets (did, environment, market, network, operational_wallet, status, created_at, updated_at)
      select did, environment, 'DE-USDC', network, operational_wallet, 'PROVISIONING', created_at, ?
      from agent_markets where did = ? and market like 'GLOBAL-%'`,
    Date.now() - 2 * MINUTE_MS,
    idle.did,
  );

/**
 * Leaves a vault without markets. The walk begins at another place each minute and also at the first escrows, so the vault is made the first one, and
 * no other is left.
 */
async function leaveVault({ stage, idle }: Play): Promise<void> {
  await change(stage, "delete from escrows where did = ?", FIRST_DID);
  await change(
    stage,
    `update escrows set base_threshold = 0, threshold = 0 where not exists (select 1 from agent_markets m
      where m.did = escrows.did and m.network = escrows.network and m.status <> 'FAILED')`,
  );
  const vary = { did: `'${FIRST_DID}'` };
  await copyRows(stage, { table: "escrows", where: `did = '${idle.did}'`, vary }, { from: 0, to: 1 });
}
const FIRST_DID = "did:aeap:0";

const wantRelease = ({ stage, idle }: Play) =>
  change(
    stage,
    `insert or replace into chain_operations (network, kind, subject, wanted, status, created_at, updated_at, next_check_at)
      select network, 'release', did, '{}', 'waiting', 1, 1, 1 from escrows where did = ? limit 1`,
    idle.did,
  );

const changeWallet = ({ stage, idle }: Play) =>
  change(
    stage,
    `update agent_markets set pending_wallet = operational_wallet, pending_until = ?, pending_nonce = 1
      where did = ? and market like 'GLOBAL-%'`,
    Date.now() - SECOND_MS,
    idle.did,
  );

/** Makes a provider's vault one of an earlier edition. */
const changeEdition = (status: "ACTIVE" | "PROVISIONING") => async (play: Play) => {
  const { did } = await openProvider(play.stage, play.principalId);
  await change(play.stage, "update agent_markets set status = ? where did = ?", status, did);
  await change(play.stage, "update escrows set contract = '0x00' where did = ?", did);
  const planned = `insert into walks (kind, subject, started_at, after_at, after_id)
    select 'edition_move', network || ' ' || did || ' ' || environment, ?, 0, '' from escrows where did = ?`;
  await change(play.stage, planned, Date.now(), did);
};

/** Uses a provider of its own, because the idle one's threshold is on its way to the chain. */
async function askAgain(play: Play): Promise<void> {
  const { did } = await openProvider(play.stage, play.principalId);
  const text = "update chain_operations set next_check_at = case when subject = ? then ? end";
  await change(play.stage, text, did, Date.now() - SECOND_MS);
}

/** Leaves an awaited refund; the chain was read past the instant until which it was awaited. */
async function leaveUnpaid(play: Play): Promise<void> {
  await follow(play);
  const text = `insert into chain_operations (network, kind, subject, wanted, status, created_at, updated_at, next_check_at)
    values (?, 'refund', ?, ?, 'waiting', 1, 1, 1)`;
  const wanted = JSON.stringify({ contract: "", amount: "1", until: "1" });
  await change(play.stage, text, play.network.network, `0x${play.next()}`, wanted);
}

async function raiseUnmailed(play: Play): Promise<void> {
  await change(play.stage, "delete from alert_mails");
  await raise(play, Date.now());
}

/** Leaves one log entry more than the newest head covers, to be checked now. */
async function leaveHead({ stage, next }: Play): Promise<void> {
  await principal(stage, stage.platform, next());
  await hashLog(stage);
  const text = "update activity_chains set check_at = ? where platform_id = ?";
  await change(stage, text, Date.now() - SECOND_MS, stage.platform.platformId);
}

const countList = ({ stage }: Play) => change(stage, "update status_lists set counted_at = 0");

/** Counting a list reads its taken places: an hourly cost that the list's size bounds. */
async function countTakenPlaces({ stage }: Play): Promise<number> {
  const text = "select count(*) as taken from certificates where list_id = (select max(list_id) from status_lists)";
  const [rows = []] = await stage.sql([{ sql: text }]);
  return Number(rows[0]?.["taken"]);
}

/** For an edition, all escrows are read once for each network. */
async function countEscrowsRead({ stage }: Play): Promise<number> {
  const [rows = []] = await stage.sql([{ sql: "select count(*) as held from escrows" }]);
  return Number(rows[0]?.["held"]) * stage.networks.length;
}

/** Leaves a closed account whose retention is over. */
const leaveClosed = ({ stage, next }: Play) =>
  change(
    stage,
    `insert into platforms (platform_id, status, email, email_folded, closed_at, created_at, updated_at)
      values (?, 'CLOSED', 'founder@closed.test', 'founder@closed.test', 1, 1, 1)`,
    `plt_0closed_${next()}`,
  );

const forgetKeys = async ({ stage }: Play): Promise<void> => {
  await stage.sql([{ sql: "delete from authority_keys", params: [] }]);
};

const SWEEPS: readonly Sweep[] = [
  { job: "hand_on_events", arrange: leaveEvent },
  { job: "list_events", arrange: leaveEvent },
  { job: "prune_events", arrange: leaveOldEvent },
  { job: "prune_idempotency_outcomes", arrange: leaveOutcome },
  { job: "end_attestations", arrange: endAttestation },
  { job: "notify_expiring", arrange: endSoon },
  { job: "finish_cascades", arrange: leaveCascade },
  { job: "restate_agents", arrange: leaveRestatement },
  { job: "open_status_lists" },
  { job: "note_authority_keys", arrange: forgetKeys },
  { job: "auto_confirm_tasks", arrange: endTask },
  { job: "abandon_intents", arrange: endIntent },
  { job: "spend_paid_intents", arrange: leavePaid },
  { job: "rate_abandoned_intents", arrange: leaveUnrated },
  { job: "follow_thresholds", arrange: fallBehind },
  { job: "resume_market_provisioning", arrange: stallMarket },
  { job: "watch_registrations", arrange: askAgain },
  { job: "apply_wallet_changes", arrange: changeWallet },
  // Its markets already wait, so the queue gets another message.
  { job: "move_editions", arrange: changeEdition("PROVISIONING") },
  { job: "release_escrows", arrange: wantRelease },
  { job: "find_leaving", arrange: leaveVault },
  // On one network nothing has happened, and a message is sent for the other, which no case has ever read.
  { job: "follow_chains", settle: follow, always: 1 },
  { job: "end_dispute_days", arrange: leaveDays },
  { job: "keep_reserves", settle: restOperation, arrange: leaveDueOperation("reserve") },
  { job: "pay_awards", settle: restOperation, arrange: leaveDueOperation("payout") },
  { job: "fail_unpaid_refunds", arrange: leaveUnpaid },
  { job: "tend_signers" },
  { job: "tend_arbiters" },
  { job: "sign_activity_heads", arrange: leaveHead },
  ...DIRECTORY_SWEEPS,
  ...WEBHOOK_SWEEPS,
  { job: "remove_unverified_accounts", arrange: leaveUnverified },
  { job: "prune_account_credentials", arrange: endSession },
  { job: "reseal_totp_secrets", arrange: leaveSealedTotp },
  { job: "announce", arrange: leaveUnreached },
  { job: "mail_notices", arrange: leaveNotice },
  { job: "mail_alerts", arrange: raiseUnmailed },
  { job: "erase_closed_accounts", arrange: leaveClosed },
  { job: "sweep_documents" },
];

const casesOf = ({ job, settle, arrange, always = 0 }: Sweep): Case[] => [
  {
    route: `job ${job}`,
    status: 200,
    ask: async (play) => {
      await drain(play, job);
      await settle?.(play);
      // The first run that finds nothing resets the row of the run before.
      await send(play.stage.origin, runOf(job, always));
      return runOf(job, always);
    },
  },
  ...(arrange
    ? [
        {
          route: `job ${job}`,
          variant: "one due",
          status: 200,
          ask: async (play: Play) => {
            await drain(play, job);
            await settle?.(play);
            await arrange(play);
            return runOf(job, 1);
          },
        },
      ]
    : []),
];

export const SWEEP_CASES: readonly Case[] = [
  ...SWEEPS.flatMap(casesOf),
  {
    route: "job move_editions",
    variant: "a provider moves",
    status: 200,
    ask: async (play) => {
      await drain(play, "move_editions");
      await changeEdition("ACTIVE")(play);
      return runOf("move_editions", 1);
    },
  },
  {
    route: "job move_editions",
    variant: "an edition is new",
    status: 200,
    ask: async (play) => {
      await drain(play, "move_editions");
      await change(play.stage, "update escrows set contract = '' where contract = '0x00'");
      await change(play.stage, "update registered_editions set contract = '0x00'");
      return runOf("move_editions", 0);
    },
    moreRows: countEscrowsRead,
  },
  {
    route: "job open_status_lists",
    variant: "counted",
    status: 200,
    ask: async (play) => {
      await countList(play);
      return runOf("open_status_lists", 0);
    },
    moreRows: countTakenPlaces,
  },
];

/** No caller waits for the run of a job or a message. */
export const isSweep = (known: Case): boolean => /^(job|message) /.test(nameOf(known));
