// The operations of webhooks, their jobs, and deliveries from the fan-out to the end.
import { DAY_MS } from "../../src/core/limits.ts";
import type { Case } from "../case.ts";
import { json, keyed, manage, manageAs, must, type Play } from "../play.ts";
import {
  deliveryId,
  type Hook,
  leaveEndpoints,
  leaveEvents,
  openHook,
  settleHook,
  toLoggedDelivery,
  toQueuedDelivery,
} from "../webhook-rows.ts";
import { type Ask, send } from "../wire.ts";
import { change, runOf } from "./drain.ts";

const PATH = "/v1/webhooks";
const [ONE, DELIVERIES] = [`${PATH}/{webhook_id}`, `${PATH}/{webhook_id}/deliveries`];
/** The number of other endpoints that the account has, and the number that leaves room for only one more. */
const [OTHERS, ALL_BUT_ONE] = [10, 19];

// ---- Operations ----------------------------------------------------------------------------------------------------------

const body = ({ stage, next }: Play) => ({
  url: stage.receiver.urlOf("ok", `case-${next()}`),
  event_types: ["transaction.settled", "task.closed"],
  description: "Ledger",
});

async function creating(play: Play, others = OTHERS): Promise<Ask> {
  await leaveEndpoints(play, others);
  return manage(play.stage, "POST", PATH, body(play));
}

const endpoint = async (play: Play): Promise<string> =>
  `${PATH}/${json(await must(play.stage, creating(play), 201))["webhook_id"]}`;

/** Builds a call about the endpoint that deliveries are measured with. */
const about = async (play: Play, method: string, path: string, sent?: Record<string, unknown>): Promise<Ask> => {
  const { platform, path: own } = await settleHook(play);
  return manageAs(platform, method, `${own}/${path}`, sent);
};

const listing = (filter: string): Case => ({
  route: `GET ${DELIVERIES}`,
  ...(filter !== "" && { variant: filter }),
  status: 200,
  filling: true,
  ask: (play) => about(play, "GET", `deliveries?limit=20&${filter}`),
});

async function redelivering(play: Play, status: "delivered" | "pending"): Promise<Ask> {
  const hook = await settleHook(play);
  const [id, later] = [deliveryId(play.next()), Date.now() + DAY_MS / 2];
  const waits = status === "pending";
  await play.stage.sql([
    toLoggedDelivery(hook, id, status, waits ? later : null),
    ...(waits ? [toQueuedDelivery(hook, id, later, true)] : []),
  ]);
  return manageAs(hook.platform, "POST", `${hook.path}/deliveries/${id}/redeliver`);
}

/** Leaves a listed event of the endpoint's account. */
async function leaveListed(play: Play): Promise<{ id: string; seq: number }> {
  const { platform } = await openHook(play);
  await change(play.stage, "insert or replace into outbox (name, seq) select 'listed', max(seq) from events");
  await leaveEvents(play, platform, 1);
  await send(play.stage.origin, runOf("list_events", 1));
  const text = "select id, seq from events where platform_id = ? order by seq desc limit 1";
  const [[row] = []] = await play.stage.sql([{ sql: text, params: [platform.platformId] }]);
  return { id: String(row?.["id"]), seq: Number(row?.["seq"]) };
}

/** The job's message is counted and dropped, because the job has a case of its own. */
async function replaying(play: Play, since: (id: string) => string): Promise<Ask> {
  const { id } = await leaveListed(play);
  const ask = await about(play, "POST", "replay", { since: since(id) });
  return { ...ask, headers: { ...ask.headers, "Bench-Hold": "1" } };
}

const OPERATIONS: readonly Case[] = [
  { route: `POST ${PATH}`, status: 201, ask: (play) => creating(play) },
  {
    route: `POST ${PATH}`,
    variant: "Idempotency-Key",
    status: 201,
    ask: async (play) => keyed(play, await creating(play)),
  },
  {
    route: `POST ${PATH}`,
    variant: "the last that it may have",
    status: 201,
    ask: (play) => creating(play, ALL_BUT_ONE),
  },
  {
    route: `GET ${PATH}`,
    status: 200,
    ask: async (play) => {
      await leaveEndpoints(play, OTHERS);
      return manage(play.stage, "GET", `${PATH}?limit=20`);
    },
  },
  { route: `GET ${ONE}`, status: 200, ask: async (play) => manage(play.stage, "GET", await endpoint(play)) },
  {
    route: `PATCH ${ONE}`,
    status: 200,
    ask: async (play) => manage(play.stage, "PATCH", await endpoint(play), { event_types: ["*"] }),
  },
  {
    route: `PATCH ${ONE}`,
    variant: "all at once",
    status: 200,
    ask: async (play) =>
      manage(play.stage, "PATCH", await endpoint(play), {
        ...body(play),
        event_types: ["*"],
        description: null,
        status: "disabled",
      }),
  },
  { route: `DELETE ${ONE}`, status: 204, ask: async (play) => manage(play.stage, "DELETE", await endpoint(play)) },
  {
    route: `POST ${ONE}/rotate-secret`,
    status: 200,
    ask: async (play) => manage(play.stage, "POST", `${await endpoint(play)}/rotate-secret`, {}),
  },
  { route: `POST ${ONE}/test`, status: 200, ask: (play) => about(play, "POST", "test") },
  listing(""),
  listing("status=delivered"),
  listing("status=pending"),
  listing("event_type=agent.status_changed"),
  listing("event_id=evt_1"),
  { route: `POST ${DELIVERIES}/{delivery_id}/redeliver`, status: 200, ask: (play) => redelivering(play, "delivered") },
  {
    route: `POST ${DELIVERIES}/{delivery_id}/redeliver`,
    variant: "one that waits",
    status: 200,
    ask: (play) => redelivering(play, "pending"),
  },
  { route: `POST ${ONE}/replay`, status: 200, ask: (play) => replaying(play, (id) => id) },
  {
    route: `POST ${ONE}/replay`,
    variant: "an instant",
    status: 200,
    filling: true,
    ask: (play) => replaying(play, () => new Date(Date.now() - DAY_MS).toISOString()),
  },
];

// ---- Deliveries ----------------------------------------------------------------------------------------------------------

/** Commits events; `taken` is the number of deliveries that are accepted. */
const delivering = (variant: string, taken: number, arrange: (play: Play, hook: Hook) => Promise<unknown>): Case => ({
  route: "message deliver",
  variant,
  status: 200,
  ask: async (play) => {
    const hook = await settleHook(play);
    await arrange(play, hook);
    return { method: "POST", path: `/__bench/deliver?webhook=${hook.webhookId}&taken=${taken}` };
  },
});

const BURST = 100;

const MESSAGES: readonly Case[] = [
  delivering("one", 1, (play, { platform }) => leaveEvents(play, platform, 1)),
  delivering("a burst of 100", BURST, (play, { platform }) => leaveEvents(play, platform, BURST)),
  delivering("the receiver fails", 0, async (play, { platform, webhookId }) => {
    const url = play.stage.receiver.urlOf("fails", "measured");
    await change(play.stage, "update webhook_endpoints set url = ? where webhook_id = ?", url, webhookId);
    await leaveEvents(play, platform, 1);
  }),
  delivering("100 events that nobody gets", 0, async (play) => {
    await change(play.stage, "delete from webhook_endpoints where platform_id = ?", play.stage.second.platformId);
    await leaveEvents(play, play.stage.second, BURST);
  }),
];

export const WEBHOOKS: readonly Case[] = [...OPERATIONS, ...MESSAGES];

// ---- Jobs ----------------------------------------------------------------------------------------------------------------

const leaveFresh = async (play: Play) => leaveEvents(play, (await openHook(play)).platform, 1);

const leaveDue = async (play: Play) =>
  play.stage.sql([toQueuedDelivery(await openHook(play), deliveryId(play.next()), Date.now() - 1, false)]);

async function leaveReplay(play: Play): Promise<void> {
  const { platform, webhookId } = await openHook(play);
  const { seq } = await leaveListed(play);
  const text = `insert into walks (kind, subject, started_at, after_at, after_id, payload) values ('replay', ?, ?, ?, '', ?)`;
  const payload = { platformId: platform.platformId, environment: "sandbox", toSeq: seq };
  await change(play.stage, text, webhookId, Date.now(), seq - 1, JSON.stringify(payload));
}

const leaveOld = async (play: Play) =>
  play.stage.sql([
    toLoggedDelivery(await openHook(play), deliveryId(play.next(), Date.now() - 31 * DAY_MS), "delivered", null),
  ]);

/** Leaves a secret that is sealed under the service's key, but marked with another key. */
const leaveSealed = async (play: Play) =>
  change(
    play.stage,
    "update webhook_endpoints set seal_key = '0' where webhook_id = ?",
    (await openHook(play)).webhookId,
  );

export const WEBHOOK_SWEEPS = [
  { job: "fan_out_events", settle: settleHook, arrange: leaveFresh },
  { job: "deliver_webhooks", settle: settleHook, arrange: leaveDue },
  { job: "replay_events", settle: settleHook, arrange: leaveReplay },
  { job: "prune_deliveries", settle: settleHook, arrange: leaveOld },
  { job: "reseal_webhook_secrets", settle: settleHook, arrange: leaveSealed },
];
