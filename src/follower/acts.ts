// Follows the acts of keys (CHN-33) at the head of the chain: calls that need a role, and calls that wait in an authority. An act that the service
// did not send and the configuration does not expect raises an alert with the calldata that cancels it.
import {
  cancellationOf,
  expiryOf,
  isGuardians,
  type NameProvider,
  nameOperation,
  readySinceAt,
  wordsOfAct,
  wordsOfCall,
} from "../chain/acts.ts";
import type { ContractEvent, EventAt } from "../chain/gateway.ts";
import { didHash, type Hash } from "../chain/hashes.ts";
import type { Network } from "../chain/networks.ts";
import type { Deps } from "../context.ts";
import { toIso } from "../core/clock.ts";
import { SCHEDULED_CALL_BYTES_MAX } from "../core/limits.ts";
import { readBatch, type Statement } from "../db/batch.ts";
import type { KeyActRow } from "../db/tables/chain.ts";
import type { UnrequestedThreshold } from "../escrow/store.ts";
import { type Alert, raiseAlerts } from "../journal/alerts.ts";
import { sentByService } from "../objects/signers.ts";
import {
  type ActsSeen,
  endCalls,
  findCalls,
  inParts,
  noteActs,
  noteThreshold,
  pruneActs,
  UNNOTED,
} from "./act-store.ts";
import { findProvidersByHash } from "./lines-store.ts";

const KINDS = [
  ...["scheduled", "executed", "cancelled", "act", "registered", "wallet", "threshold", "reserve", "payout"],
  ...["paused", "unpaused"],
] as const;

export type ActsReading = Omit<ActsSeen, "network" | "places" | "readySince"> & {
  readonly events: readonly EventAt[];
  /** The instant of the last block that was read. Epoch milliseconds. */
  readonly readAt: number;
};

/** Picks the acts in the blocks that were read, except acts from before the follower's first reading. */
export const actsIn = (events: readonly EventAt[], began: number, through: number): EventAt[] =>
  events.filter(
    ({ kind, blockNumber }) => KINDS.some((one) => one === kind) && blockNumber > began && blockNumber <= through,
  );

type Judged = { readonly event: EventAt; readonly asked: boolean };
type Scheduled = Extract<EventAt, { kind: "scheduled" }>;
type Cancelled = Extract<EventAt, { kind: "cancelled" }>;

/** Asks the signers which of the acts are theirs, and reads what the alerts about the others name. */
export async function followActs(deps: Deps, network: Network, reading: ActsReading): Promise<Statement[]> {
  const { db } = deps;
  const { events, after, through, booked, readAt } = reading;
  const name = network.network;
  // A node may give its blocks any date.
  const read = { network: name, after, through, booked, readySince: readySinceAt(Math.min(readAt, Date.now())) };
  const prune = pruneActs(db, { ...read, places: events });
  if (events.length === 0) return [prune];
  const judged = judge(network, events, await sentBy(deps, name, events));
  const unrequested = judged.filter(({ asked }) => !asked).map(({ event }) => event);
  const cancelled = events.filter((event): event is Cancelled => event.kind === "cancelled");
  const { nameOf, calls } = await readAbout(deps, network, unrequested, cancelled);
  const known = [...calls, ...judged.map((one) => rowOf(network, one))];
  const undone = cancelled.flatMap((event) => {
    const call = known.find(({ operationId, nonce }) => operationId === event.operationId && nonce === event.nonce);
    return call?.asked ? [{ event, call }] : [];
  });
  const alerts = [
    ...unrequested.flatMap((event) => alertOf(network, event, nameOf)),
    ...undone.map(({ event, call }) => cancellationAlert(network, event, call, nameOf)),
  ];
  const now = Date.now();
  return [
    ...inParts(alerts).map((part) => raiseAlerts(db, part, now, UNNOTED)),
    ...unrequested.flatMap((event) => thresholdOf(network, event).map((one) => noteThreshold(db, event, one))),
    ...noteActs(db, [
      ...judged.filter(({ event, asked }) => !asked || event.kind === "scheduled").map((one) => rowOf(network, one)),
      ...undone.map(({ event }) => rowOf(network, { event, asked: false })),
    ]),
    ...endCalls(
      db,
      name,
      events.flatMap((event) =>
        (event.kind === "executed" || event.kind === "cancelled") && event.blockNumber <= booked ? [event] : [],
      ),
    ),
    prune,
  ];
}

/** If the signer's object does not answer, the acts count as unrequested: a false alert is better than a missing one. */
async function sentBy({ env }: Deps, network: string, events: readonly EventAt[]): Promise<ReadonlySet<string>> {
  try {
    return await sentByService(env, network, [...new Set(events.map(({ txHash }) => txHash))]);
  } catch {
    return new Set();
  }
}

/** An executed call explains the one act that follows it. */
function judge({ expected_operations }: Network, events: readonly EventAt[], ours: ReadonlySet<string>): Judged[] {
  const expected = new Set<string>(expected_operations.map((id) => id.toLowerCase()));
  return events.flatMap((event, at) => {
    if (event.kind === "executed" || event.kind === "cancelled") return [];
    const before = events[at - 1];
    const cause = before?.kind === "executed" && before.txHash === event.txHash ? nameOperation(before) : null;
    // The provider itself has changed this wallet (CHN-29).
    if (event.kind === "wallet" && event.confirmedBy !== null) return [];
    const wanted = event.kind === "scheduled" ? nameOperation(event) : cause;
    return [{ event, asked: ours.has(event.txHash) || (wanted !== null && expected.has(wanted)) }];
  });
}

/** Reads the providers that unrequested acts name, and the calls that were cancelled. */
async function readAbout(
  { db }: Deps,
  network: Network,
  unrequested: readonly EventAt[],
  cancelled: readonly Cancelled[],
): Promise<{ readonly nameOf: NameProvider; readonly calls: readonly KeyActRow[] }> {
  const hashes = new Set<Hash>();
  const note: NameProvider = (hash) => {
    hashes.add(hash);
    return hash;
  };
  for (const event of unrequested) {
    if (event.kind === "scheduled") wordsOfCall(network, event, note);
    else wordsOfAct(network, event, note);
  }
  const ids = cancelled.map(({ operationId }) => operationId);
  if (hashes.size === 0 && ids.length === 0) return { nameOf: (hash) => hash, calls: [] };
  const { providers, calls } = await readBatch(db, {
    providers: findProvidersByHash(db, [...hashes]),
    calls: findCalls(db, network.network, ids),
  });
  return { nameOf: nameBy(providers), calls };
}

export function nameBy(providers: readonly { readonly did: string }[]): NameProvider {
  const dids = new Map<Hash, string>(providers.map(({ did }) => [didHash(did), did]));
  return (hash) => dids.get(hash) ?? `the provider ${hash}`;
}

function rowOf({ network }: Network, { event, asked }: Judged): KeyActRow {
  const { txHash, logIndex, blockNumber, minedAt, contract: authority } = event;
  const place = { network, txHash, logIndex, blockNumber, minedAt, authority, asked, endedBlock: null };
  if (event.kind !== "scheduled") return { ...place, ...NO_CALL };
  const { operationId, nonce, caller, target, readyAt } = event;
  return { ...place, operationId, nonce, caller, target, readyAt, data: isShort(event) ? event.data : null };
}
const NO_CALL = { operationId: null, nonce: null, caller: null, target: null, data: null, readyAt: null } as const;
const isShort = ({ data }: Scheduled): boolean => data.length <= 2 + 2 * SCHEDULED_CALL_BYTES_MAX;

function thresholdOf({ network, token, settlement_contract }: Network, event: EventAt): UnrequestedThreshold[] {
  if (event.kind !== "threshold" || event.token !== token.toLowerCase()) return [];
  const { providerDidHash, contract } = event;
  const present = contract === settlement_contract.toLowerCase();
  return [{ network, providerDidHash, contract, present, threshold: Number(event.threshold) }];
}

// ---- Alerts --------------------------------------------------------------------------------------------------------------

type Tagged = Alert & { readonly tags: readonly (string | number)[] };
const tagged = (event: EventAt, { network }: Network, subject: string, message: string): Tagged => ({
  kind: "foreign_act",
  subject: `${subject} on ${network}`,
  message,
  tags: [network, event.txHash, event.logIndex],
});

const UNASKED = "Neither the service nor its configuration asked for this.";

function alertOf(network: Network, event: EventAt, nameOf: NameProvider): Tagged[] {
  if (event.kind === "scheduled") {
    const { caller, contract: authority, readyAt, txHash } = event;
    const message =
      `${UNASKED} ${caller} has scheduled a call at the authority ${authority} (${txHash}). It ${wordsOfCall(network, event, nameOf)}. It can be executed ` +
      `from ${toIso(readyAt)} to ${toIso(expiryOf(readyAt))}. ${cancelledBy(network, event)}`;
    return [tagged(event, network, `operation ${nameOperation(event)}`, message)];
  }
  const words = wordsOfAct(network, event as ContractEvent, nameOf);
  if (words === null) return [];
  const setBack =
    thresholdOf(network, event).length > 0 ? " The service sets it back if the provider is one of its own." : "";
  const message = `${UNASKED} A call at ${event.contract} (${event.txHash}) has been executed and cannot be cancelled: ${words}.${setBack}`;
  return [tagged(event, network, `${event.txHash} ${event.logIndex}`, message)];
}

function cancelledBy(network: Network, event: Scheduled): string {
  const { contract: authority, txHash } = event;
  const who = isGuardians(network, event)
    ? "The guardian can cancel it"
    : "Only its caller, not the guardian, can cancel it";
  return isShort(event)
    ? `${who} by calling ${authority} with the data ${cancellationOf(event)}`
    : `${who} by calling cancel(caller, target, data) of ${authority} with the data in the event of ${txHash}: it is too long for this line.`;
}

/** Describes the cancellation of a requested call. The cancellation of an unrequested call raises no alert. */
function cancellationAlert(network: Network, event: Cancelled, call: KeyActRow, nameOf: NameProvider): Tagged {
  const { caller, target, data } = call;
  const what = caller && target && data ? `, which ${wordsOfCall(network, { caller, target, data }, nameOf)}` : "";
  const message = `${UNASKED} The guardian or the caller's own key has cancelled the call of ${caller}${what} (${event.txHash}).`;
  return tagged(event, network, `cancelled operation ${nameOperation(event)}`, message);
}
