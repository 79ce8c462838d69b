// Compares each facilitated settlement with its ledger line once the follower has booked its block (FAC-18). The order is that of the records, so
// that a settlement that was judged before a reorg and recorded after it is found too; a rewind repeats the comparison. Facilitation believes one
// node, whereas two readings have found each line.
import { digestSettlement } from "../chain/digests.ts";
import type { SettlementReading } from "../chain/gateway.ts";
import { hashDid } from "../chain/hashes.ts";
import type { Network } from "../chain/networks.ts";
import { commitAll } from "../commit.ts";
import type { Deps } from "../context.ts";
import { commit, readBatch } from "../db/batch.ts";
import type { FollowerRow } from "../db/tables/chain.ts";
import type { TransactionRow } from "../db/tables/money.ts";
import { applyGain, hasStateChanged } from "../escrow/changes.ts";
import { pickEditionContract } from "../escrow/states.ts";
import { moveBalance } from "../escrow/store.ts";
import { countWholeEscrow } from "../facilitation/store.ts";
import { raiseAlert } from "../journal/alerts.ts";
import { recordEscrowTurns } from "./escrow-turns.ts";
import { reverseSettlement } from "./reverse.ts";
import { rewindForReread } from "./rewind.ts";
import {
  type ComparedSettlement,
  findEscrowsOfProviders,
  findSettlementsWithLines,
  guardFollower,
  moveChecked,
  type RecordedSettlement,
} from "./store.ts";

/** Settlements of one comparison. */
export const CHECKED_AT_ONCE = 200;

/** The newest block by a fresh reading; null if the follower has not read to it. */
type FreshHead = number | null;

/** Nodes may be some blocks apart. */
const BLOCKS_APART = 30;
/** Whether a block is further ahead than nodes can be apart: a node that was believed at the facilitation may have named any number. */
const isBeyondHead = (head: FreshHead, blockNumber: number): boolean =>
  head !== null && blockNumber > head + BLOCKS_APART;

/** Returns the settlements before the first one of this network whose block is not booked yet. `unchecked`: read before the chain, in order. */
export function pickCheckable(
  { network }: Network,
  { booked, head }: { readonly booked: number; readonly head: FreshHead },
  unchecked: readonly RecordedSettlement[],
): RecordedSettlement[] {
  const isAwaited = ({ blockNumber }: RecordedSettlement) => blockNumber > booked && !isBeyondHead(head, blockNumber);
  const first = unchecked.findIndex((one) => one.network === network && isAwaited(one));
  return first < 0 ? [...unchecked] : unchecked.slice(0, first);
}

/** At most this many settlements of a step are reversed or counted in full, because each takes batches of its own, up to 60 statements (JOB-12). */
const CORRECTED_AT_ONCE = 4;

/**
 * `more`: the next step compares further settlements, or binds the intents of reversed ones. `rewound`: the follower reads blocks again, because a
 * node has a settlement that the ledger lacks. `stuck`: no node can be believed.
 */
type SettlementsOutcome = "checked" | "more" | "rewound" | "stuck";

/** Throws Conflict if another run has moved on. */
export async function checkSettlements(
  deps: Deps,
  network: Network,
  known: FollowerRow,
  recorded: readonly RecordedSettlement[],
  head: FreshHead = null,
): Promise<SettlementsOutcome> {
  const { db } = deps;
  const ids = recorded.filter((one) => one.network === network.network).map(({ transactionId }) => transactionId);
  const { compared } = await readBatch(db, { compared: findSettlementsWithLines(db, ids) });
  const byId = new Map(compared.map((one) => [one.transaction.transactionId, one]));
  const part: RecordedSettlement[] = [];
  const [unequal, uncounted]: [ComparedSettlement[], ComparedSettlement[]] = [[], []];
  for (const one of recorded) {
    if (unequal.length + uncounted.length >= CORRECTED_AT_ONCE) break;
    part.push(one);
    const found = byId.get(one.transactionId);
    if (found && !hasLine(network, found)) unequal.push(found);
    else if (found && found.transaction.uncounted > 0) uncounted.push(found);
  }
  const last = part.at(-1);
  if (!last) return "checked";
  for (const { transaction } of unequal) {
    const settled = await correctUnequal(deps, network, known, transaction, head);
    if (settled !== "checked") return settled;
  }
  await countUncounted(deps, network, known, uncounted);
  await commit(db, moveChecked(db, known, last.number));
  return part.length < recorded.length || unequal.length > 0 ? "more" : "checked";
}

/** A provider without a vault here has no lines. Lines of earlier versions state only the part that went into escrow. */
function hasLine(network: Network, { transaction, line, hasVault }: ComparedSettlement): boolean {
  if (!hasVault) return true;
  if (line === null || line.blockHash !== transaction.blockHash) return false;
  return line.parts === null ? line.amount === transaction.escrow : line.parts === digestRecorded(network, transaction);
}

const digestRecorded = ({ token }: Network, row: TransactionRow): string =>
  digestSettlement({
    ...row,
    providerDidHash: hashDid(row.providerDid),
    consumerDidHash: hashDid(row.consumerDid),
    settlementKey: row.settlementKey as `0x${string}`,
    token: token.toLowerCase(),
    refundTo: row.refundTo || row.payer,
  });

/**
 * Asks the chain again, because the ledger disagrees. If the chain lacks the settlement as it was facilitated, reverses it; otherwise reads its
 * blocks again, once for each settlement.
 */
async function correctUnequal(
  deps: Deps,
  network: Network,
  known: FollowerRow,
  transaction: TransactionRow,
  head: FreshHead,
): Promise<SettlementsOutcome> {
  const { chain, db } = deps;
  const first = await chain.readSettlement(network.network, transaction.txHash);
  if (!first.ok) return "stuck";
  const second = await chain.readSettlementAgain(network.network, transaction.txHash);
  const stands = isAsRecorded(network, transaction, first.value, head);
  // Where there are two nodes, both have to agree before anything is reversed (CHN-30).
  if (second !== null && !(second.ok && isAsRecorded(network, transaction, second.value, head) === stands)) {
    await commit(db, [raiseAlert(db, toDisagreeingNodesAlert(transaction))]);
    return "stuck";
  }
  if (stands && known.rereadFor !== transaction.transactionId) {
    const { transactionId: rereadFor, blockNumber } = transaction;
    const rewound = await rewindForReread(deps, network, known, { number: blockNumber - 1, rereadFor });
    if (rewound !== "beyond") return rewound === "rewound" ? "rewound" : "stuck";
    // Earlier versions booked no line for a settlement that put nothing into the vault, so the chain's answer counts.
    await commit(db, [raiseAlert(db, toUnlinedAlert(transaction))]);
    return "checked";
  }
  await reverseSettlement(
    deps,
    network,
    known,
    transaction,
    isMinedBeyond(head, first.value) ? UNKNOWN_SETTLEMENT : first.value,
  );
  return "checked";
}

const UNKNOWN_SETTLEMENT: SettlementReading = { state: "unknown" };
const isMinedBeyond = (head: FreshHead, reading: SettlementReading): boolean =>
  reading.state === "mined" && isBeyondHead(head, reading.blockNumber);

function isAsRecorded(
  network: Network,
  transaction: TransactionRow,
  reading: SettlementReading,
  head: FreshHead,
): boolean {
  if (reading.state !== "mined" || isMinedBeyond(head, reading) || reading.blockHash !== transaction.blockHash)
    return false;
  const settled = reading.settlements.find(({ logIndex }) => logIndex === transaction.logIndex);
  return settled !== undefined && digestSettlement(settled) === digestRecorded(network, transaction);
}

const toDisagreeingNodesAlert = ({ transactionId, network }: TransactionRow) => ({
  kind: "network" as const,
  subject: `${transactionId} on ${network}`,
  message: "The two nodes disagree on a facilitated settlement: it is compared again until they agree.",
});

const toUnlinedAlert = ({ transactionId, network, blockNumber }: TransactionRow) => ({
  kind: "network" as const,
  subject: `the line of ${transactionId} on ${network}`,
  message: `The chain has the settlement in block ${blockNumber}, but the ledger has no line of it and has advanced too far to add one.`,
});

/** Counts what a vault lacked when its settlement was facilitated, now that its line says that the vault got it. */
async function countUncounted(
  deps: Deps,
  network: Network,
  known: FollowerRow,
  compared: readonly ComparedSettlement[],
): Promise<void> {
  const { db } = deps;
  const rests = compared.map(({ transaction }) => transaction);
  if (rests.length === 0) return;
  const dids = rests.map(({ providerDid }) => providerDid);
  const { escrows } = await readBatch(db, { escrows: findEscrowsOfProviders(db, network.network, dids) });
  for (const rest of rests) {
    const gain = { amount: rest.uncounted, settled: true };
    const changes = escrows
      .filter((row) => row.did === rest.providerDid && row.environment === rest.environment)
      .filter((row) => pickEditionContract(row, network) === rest.contract)
      .map((before) => ({ before, after: applyGain(before, gain) }));
    await commitAll(deps, [
      guardFollower(db, known),
      ...countWholeEscrow(db, rest),
      ...changes.flatMap(({ before, after }) => moveBalance(db, before, after, gain)),
      ...(await recordEscrowTurns(deps, changes.filter(hasStateChanged))),
    ]);
    for (const { before, after } of changes) Object.assign(before, after);
  }
}
