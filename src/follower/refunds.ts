// Books what providers gave back for a settlement (CHN-25). No key of the service sends a refund: it is awaited, and paid once the contract's
// events under the settlement's key come to the amount.
import type { EventAt } from "../chain/gateway.ts";
import type { Network } from "../chain/networks.ts";
import type { RefundRow } from "../db/tables/money.ts";

type Refund = Extract<EventAt, { kind: "refund" }>;

/** Those of the network's token up to a block. */
export const refundsIn = ({ network, token }: Network, events: readonly EventAt[], through: number): RefundRow[] =>
  events
    .filter((event): event is Refund => event.kind === "refund" && event.token === token.toLowerCase())
    .filter(({ blockNumber }) => blockNumber <= through)
    .map(({ blockNumber, txHash, logIndex, settlementKey, from, amount, minedAt }) => ({
      ...{ network, blockNumber, txHash, logIndex, settlementKey },
      ...{ payer: from, amount: Number(amount), minedAt },
    }));
