// The table of who may call what on the settlement contract, which a deployment writes to its AccessManager (CHN-5 to CHN-7). Afterwards the table
// cannot change: the owner changes only the members of the roles and their delays, after its own delay.
import { type Abi, encodeFunctionData, getAbiItem, type Hex, toFunctionSelector } from "viem";
import { SIGNER_ROLES } from "../../src/chain/sign.ts";
import { authorityAbi, settlementAbi } from "./abi.ts";

/** Seconds that a call of the role waits between scheduling and execution. */
export type Delays = Readonly<Record<"wallet" | "payOut" | "admin" | "owner", number>>;
export const NO_DELAYS: Delays = { wallet: 0, payOut: 0, admin: 0, owner: 0 };
const HOUR = 3_600;
/**
 * The delays where money is real. The difference between the owner's delay and the registrar's is the time to react to a theft of the owner's key:
 * until then, the registrar can begin to send every escrow home.
 */
export const DELAYS: Delays = { wallet: 48 * HOUR, payOut: 24 * HOUR, admin: 48 * HOUR, owner: 7 * 24 * HOUR };

export type Keys = Readonly<Record<"owner" | "admin" | "registrar" | "arbiter" | "guardian", Hex>>;

type RolePlan = {
  readonly id: bigint;
  readonly functions: readonly string[];
  readonly holder: keyof Keys;
  readonly delay: keyof Delays | null;
};

/** Role 0 is the AccessManager's own root, which has no holder after the deployment. */
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
  // The service itself never calls `setRefundTo`; the holder of the key does so by hand.
  ARBITER_DELAYED: {
    ...SIGNER_ROLES.ARBITER_DELAYED,
    functions: [...SIGNER_ROLES.ARBITER_DELAYED.functions, "setRefundTo"],
    delay: "payOut",
  },
  GUARDIAN: { id: 6n, functions: ["pause"], holder: "guardian", delay: null },
  /** Grants and revokes every role, including its own, and sets a member's delay with the grant. */
  OWNER: { id: 7n, functions: [], holder: "owner", delay: "owner" },
} as const satisfies Readonly<Record<string, RolePlan>>;
const ROOT = 0n;

/** Returns the calls by which the AccessManager's root writes the table and then renounces its role. */
export function encodeRoleCalls(authority: Hex, contract: Hex, root: Hex, keys: Keys, delays: Delays): Hex[] {
  const call = (functionName: string, args: readonly unknown[]): Hex =>
    encodeFunctionData({ abi: authorityAbi as Abi, functionName, args });
  const plans: readonly (readonly [string, RolePlan])[] = Object.entries(ROLES);
  return [
    ...plans.flatMap(([label, { id, functions, holder, delay }]) => [
      call("labelRole", [id, label]),
      // The guardian can cancel calls that are scheduled under a role with a delay.
      ...(delay === null ? [] : [call("setRoleGuardian", [id, ROLES.GUARDIAN.id])]),
      ...(functions.length === 0 ? [] : [call("setTargetFunctionRole", [contract, functions.map(selectorOf), id])]),
      call("grantRole", [id, keys[holder], delay === null ? 0 : delays[delay]]),
    ]),
    // From here on, the owner grants and revokes the roles.
    ...plans.map(([, { id }]) => call("setRoleAdmin", [id, ROLES.OWNER.id])),
    // The guardian can cancel a grant of a role, but not a revocation: otherwise the holder of a stolen guardian's key could keep it.
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
