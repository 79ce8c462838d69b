// A contract that anyone may deploy: it makes one call many times in one transaction.
import { encodeFunctionData } from "viem/utils";
import { settlementAbi, tokenAbi } from "../../scripts/chain/abi.ts";
import { hashDid } from "../../src/chain/hashes.ts";
import { account, chainOf, mintAbi, send } from "../support/chain.ts";
import { labOf } from "../support/lab.ts";

type Hex = `0x${string}`;

const GAS = "0x1b00000";
const from = account(9);

const byte = (value: number): string => value.toString(16).padStart(2, "0");
const word = (value: bigint | string): string => BigInt(value).toString(16).padStart(64, "0");

/** Its input is [calls][target][call data]. */
function code(): Hex {
  const head = "604036038060405f375f35";
  const start = head.length / 2;
  const call = "5f5f835f5f6020355af150";
  const end = start + call.length / 2 + 13;
  const runtime = `${head}5b801560${byte(end)}57${call}6001900360${byte(start)}565b00`;
  return `0x60${byte(runtime.length / 2)}8060095f395ff3${runtime}`;
}

/** Deploys the contract, with tokens that the settlement contract may take. */
export async function createCrowd(network: string) {
  const { lab } = labOf(network);
  const { token, settlement_contract: contract } = chainOf(network);
  const deployed = await lab("eth_sendTransaction", { from, data: code(), gas: "0x2dc6c0" });
  await lab("anvil_mine", "0x1");
  const { contractAddress: crowd } = await lab("eth_getTransactionReceipt", deployed);
  const call = encodeFunctionData;
  const act = (calls: number, target: string, data: Hex): Promise<string> => {
    const input = `0x${word(BigInt(calls))}${word(target)}${data.slice(2)}`;
    return send(network, from, crowd, input, GAS);
  };
  await send(network, from, token, call({ abi: mintAbi, functionName: "mint", args: [crowd, 10_000n] }));
  const approval = [contract as Hex, 10_000n] as const;
  await act(1, token, call({ abi: tokenAbi, functionName: "approve", args: approval }));
  return {
    /** Deposits of one base unit each. */
    deposit: (did: string, deposits: number): Promise<string> => {
      const args = [hashDid(did), token as Hex, 1n] as const;
      return act(deposits, contract, call({ abi: settlementAbi, functionName: "depositEscrow", args }));
    },
  };
}
