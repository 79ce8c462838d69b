// Disputes: each act by the agent that may do it, and the arbiter's acts. They use pairs of their own, because a dispute changes its provider.
import { DAY_MS } from "../../src/core/limits.ts";
import type { Case } from "../case.ts";
import {
  as,
  buyAndFacilitate,
  json,
  manage,
  must,
  openPair,
  operate,
  type Play,
  type PlayedAgent,
  type PlayedPair,
} from "../play.ts";
import type { Stage } from "../stage.ts";
import type { Ask } from "../wire.ts";

type Json = Record<string, unknown>;
const pairs = new WeakMap<Stage, Promise<PlayedPair>>();
function pairOf(play: Play): Promise<PlayedPair> {
  const known = pairs.get(play.stage) ?? openPair(play);
  pairs.set(play.stage, known);
  return known;
}

const PATH = "/v1/disputes";
/** The vault covers this amount. */
const AMOUNT = "0.01";
const filingOf = (transaction_id: string): Json => ({ transaction_id, reason: "other", disputed_amount: AMOUNT });

type Disputed = PlayedPair & { readonly id: string };
export async function openDispute(play: Play): Promise<Disputed> {
  const pair = await pairOf(play);
  const { transactionId } = await buyAndFacilitate(play, pair);
  const filed = await must(play.stage, as(pair.consumer, "POST", PATH, filingOf(transactionId)), 201);
  return { ...pair, id: String(json(filed)["dispute_id"]) };
}
const act = (by: PlayedAgent, id: string, verb: string, body?: Json): Promise<Ask> =>
  as(by, "POST", `${PATH}/${id}/${verb}`, body);
const OFFER = { message: "Some of it.", offer_amount: AMOUNT };
async function offerRefund(play: Play): Promise<Disputed> {
  const of = await openDispute(play);
  await must(play.stage, act(of.provider, of.id, "respond", OFFER), 200);
  return of;
}
async function openArbitration(play: Play): Promise<Disputed> {
  const of = await offerRefund(play);
  await must(play.stage, act(of.consumer, of.id, "escalate"), 200);
  return of;
}
const prepareResolution = (verdict: Json) => async (play: Play) => {
  const { id } = await openArbitration(play);
  return operate(play.stage, "POST", `/v1/operator/disputes/${id}/resolve`, { reason: "So it is.", ...verdict });
};

/** Leaves a payout that the guardian has cancelled. */
async function preparePayoutRepeat(play: Play): Promise<Ask> {
  const { id } = await openArbitration(play);
  const decide = operate(play.stage, "POST", `/v1/operator/disputes/${id}/resolve`, { reason: "So it is.", ...UPHELD });
  await must(play.stage, decide, 200);
  const [failed, unpaid] = [
    "update chain_operations set status = 'failed', reason = 'cancelled', next_check_at = null where kind = 'payout' and subject = ?",
    "update disputes set refund_status = 'outstanding', owed = 0 where dispute_id = ?",
  ];
  await play.stage.sql([failed, unpaid].map((sql) => ({ sql, params: [id] })));
  return operate(play.stage, "POST", `/v1/operator/disputes/${id}/payout`, { reason: "It stands." });
}
const UPHELD = { resolution: "upheld" };

/** Leaves a dispute in which the parties' days are over. */
export async function leaveDays(play: Play): Promise<void> {
  const { id } = await openDispute(play);
  const text = "update disputes set answers_until = ?, due_at = ? where dispute_id = ?";
  const past = Date.now() - DAY_MS;
  await play.stage.sql([{ sql: text, params: [past, past, id] }]);
}

/** Leaves a due chain operation, whose subject is unknown. */
export const leaveDueOperation = (kind: "reserve" | "payout") => (play: Play) =>
  play.stage.sql([
    {
      sql: `insert or replace into chain_operations (network, kind, subject, wanted, status, created_at, updated_at, next_check_at)
        values (?, ?, 'nobody', '{}', 'waiting', 1, 1, 1)`,
      params: [play.network.network, kind],
    },
  ]);
export const restOperation = ({ stage }: Play) =>
  stage.sql([{ sql: "update chain_operations set next_check_at = null where kind in ('reserve', 'payout')" }]);

const one = (verb: string) => `POST ${PATH}/{dispute_id}/${verb}`;
export const DISPUTES: readonly Case[] = [
  {
    route: `POST ${PATH}`,
    status: 201,
    ask: async (play) => {
      const pair = await pairOf(play);
      const { transactionId } = await buyAndFacilitate(play, pair);
      return as(pair.consumer, "POST", PATH, filingOf(transactionId));
    },
  },
  {
    route: `POST ${PATH}`,
    variant: "management key",
    status: 201,
    ask: async (play) => {
      const { transactionId } = await buyAndFacilitate(play, await pairOf(play));
      return manage(play.stage, "POST", PATH, filingOf(transactionId));
    },
  },
  {
    route: `GET ${PATH}/{dispute_id}`,
    status: 200,
    ask: async (play) => {
      const { consumer, id } = await offerRefund(play);
      return as(consumer, "GET", `${PATH}/${id}`);
    },
  },
  { route: `GET ${PATH}`, status: 200, filling: true, ask: ({ stage }) => manage(stage, "GET", `${PATH}?limit=20`) },
  {
    route: one("respond"),
    status: 200,
    ask: async (play) => {
      const { provider, id } = await openDispute(play);
      return act(provider, id, "respond", OFFER);
    },
  },
  {
    route: one("evidence"),
    status: 201,
    ask: async (play) => {
      const { consumer, id } = await openDispute(play);
      return act(consumer, id, "evidence", { description: "The note." });
    },
  },
  {
    route: one("accept"),
    status: 200,
    ask: async (play) => {
      const { consumer, id } = await offerRefund(play);
      return act(consumer, id, "accept");
    },
  },
  {
    route: one("concede"),
    status: 200,
    ask: async (play) => {
      const { provider, id } = await openDispute(play);
      return act(provider, id, "concede");
    },
  },
  {
    route: one("withdraw"),
    status: 200,
    ask: async (play) => {
      const { consumer, id } = await openDispute(play);
      return act(consumer, id, "withdraw");
    },
  },
  {
    route: one("escalate"),
    status: 200,
    ask: async (play) => {
      const { consumer, id } = await offerRefund(play);
      return act(consumer, id, "escalate");
    },
  },
  {
    route: "GET /v1/operator/disputes",
    status: 200,
    filling: true,
    ask: ({ stage }) => operate(stage, "GET", "/v1/operator/disputes?limit=20"),
  },
  {
    route: "GET /v1/operator/disputes/{dispute_id}",
    status: 200,
    ask: async (play) => operate(play.stage, "GET", `/v1/operator/disputes/${(await openArbitration(play)).id}`),
  },
  {
    route: "POST /v1/operator/disputes/{dispute_id}/resolve",
    status: 200,
    ask: prepareResolution(UPHELD),
  },
  { route: "POST /v1/operator/disputes/{dispute_id}/payout", status: 200, ask: preparePayoutRepeat },
  {
    route: "POST /v1/operator/disputes/{dispute_id}/resolve",
    variant: "rejected",
    status: 200,
    ask: prepareResolution({ resolution: "rejected" }),
  },
];
