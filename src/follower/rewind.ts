// Rewinds the follower when a booked block is no longer on the chain (CHN-24): undoes all that was booked after the newest noted block that still is.
// The next step books what came back in other blocks, and compares the facilitated settlements (settlements.ts).
import type { BlockRef } from "../chain/gateway.ts";
import type { Network } from "../chain/networks.ts";
import { recheckPayouts } from "../chain/store.ts";
import { commitAll } from "../commit.ts";
import type { Deps } from "../context.ts";
import { commit, readBatch } from "../db/batch.ts";
import type { BookedBlock, FollowerRow, VaultRef } from "../db/tables/chain.ts";
import { type Alert, raiseAlert } from "../journal/alerts.ts";
import { undoActs } from "./act-store.ts";
import { recordGains } from "./book.ts";
import { countGoneLines, findGoneLines, reverseLinesAfter, selectPaidOutAfter } from "./lines-store.ts";
import { undoRefunds } from "./refunds.ts";
import { deleteNotesAfter, findEscrowsOfProviders, findNotes, recheckAfter, rewindFollower } from "./store.ts";
import { undoWallets } from "./wallets.ts";

/** Returns false if no node can be believed. */
export async function rewindToKept(deps: Deps, network: Network, known: FollowerRow): Promise<boolean> {
  const { db } = deps;
  const name = network.network;
  const { notes } = await readBatch(db, { notes: findNotes(db, name) });
  const kept = await findNewestKept(deps, name, notes);
  if (kept === "unknown") return false;
  if (kept === null) {
    await commit(db, [raiseAlert(db, toBeyondNotesAlert(name))]);
    return false;
  }
  await undoBlocks(deps, network, known, { notes, kept, rereadFor: known.rereadFor });
  return true;
}

type RereadFrom = {
  /** The last block that stays as it is. */
  readonly number: number;
  /** The transaction, or the vault with its newest line, for which the blocks after it are read again. */
  readonly rereadFor: string;
};

/** Rewinds over blocks that are still on the chain, because one of their events was not read. `beyond`: no block before them is noted any longer. */
export async function rewindForReread(
  deps: Deps,
  network: Network,
  known: FollowerRow,
  { number, rereadFor }: RereadFrom,
): Promise<"rewound" | "beyond" | "unknown"> {
  const { notes } = await readBatch(deps.db, { notes: findNotes(deps.db, network.network) });
  const kept = await findNewestKept(
    deps,
    network.network,
    notes.filter((note) => note.number <= number),
  );
  if (kept === null) return "beyond";
  if (kept === "unknown") return "unknown";
  await undoBlocks(deps, network, known, { notes, kept, rereadFor });
  return "rewound";
}

/** `kept`: the last block that stays booked. */
type Rewind = {
  readonly notes: readonly BookedBlock[];
  readonly kept: BlockRef;
  readonly rereadFor: FollowerRow["rereadFor"];
};

async function undoBlocks(
  deps: Deps,
  network: Network,
  known: FollowerRow,
  { notes, kept, rereadFor }: Rewind,
): Promise<void> {
  const { db } = deps;
  const name = network.network;
  const gone = notes.filter(({ number }) => number > kept.number);
  const touched = gone.flatMap((note) => note.vaults);
  const vaults = dedupeVaults(touched);
  const dids = [...new Set(vaults.map(({ did }) => did))];
  const { lines, escrows } = await readBatch(db, {
    lines: findGoneLines(db, name, vaults, kept.number),
    escrows: findEscrowsOfProviders(db, name, dids),
  });
  const gains = lines.map(({ amount, ...vault }) => ({ vault, amount: -amount }));
  await commitAll(deps, [
    ...rewindFollower(db, known, { ...known, ...toRewoundProgress(known, kept), seen: null, rereadFor }),
    deleteNotesAfter(db, name, kept.number),
    ...undoRefunds(db, network, kept.number),
    ...undoWallets(db, network, touched),
    ...undoActs(db, name, kept.number),
    recheckAfter(db, name, kept.number),
    ...(lines.length > 0 ? [recheckPayouts(db, name, selectPaidOutAfter(name, lines, kept.number), Date.now())] : []),
    ...reverseLinesAfter(db, name, lines, kept.number),
    ...(await recordGains(deps, network, gains, escrows)),
    ...(lines.length > 0 || (kept.number < known.bookedBlock && rereadFor === known.rereadFor)
      ? [raiseAlert(db, toReorgAlert(name, countGoneLines(lines)))]
      : []),
    ...(rereadFor === null || rereadFor === known.rereadFor ? [] : [raiseAlert(db, toRereadAlert(name, rereadFor))]),
  ]);
}

/** Nothing after the kept block counts as read. */
const toRewoundProgress = ({ readThrough }: FollowerRow, { number, hash, time }: BlockRef): Partial<FollowerRow> => ({
  ...{ bookedBlock: number, bookedHash: hash, bookedAt: time },
  ...{ headBlock: number, readThrough: Math.min(readThrough, time) },
});

/** Finds the newest noted block that the chain still has. A reorg removes all blocks after one, so a binary search finds it. */
async function findNewestKept(
  deps: Deps,
  network: string,
  notes: readonly BookedBlock[],
): Promise<BlockRef | null | "unknown"> {
  let [low, high] = [0, notes.length];
  let kept: BlockRef | null = null;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const note = notes[middle];
    if (!note) break;
    const read = await deps.chain.readVaults(network, note, []);
    if (!read.ok) return "unknown";
    if (read.value.state === "forked") low = middle + 1;
    else {
      high = middle;
      kept = { number: note.number, hash: note.hash, time: read.value.time };
    }
  }
  return kept;
}

const dedupeVaults = (vaults: readonly VaultRef[]): VaultRef[] => [
  ...new Map(vaults.map((vault) => [`${vault.did} ${vault.contract}`, vault])).values(),
];

const toReorgAlert = (network: string, lines: number): Alert => ({
  kind: "chain_reorganised",
  subject: `ledger on ${network}`,
  message: `Booked blocks are gone, and with them ${lines} movements of vaults; movements that returned are booked again.`,
});

const toRereadAlert = (network: string, rereadFor: string): Alert => ({
  kind: "network",
  subject: `blocks of ${rereadFor} on ${network}`,
  message: "A node's report differs from the ledger: these blocks are read again, with everything booked since.",
});

const toBeyondNotesAlert = (network: string): Alert => ({
  kind: "chain_reorganised",
  subject: `follower on ${network}`,
  message: "The chain has none of the booked blocks: the node reports another chain, and nothing is booked.",
});
