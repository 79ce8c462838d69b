// The rows of a platform's calls about a provider's vault, and of the jobs that continue them (MKT-27, MKT-29, MKT-30).
import type { ChainMessage } from "../../src/context.ts";
import { BOOKED, FUNDED, FUNDS_AGENT } from "./follower.ts";
import { BY_ITSELF, type Cases } from "./words.ts";

export const VAULT_OPERATIONS: Readonly<Record<string, Cases>> = {
  releaseAgentEscrow: [
    {
      when: "it is released",
      states: ["chain operation none → done"],
      tables: ["chain_operations"],
      activity: ["agent.escrow_release_requested"],
    },
    {
      when: "the provider has left",
      states: ["chain operation none → done"],
      tables: ["chain_operations", "escrows"],
      activity: ["agent.escrow_release_requested"],
    },
  ],
  syncAgentEscrow: [{ when: "nothing has moved the vault" }, BOOKED, FUNDED, FUNDS_AGENT],
};

export const VAULT_JOBS: Readonly<Record<string, Cases>> = {
  find_leaving: [{ when: "handed to the queue: release_escrow" }],
  release_escrows: [{ when: "handed to the queue: release_escrow" }],
};

export const VAULT_MESSAGES: Readonly<Record<Extract<ChainMessage["kind"], "release_escrow">, Cases>> = {
  release_escrow: [
    { when: "it sells, and no release was requested" },
    {
      when: "the provider has left",
      states: ["chain operation none → done"],
      tables: ["chain_operations", "escrows"],
      activity: BY_ITSELF,
    },
    {
      when: "the provider of a funded escrow has left",
      states: ["chain operation none → done", "escrow ACTIVE → FUNDING"],
      tables: ["agents", "chain_operations", "escrows"],
      activity: BY_ITSELF,
      events: { agent: ["agent.escrow_state_changed"] },
      directory: { agent: ["updated"] },
      document: { agent: ["new revision"] },
    },
    {
      when: "it sells again",
      states: ["chain operation waiting → done"],
      tables: ["chain_operations"],
      activity: BY_ITSELF,
    },
  ],
};
