// Reads an agent's rating at this instant, for anyone (TSK-17).
import type { PublicCall } from "../call.ts";
import { toIso } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import { ratingMethod } from "./method.ts";
import { ratingAt } from "./signals.ts";
import { findRatedAgent } from "./store.ts";

export async function getRating(call: PublicCall, did: string) {
  const { db, deps, now } = call;
  const { agent } = await call.read({ agent: findRatedAgent(db, did) });
  if (!agent) throw new ServiceError("not_found");
  return {
    did,
    agent_rating: ratingAt(agent, ratingMethod(deps.env, agent.environment), now),
    interactions: agent.ratingInteractions,
    counterparties: agent.ratingCounterparties,
    as_of: toIso(now),
  };
}
