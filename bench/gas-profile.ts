// The gas of a call by the opcodes of its trace: storage, logs and calls, which cost the same in any implementation, and computation.
import type { Hex } from "viem";
import type { Client } from "../scripts/chain/client.ts";

/** A call as a node simulates it. */
export type TracedCall = { readonly from: Hex; readonly to: Hex; readonly data: Hex };
/** The gas of the called contract itself, or of the contracts that it calls. */
type Part = { storage: number; logs: number; calls: number; rest: number };
export type Profile = {
  readonly gas: number;
  /** 21,000, and the bytes of the call. */
  readonly intrinsic: number;
  readonly own: Part;
  readonly others: Part;
  /** Slots that the contract itself accesses, and the number of them that it fills. */
  readonly ownSlots: number;
  readonly ownNewSlots: number;
};

type Step = {
  readonly depth: number;
  readonly op: string;
  readonly gas: number;
  readonly gasCost: number;
  readonly stack: readonly string[];
};

const [BASE, ZERO_BYTE, OTHER_BYTE] = [21_000, 4, 16];
const COLD_SLOT = 2_100;
const NEW_SLOT = 20_000;
const CALLS = new Set(["CALL", "STATICCALL", "DELEGATECALL", "EXTCODESIZE"]);

/** Traces the call on the newest block. */
export async function profileCall(client: Client, call: TracedCall): Promise<Profile> {
  const options = { disableStorage: true };
  const { gas, structLogs: steps }: { gas: number; structLogs: Step[] } = await client.transport.request({
    method: "debug_traceCall",
    params: [{ ...call, gas: "0x4c4b40" }, "latest", options],
  });
  const profile = { own: emptyPart(), others: emptyPart(), ownSlots: 0, ownNewSlots: 0 };
  // The contract at each depth. Delegated code runs as the contract that calls it.
  const contracts = [call.to.toLowerCase()];
  for (const [at, step] of steps.entries()) {
    const isOwn = contracts[step.depth - 1] === contracts[0];
    const part = isOwn ? profile.own : profile.others;
    const cost = costOf(steps, at);
    if (step.op === "SLOAD" || step.op === "SSTORE") {
      part.storage += cost;
      if (isOwn && step.op === "SLOAD" && cost >= COLD_SLOT) profile.ownSlots++;
      if (isOwn && cost >= NEW_SLOT) profile.ownNewSlots++;
    } else if (step.op.startsWith("LOG")) part.logs += cost;
    else if (CALLS.has(step.op)) part.calls += cost;
    else part.rest += cost;
    if (step.op === "CALL" || step.op === "STATICCALL") contracts[step.depth] = addressIn(step.stack.at(-2));
    if (step.op === "DELEGATECALL") contracts[step.depth] = contracts[step.depth - 1] ?? "";
  }
  return { gas, intrinsic: intrinsicOf(call.data), ...profile };
}

const emptyPart = (): Part => ({ storage: 0, logs: 0, calls: 0, rest: 0 });

/** The gas of a step, without the gas that it passes to a call. */
function costOf(steps: readonly Step[], at: number): number {
  const [step, next] = [steps[at], steps[at + 1]];
  if (step === undefined || next === undefined) return step?.gasCost ?? 0;
  if (next.depth < step.depth || !CALLS.has(step.op)) return step.gasCost;
  // The step after a call, at the call's depth: the difference of gas, minus the gas that the call used.
  const back = steps.findIndex(({ depth }, index) => index > at && depth <= step.depth);
  const last = steps[back - 1];
  const after = steps[back];
  if (after === undefined || last === undefined) return step.gasCost;
  const used = back - 1 > at ? next.gas - (last.gas - last.gasCost) : 0;
  return step.gas - after.gas - used;
}

function intrinsicOf(data: Hex): number {
  const bytes = data.slice(2).match(/../g) ?? [];
  return bytes.reduce((sum, byte) => sum + (byte === "00" ? ZERO_BYTE : OTHER_BYTE), BASE);
}

const addressIn = (word = "0x"): string => `0x${word.slice(2).padStart(40, "0").slice(-40)}`.toLowerCase();

const sumOf = ({ storage, logs, calls, rest }: Part): number => storage + logs + calls + rest;

/** The rows of a page about a profile, by their labels. */
export const rowsOf = (profile: Profile): Readonly<Record<string, number>> => ({
  "the transaction and its bytes": profile.intrinsic,
  "slots of the contract": profile.own.storage,
  "slots of the token": profile.others.storage,
  "events of the contract": profile.own.logs,
  "events of the token": profile.others.logs,
  "calls and accounts": profile.own.calls + profile.others.calls,
  "computing of the token": profile.others.rest,
  "computing of the contract": profile.own.rest,
  sum: totalOf(profile),
});

/** The sum of everything that was traced. */
const totalOf = ({ intrinsic, own, others }: Profile): number => intrinsic + sumOf(own) + sumOf(others);

/** The gas without the contract's own computation: its slots, logs and calls, and the token's work. */
export const floorOf = (profile: Profile): number => totalOf(profile) - profile.own.rest;
