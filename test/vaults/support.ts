// Helpers of the tests of releases: what they do to a provider's vault, and what they read of it.
import { encodeFunctionData } from "viem/utils";
import { settlementAbi } from "../../scripts/chain/abi.ts";
import { hashDid } from "../../src/chain/hashes.ts";
import { driveVault } from "../../src/vaults/exit.ts";
import { bookedOf, follow } from "../follower/support.ts";
import { later } from "../markets/support.ts";
import { deposit, rows } from "../promotion/support.ts";
import { chainOf, rpc } from "../support/chain.ts";
import type { Json, World } from "../support/world.ts";

export const UNIT = 1_000_000;
export const THRESHOLD = 15 * UNIT;
export const NETWORK = "base-sepolia";

/** A provider whose vault holds this many base units, all of them booked. */
export async function funded(world: World, units: number): Promise<string> {
  const { did } = await world.provider();
  await deposit(did, units);
  await follow(world);
  return did;
}

/** Runs the minute's job for a vault. */
export const drive = (did: string, of: World, network = NETWORK): Promise<boolean> =>
  of.serve(() => driveVault(of.deps, { did, network }, later()));

export const operationOf = async (did: string): Promise<Json> =>
  (await rows("select * from chain_operations where subject = ? and kind = 'release'", did))[0];

export const releasesOf = async (did: string) => (await bookedOf(did)).filter(([kind]) => kind === "release");

/** The reserve that the contract keeps back of a vault, in base units. */
export async function reserveOf(did: string, network = NETWORK): Promise<number> {
  const { settlement_contract: to, token } = chainOf(network);
  const args = [hashDid(did), token as `0x${string}`] as const;
  const data = encodeFunctionData({ abi: settlementAbi, functionName: "reserveOf", args });
  return Number(await rpc<string>(network, "eth_call", [{ to, data }, "latest"]));
}

/** The threshold that the contract has. */
export async function chainThreshold(did: string, network = NETWORK): Promise<number> {
  const { settlement_contract: to, token } = chainOf(network);
  const args = [hashDid(did), token as `0x${string}`] as const;
  const data = encodeFunctionData({ abi: settlementAbi, functionName: "splitOf", args });
  return Number(`0x${(await rpc<string>(network, "eth_call", [{ to, data }, "latest"])).slice(-64)}`);
}
