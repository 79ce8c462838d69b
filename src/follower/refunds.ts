// Books the refunds that providers paid for settlements (CHN-25), and completes awaited ones (CHN-27). No key of the service sends a refund: an
// awaited one is a chain operation of the settlement, done once the contract's events under its key add up to the amount in time.
import type { EventAt } from "../chain/gateway.ts";
import type { Network } from "../chain/networks.ts";
import {
  type AwaitedRefund,
  awaitRefundsAgain,
  endPaidRefunds,
  failUnpaidRefund,
  putAwaitedRefund,
  recheckPayouts,
} from "../chain/store.ts";
import { capBaseUnits } from "../core/text.ts";
import { commit, type Database, mustChange, type Statement } from "../db/batch.ts";
import type { RefundAddressRow, RefundRow } from "../db/tables/disputes.ts";
import { makeRefundsDue } from "../disputes/store.ts";
import { deleteRefundsAfter, insertRefunds, selectKeys, selectRefundedAfter } from "../escrow/refund-store.ts";
import { tendOperations } from "../jobs/tend.ts";

type Refund = Extract<EventAt, { kind: "refund" }>;
type RefundTo = Extract<EventAt, { kind: "refund_to" }>;

export const pickRefunds = ({ network, token }: Network, events: readonly EventAt[], through: number): RefundRow[] =>
  events
    .filter((event): event is Refund => event.kind === "refund" && event.token === token.toLowerCase())
    .filter(({ blockNumber }) => blockNumber <= through)
    .map(({ blockNumber, txHash, logIndex, contract, settlementKey, from, amount, minedAt }) => ({
      ...{ network, blockNumber, txHash, logIndex, contract, settlementKey },
      ...{ payer: from, amount: capBaseUnits(amount), minedAt },
    }));

/** Picks the addresses that refunds were turned to. For each settlement the last one of each block counts; the events are in the chain's order. */
export function pickRefundAddresses(
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

/** For the batch that records the debt. Called again, it replaces amount and instant; if enough is booked already, the refund is done at once. */
export const awaitRefund = (db: Database, refund: AwaitedRefund): Statement => putAwaitedRefund(db, refund, Date.now());

/** Besides the refunds, this changes only operations that await them. */
export function bookRefunds(
  db: Database,
  { network }: Pick<Network, "network">,
  rows: readonly RefundRow[],
): Statement[] {
  if (rows.length === 0) return [];
  const now = Date.now();
  return [
    ...insertRefunds(db, rows),
    endPaidRefunds(db, network, listSettlementKeys(rows), now),
    // Makes the dispute that awaits this refund due.
    makeRefundsDue(db, network, selectKeys(listSettlementKeys(rows)), now),
  ];
}

const listSettlementKeys = (rows: readonly RefundRow[]): string[] => [
  ...new Set(rows.map(({ settlementKey }) => settlementKey)),
];

/** Undoes the refunds of blocks that are no longer on the chain. */
export function undoRefunds(db: Database, { network }: Network, behind: number): Statement[] {
  const now = Date.now();
  return [
    awaitRefundsAgain(db, network, behind, now),
    makeRefundsDue(db, network, selectRefundedAfter(network, behind), now),
    recheckPayouts(db, network, selectRefundedAfter(network, behind), now),
    ...deleteRefundsAfter(db, network, behind),
  ];
}

/** Fails refunds that were not paid in time. Only the chain's own time counts, because a block that was not read yet may have the payment. */
export const failUnpaidRefunds = tendOperations("fail_unpaid_refunds", "refund", ({ db }, network, settlementKey) =>
  commit(db, mustChange(db, failUnpaidRefund(db, network, settlementKey, Date.now()))),
);
