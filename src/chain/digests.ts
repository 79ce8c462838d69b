// Digests by which readings of the chain are compared with each other, and with what was stored of them (CHN-24, FAC-18).
import { hashOfText } from "../protocol/keccak.ts";
import type { EventAt, Settled } from "./gateway.ts";
import { shortHash } from "./hashes.ts";

/** All that a settlement is, beside its place on-chain. Its key commits to the intent that it names. */
type SettlementParts = Pick<Settled, "contract" | "settlementKey" | "providerDidHash" | "consumerDidHash" | "token"> &
  Pick<Settled, "payer" | "operationalWallet" | "refundTo"> & {
    readonly [part in "gross" | "fee" | "escrow" | "operational"]: bigint | number;
  };

/** A digest of a settlement, by which two readings of it are compared. */
export const digestOfSettlement = (one: SettlementParts): string =>
  shortHash(
    hashOfText(
      [
        ...[one.contract, one.settlementKey, one.providerDidHash, one.consumerDidHash, one.token, one.payer],
        ...[one.operationalWallet, one.refundTo, one.gross, one.fee, one.escrow, one.operational],
      ].join(" "),
    ),
  );

/** A digest of events in their order, and of the block up to which they were read. Who sent their transactions is no part of it: nodes need not say. */
export const digestOfEvents = (events: readonly EventAt[], lastHash: string): string =>
  shortHash(
    hashOfText(
      JSON.stringify([events, lastHash], (name, value: unknown) => {
        if (name === "sentBy") return undefined;
        return typeof value === "bigint" ? `${value}` : value;
      }),
    ),
  );
