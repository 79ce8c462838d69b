// Refuses new intents on closed networks (PAY-24), and sends the follower to a network that it reads late.
import type { AgentCall } from "../call.ts";
import {
  type Closure,
  computeLagSeconds,
  findClosure,
  type NetworkAvailability,
  shouldTriggerFollower,
} from "../chain/availability.ts";
import { recordFollowerTriggered } from "../chain/availability-store.ts";
import { ServiceError } from "../core/errors.ts";
import { commit, type Statement } from "../db/batch.ts";

/** Seconds after which a client should try again. */
const RETRY_SECONDS: Readonly<Record<Closure, number>> = { lag: 30, paused: 60, low_gas: 60 };
const MESSAGES: Readonly<Record<Closure, string>> = {
  lag: "The network could not be read for some time: it takes no new payment intents.",
  paused: "The settlement contract is paused: its network takes no new payment intents.",
  low_gas: "The service has too little gas on the network: it takes no new payment intents.",
};

/** Compares with real time, as everything about the chain does. */
export function refuseClosedNetwork(standing: NetworkAvailability | undefined): void {
  const now = Date.now();
  const reason = standing && findClosure(standing, now);
  if (!reason) return;
  const retryAfter = RETRY_SECONDS[reason];
  throw new ServiceError("chain_unavailable", {
    message: MESSAGES[reason],
    headers: { "Retry-After": String(retryAfter) },
    detail: {
      network: standing.network,
      reason,
      ...(reason === "lag" && { lag_seconds: computeLagSeconds(standing, now) }),
      retry_after: retryAfter,
    },
  });
}

/** `notes` belong in the call's own batch; `send` runs after it. */
export type FollowerSending = { readonly notes: readonly Statement[]; readonly send: () => void };

const NO_SENDING: FollowerSending = { notes: [], send: () => undefined };

/** Sends a late follower. The notes keep the calls right after this one from sending it again. */
export function prepareFollower(call: AgentCall, standing: NetworkAvailability | undefined): FollowerSending {
  const now = Date.now();
  if (!standing || !shouldTriggerFollower(standing, now)) return NO_SENDING;
  const { network } = standing;
  const { CHAIN_QUEUE } = call.deps.env;
  // If the message is lost, the minute's job follows the network anyway.
  const send = () => call.background(CHAIN_QUEUE.send({ kind: "follow_chain", network }).catch(() => undefined));
  return { notes: [recordFollowerTriggered(call.db, network, now)], send };
}

/** Sends the follower from a refused call, which has no batch of its own. */
export const sendFollowerOutsideBatch = (call: AgentCall, { notes, send }: FollowerSending): void => {
  if (notes.length > 0) call.background(commit(call.db, notes).then(send, () => undefined));
};
