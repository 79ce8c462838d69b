// Contract section 6, Rating: an intent that its consumer left unpaid tells something of the consumer. Only of one that it
// opened itself: either party may open an intent, and nobody's rating is in a counterparty's hands. And only when it can no
// longer be settled late, so that no signal ever has to be taken back.
import { findPublicAgent } from "../agents/store.ts";
import type { Deps } from "../context.ts";
import { commit, readBatch } from "../db/batch.ts";
import type { Environment } from "../db/scope.ts";
import { findNetwork } from "../markets/networks.ts";
import { LATE_MS } from "../payments/states.ts";
import { findUnratedIntents, type IntentRow, markRated } from "../payments/store.ts";
import { consumerSignal } from "../ratings/rating.ts";
import { findCounterparty, findHeaviest } from "../ratings/store.ts";
import { inTurn } from "./in-turn.ts";
import { rateAgent } from "./rate-agent.ts";
import { sweepEach } from "./sweep.ts";

/** The cron's. Returns how many. */
export async function rateAbandonedIntents(deps: Deps, slice: number): Promise<number> {
  const endedBefore = deps.clock.now() - LATE_MS;
  const { due } = await readBatch(deps.db, { due: findUnratedIntents(deps.db, endedBefore, slice) });
  return sweepEach(due, (intent) => inTurn(deps, (touches) => rateAbandoned(deps, intent, touches)));
}

async function rateAbandoned(
  deps: Deps,
  intent: IntentRow,
  touches: (dids: readonly string[]) => void,
): Promise<boolean> {
  const { db } = deps;
  const { consumerDid, providerDid, intentId } = intent;
  const { consumer, provider, heaviest } = await readBatch(db, {
    consumer: findPublicAgent(db, consumerDid),
    provider: findPublicAgent(db, providerDid),
    heaviest: findHeaviest(db, consumerDid),
  });
  if (!consumer || !provider) throw new Error("an intent without its parties");
  touches([consumerDid]);
  const counterpartyPrincipalId = provider.agent.principalId;
  if (counterpartyPrincipalId === consumer.agent.principalId) {
    await commit(db, markRated(db, intentId));
    return true;
  }
  const { counterparty } = await readBatch(db, {
    counterparty: findCounterparty(db, consumerDid, counterpartyPrincipalId),
  });
  const decimals = findNetwork(deps.config.networks, intent.network)?.decimals ?? 0;
  const rated = await rateAgent(
    db,
    deps,
    { ...consumer, markets: [], escrows: [] },
    {
      add: consumerSignal(
        deps.config.rating[intent.environment as Environment],
        "intent_abandoned",
        intent.amount / 10 ** decimals,
      ),
      at: intent.expiresAt,
      interaction: false,
      volume: 0,
      counterpartyPrincipalId,
      counterparty,
      heaviest,
      now: deps.clock.now(),
    },
  );
  await commit(db, [...markRated(db, intentId), ...rated.statements]);
  return true;
}
