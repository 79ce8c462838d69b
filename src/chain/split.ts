// Drives the chain operation of a provider's split (CHN-14): first the registration, then the operational wallet, then the threshold.
import type { Database, Statement } from "../db/batch.ts";
import type { SplitOnChain, WalletChange, WantedSplit } from "./gateway.ts";
import { hashDid } from "./hashes.ts";
import { type ChainTools, type DriveResult, driveOperation, putDriven } from "./operations.ts";
import type { OperationKey } from "./store.ts";

/** A provider's operational wallet, and its threshold in base units. If the wallet is null, the contract's wallet stays as it is. */
export type Split = {
  readonly wallet: string | null;
  readonly threshold: number;
  /** The change to this wallet, if it was seen scheduled. */
  readonly scheduled?: WalletChange | null;
};

export type Driven = DriveResult<SplitOnChain>;

export const toSplitKey = (network: string, did: string): OperationKey => ({
  network,
  kind: "provider_split",
  subject: did,
});

export const toSplitPurpose = (did: string): string => `provider_split:${did}`;

export function driveSplit(
  tools: ChainTools,
  network: string,
  did: string,
  split: Split,
  until: number,
): Promise<Driven> {
  const wanted: WantedSplit = {
    providerDidHash: hashDid(did),
    operationalWallet: split.wallet,
    threshold: BigInt(split.threshold),
    by: () => tools.signer.address(),
    scheduled: split.scheduled ?? null,
  };
  const operation = {
    network,
    purpose: toSplitPurpose(did),
    // A threshold waits for a wallet change that is in progress; a wallet change replaces whatever was wanted before.
    place: split.wallet === null ? "behind" : "instead",
    plan: () => tools.chain.planSplit(network, wanted),
    outdated: "ProviderExists",
  } as const;
  return driveOperation(tools, operation, until);
}

export const recordSplit = (
  db: Database,
  { network, did }: { readonly network: string; readonly did: string },
  { wallet, threshold }: Split,
  driven: DriveResult<unknown>,
  now: number,
): Statement => putDriven(db, toSplitKey(network, did), { wallet, threshold: String(threshold) }, driven, now);
