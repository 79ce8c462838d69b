// Reads what the payment of an award needs from the chain (DSP-12): the settlement as its contract has it, and the refunds in blocks that the
// follower has not booked yet.
import type { ChainResult, EventAt, SettlementReading } from "../chain/gateway.ts";
import { hashDid } from "../chain/hashes.ts";
import type { Network } from "../chain/networks.ts";
import type { SettlementFacts } from "../chain/vault-acts.ts";
import type { Deps } from "../context.ts";
import { SECOND_MS } from "../core/limits.ts";
import type { FollowerRow } from "../db/tables/chain.ts";
import type { TransactionRow } from "../db/tables/money.ts";

type Paid = Extract<EventAt, { kind: "refund" | "payout" }>;

/** A follower that lags by more ranges closes its network anyway. */
const AHEAD_RANGES_MAX = 5;

/** Base units: the refunds that wallets paid for a settlement, and the payouts of its vault. */
type Ahead = { readonly refunded: number; readonly paidOut: number };

/**
 * Sums the refunds and payouts between the booked block and the head, so that no part is paid that the provider has just refunded itself. `place`:
 * the follower's; null before its first run.
 */
export async function readAhead(
  { chain }: Deps,
  { network, settlementKey, contract, blockNumber }: TransactionRow,
  place: FollowerRow | null,
): Promise<Ahead | "unavailable"> {
  let [number, hash]: [number, string | null] = place ? [place.bookedBlock, place.bookedHash] : [blockNumber, null];
  const found: Paid[] = [];
  for (let range = 0; range < AHEAD_RANGES_MAX; range++) {
    const read = await chain.readEvents(network, { number, hash });
    // The follower has to follow a reorg first.
    if (!read.ok || read.value.state !== "read") return "unavailable";
    const { events, end, head } = read.value;
    found.push(
      ...events
        .filter((event): event is Paid => event.kind === "refund" || event.kind === "payout")
        .filter((event) => event.settlementKey === settlementKey && event.contract === contract),
    );
    if (end.number === head.number) return { refunded: sumPaid(found, "refund"), paidOut: sumPaid(found, "payout") };
    [number, hash] = [end.number, end.hash];
  }
  return "unavailable";
}

const sumPaid = (found: readonly Paid[], kind: Paid["kind"]): number =>
  found.filter((one) => one.kind === kind).reduce((all, { amount }) => all + Number(amount), 0);

type SettlementOf = {
  readonly transaction: TransactionRow;
  readonly on: Network;
  readonly movedTo: readonly string[];
};

/**
 * `before`: how much of the settlement was paid out. `unknown`: no node has the settlement, but the follower saw no reorg that removed it, so the
 * nodes are not believed.
 */
export async function readSettlementFacts(
  { chain }: Deps,
  of: SettlementOf,
  before: number,
): Promise<SettlementFacts | "unknown" | "unavailable"> {
  const { network, txHash } = of.transaction;
  const first = toSettlementFacts(await chain.readSettlement(network, txHash), of, before);
  if (typeof first === "object") return first;
  const again = await chain.readSettlementAgain(network, txHash);
  const second = again === null ? first : toSettlementFacts(again, of, before);
  if (typeof second === "object") return second;
  return first === "unknown" && second === "unknown" ? "unknown" : "unavailable";
}

function toSettlementFacts(
  read: ChainResult<SettlementReading>,
  { transaction, on, movedTo }: SettlementOf,
  before: number,
): SettlementFacts | "unknown" | "unavailable" {
  if (!read.ok || read.value.state === "pending") return "unavailable";
  if (read.value.state !== "mined") return "unknown";
  const { settlements, minedAt } = read.value;
  const settled = settlements.find(({ logIndex }) => logIndex === transaction.logIndex);
  if (!settled) return "unknown";
  return {
    key: settled.settlementKey,
    providerDidHash: hashDid(transaction.providerDid),
    token: on.token.toLowerCase(),
    gross: settled.gross,
    refundTo: settled.refundTo,
    movedTo,
    settledAt: minedAt / SECOND_MS,
    paidOut: BigInt(before),
  };
}
