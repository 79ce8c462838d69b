// Digests readings of the chain, to compare them with each other and with stored readings (CHN-24, FAC-18).
import { hashText } from "../protocol/keccak.ts";
import type { EventAt, Settled } from "./gateway.ts";
import { shortenHash } from "./hashes.ts";

/** A settlement without its place on-chain. The intent is left out, because the key commits to it. */
type SettlementParts = Pick<Settled, "contract" | "settlementKey" | "providerDidHash" | "consumerDidHash" | "token"> &
  Pick<Settled, "payer" | "operationalWallet" | "refundTo"> & {
    readonly [part in "gross" | "fee" | "escrow" | "operational"]: bigint | number;
  };

export const digestSettlement = (one: SettlementParts): string =>
  shortenHash(
    hashText(
      [
        ...[one.contract, one.settlementKey, one.providerDidHash, one.consumerDidHash, one.token, one.payer],
        ...[one.operationalWallet, one.refundTo, one.gross, one.fee, one.escrow, one.operational],
      ].join(" "),
    ),
  );

/** Digests events in order, and the last block read. Leaves out the senders, because not every node states them. */
export const digestEvents = (events: readonly EventAt[], lastHash: string): string =>
  shortenHash(
    hashText(
      JSON.stringify([events, lastHash], (name, value: unknown) => {
        if (name === "sentBy") return undefined;
        return typeof value === "bigint" ? `${value}` : value;
      }),
    ),
  );
