// Plays of a platform's calls about a provider's vault, and of the jobs that continue them.
import { requestOperation } from "../../../src/chain/store.ts";
import { driveVault, findLeaving, releaseEscrows, releaseKey } from "../../../src/vaults/exit.ts";
import { deposit } from "../../promotion/support.ts";
import type { World } from "../../support/world.ts";
import { paidIn, provider, THRESHOLD, waiting } from "./follower.ts";
import { follow, marketsOf, must, NETWORK, ofAgent, ofNobody, type Plays, store } from "./stage.ts";

const IN_TIME = 20_000;

const sync =
  (key: (world: World) => string = (world) => world.key) =>
  (world: World, did: string) =>
    must(200, world.call("POST", `/v1/agents/${did}/escrow/sync`, { key: key(world) }));
const release = (world: World, did: string) =>
  must(200, world.call("POST", `/v1/agents/${did}/escrow/release`, { body: { network: NETWORK } }));
const drive = (world: World, did: string) => driveVault(world.deps, { did, network: NETWORK }, Date.now() + IN_TIME);
const removeMarket = (world: World, did: string) =>
  must(204, world.call("DELETE", `${marketsOf(did)}/GLOBAL-USDC?network=${NETWORK}`));

const holding = (units: number) => async (world: World) => {
  const did = await provider(world);
  await deposit(did, units, NETWORK);
  await follow(world);
  return did;
};
const left = (units: number) => async (world: World) => {
  const did = await holding(units)(world);
  await removeMarket(world, did);
  return did;
};
/** A release is still waiting although the provider sells again. */
async function back(world: World): Promise<string> {
  const did = await holding(1)(world);
  await store(world, (db) => requestOperation(db, releaseKey({ did, network: NETWORK }), {}, Date.now()));
  return did;
}

export const VAULT_PLAYS: Plays = {
  releaseAgentEscrow: {
    "it is released": ofAgent(holding(THRESHOLD + 1), release),
    "the provider has left": ofAgent(left(1), release),
  },
  syncAgentEscrow: {
    "nothing has moved the vault": ofAgent(provider, sync()),
    "a deposit that changes no state": ofAgent(paidIn(provider, 1), sync()),
    "a deposit that funds the escrow": ofAgent(paidIn(provider, THRESHOLD), sync()),
    "a deposit that funds an agent in FUNDING": ofAgent(
      paidIn(waiting, THRESHOLD),
      sync((world) => world.liveKey),
    ),
  },
  release_escrow: {
    "it sells, and no release was requested": ofAgent(holding(1), drive),
    "the provider has left": ofAgent(left(1), drive),
    "the provider of a funded escrow has left": ofAgent(left(THRESHOLD), drive),
    "it sells again": ofAgent(back, drive),
  },
  find_leaving: {
    "handed to the queue: release_escrow": ofNobody(left(1), (world) => world.run(findLeaving)),
  },
  release_escrows: {
    "handed to the queue: release_escrow": ofNobody(back, (world) => world.run(releaseEscrows)),
  },
};
