// Follows the acts of keys (CHN-33) at the head of the chain: calls that need a role, and calls that wait in an authority. An act that the service
// did not send and the configuration does not expect raises an alert with the calldata that cancels it.
import {
  computeCallExpiry,
  computeOldestUnexpired,
  describeCall,
  describeEvent,
  encodeCancellation,
  isCancellableByGuardian,
  type NameProvider,
  nameOperation,
} from "../chain/acts.ts";
import type { ContractEvent, EventAt } from "../chain/gateway.ts";
import { type Hash, hashDid } from "../chain/hashes.ts";
import type { Network } from "../chain/networks.ts";
import type { Deps } from "../context.ts";
import { toIso } from "../core/clock.ts";
import { SCHEDULED_CALL_BYTES_MAX } from "../core/limits.ts";
import { readBatch, type Statement } from "../db/batch.ts";
import type { KeyActRow } from "../db/tables/chain.ts";
import type { UnrequestedThreshold } from "../escrow/store.ts";
import { type Alert, raiseAlerts } from "../journal/alerts.ts";
import { findOwnTransactions } from "../objects/signers.ts";
import {
  ACT_IS_UNNOTED,
  type ActsSeen,
  endCalls,
  findCalls,
  noteActs,
  noteThreshold,
  pruneActs,
  splitActs,
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
export const pickActs = (events: readonly EventAt[], began: number, through: number): EventAt[] =>
  events.filter(
    ({ kind, blockNumber }) => KINDS.some((one) => one === kind) && blockNumber > began && blockNumber <= through,
  );

type JudgedAct = { readonly event: EventAt; readonly asked: boolean };
type ScheduledEvent = Extract<EventAt, { kind: "scheduled" }>;
type CancelledEvent = Extract<EventAt, { kind: "cancelled" }>;

/** Asks the signers which of the acts are theirs, and reads what the alerts about the others name. */
export async function followActs(deps: Deps, network: Network, reading: ActsReading): Promise<Statement[]> {
  const { db } = deps;
  const { events, after, through, booked, readAt } = reading;
  const name = network.network;
  // A node may give its blocks any date.
  const read = {
    network: name,
    after,
    through,
    booked,
    readySince: computeOldestUnexpired(Math.min(readAt, Date.now())),
  };
  const prune = pruneActs(db, { ...read, places: events });
  if (events.length === 0) return [prune];
  const judged = judgeActs(network, events, await findSentByService(deps, name, events));
  const unrequested = judged.filter(({ asked }) => !asked).map(({ event }) => event);
  const cancelled = events.filter((event): event is CancelledEvent => event.kind === "cancelled");
  const { nameOf, calls } = await readAlertFacts(deps, network, unrequested, cancelled);
  const known = [...calls, ...judged.map((one) => toKeyActRow(network, one))];
  const undone = cancelled.flatMap((event) => {
    const call = known.find(({ operationId, nonce }) => operationId === event.operationId && nonce === event.nonce);
    return call?.asked ? [{ event, call }] : [];
  });
  const alerts = [
    ...unrequested.flatMap((event) => toActAlerts(network, event, nameOf)),
    ...undone.map(({ event, call }) => toCancellationAlert(network, event, call, nameOf)),
  ];
  const now = Date.now();
  return [
    ...splitActs(alerts).map((part) => raiseAlerts(db, part, now, ACT_IS_UNNOTED)),
    ...unrequested.flatMap((event) =>
      toUnrequestedThresholds(network, event).map((one) => noteThreshold(db, event, one)),
    ),
    ...noteActs(db, [
      ...judged
        .filter(({ event, asked }) => !asked || event.kind === "scheduled")
        .map((one) => toKeyActRow(network, one)),
      ...undone.map(({ event }) => toKeyActRow(network, { event, asked: false })),
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
async function findSentByService(
  { env }: Deps,
  network: string,
  events: readonly EventAt[],
): Promise<ReadonlySet<string>> {
  try {
    return await findOwnTransactions(env, network, [...new Set(events.map(({ txHash }) => txHash))]);
  } catch {
    return new Set();
  }
}

/** An executed call explains the one act that follows it. */
function judgeActs(
  { expected_operations }: Network,
  events: readonly EventAt[],
  ours: ReadonlySet<string>,
): JudgedAct[] {
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
async function readAlertFacts(
  { db }: Deps,
  network: Network,
  unrequested: readonly EventAt[],
  cancelled: readonly CancelledEvent[],
): Promise<{ readonly nameOf: NameProvider; readonly calls: readonly KeyActRow[] }> {
  const hashes = new Set<Hash>();
  const note: NameProvider = (hash) => {
    hashes.add(hash);
    return hash;
  };
  for (const event of unrequested) {
    if (event.kind === "scheduled") describeCall(network, event, note);
    else describeEvent(network, event, note);
  }
  const ids = cancelled.map(({ operationId }) => operationId);
  if (hashes.size === 0 && ids.length === 0) return { nameOf: (hash) => hash, calls: [] };
  const { providers, calls } = await readBatch(db, {
    providers: findProvidersByHash(db, [...hashes]),
    calls: findCalls(db, network.network, ids),
  });
  return { nameOf: toProviderNames(providers), calls };
}

export function toProviderNames(providers: readonly { readonly did: string }[]): NameProvider {
  const dids = new Map<Hash, string>(providers.map(({ did }) => [hashDid(did), did]));
  return (hash) => dids.get(hash) ?? `the provider ${hash}`;
}

function toKeyActRow({ network }: Network, { event, asked }: JudgedAct): KeyActRow {
  const { txHash, logIndex, blockNumber, minedAt, contract: authority } = event;
  const place = { network, txHash, logIndex, blockNumber, minedAt, authority, asked, endedBlock: null };
  if (event.kind !== "scheduled") return { ...place, ...NO_CALL };
  const { operationId, nonce, caller, target, readyAt } = event;
  return { ...place, operationId, nonce, caller, target, readyAt, data: isShortCall(event) ? event.data : null };
}
const NO_CALL = { operationId: null, nonce: null, caller: null, target: null, data: null, readyAt: null } as const;
const isShortCall = ({ data }: ScheduledEvent): boolean => data.length <= 2 + 2 * SCHEDULED_CALL_BYTES_MAX;

function toUnrequestedThresholds(
  { network, token, settlement_contract }: Network,
  event: EventAt,
): UnrequestedThreshold[] {
  if (event.kind !== "threshold" || event.token !== token.toLowerCase()) return [];
  const { providerDidHash, contract } = event;
  const present = contract === settlement_contract.toLowerCase();
  return [{ network, providerDidHash, contract, present, threshold: Number(event.threshold) }];
}

// ---- Alerts --------------------------------------------------------------------------------------------------------------

type TaggedAlert = Alert & { readonly tags: readonly (string | number)[] };
const tagAlert = (event: EventAt, { network }: Network, subject: string, message: string): TaggedAlert => ({
  kind: "foreign_act",
  subject: `${subject} on ${network}`,
  message,
  tags: [network, event.txHash, event.logIndex],
});

const UNREQUESTED_TEXT = "Neither the service nor its configuration asked for this.";

function toActAlerts(network: Network, event: EventAt, nameOf: NameProvider): TaggedAlert[] {
  if (event.kind === "scheduled") {
    const { caller, contract: authority, readyAt, txHash } = event;
    const message =
      `${UNREQUESTED_TEXT} ${caller} has scheduled a call at the authority ${authority} (${txHash}). It ${describeCall(network, event, nameOf)}. It can be executed ` +
      `from ${toIso(readyAt)} to ${toIso(computeCallExpiry(readyAt))}. ${describeCancelling(network, event)}`;
    return [tagAlert(event, network, `operation ${nameOperation(event)}`, message)];
  }
  const words = describeEvent(network, event as ContractEvent, nameOf);
  if (words === null) return [];
  const setBack =
    toUnrequestedThresholds(network, event).length > 0
      ? " The service sets it back if the provider is one of its own."
      : "";
  const message = `${UNREQUESTED_TEXT} A call at ${event.contract} (${event.txHash}) has been executed and cannot be cancelled: ${words}.${setBack}`;
  return [tagAlert(event, network, `${event.txHash} ${event.logIndex}`, message)];
}

function describeCancelling(network: Network, event: ScheduledEvent): string {
  const { contract: authority, txHash } = event;
  const who = isCancellableByGuardian(network, event)
    ? "The guardian can cancel it"
    : "Only its caller, not the guardian, can cancel it";
  return isShortCall(event)
    ? `${who} by calling ${authority} with the data ${encodeCancellation(event)}`
    : `${who} by calling cancel(caller, target, data) of ${authority} with the data in the event of ${txHash}: it is too long for this line.`;
}

/** Describes the cancellation of a requested call. The cancellation of an unrequested call raises no alert. */
function toCancellationAlert(
  network: Network,
  event: CancelledEvent,
  call: KeyActRow,
  nameOf: NameProvider,
): TaggedAlert {
  const { caller, target, data } = call;
  const what = caller && target && data ? `, which ${describeCall(network, { caller, target, data }, nameOf)}` : "";
  const message = `${UNREQUESTED_TEXT} The guardian or the caller's own key has cancelled the call of ${caller}${what} (${event.txHash}).`;
  return tagAlert(event, network, `cancelled operation ${nameOperation(event)}`, message);
}
