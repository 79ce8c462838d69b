// Drives the service's acts on a provider's vault, besides its split (CHN-23): a reserve while disputes are open and a payout after an award, by
// the arbiter; a lower threshold for a provider that leaves, by the registrar. Like a split, each act is planned from the contract's present state
// and is done when the contract has it. An act with a delay is scheduled first.
import { decodeFunctionResult, encodeAbiParameters, encodeFunctionData, keccak256 } from "viem/utils";
import { settlementAbi } from "./abi.ts";
import { planDelayed, type ScheduledUntil } from "./delayed-calls.ts";
import type { ChainResult, Plan, Signer } from "./gateway.ts";
import type { Network } from "./networks.ts";
import { type ChainTools, type DriveResult, driveOperation } from "./operations.ts";
import { createRpc, type Rpc, toUnavailable } from "./rpc.ts";

type Hex = `0x${string}`;

/** The facts of a settlement, as the contract commits to them. Amounts are base units, `settledAt` is the block's time in epoch seconds. */
export type SettlementFacts = {
  readonly key: string;
  readonly providerDidHash: string;
  readonly token: string;
  readonly gross: bigint;
  readonly refundTo: string;
  /** The later `refundTo` addresses that are known. The contract's commitment shows which address counts. */
  readonly movedTo?: readonly string[];
  readonly settledAt: number;
  /** The sum of earlier payouts. */
  readonly paidOut: bigint;
};

export type VaultAct =
  | { readonly kind: "reserve"; readonly providerDidHash: string; readonly reserve: bigint }
  | { readonly kind: "low_threshold"; readonly providerDidHash: string; readonly threshold: bigint }
  | { readonly kind: "payout"; readonly settlement: SettlementFacts; readonly amount: bigint };

/** `scheduled`: until when the act waits for the delay; null if the contract has it. */
export type ActOnChain = { readonly scheduled: ScheduledUntil | null };

type Asked = {
  readonly by: Signer["address"];
  /** The schedule of this act, if it was seen before. If it is gone, the act was cancelled. */
  readonly known: ScheduledUntil | null;
};

/** Drives an act until the contract has it, or until it is scheduled. The signer is the arbiter, or the registrar for a low threshold. */
export const driveAct = (
  tools: ChainTools,
  network: Network,
  act: VaultAct,
  known: ScheduledUntil | null,
  until: number,
): Promise<DriveResult<ActOnChain>> => {
  const rpc = createRpc();
  const plan = () => planAct(rpc, network, act, { by: () => tools.signer.address(), known });
  const operation = {
    network: network.network,
    purpose: toActPurpose(network, act),
    place: "instead",
    plan,
    outdated: null,
  } as const;
  return driveOperation(tools, operation, until);
};

export async function isActDone(
  network: Network,
  act: VaultAct,
  rpc: Rpc = createRpc(),
): Promise<ChainResult<boolean>> {
  const judged = await readAct(rpc, network, act);
  return judged.ok ? { ok: true, value: judged.value.is === "done" } : judged;
}

/** True if the first node, and the second node if there is one, say that the act's schedule was cancelled. A missing answer counts as no. */
export async function isActCancelled(
  network: Network,
  act: VaultAct,
  asked: Asked,
  rpc: Rpc = createRpc(),
): Promise<boolean> {
  const { rpc_url: first, fallback_rpc_url: second } = network;
  for (const rpc_url of second === undefined ? [first] : [first, second]) {
    const planned = await planAct(rpc, { ...network, rpc_url }, act, asked);
    if (!planned.ok || planned.value.state !== "impossible" || planned.value.reason !== "cancelled") return false;
  }
  return true;
}

/** Names the edition in the purpose: each edition has vaults of its own, so an act on one must not replace an act on another. */
export const toActPurpose = (network: Network, act: VaultAct): string =>
  act.kind === "payout"
    ? toPayoutPurpose(network, act.settlement.key)
    : toPurpose(network, act.kind, act.providerDidHash);

export const toPayoutPurpose = (network: Network, key: string): string => toPurpose(network, "payout", key);

const toPurpose = ({ settlement_contract }: Network, kind: VaultAct["kind"], subject: string): string =>
  `${kind}:${settlement_contract.toLowerCase()}:${subject}`;

type Reading = {
  readonly read: Hex;
  readonly judge: (answer: Hex) => "done" | "to do" | { readonly impossible: string };
  readonly data: (answer: Hex) => Hex;
};

async function planAct(
  rpc: Rpc,
  network: Network,
  act: VaultAct,
  { by, known }: Asked,
): Promise<ChainResult<Plan<ActOnChain>>> {
  const judged = await readAct(rpc, network, act);
  if (!judged.ok) return judged;
  const { is, data } = judged.value;
  const planned = (value: Plan<ActOnChain>): ChainResult<Plan<ActOnChain>> => ({ ok: true, value });
  if (typeof is === "object") return planned({ state: "impossible", reason: is.impossible });
  if (is === "done") return planned({ state: "done", onChain: { scheduled: null } });
  const caller = await by();
  if (!caller.ok) return caller;
  const next = await planDelayed(rpc, network, { by: caller.value, data, known });
  if (!next.ok) return next;
  return next.value.state === "scheduled"
    ? planned({ state: "done", onChain: { scheduled: next.value.until } })
    : planned(next.value);
}

type Judged = { readonly is: ReturnType<Reading["judge"]>; readonly data: Hex };

async function readAct(rpc: Rpc, network: Network, act: VaultAct): Promise<ChainResult<Judged>> {
  const { read, judge, data } = toActReading(network, act);
  const view = { method: "eth_call", params: [{ to: network.settlement_contract, data: read }, "latest"] };
  const answered = await rpc(network, "read", [view]);
  if (!answered.ok) return answered;
  const [reply] = answered.value;
  if (reply?.ok !== true || typeof reply.result !== "string") return toUnavailable(network.network, "bad_answer");
  const answer = reply.result as Hex;
  const is = tryJudge(judge, answer);
  return is === null ? toUnavailable(network.network, "bad_answer") : { ok: true, value: { is, data: data(answer) } };
}

function tryJudge(judge: Reading["judge"], answer: Hex): ReturnType<Reading["judge"]> | null {
  try {
    return judge(answer);
  } catch {
    // The configured address holds no contract, or another one.
    return null;
  }
}

function toActReading({ token: configured }: Network, act: VaultAct): Reading {
  const abi = settlementAbi;
  const token = configured.toLowerCase() as Hex;
  if (act.kind === "reserve") {
    const did = act.providerDidHash as Hex;
    const args = [did, token, act.reserve] as const;
    return {
      read: encodeFunctionData({ abi, functionName: "reserveOf", args: [did, token] }),
      judge: (data) =>
        decodeFunctionResult({ abi, functionName: "reserveOf", data }) === act.reserve ? "done" : "to do",
      data: () => encodeFunctionData({ abi, functionName: "setReserve", args }),
    };
  }
  if (act.kind === "low_threshold") {
    const did = act.providerDidHash as Hex;
    const present = (data: Hex): bigint => decodeFunctionResult({ abi, functionName: "splitOf", data })[1];
    return {
      read: encodeFunctionData({ abi, functionName: "splitOf", args: [did, token] }),
      judge: (data) => (present(data) === act.threshold ? "done" : "to do"),
      data: (answer) => {
        const args = [did, token, present(answer), act.threshold] as const;
        return encodeFunctionData({ abi, functionName: "setLowThreshold", args });
      },
    };
  }
  const { amount } = act;
  const { movedTo = [], ...first } = act.settlement;
  const known = [first, ...movedTo.map((refundTo) => ({ ...first, refundTo }))];
  const commitments = known.map((one) => ({
    before: hashFacts(one),
    after: hashFacts({ ...one, paidOut: one.paidOut + amount }),
  }));
  return {
    read: encodeFunctionData({ abi, functionName: "commitmentOf", args: [first.key as Hex] }),
    judge: (data) => {
      const commitment = decodeFunctionResult({ abi, functionName: "commitmentOf", data });
      if (commitments.some(({ after }) => commitment === after)) return "done";
      // Another payout came first, or no settlement has these facts.
      return commitments.some(({ before }) => commitment === before) ? "to do" : { impossible: "UnknownSettlement" };
    },
    data: (answer) => {
      const commitment = decodeFunctionResult({ abi, functionName: "commitmentOf", data: answer });
      const present = known[commitments.findIndex(({ before }) => commitment === before)] ?? first;
      const facts = { ...present, ...toHexFacts(present), settledAt: BigInt(present.settledAt) };
      return encodeFunctionData({ abi, functionName: "payOut", args: [facts, amount] });
    },
  };
}

const toHexFacts = ({ key, providerDidHash, token, refundTo }: Omit<SettlementFacts, "movedTo">) => ({
  key: key as Hex,
  providerDidHash: providerDidHash as Hex,
  token: token as Hex,
  refundTo: refundTo as Hex,
});

const FACTS = ["bytes32", "bytes32", "address", "uint96", "address", "uint64", "uint96"].map((type) => ({ type }));

function hashFacts(facts: Omit<SettlementFacts, "movedTo">): Hex {
  const { key, providerDidHash, token, gross, refundTo, settledAt, paidOut } = facts;
  return keccak256(
    encodeAbiParameters(FACTS, [key, providerDidHash, token, gross, refundTo, BigInt(settledAt), paidOut]),
  );
}
