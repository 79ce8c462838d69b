// Compares each facilitated settlement with its block, once the follower has booked that (FAC-18): in the order in which they were recorded, so
// that one that was judged before a reorganisation and recorded after it is found too. After a rewind those of the blocks behind it are
// compared again.
import type { Network } from "../chain/networks.ts";
import type { Deps } from "../context.ts";
import { commit, readBatch } from "../db/batch.ts";
import type { FollowerRow } from "../db/tables/chain.ts";
import type { TransactionRow } from "../db/tables/money.ts";
import { findStanding } from "../facilitation/store.ts";
import { reverseSettlement } from "./reverse.ts";
import { moveChecked, type Recorded } from "./store.ts";

/** Settlements that are looked at at once. */
export const CHECKED_AT_ONCE = 200;

/** Up to the first one of the network whose block is not booked at this place. */
export function checkable({ network }: Network, bookedBlock: number, unchecked: readonly Recorded[]): Recorded[] {
  const first = unchecked.findIndex((one) => one.network === network && one.blockNumber > bookedBlock);
  return first < 0 ? [...unchecked] : unchecked.slice(0, first);
}

/** `forked`: the booked block is not the chain's any more. `stuck`: no node can be believed. Throws Conflict when another run has moved on. */
export async function checkSettlements(
  deps: Deps,
  network: Network,
  known: FollowerRow,
  recorded: readonly Recorded[],
): Promise<"checked" | "forked" | "stuck"> {
  const last = recorded.at(-1);
  if (!last) return "checked";
  const own = recorded.filter((one) => one.network === network.network);
  const gone = own.length === 0 ? [] : await findGone(deps, network, known, own);
  if (typeof gone === "string") return gone;
  for (const one of gone) if (!(await reverseSettlement(deps, network, known, one))) return "stuck";
  await commit(deps.db, moveChecked(deps.db, known, last.number));
  return "checked";
}

/** Those whose block is another one now, on the chain whose last booked block is the follower's. */
async function findGone(
  { db, chain }: Deps,
  { network }: Network,
  { bookedBlock, bookedHash }: FollowerRow,
  own: readonly Recorded[],
): Promise<TransactionRow[] | "forked" | "stuck"> {
  const ids = own.map(({ transactionId }) => transactionId);
  const { standing } = await readBatch(db, { standing: findStanding(db, ids) });
  const numbers = [...new Set(standing.map(({ blockNumber }) => blockNumber))];
  const read = await chain.readBlocks(network, [bookedBlock, ...numbers]);
  if (!read.ok) return "stuck";
  const [booked, ...hashes] = read.value;
  if (booked !== bookedHash) return "forked";
  const gone = notIn(standing, numbers, hashes);
  return gone.length === 0 ? [] : alsoGone(chain, network, bookedHash, [bookedBlock, ...numbers], gone);
}

const notIn = (standing: readonly TransactionRow[], numbers: readonly number[], hashes: readonly string[]) => {
  const byNumber = new Map(numbers.map((number, at) => [number, hashes[at]]));
  return standing.filter(({ blockNumber, blockHash }) => byNumber.get(blockNumber) !== blockHash);
};

/** Nothing is reversed on the word of one node, where there are two (CHN-30). */
async function alsoGone(
  chain: Deps["chain"],
  network: string,
  bookedHash: string,
  [bookedBlock = 0, ...numbers]: readonly number[],
  gone: TransactionRow[],
): Promise<TransactionRow[] | "stuck"> {
  const read = await chain.readBlocksAgain(network, [bookedBlock, ...numbers]);
  if (read === null) return gone;
  if (!read.ok || read.value[0] !== bookedHash) return "stuck";
  return notIn(gone, numbers, read.value.slice(1));
}
