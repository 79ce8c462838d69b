// A receipt as a lying node would show it: another gross amount and another part of the escrow, in a real transaction.
import { toEventSelector } from "viem/utils";
import type { Json } from "./world.ts";

const SETTLED = toEventSelector("Settled(bytes32,bytes32,bytes32,address,address,uint256,uint256,uint256,uint256)");
const RECORDED = toEventSelector("SettlementRecorded(bytes32,bytes32,address,address,uint256)");
const [GROSS, FEE, ESCROW, OPERATIONAL] = [2, 3, 4, 5];
const VAULT_BALANCE = 2;

export type Claimed = { readonly gross: number; readonly escrow: number; readonly held: number };

/** Base units. The fee stays, and the rest goes to the provider. */
export const forgedReceipt = (receipt: Json, claimed: Claimed): Json => ({
  ...receipt,
  logs: receipt.logs.map((log: Json) => forgedLog(log, claimed)),
});

export function forgedLog(log: Json, { gross, escrow, held }: Claimed): Json {
  const words: string[] = log.data.slice(2).match(/.{64}/g) ?? [];
  const set = (at: number, value: number) => words.splice(at, 1, value.toString(16).padStart(64, "0"));
  if (log.topics[0] === SETTLED) {
    const fee = Number(`0x${words[FEE]}`);
    set(GROSS, gross);
    set(ESCROW, escrow);
    set(OPERATIONAL, gross - fee - escrow);
  }
  if (log.topics[0] === RECORDED) set(VAULT_BALANCE, held);
  return { ...log, data: `0x${words.join("")}` };
}
