// Loads the contracts that only tests use: a token like USDC, a token that calls back, a smart wallet (contracts/UsdcLike.sol).
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Abi, encodeDeployData, type Hex } from "viem";
import { awaitReceipt } from "../../scripts/chain/client.ts";
import type { World } from "./support.ts";

type Artifact = { readonly abi: Abi; readonly bytecode: Hex };
type Name =
  | "UsdcLike"
  | "EurcLike"
  | "UsdcProxy"
  | "ReentrantToken"
  | "SmartWallet"
  | "SwallowingToken"
  | "TakingToken"
  | "LongToken";

export const testContracts: Readonly<Record<Name, Artifact>> = JSON.parse(
  readFileSync(join(import.meta.dirname, "contracts/artifacts.json"), "utf8"),
);

export const createTestContract = (world: World, name: Name, args: readonly unknown[]): Promise<Hex> =>
  createFrom(world.client, world.people.other.address, name, args);

/** `from`: an account whose key the node has. */
export async function createFrom(
  client: World["client"],
  from: Hex,
  name: Name,
  args: readonly unknown[] = [],
): Promise<Hex> {
  const data = encodeDeployData({ ...testContracts[name], args });
  const hash: Hex = await client.transport.request({
    method: "eth_sendTransaction",
    params: [{ from, data, gas: "0x4c4b40" }],
  });
  const { contractAddress } = await awaitReceipt(client, hash);
  if (!contractAddress) throw new Error(`${name} was not created`);
  return contractAddress;
}
