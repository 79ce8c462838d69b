// A contract that anybody may deploy: it makes one call many times, and then emits large logs, in one transaction.
import { encodeFunctionData } from "viem/utils";
import { settlementAbi, tokenAbi } from "../../src/chain/contracts/abi.ts";
import { didHash } from "../../src/chain/hashes.ts";
import { account, chainOf, mintAbi, send } from "../support/chain.ts";
import { labOf } from "../support/lab.ts";

type Hex = `0x${string}`;

/** Bytes of one of its logs. */
const LOG_BYTES = 0x40_000;
const GAS = "0x1b00000";
const from = account(9);

const byte = (value: number): string => value.toString(16).padStart(2, "0");
const word = (value: bigint | string): string => BigInt(value).toString(16).padStart(64, "0");

/** Code that repeats `body` as often as the number on the stack says. `at`: where it stands. */
function loop(at: number, body: string): string {
  const end = at + body.length / 2 + 13;
  return `5b801560${byte(end)}57${body}6001900360${byte(at)}565b`;
}

/** Takes [calls][logs][target][call data]. */
function code(): Hex {
  const head = "606036038060605f375f35";
  const calls = loop(head.length / 2, "5f5f835f5f6040355af150");
  const between = `${head}${calls}50602035`;
  const runtime = `${between}${loop(between.length / 2, "620400005fa0")}00`;
  return `0x60${byte(runtime.length / 2)}8060095f395ff3${runtime}`;
}

/** One that has tokens which the settlement contract may take. */
export async function createCrowd(network: string) {
  const { lab } = labOf(network);
  const { token, settlement_contract: contract } = chainOf(network);
  const deployed = await lab("eth_sendTransaction", { from, data: code(), gas: "0x2dc6c0" });
  await lab("anvil_mine", "0x1");
  const { contractAddress: crowd } = await lab("eth_getTransactionReceipt", deployed);
  const call = encodeFunctionData;
  const act = (calls: number, logs: number, target: string, data: Hex): Promise<string> => {
    const input = `0x${word(BigInt(calls))}${word(BigInt(logs))}${word(target)}${data.slice(2)}`;
    return send(network, from, crowd, input, GAS);
  };
  await send(network, from, token, call({ abi: mintAbi, functionName: "mint", args: [crowd, 10_000n] }));
  const approval = [contract as Hex, 10_000n] as const;
  await act(1, 0, token, call({ abi: tokenAbi, functionName: "approve", args: approval }));
  return {
    /** Deposits of one base unit each, and behind them so many logs of another contract; its transaction. */
    deposit: (did: string, deposits: number, logs = 0): Promise<string> => {
      const args = [didHash(did), token as Hex, 1n] as const;
      return act(deposits, logs, contract, call({ abi: settlementAbi, functionName: "depositEscrow", args }));
    },
  };
}
