// Plays of the follower: what moved a vault on the chain, and what the service makes of it.
import { eq } from "drizzle-orm";
import { followers } from "../../../src/db/tables/chain.ts";
import { ledgerLines } from "../../../src/db/tables/money.ts";
import { followChain } from "../../../src/follower/job.ts";
import { deposit } from "../../promotion/support.ts";
import { account, rpc } from "../../support/chain.ts";
import type { World } from "../../support/world.ts";
import { marketsOf, marketWith, must, NETWORK, ofAgent, ofNobody, type Plays, store } from "./stage.ts";

const IN_TIME = 20_000;
export const THRESHOLD = 15_000_000;

export async function follow({ deps }: World): Promise<void> {
  if (!(await followChain(deps, NETWORK, Date.now() + IN_TIME)))
    throw new Error("the follower did not come to the head");
}

/** A provider that the contract knows, with all before it booked. */
async function provider(world: World): Promise<string> {
  const { did } = await world.provider();
  await follow(world);
  return did;
}

/** The same in production, promoted before its escrow is funded. */
async function waiting(world: World): Promise<string> {
  const { did } = await world.agent("PROVIDER");
  await must(200, world.call("POST", marketsOf(did), { key: world.liveKey, body: marketWith(account(8)) }));
  const body = { environment: "production" };
  await must(200, world.call("POST", `/v1/agents/${did}/environment`, { key: world.liveKey, body }));
  return did;
}

/** `units` have been put into its vault, and nobody has read of it. */
const paidIn = (prepare: (world: World) => Promise<string>, units: number) => async (world: World) => {
  const did = await prepare(world);
  await deposit(did, units, NETWORK);
  return did;
};

/** A line that the chain never told of, as if something had been taken out of the vault beside the contract. */
async function robbed(world: World): Promise<string> {
  const did = await paidIn(provider, 2)(world);
  await follow(world);
  await store(world, (db) => [
    db.update(ledgerLines).set({ held: 3 }).where(eq(ledgerLines.did, did)),
    // Its turn to be compared.
    db
      .update(followers)
      .set({ checkedDid: did.slice(0, -1) })
      .where(eq(followers.network, NETWORK)),
  ]);
  return did;
}

export const FOLLOWER_PLAYS: Plays = {
  follow_chain: {
    "nothing has moved a vault": ofNobody(async (world) => {
      await follow(world);
      await rpc(NETWORK, "evm_mine", []);
    }, follow),
    "a deposit that changes no state": ofAgent(paidIn(provider, 1), follow),
    "a deposit that funds the escrow": ofAgent(paidIn(provider, THRESHOLD), follow),
    "a deposit that funds an agent in FUNDING": ofAgent(paidIn(waiting, THRESHOLD), follow),
    "a vault holds less than its lines say": ofAgent(robbed, follow),
  },
};
