// The functions that go through the authority (CHN-5 to CHN-7), with the holder of their role and their delay.
import type { Account, Functions } from "./history-words.ts";

export type Delays = { readonly wallet: bigint; readonly payOut: bigint; readonly admin: bigint };
export const ROLES: Partial<Record<keyof Functions, readonly [holder: Account, delay: keyof Delays | null]>> = {
  registerProvider: ["registrar", null],
  setThreshold: ["registrar", null],
  setLowThreshold: ["registrar", "wallet"],
  setOperationalWallet: ["registrar", "wallet"],
  setReserve: ["arbiter", null],
  payOut: ["arbiter", "payOut"],
  setRefundTo: ["arbiter", "payOut"],
  pause: ["guardian", null],
  unpause: ["admin", "admin"],
  setFeeBps: ["admin", "admin"],
  setFeeRecipient: ["admin", "admin"],
  listToken: ["admin", "admin"],
};
