// What a platform's calls about a provider's vault change, and the jobs that go on with them (MKT-27, MKT-29, MKT-30).
import type { ChainMessage } from "../../context.ts";
import { BOOKED, FUNDED, FUNDS_AGENT } from "./follower.ts";
import { BY_ITSELF, type Cases, NO_NOTICE, NONE, NOTHING, UNSEEN } from "./words.ts";

export const VAULT_OPERATIONS: Readonly<Record<string, Cases>> = {
  releaseAgentEscrow: [
    {
      when: "it is released",
      states: ["chain operation none → done"],
      tables: ["chain_operations"],
      activity: ["agent.escrow_release_requested"],
      ...UNSEEN,
    },
    {
      when: "the provider has left",
      states: ["chain operation none → done"],
      tables: ["chain_operations", "escrows"],
      activity: ["agent.escrow_release_requested"],
      ...UNSEEN,
    },
  ],
  syncAgentEscrow: [{ when: "nothing has moved the vault", ...NOTHING }, BOOKED, FUNDED, FUNDS_AGENT],
};

export const VAULT_JOBS: Readonly<Record<string, Cases>> = {
  find_leaving: [{ when: "handed to the queue: release_escrow", ...NOTHING }],
  release_escrows: [{ when: "handed to the queue: release_escrow", ...NOTHING }],
};

export const VAULT_MESSAGES: Readonly<Record<Extract<ChainMessage["kind"], "release_escrow">, Cases>> = {
  release_escrow: [
    { when: "it sells, and nobody has asked", ...NOTHING },
    {
      when: "the provider has left",
      states: ["chain operation none → done"],
      tables: ["chain_operations", "escrows"],
      activity: BY_ITSELF,
      ...UNSEEN,
    },
    {
      when: "the provider of a funded escrow has left",
      states: ["chain operation none → done", "escrow ACTIVE → FUNDING"],
      tables: ["agents", "chain_operations", "escrows"],
      activity: BY_ITSELF,
      events: { agent: ["agent.escrow_state_changed"] },
      directory: { agent: ["updated"] },
      document: { agent: ["new revision"] },
      certificate: NONE,
      ...NO_NOTICE,
    },
    {
      when: "it sells again",
      states: ["chain operation waiting → done"],
      tables: ["chain_operations"],
      activity: BY_ITSELF,
      ...UNSEEN,
    },
  ],
};
