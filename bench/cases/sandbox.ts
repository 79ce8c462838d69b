// The sandbox clock: moved with nothing due, past the ends of a hundred tasks and a hundred intents, and also past those of ten disputes.

import type { Case } from "../case.ts";
import { copyRows } from "../copies.ts";
import {
  agent,
  as,
  buyAndFacilitate,
  DAYS_AHEAD,
  follow,
  json,
  manageAs,
  must,
  openIntent,
  openProvider,
  type Play,
  type PlayedAgent,
  principal,
} from "../play.ts";
import { accredit, type Platform } from "../stage.ts";
import type { Ask } from "../wire.ts";

const DUE = 100;
const DISPUTES = 10;
const DAY = 24 * 3_600;
const FOUR_DAYS = 4 * DAY;
/** The parties' days of a dispute, and one more. */
const EIGHT_DAYS = 8 * DAY;

/** Opens a sandbox of its own for each call, because no clock goes further than 400 days. */
async function open({ stage, next }: Play): Promise<Platform> {
  const platform = await accredit(stage.origin, `Platform of the clock ${next()}`);
  // Keeps the call from writing a use of its key.
  const used = "update management_keys set last_used_at = ? where platform_id = ?";
  // An advance reads the intents that are open or unrated in all sandboxes, so those of other cases are ended first.
  const ended =
    "update payment_intents set status = 'ABANDONED', abandon_rated = 1 where status in ('OPEN', 'ABANDONED')";
  await stage.sql([{ sql: used, params: [Date.now(), platform.platformId] }, { sql: ended }]);
  return platform;
}

/** Resets the clocks that the cases before have moved, and records the due rows of the others, which no later case reads. */
async function prepareSweep({ stage, ahead: { platform } }: Play): Promise<Ask> {
  const [, , , [row] = []] = await stage.sql([
    { sql: "update platforms set clock_offset_ms = 0 where clock_moved_at is not null" },
    {
      sql: `update principals set status = 'ATTESTATION_EXPIRED' where platform_id = ? and environment = 'sandbox' and status = 'ACTIVE'
        and attestation_expires_at <= ? + ${DAYS_AHEAD} * ${DAY} * 1000`,
      params: [platform.platformId, Date.now()],
    },
    {
      sql: "update platforms set clock_recorded_to = ? + clock_offset_ms where clock_offset_ms > 0",
      params: [Date.now()],
    },
    { sql: "select count(*) as moved from platforms where clock_offset_ms > 0" },
  ]);
  return { method: "POST", path: `/__bench/job?name=sweep_sandboxes&done=${row?.["moved"]}` };
}

type Many = { readonly platform: Platform; readonly consumer: PlayedAgent };

async function manyDue(play: Play): Promise<Many> {
  const { stage, next } = play;
  const platform = await open(play);
  const owner = await principal(stage, platform, next());
  const consumer = await agent(stage, platform, "CONSUMER", owner);
  const provider = await openProvider(stage, await principal(stage, stage.platform, next()));
  const pair = { consumer, provider };
  const { taskId } = await buyAndFacilitate(play, pair);
  const intentId = await openIntent(play, pair);
  const many = { from: 0, to: DUE - 1 };
  await copyPurchase(play, taskId, DUE);
  const ended = { intent_id: named("intent_id"), intent_hash: named("intent_hash") };
  await copyRows(stage, { table: "payment_intents", where: `intent_id = '${intentId}'`, vary: ended }, many);
  const held = { intent_id: named("intent_id") };
  await copyRows(stage, { table: "spend_holds", where: `intent_id = '${intentId}'`, vary: held }, many);
  return { platform, consumer };
}

const named = (column: string) => `${column} || '-' || n`;
const IDS = { task_id: named("task_id"), transaction_id: named("transaction_id") };

async function copyPurchase({ stage }: Play, taskId: string, count: number): Promise<void> {
  const [where, copies] = [`task_id = '${taskId}'`, { from: 0, to: count - 1 }];
  const settled = { ...IDS, intent_id: named("intent_id"), log_index: "log_index + 1000 + n" };
  await copyRows(stage, { table: "transactions", where, vary: settled }, copies);
  await copyRows(stage, { table: "tasks", where, vary: IDS }, copies);
}

/** Files disputes with another provider, for whose purchases the copies stand. */
async function disputesDue(play: Play, { consumer }: Many): Promise<void> {
  const { stage, next } = play;
  const provider = await openProvider(stage, await principal(stage, stage.platform, next()));
  const { taskId, transactionId } = await buyAndFacilitate(play, { consumer, provider });
  const filing = { transaction_id: transactionId, reason: "other", disputed_amount: "0.01" };
  const filed = await must(stage, as(consumer, "POST", "/v1/disputes", filing), 201);
  await copyPurchase(play, taskId, DISPUTES);
  const where = `dispute_id = '${json(filed)["dispute_id"]}'`;
  const vary = { ...IDS, dispute_id: named("dispute_id") };
  await copyRows(stage, { table: "disputes", where, vary }, { from: 0, to: DISPUTES - 1 });
}

const ADVANCE = "/v1/sandbox/clock/advance";
/** Reads the chain to its head before the advance. */
async function advanceBy(play: Play, { platform }: Many, seconds: number): Promise<Ask> {
  await follow(play);
  return manageAs(platform, "POST", ADVANCE, { seconds });
}

const route = `POST ${ADVANCE}`;
export const SANDBOX_CASES: readonly Case[] = [
  {
    route: "GET /v1/sandbox/clock",
    status: 200,
    ask: async (play) => manageAs(await open(play), "GET", "/v1/sandbox/clock"),
  },
  {
    route,
    status: 200,
    ask: async (play) => manageAs(await open(play), "POST", ADVANCE, { seconds: FOUR_DAYS }),
  },
  {
    route,
    variant: `${DUE} tasks and ${DUE} intents`,
    status: 200,
    ask: async (play) => advanceBy(play, await manyDue(play), FOUR_DAYS),
  },
  {
    route,
    variant: `${DUE} tasks, ${DUE} intents and ${DISPUTES} disputes`,
    status: 200,
    ask: async (play) => {
      const many = await manyDue(play);
      await disputesDue(play, many);
      return advanceBy(play, many, EIGHT_DAYS);
    },
  },
];

export const SANDBOX_SWEEP: readonly Case[] = [{ route: "job sweep_sandboxes", status: 200, ask: prepareSweep }];
