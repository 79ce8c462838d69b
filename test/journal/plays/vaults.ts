// Plays of what a platform does about a provider's vault.
import type { World } from "../../support/world.ts";
import { paidIn, provider, THRESHOLD, waiting } from "./follower.ts";
import { must, ofAgent, type Plays } from "./stage.ts";

const sync =
  (key: (world: World) => string = (world) => world.key) =>
  (world: World, did: string) =>
    must(200, world.call("POST", `/v1/agents/${did}/escrow/sync`, { key: key(world) }));

export const VAULT_PLAYS: Plays = {
  syncAgentEscrow: {
    "nothing has moved the vault": ofAgent(provider, sync()),
    "a deposit that changes no state": ofAgent(paidIn(provider, 1), sync()),
    "a deposit that funds the escrow": ofAgent(paidIn(provider, THRESHOLD), sync()),
    "a deposit that funds an agent in FUNDING": ofAgent(
      paidIn(waiting, THRESHOLD),
      sync((world) => world.liveKey),
    ),
  },
};
