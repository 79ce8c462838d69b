// Books what providers gave back for a settlement (CHN-25), and ends what was awaited of it (CHN-27). No key of the service sends a refund: one
// that is awaited is a chain operation of the settlement, done once the contract's events under its key come to the amount in time.
import type { EventAt } from "../chain/gateway.ts";
import type { Network } from "../chain/networks.ts";
import {
  type AwaitedRefund,
  awaitRefundsAgain,
  doubtPayouts,
  endPaidRefunds,
  failUnpaidRefund,
  findUnpaidRefunds,
  putAwaitedRefund,
} from "../chain/store.ts";
import { FIRST } from "../core/due.ts";
import { countedUnits } from "../core/money.ts";
import { commit, type Database, mustChange, readBatch, type Statement } from "../db/batch.ts";
import type { RefundAddressRow, RefundRow } from "../db/tables/disputes.ts";
import { touchRefunds } from "../disputes/store.ts";
import { forgetRefunds, insertRefunds, keysIn, refundedBehind } from "../escrow/refund-store.ts";
import type { EachJob } from "../jobs/job.ts";

type Refund = Extract<EventAt, { kind: "refund" }>;
type RefundTo = Extract<EventAt, { kind: "refund_to" }>;

/** Those of the network's token up to a block. */
export const refundsIn = ({ network, token }: Network, events: readonly EventAt[], through: number): RefundRow[] =>
  events
    .filter((event): event is Refund => event.kind === "refund" && event.token === token.toLowerCase())
    .filter(({ blockNumber }) => blockNumber <= through)
    .map(({ blockNumber, txHash, logIndex, contract, settlementKey, from, amount, minedAt }) => ({
      ...{ network, blockNumber, txHash, logIndex, contract, settlementKey },
      ...{ payer: from, amount: countedUnits(amount), minedAt },
    }));

/** Addresses that refunds were turned to up to a block: of each settlement the last one of each block, for the events are in the chain's order. */
export function refundAddressesIn(
  { network }: Network,
  events: readonly EventAt[],
  through: number,
): RefundAddressRow[] {
  const turned = events
    .filter((event): event is RefundTo => event.kind === "refund_to" && event.blockNumber <= through)
    .map(({ blockNumber, txHash, logIndex, contract, settlementKey, refundTo }) => ({
      ...{ network, blockNumber, txHash, logIndex, contract, settlementKey, refundTo },
    }));
  const last = turned.map((row) => [`${row.contract} ${row.settlementKey} ${row.blockNumber}`, row] as const);
  return [...new Map(last).values()];
}

/**
 * For the batch of who owes it: from now on the refund is awaited. Again for the same settlement, with another amount or instant, this one is. It is
 * done at once where so much is booked already.
 */
export const awaitRefund = (db: Database, refund: AwaitedRefund): Statement => putAwaitedRefund(db, refund, Date.now());

/** Nothing is written beside the refunds where none of them was awaited. */
export function bookRefunds(
  db: Database,
  { network }: Pick<Network, "network">,
  rows: readonly RefundRow[],
): Statement[] {
  if (rows.length === 0) return [];
  const now = Date.now();
  return [
    ...insertRefunds(db, rows),
    endPaidRefunds(db, network, keysOf(rows), now),
    // The dispute that it was awaited for is looked at again.
    touchRefunds(db, network, keysIn(keysOf(rows)), now),
  ];
}

const keysOf = (rows: readonly RefundRow[]): string[] => [...new Set(rows.map(({ settlementKey }) => settlementKey))];

/** What was booked behind a block is not the chain's any more. */
export function takeRefundsBack(db: Database, { network }: Network, behind: number): Statement[] {
  const now = Date.now();
  return [
    awaitRefundsAgain(db, network, behind, now),
    touchRefunds(db, network, refundedBehind(network, behind), now),
    doubtPayouts(db, network, refundedBehind(network, behind), now),
    ...forgetRefunds(db, network, behind),
  ];
}

/** A refund that did not come in time. Only the chain's own time counts: one that the follower has not read yet may have been paid. */
export const failUnpaidRefunds: EachJob = {
  kind: "each",
  name: "fail_unpaid_refunds",
  find: async ({ db }, after, limit) => {
    const { due } = await readBatch(db, { due: findUnpaidRefunds(db, Date.now(), after ?? FIRST, limit) });
    return due;
  },
  record: async ({ db }, id) => {
    const [network = "", settlementKey = ""] = id.split(" ");
    await commit(db, mustChange(db, failUnpaidRefund(db, network, settlementKey, Date.now())));
    return true;
  },
};
