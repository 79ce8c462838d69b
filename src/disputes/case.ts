// The whole file of a dispute for its arbiter (DSP-16): messages and evidence, the purchase with its signed receipt, the wallets that paid and are
// refunded, and both ratings.
import type { OperatorCall } from "../call.ts";
import { toIso } from "../core/clock.ts";
import { findReceiptOf } from "../facilitation/store.ts";
import { toTransactionView } from "../facilitation/views.ts";
import { findIntent } from "../intents/store.ts";
import { toIntentView } from "../payments/views.ts";
import { pickRatingMethod } from "../ratings/method.ts";
import { computeRatingFromRow } from "../ratings/signals.ts";
import { findRatedAgent } from "../ratings/store.ts";
import { toTaskView } from "../tasks/views.ts";
import type { DisputeCase } from "./responses.ts";
import {
  type FoundDispute,
  findDisputable,
  findEvidence,
  findMessages,
  selectDisputeParty,
  selectTransactionOfDispute,
} from "./store.ts";
import { toDisputeFile } from "./views.ts";

export async function getDisputeCase(call: OperatorCall<FoundDispute>, disputeId: string): Promise<DisputeCase> {
  const { db, deps } = call;
  const { config } = deps;
  const { object, messages, evidence, about, receipt, intent, provider, consumer } = await call.read({
    messages: findMessages(db, disputeId),
    evidence: findEvidence(db, disputeId),
    about: findDisputable(db, selectTransactionOfDispute(disputeId)),
    receipt: findReceiptOf(db, selectTransactionOfDispute(disputeId)),
    intent: findIntent(db, selectDisputeParty(disputeId, "intent")),
    provider: findRatedAgent(db, selectDisputeParty(disputeId, "provider")),
    consumer: findRatedAgent(db, selectDisputeParty(disputeId, "consumer")),
  });
  if (!about?.task || !intent || !provider || !consumer) throw new Error("a dispute without its purchase");
  const { dispute, award, clockOffsetMs: ahead } = object;
  const now = deps.clock.now() + ahead;
  const rating = ({ clockOffsetMs, ...agent }: typeof provider) =>
    agent.environment === dispute.environment
      ? computeRatingFromRow(agent, pickRatingMethod(deps.env, agent.environment), deps.clock.now() + clockOffsetMs)
      : null;
  const { payer, refundTo } = about.transaction;
  const walletOf = (address: string) => {
    const own = provider.wallets.find(([wallet]) => wallet === address.toLowerCase());
    return { address, of_provider: own !== undefined, of_provider_since: own?.[1] ? toIso(own[1]) : null };
  };
  return {
    ...toDisputeFile(config, { dispute, award, messages, evidence }, now),
    transaction: toTransactionView(config, about.transaction),
    receipt,
    intent: toIntentView(config, intent, now),
    task: toTaskView(config, about.task, now),
    payer: walletOf(payer),
    refund_to: walletOf(refundTo || payer),
    ratings: { provider: rating(provider), consumer: rating(consumer) },
  };
}
