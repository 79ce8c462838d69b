// Acts as the guardian for tests of delayed payouts (delayed-awards.test.ts, repeated-payouts.test.ts).
import { decodeEventLog, encodeFunctionData } from "viem/utils";
import { authorityAbi } from "../../scripts/chain/abi.ts";
import { account, chainOf, rpc, send } from "../support/chain.ts";
import type { Json } from "../support/world.ts";

const GUARDIAN = account(4);

/** Cancels the last operation that the authority scheduled, which it finds by the chain's events. */
export async function cancelLast(network: string): Promise<void> {
  const { authority } = chainOf(network);
  const logs = await rpc<Json[]>(network, "eth_getLogs", [{ address: authority, fromBlock: "0x0" }]);
  const scheduled = logs.flatMap(({ data, topics }) => {
    try {
      const event = decodeEventLog({ abi: authorityAbi, data, topics });
      return event.eventName === "OperationScheduled" ? [event.args] : [];
    } catch {
      return [];
    }
  });
  const last = scheduled.at(-1);
  if (!last) throw new Error("nothing is scheduled");
  const args = [last.caller, last.target, last.data] as const;
  await send(network, GUARDIAN, authority, encodeFunctionData({ abi: authorityAbi, functionName: "cancel", args }));
}
