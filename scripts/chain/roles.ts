// Who may call what on the settlement contract, as its AccessManager is told at deployment (CHN-5 to CHN-7). Afterwards nobody can change the
// table: only the members of the roles and their delays change, by the owner and after its delay.
import { type Abi, encodeFunctionData, getAbiItem, type Hex, toFunctionSelector } from "viem";
import { SIGNER_ROLES } from "../../src/chain/roles.ts";
import { authorityAbi, settlementAbi } from "./abi.ts";

/** Seconds that a call of the role waits between its scheduling and its execution. */
export type Delays = Readonly<Record<"wallet" | "payOut" | "admin" | "owner", number>>;
export const NO_DELAYS: Delays = { wallet: 0, payOut: 0, admin: 0, owner: 0 };
const HOUR = 3_600;
/**
 * Where money is real. What the owner's delay is longer than the registrar's is the time to react to a theft of the owner's key: until then the
 * registrar can begin to send every escrow home.
 */
export const DELAYS: Delays = { wallet: 48 * HOUR, payOut: 24 * HOUR, admin: 48 * HOUR, owner: 7 * 24 * HOUR };

export type Keys = Readonly<Record<"owner" | "admin" | "registrar" | "arbiter" | "guardian", Hex>>;

type RolePlan = {
  readonly id: bigint;
  readonly functions: readonly string[];
  readonly holder: keyof Keys;
  readonly delay: keyof Delays | null;
};

/** 0 is the AccessManager's own root, which nobody holds once all of this stands. */
export const ROLES = {
  ADMIN: {
    id: 1n,
    functions: ["unpause", "setFeeBps", "setFeeRecipient", "listToken"],
    holder: "admin",
    delay: "admin",
  },
  REGISTRAR: { ...SIGNER_ROLES.REGISTRAR, delay: null },
  REGISTRAR_DELAYED: { ...SIGNER_ROLES.REGISTRAR_DELAYED, delay: "wallet" },
  ARBITER: { ...SIGNER_ROLES.ARBITER, delay: null },
  // The service itself names no other address for refunds: who holds the key does it by hand.
  ARBITER_DELAYED: {
    ...SIGNER_ROLES.ARBITER_DELAYED,
    functions: [...SIGNER_ROLES.ARBITER_DELAYED.functions, "setRefundTo"],
    delay: "payOut",
  },
  GUARDIAN: { id: 6n, functions: ["pause"], holder: "guardian", delay: null },
  /** Gives and takes every role, its own too, and with a grant says the member's delay. */
  OWNER: { id: 7n, functions: [], holder: "owner", delay: "owner" },
} as const satisfies Readonly<Record<string, RolePlan>>;
const ROOT = 0n;

/** The calls of the AccessManager, by its root, that make the table so and leave the root with nobody. */
export function roleCalls(authority: Hex, contract: Hex, root: Hex, keys: Keys, delays: Delays): Hex[] {
  const call = (functionName: string, args: readonly unknown[]): Hex =>
    encodeFunctionData({ abi: authorityAbi as Abi, functionName, args });
  const plans: readonly (readonly [string, RolePlan])[] = Object.entries(ROLES);
  return [
    ...plans.flatMap(([label, { id, functions, holder, delay }]) => [
      call("labelRole", [id, label]),
      // What is scheduled under a role with a delay can be cancelled by the guardian.
      ...(delay === null ? [] : [call("setRoleGuardian", [id, ROLES.GUARDIAN.id])]),
      ...(functions.length === 0 ? [] : [call("setTargetFunctionRole", [contract, functions.map(selectorOf), id])]),
      call("grantRole", [id, keys[holder], delay === null ? 0 : delays[delay]]),
    ]),
    // From here on members are given and taken by the owner.
    ...plans.map(([, { id }]) => call("setRoleAdmin", [id, ROLES.OWNER.id])),
    // The guardian can cancel that somebody gets a role. It can't cancel that somebody loses one: else a stolen guardian's key would stay.
    call("setTargetFunctionRole", [
      authority,
      [toFunctionSelector(getAbiItem({ abi: authorityAbi, name: "grantRole" }))],
      ROLES.OWNER.id,
    ]),
    call("renounceRole", [ROOT, root]),
  ];
}

function selectorOf(name: string): Hex {
  const item = (settlementAbi as Abi).find((entry) => entry.type === "function" && entry.name === name);
  if (item?.type !== "function") throw new Error(`the contract has no function ${name}`);
  return toFunctionSelector(item);
}
