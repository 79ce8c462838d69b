// The operations of a purchase, from the order to the confirmation, as agents call them.
import { DAY_MS } from "../../src/core/limits.ts";
import type { Case } from "../case.ts";
import { copyRows, otherId } from "../copies.ts";
import { LARGE_AMOUNT } from "../payer.ts";
import {
  agent,
  anyone,
  as,
  asBound,
  buyAndFacilitate,
  facilitation,
  follow,
  keyed,
  manage,
  openAndPay,
  openIntent,
  openPair,
  openProvider,
  orderBody,
  type Paid,
  type Play,
  type PlayedAgent,
  principal,
} from "../play.ts";

const addressPath = ({ network }: Play) => `/v1/payment-address?market=GLOBAL-USDC&network=${network.network}`;

/** Facilitates with the consumer's proof, presented by another agent. */
const facilitateAs = (consumer: PlayedAgent, provider: PlayedAgent, purchase: Paid) =>
  asBound(consumer, provider, { method: "POST", path: "/v1/facilitate", body: JSON.stringify(facilitation(purchase)) });

/** Each platform after the first costs about seven rows more, each delegator three. */
const BUYERS: readonly (readonly [variant: string, of: (play: Play) => PlayedAgent])[] = [
  ["second platform", ({ stranger }) => stranger],
  ["one delegator", ({ delegates }) => delegates[0]],
  ["two delegators", ({ delegates }) => delegates[1]],
];

/** A provider may have three intents of its own open for one consumer, so earlier runs open theirs as the consumer. */
const forgetOpened = ({ stage, provider }: Play) =>
  stage.sql([
    {
      sql: "update payment_intents set opened_by = consumer_did where opened_by = ? and provider_did = opened_by",
      params: [provider.did],
    },
  ]);

const SETTLED_BEFORE = 100;
/** Makes an intent older than all others of the same terms, of which the cases and the history have many. */
const makeOldest = ({ stage }: Play, intentId: string) =>
  stage.sql([
    {
      sql: "update payment_intents set created_at = created_at - ? where intent_id = ?",
      params: [30 * DAY_MS, intentId],
    },
  ]);

/** Stores settlements of other intents by the same on-chain transaction, which pays many at once. */
async function settleBefore(play: Play, txHash: string): Promise<void> {
  const { transactionId } = await buyAndFacilitate(play);
  await follow(play);
  const [n, count] = [play.next(), { from: 0, to: SETTLED_BEFORE }];
  const own = (prefix: string) => otherId(`${prefix}_${n}`);
  const vary = { transaction_id: own("fac") };
  const where = `transaction_id = '${transactionId}'`;
  await copyRows(play.stage, { table: "receipts", where, vary }, count);
  const others = {
    ...vary,
    intent_id: own("pin"),
    task_id: own("tsk"),
    settlement_id: `'${n}-' || n`,
    tx_hash: `'${txHash}'`,
    log_index: "1000 + n",
  };
  await copyRows(play.stage, { table: "transactions", where, vary: others }, count);
  // The chain has none of these settlements, so they are marked as compared.
  await play.stage.sql([{ sql: "update followers set checked_receipt = (select max(rowid) from receipts)" }]);
}

export const PAYMENTS: readonly Case[] = [
  {
    route: "POST /v1/payment-intents",
    status: 201,
    timed: "effect",
    // Keeps the follower level, because a call would also send it, and opens one intent first, because the first one after a while sweeps ended
    // holds.
    ask: async (play) => {
      await follow(play);
      await openIntent(play, play);
      return as(play.consumer, "POST", "/v1/payment-intents", orderBody(play.network, play));
    },
  },
  {
    route: "POST /v1/payment-intents",
    variant: "Idempotency-Key",
    status: 201,
    ask: async (play) =>
      keyed(play, await as(play.consumer, "POST", "/v1/payment-intents", orderBody(play.network, play))),
  },
  {
    route: "GET /v1/payment-intents/{intent_id}",
    status: 200,
    ask: async (play) => as(play.consumer, "GET", `/v1/payment-intents/${await openIntent(play, play)}`),
  },
  {
    route: "GET /v1/payment-intents",
    status: 200,
    ask: async (play) => as(play.consumer, "GET", "/v1/payment-intents"),
  },
  {
    route: "GET /v1/payment-intents",
    variant: "status=SETTLED",
    status: 200,
    // The number of others that a page scans depends on them: here it is every second one.
    ask: async (play) => {
      const { stage, principalId, provider } = play;
      const consumer = await agent(stage, stage.platform, "CONSUMER", principalId);
      for (let n = 0; n < 4; n++)
        await (n % 2 === 0 ? openIntent(play, { consumer, provider }) : buyAndFacilitate(play, { consumer, provider }));
      return as(consumer, "GET", "/v1/payment-intents?status=SETTLED&role=consumer");
    },
  },
  {
    route: "POST /v1/payment-intents/{intent_id}/cancel",
    status: 200,
    ask: async (play) => {
      const intentId = await openIntent(play, play);
      // Reads the payments that other cases made before.
      await follow(play);
      return as(play.consumer, "POST", `/v1/payment-intents/${intentId}/cancel`);
    },
  },
  {
    route: "POST /v1/agents/{did}/spend-policy/evaluate",
    status: 200,
    ask: (play) => {
      const { consumer_did: did, ...body } = orderBody(play.network, play) as Record<string, unknown>;
      return as(play.consumer, "POST", `/v1/agents/${did}/spend-policy/evaluate`, body);
    },
  },
  {
    route: "POST /v1/agents/{did}/spend-policy/evaluate",
    variant: "management key",
    status: 200,
    ask: async (play) => {
      const { consumer_did: did, ...body } = orderBody(play.network, play) as Record<string, unknown>;
      return manage(play.stage, "POST", `/v1/agents/${did}/spend-policy/evaluate`, body);
    },
  },
  {
    route: "GET /v1/payment-address",
    status: 200,
    ask: (play) => as(play.provider, "GET", addressPath(play)),
  },
  {
    route: "GET /v1/payment-address",
    variant: "intent",
    status: 200,
    ask: async (play) => {
      await forgetOpened(play);
      const { consumer_did, provider_did, amount } = orderBody(play.network, play) as Record<string, string>;
      const query = new URLSearchParams({
        consumer_did: `${consumer_did}`,
        provider_did: `${provider_did}`,
        amount: `${amount}`,
      });
      return as(play.provider, "GET", `${addressPath(play)}&${query}`);
    },
  },
  {
    route: "POST /v1/facilitate",
    variant: "intent",
    status: 200,
    timed: "effect",
    ask: async (play) => facilitateAs(play.consumer, play.provider, await openAndPay(play, play)),
  },
  ...BUYERS.map(
    ([variant, buyerOf]): Case => ({
      route: "POST /v1/facilitate",
      variant,
      status: 200,
      ask: async (play) => {
        const pair = { consumer: buyerOf(play), provider: play.provider };
        return facilitateAs(pair.consumer, pair.provider, await openAndPay(play, pair));
      },
    }),
  ),
  {
    route: "POST /v1/facilitate",
    variant: "the vault reaches its threshold",
    status: 200,
    ask: async (play) => {
      const { consumer, stage } = play;
      const provider = await openProvider(stage, await principal(stage, stage.platform, play.next()));
      return facilitateAs(consumer, provider, await openAndPay(play, { consumer, provider }, LARGE_AMOUNT));
    },
  },
  {
    route: "GET /v1/facilitations/{facilitation_id}",
    status: 200,
    ask: async (play) => anyone("GET", `/v1/facilitations/${(await buyAndFacilitate(play)).transactionId}`),
  },
  {
    route: "POST /v1/facilitate",
    variant: `${SETTLED_BEFORE} settlements of its transaction before`,
    status: 200,
    ask: async (play) => {
      const purchase = await openAndPay(play, play);
      await settleBefore(play, purchase.txHash);
      return facilitateAs(play.consumer, play.provider, purchase);
    },
  },
  {
    route: "POST /v1/facilitate",
    variant: "client form",
    status: 200,
    ask: async (play) => {
      const { consumer, provider, network } = play;
      const { txHash: tx_hash } = await openAndPay(play, play);
      const body = { provider_did: provider.did, consumer_did: consumer.did, tx_hash, network: network.network };
      return as(provider, "POST", "/v1/facilitate", body);
    },
  },
  {
    route: "POST /v1/facilitate",
    variant: "client form, an older intent by name",
    status: 200,
    ask: async (play) => {
      const { consumer, provider, network } = play;
      const { intentId, txHash: tx_hash } = await openAndPay(play, play);
      await makeOldest(play, intentId);
      const body = { provider_did: provider.did, consumer_did: consumer.did, tx_hash, network: network.network };
      return as(provider, "POST", "/v1/facilitate", body);
    },
  },
  {
    route: "POST /v1/facilitate",
    variant: "retry",
    status: 200,
    ask: async (play) => {
      const purchase = await buyAndFacilitate(play);
      return as(play.consumer, "POST", "/v1/facilitate", facilitation(purchase));
    },
  },
  {
    route: "GET /v1/tasks/{task_id}",
    status: 200,
    ask: async (play) => as(play.consumer, "GET", `/v1/tasks/${(await buyAndFacilitate(play)).taskId}`),
  },
  {
    route: "POST /v1/tasks/{task_id}/confirm",
    status: 200,
    ask: async (play) => {
      const pair = await openPair(play);
      const { taskId } = await buyAndFacilitate(play, pair);
      return as(pair.consumer, "POST", `/v1/tasks/${taskId}/confirm`, { outcome: "confirmed" });
    },
  },
  {
    route: "POST /v1/tasks/{task_id}/confirm",
    variant: "agents that have traded with many",
    status: 200,
    timed: "effect",
    ask: async (play) => {
      const { taskId } = await buyAndFacilitate(play);
      return as(play.consumer, "POST", `/v1/tasks/${taskId}/confirm`, { outcome: "confirmed" });
    },
  },
];
