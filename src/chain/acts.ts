// Describes acts of keys in words (CHN-33): what the authority schedules and changes, and which settings of the contract change. Also encodes
// cancellations.
import type { Abi } from "viem";
import { decodeEventLog, decodeFunctionData, encodeFunctionData, toEventSelector } from "viem/utils";
import { SECOND_MS } from "../core/limits.ts";
import { authorityAbi, settlementAbi } from "./abi.ts";
import { EXPIRY_SECONDS, type WaitingCall } from "./delayed-calls.ts";
import type { ContractEvent } from "./gateway.ts";
import type { Hash } from "./hashes.ts";
import { formatTokenUnits, type Network } from "./networks.ts";
import { nameRole } from "./sign.ts";

type Log = { readonly data: Hash; readonly topics: readonly Hash[] };
type Contracts = Pick<Network, "settlement_contract" | "authority" | "earlier_editions">;

/** The authorities of the network's editions, in lower case. */
export const listAuthorities = ({ authority, earlier_editions }: Pick<Network, "authority" | "earlier_editions">) => [
  ...new Set([authority, ...earlier_editions.map((edition) => edition.authority)].map((one) => one.toLowerCase())),
];

type WithoutPlace<E> = E extends unknown ? Omit<E, "logIndex" | "contract"> : never;
export type AuthorityEvent = WithoutPlace<
  Extract<ContractEvent, { kind: "scheduled" | "executed" | "cancelled" | "act" }>
>;

/** The last instant whose expiry has a year of four digits. An authority accepts calls for any instant. */
const LATEST_MS = Date.UTC(9999, 11, 31) - EXPIRY_SECONDS * SECOND_MS;

/** Returns undefined for a log that changes nothing, such as a label. */
export function decodeAuthorityEvent({ data, topics: [signature, ...rest] }: Log): AuthorityEvent | undefined {
  if (signature === undefined) return undefined;
  const event = decodeLog({ data, topics: [signature, ...rest] });
  if (event === undefined) return undefined;
  switch (event.eventName) {
    case "OperationScheduled": {
      const { operationId, nonce, schedule, caller, target, data: call } = event.args;
      const parties = { caller: caller.toLowerCase(), target: target.toLowerCase() };
      const readyAt = Math.min(schedule * SECOND_MS, LATEST_MS);
      return { kind: "scheduled", operationId, nonce, readyAt, ...parties, data: call };
    }
    case "OperationExecuted":
      return { kind: "executed", ...event.args };
    case "OperationCanceled":
      return { kind: "cancelled", ...event.args };
    case "RoleGranted": {
      const { roleId, account, delay } = event.args;
      return describeAct(`${account} has received the role ${nameRole(roleId)}, whose calls wait ${delay} seconds`);
    }
    case "RoleRevoked":
      return describeAct(`${event.args.account} has lost the role ${nameRole(event.args.roleId)}`);
    case "RoleAdminChanged":
      return describeAct(`the role ${nameRole(event.args.roleId)} is now granted by ${nameRole(event.args.admin)}`);
    case "RoleGuardianChanged":
      return describeAct(
        `calls of the role ${nameRole(event.args.roleId)} are now cancelled by ${nameRole(event.args.guardian)}`,
      );
    case "RoleGrantDelayChanged":
      return describeAct(`grants of the role ${nameRole(event.args.roleId)} now wait ${event.args.delay} seconds`);
    case "TargetClosed":
      return describeAct(`${event.args.target} is now ${event.args.closed ? "closed to" : "open for"} calls of roles`);
    case "TargetFunctionRoleUpdated": {
      const { target, selector, roleId } = event.args;
      return describeAct(`the function ${selector} of ${target} can now be called by the role ${nameRole(roleId)}`);
    }
    case "TargetAdminDelayUpdated":
      return describeAct(`changes of ${event.args.target} now wait ${event.args.delay} seconds`);
    default:
      return undefined;
  }
}

const describeAct = (words: string): AuthorityEvent => ({ kind: "act", words });

const findEventAbi = indexEvents(authorityAbi);

function decodeLog({ data, topics }: { readonly data: Hash; readonly topics: [Hash, ...Hash[]] }) {
  const abi = findEventAbi(topics[0]);
  if (!abi) return undefined;
  try {
    return decodeEventLog({ abi, data, topics });
  } catch {
    return undefined;
  }
}

// ---- Scheduled calls -----------------------------------------------------------------------------------------------------

/** Returns the instant, in epoch milliseconds, from which the authority no longer executes the call. */
export const computeCallExpiry = (readyAt: number): number => readyAt + EXPIRY_SECONDS * SECOND_MS;
/** Returns the instant before which expired calls became ready. */
export const computeOldestUnexpired = (now: number): number => now - EXPIRY_SECONDS * SECOND_MS;

/** A scheduled call. `nonce`: how often the authority has scheduled it. */
type ScheduledCall = { readonly operationId: string; readonly nonce: number };
/** Returns `0x…` for the first time and `0x…:2` for the second, as `expected_operations` in NETWORKS names scheduled calls. */
export const nameOperation = ({ operationId, nonce }: ScheduledCall): string =>
  nonce === 1 ? operationId.toLowerCase() : `${operationId.toLowerCase()}:${nonce}`;

export const encodeCancellation = ({ caller, target, data }: WaitingCall): string =>
  encodeFunctionData({
    abi: authorityAbi,
    functionName: "cancel",
    args: [caller as Hash, target as Hash, data as Hash],
  });

/** True if the guardian can cancel the call: every call of the contract, and of the authority's own calls only grants of roles (CHN-7). */
export const isCancellableByGuardian = (network: Contracts, { target, data }: WaitingCall): boolean =>
  !listAuthorities(network).includes(target) || decodeCallName(data) === "grantRole";

const ABI = [...settlementAbi, ...authorityAbi] as const;
type Decoded = ReturnType<typeof decodeFunctionData<typeof ABI>>;

function decodeCall(data: string): Decoded | undefined {
  try {
    return decodeFunctionData({ abi: ABI, data: data as Hash });
  } catch {
    return undefined;
  }
}
const decodeCallName = (data: string): string | undefined => decodeCall(data)?.functionName;

/** Names a provider, by its DID if the service knows it. */
export type NameProvider = (providerDidHash: Hash) => string;

/** Describes what a call will do, as the rest of a sentence that begins with "It". */
export function describeCall(network: Network, { target, data }: WaitingCall, nameOf: NameProvider): string {
  const call = decodeCall(data);
  if (call === undefined) return `calls ${data.slice(0, 10)} of ${target}`;
  const units = (token: string, amount: bigint): string => formatTokenAmount(network, token, amount);
  switch (call.functionName) {
    case "grantRole":
      return `grants the role ${nameRole(call.args[0])} to ${call.args[1]}, whose calls then wait ${call.args[2]} seconds`;
    case "revokeRole":
      return `revokes the role ${nameRole(call.args[0])} from ${call.args[1]}`;
    case "setOperationalWallet": {
      const [did, token, present, wallet] = call.args;
      return `sends the income of ${nameOf(did)} in ${token} to ${wallet} instead of ${present}`;
    }
    case "setLowThreshold": {
      const [did, token, present, threshold] = call.args;
      return `lowers the threshold of ${nameOf(did)} from ${units(token, present)} to ${units(token, threshold)}`;
    }
    case "payOut": {
      const [{ providerDidHash, token, refundTo, key }, amount] = call.args;
      return `pays ${units(token, amount)} out of the vault of ${nameOf(providerDidHash)} to ${refundTo}, for the settlement ${key}`;
    }
    case "setRefundTo": {
      const [{ providerDidHash, refundTo, key }, next] = call.args;
      return `redirects refunds and payouts of the settlement ${key} with ${nameOf(providerDidHash)} from ${refundTo} to ${next}`;
    }
    case "unpause":
      return "resumes payments";
    case "setFeeBps":
      return `sets the fee to ${call.args[0]} hundredths of a percent`;
    case "setFeeRecipient":
      return `sends fees to ${call.args[0]}`;
    case "listToken": {
      const [token, base] = call.args;
      return base === 0n
        ? `stops accepting payments in ${token}`
        : `accepts payments in ${token}, with the base ${base}`;
    }
    default:
      return `calls ${call.functionName}(${(call.args ?? []).join(", ")}) of ${target}`;
  }
}

const formatTokenAmount = (network: Network, token: string, amount: bigint): string =>
  token.toLowerCase() === network.token.toLowerCase()
    ? `${formatTokenUnits(network, amount)} ${network.currency}`
    : `${amount} base units of ${token}`;

// ---- Past acts -----------------------------------------------------------------------------------------------------------

/** Describes what an event did, in a sentence; null if the event is not an act of a role. */
export function describeEvent(network: Network, event: ContractEvent, nameOf: NameProvider): string | null {
  switch (event.kind) {
    case "act":
      return event.words;
    case "registered": {
      const { providerDidHash, token, operationalWallet, threshold } = event;
      const to = `with the wallet ${operationalWallet} and the threshold ${formatTokenAmount(network, token, threshold)}`;
      return `${nameOf(providerDidHash)} was registered in ${token}, ${to}`;
    }
    case "wallet":
      return `the income of ${nameOf(event.providerDidHash)} in ${event.token} now goes to ${event.operationalWallet}`;
    case "threshold":
      return `the threshold of ${nameOf(event.providerDidHash)} is now ${formatTokenAmount(network, event.token, event.threshold)}`;
    case "reserve":
      return `the reserve of ${nameOf(event.providerDidHash)} is now ${formatTokenAmount(network, event.token, event.reserve)}`;
    case "payout": {
      const { providerDidHash, token, amount, refundTo } = event;
      return `${formatTokenAmount(network, token, amount)} were paid out of the vault of ${nameOf(providerDidHash)} to ${refundTo}`;
    }
    case "paused":
      return "payments and deposits are stopped";
    case "unpaused":
      return "payments and deposits are resumed";
    default:
      return null;
  }
}

// ---- Events of an ABI ---------------------------------------------------------------------------------------------------

// viem hashes the signature of every event for each log, which took a twentieth of a facilitation.

/** Returns a lookup from a topic to an ABI of that single event, typed as the whole ABI. Hashes each signature once. */
export function indexEvents<const A extends Abi>(abi: A): (topic: string) => A | undefined {
  let events: Map<string, A> | undefined;
  return (topic) => {
    events ??= new Map(
      abi.filter((item) => item.type === "event").map((event) => [toEventSelector(event), [event] as unknown as A]),
    );
    return events.get(topic);
  };
}
