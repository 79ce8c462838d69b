// A lab is a chain of one test file, which stops its blocks, empties its registrar's account, and makes its node faulty.
import { account, rpc, spoil } from "./chain.ts";
import type { Json } from "./world.ts";

export const REGISTRAR = account(1);
/** Wei, enough for every transaction of a file. */
export const RICH = "0x8ac7230489e80000";

/** Calls of a lab's node. */
export function labOf(network: string) {
  const lab = (method: string, ...params: unknown[]): Promise<Json> => rpc(network, method, params);
  const mine = (blocks = 1) => lab("anvil_mine", `0x${blocks.toString(16)}`);
  return { lab, mine };
}

/** Restores the lab: the node makes no faults, the registrar has gas, and each transaction gets a block. */
export async function restoreLab(network: string): Promise<void> {
  const { lab } = labOf(network);
  await spoil(network);
  await lab("anvil_setBalance", REGISTRAR, RICH);
  await lab("evm_setAutomine", true);
}
