// The endpoint of the cases, with an account of its own, and the history of webhooks.
import { computeFirstId } from "../src/core/ids.ts";
import { DAY_MS } from "../src/core/limits.ts";
import type { Copies } from "./copies.ts";
import { json, manageAs, must, type Play } from "./play.ts";
import { accredit, type Platform, type Sql, type Stage } from "./stage.ts";

export type Hook = { readonly platform: Platform; readonly webhookId: string; readonly path: string };

const hooks = new WeakMap<Stage, Promise<Hook>>();

/** The one endpoint of its account, which gets every event. It is old: one delivery is done, and one waits. */
export function openHook({ stage }: Play): Promise<Hook> {
  const known = hooks.get(stage) ?? makeHook(stage);
  hooks.set(stage, known);
  return known;
}

const MEASURED = "measured";
const LATER = 4_000_000_000_000;

async function makeHook(stage: Stage): Promise<Hook> {
  const platform = await accredit(stage.origin, "Webhooks");
  const body = { url: stage.receiver.urlOf("ok", MEASURED), event_types: ["*"], description: MEASURED };
  const made = json(await must(stage, manageAs(platform, "POST", "/v1/webhooks", body), 201));
  const hook = { platform, webhookId: String(made["webhook_id"]), path: `/v1/webhooks/${made["webhook_id"]}` };
  await stage.sql([
    toLoggedDelivery(hook, deliveryId(0), "delivered", null),
    toLoggedDelivery(hook, deliveryId(1), "pending", LATER),
    toQueuedDelivery(hook, deliveryId(1), LATER, true),
  ]);
  return hook;
}

// ---- Rows of deliveries --------------------------------------------------------------------------------------------------

/** The id of a delivery from now, or from an earlier instant. */
export const deliveryId = (n: number, at = Date.now()): string =>
  computeFirstId("dlv", at).slice(0, -6) + String(n).padStart(6, "0");

const EVENT = ["evt_0", "agent.status_changed"];

export const toLoggedDelivery = ({ webhookId }: Hook, id: string, status: string, nextAt: number | null): Sql => ({
  sql: `insert into webhook_deliveries (webhook_id, delivery_id, event_id, event_type, status, next_at, attempts, event_seq)
    values (?, ?, ?, ?, ?, ?, '[]', coalesce((select max(seq) from events), 0))`,
  params: [webhookId, id, ...EVENT, status, nextAt],
});

export const toQueuedDelivery = ({ webhookId }: Hook, id: string, nextAt: number, tried: boolean): Sql => ({
  sql: `insert into webhook_queue (webhook_id, next_at, delivery_id, event_id, event_type, event_seq, tries, logged, lease_until)
    values (?, ?, ?, ?, ?, coalesce((select max(seq) from events), 0), ?, ?, 0)`,
  params: [webhookId, nextAt, id, ...EVENT, tried ? 1 : 0, tried ? 1 : 0],
});

/** Leaves nothing due for the endpoint, which is the only one of its account and answers. */
export async function settleHook(play: Play): Promise<Hook> {
  const hook = await openHook(play);
  const { sql, receiver } = play.stage;
  await sql([
    { sql: "delete from webhook_queue where next_at <= ?", params: [Date.now() + DAY_MS] },
    { sql: "delete from walks where kind = 'replay'" },
    {
      sql: "delete from webhook_endpoints where platform_id = ? and webhook_id <> ?",
      params: [hook.platform.platformId, hook.webhookId],
    },
    {
      sql: "update webhook_endpoints set url = ?, status = 'enabled', failing_since = null where webhook_id = ?",
      params: [receiver.urlOf("ok", MEASURED), hook.webhookId],
    },
    { sql: "insert or replace into outbox (name, seq) select 'webhooks', max(seq) from events" },
  ]);
  return hook;
}

/** Leaves events of the endpoint's account, or of another one. */
export const leaveEvents = ({ stage }: Play, { platformId }: Platform, count: number) =>
  must(stage, { method: "POST", path: "/__bench/events", body: JSON.stringify({ platformId, count }) }, 200);

/** Gives the measured platform the given number of endpoints, and no others. */
export async function leaveEndpoints(play: Play, count: number): Promise<void> {
  const { webhookId } = await openHook(play);
  const own = play.stage.platform.platformId;
  await play.stage.sql([
    { sql: "delete from webhook_endpoints where platform_id = ?", params: [own] },
    {
      sql: `insert into webhook_endpoints with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ?)
        select 'whe_own_' || printf('%03d', n), ?, environment, url, event_types, description || ' ' || n, status, disabled_cause, secret, seal_key,
          previous_secret, previous_until, failing_since, events_after, replays, created_at, updated_at
        from numbers, webhook_endpoints where webhook_id = ?`,
      params: [count, own, webhookId],
    },
  ]);
}

// ---- History -------------------------------------------------------------------------------------------------------------

const OF_HOOK = `webhook_id = (select webhook_id from webhook_endpoints where description = '${MEASURED}')`;
/** Two endpoints, one before and one after every real one. */
const OTHER = "case n % 2 when 0 then 'whe_0' else 'whe_z' end";
/** Ids with the instant of the copied delivery, and as valid. */
const SAME_TIME = "substr(delivery_id, 1, 14) || printf('%016d', n)";

export const WEBHOOK_COPIES: readonly Copies[] = [
  {
    table: "webhook_endpoints",
    where: OF_HOOK,
    vary: {
      webhook_id: `${OTHER} || printf('%025d', n)`,
      platform_id: "case n % 2 when 0 then 'plt_0' else 'plt_z' end || printf('%025d', n)",
      description: "'old'",
    },
  },
  // The endpoint itself has a long history and many waiting deliveries; so have two others.
  { table: "webhook_deliveries", where: `${OF_HOOK} and status = 'delivered'`, vary: { delivery_id: SAME_TIME } },
  {
    table: "webhook_deliveries",
    where: `${OF_HOOK} and status = 'delivered'`,
    vary: { webhook_id: OTHER, delivery_id: SAME_TIME },
  },
  {
    table: "webhook_queue",
    where: `${OF_HOOK} and next_at = ${LATER}`,
    vary: { next_at: "next_at + n", delivery_id: SAME_TIME },
  },
  {
    table: "webhook_queue",
    where: `${OF_HOOK} and next_at = ${LATER}`,
    vary: { webhook_id: OTHER, next_at: "next_at + n", delivery_id: SAME_TIME },
  },
];
