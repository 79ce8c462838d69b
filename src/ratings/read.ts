// Reads an agent's rating for anyone, at this instant of its own platform's clock, with all that it follows from (TSK-17). Counterparties have a
// position and no name.
import type { PublicCall } from "../call.ts";
import { toIso } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import { pickRatingMethod } from "./method.ts";
import { toUsedMethod } from "./publish.ts";
import type { RatingView } from "./responses.ts";
import { computeRatingFromRow } from "./signals.ts";
import { findRatedAgent } from "./store.ts";

export async function getRating(call: PublicCall, did: string): Promise<RatingView> {
  const { db, deps } = call;
  const { agent } = await call.read({ agent: findRatedAgent(db, did) });
  if (!agent) throw new ServiceError("not_found");
  const now = call.now + agent.clockOffsetMs;
  const method = pickRatingMethod(deps.env, agent.environment);
  return {
    did,
    agent_rating: computeRatingFromRow(agent, method, now),
    interactions: agent.ratingInteractions,
    counterparties: agent.ratingCounterparties,
    sums: { weight: agent.ratingWeight, weighted: agent.ratingWeighted },
    heaviest: agent.ratingHeaviest.map((sums, at) => ({ position: at + 1, ...sums })),
    method: toUsedMethod(method),
    as_of: toIso(now),
  };
}
