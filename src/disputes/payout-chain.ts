// What the payment of an award asks the chain (DSP-12): the settlement as its contract knows it, and what wallets have given back since the follower
// booked last.
import type { ChainResult, EventAt, SettlementReading } from "../chain/gateway.ts";
import { didHash } from "../chain/hashes.ts";
import type { Network } from "../chain/networks.ts";
import type { SettlementFacts } from "../chain/vault-acts.ts";
import type { Deps } from "../context.ts";
import { SECOND_MS } from "../core/limits.ts";
import type { FollowerRow } from "../db/tables/chain.ts";
import type { TransactionRow } from "../db/tables/money.ts";

type Paid = Extract<EventAt, { kind: "refund" | "payout" }>;

/** A follower that is further behind closes its network anyway. */
const RANGES = 5;

/** Base units: what wallets gave back for a settlement, and what its vault paid out. */
type Ahead = { readonly refunded: number; readonly paidOut: number };

/**
 * What was given back and paid out between the booked block and the network's head: a part is not paid of what its provider has just given back itself.
 * `place`: of the follower; null before its first run.
 */
export async function readAhead(
  { chain }: Deps,
  { network, settlementKey, contract, blockNumber }: TransactionRow,
  place: FollowerRow | null,
): Promise<Ahead | "unavailable"> {
  let [number, hash]: [number, string | null] = place ? [place.bookedBlock, place.bookedHash] : [blockNumber, null];
  const found: Paid[] = [];
  for (let range = 0; range < RANGES; range++) {
    const read = await chain.readEvents(network, { number, hash });
    // Before a reorganisation is followed: later.
    if (!read.ok || read.value.state !== "read") return "unavailable";
    const { events, end, head } = read.value;
    found.push(
      ...events
        .filter((event): event is Paid => event.kind === "refund" || event.kind === "payout")
        .filter((event) => event.settlementKey === settlementKey && event.contract === contract),
    );
    if (end.number === head.number) return { refunded: sumOf(found, "refund"), paidOut: sumOf(found, "payout") };
    [number, hash] = [end.number, end.hash];
  }
  return "unavailable";
}

const sumOf = (found: readonly Paid[], kind: Paid["kind"]): number =>
  found.filter((one) => one.kind === kind).reduce((all, { amount }) => all + Number(amount), 0);

type SettlementOf = {
  readonly transaction: TransactionRow;
  readonly on: Network;
  readonly movedTo: readonly string[];
};

/**
 * The settlement, of which `before` was paid out. `unknown`: no node has it, though no reorganisation was followed that took it away, and so nobody
 * believes them.
 */
export async function settlementFacts(
  { chain }: Deps,
  of: SettlementOf,
  before: number,
): Promise<SettlementFacts | "unknown" | "unavailable"> {
  const { network, txHash } = of.transaction;
  const first = factsIn(await chain.readSettlement(network, txHash), of, before);
  if (typeof first === "object") return first;
  const again = await chain.readSettlementAgain(network, txHash);
  const second = again === null ? first : factsIn(again, of, before);
  if (typeof second === "object") return second;
  return first === "unknown" && second === "unknown" ? "unknown" : "unavailable";
}

function factsIn(
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
    providerDidHash: didHash(transaction.providerDid),
    token: on.token.toLowerCase(),
    gross: settled.gross,
    refundTo: settled.refundTo,
    movedTo,
    settledAt: minedAt / SECOND_MS,
    paidOut: BigInt(before),
  };
}
