// The interface to the chain, without an EVM library and without exceptions. `ok: false` means that no node could answer; the caller maps it to
// 5xx. Hashes and addresses are 0x-prefixed lower-case hex, amounts are base units.

import type { Hash } from "./hashes.ts";

export type ChainResult<T> = { ok: true; value: T } | { ok: false; error: ChainUnavailable };

/** Why the chain could not be asked. It never names a URL, which may contain a key (CHN-12). */
export type ChainUnavailable = {
  kind: "chain_unavailable";
  network: string;
  reason: "timeout" | "unreachable" | "bad_answer" | "contradiction" | "wrong_chain" | "unknown_network";
};

/** The place of an event in its transaction. */
type LogPlace = {
  /** Counted from the transaction's first log, so that a reorg that moves the transaction does not change it. */
  logIndex: number;
  /** The address of the edition or authority that emitted it. */
  contract: string;
};

/** A payment, with the key that its payouts and refunds name. */
export type Settled = LogPlace & {
  settlementKey: Hash;
  providerDidHash: Hash;
  consumerDidHash: Hash;
  /** Null for a payment through `pay`, which names no intent. */
  intentHash: Hash | null;
  token: string;
  payer: string;
  /** The recipient of the provider's part. */
  operationalWallet: string;
  /** The recipient of payouts and refunds of this payment. */
  refundTo: string;
  gross: bigint;
  fee: bigint;
  escrow: bigint;
  operational: bigint;
  /** The balance of the provider's vault right after this settlement. */
  vaultBalance: bigint;
};

type OfVault = { providerDidHash: Hash; token: string; amount: bigint; vaultBalance: bigint };

/** The events of the contract (payments, vaults, splits, settings) and of its authority (roles, scheduled calls). */
export type ContractEvent =
  | ({ kind: "settled" } & Settled)
  | (LogPlace &
      (
        | ({ kind: "deposit" } & OfVault)
        | ({ kind: "release" } & OfVault)
        | ({ kind: "payout"; settlementKey: Hash; refundTo: string } & OfVault)
        | { kind: "refund"; settlementKey: Hash; from: string; refundTo: string; token: string; amount: bigint }
        | { kind: "refund_to"; settlementKey: Hash; refundTo: string }
        // `confirmedBy`: the previous wallet, if it has itself named this one.
        | {
            kind: "wallet";
            providerDidHash: Hash;
            token: string;
            operationalWallet: string;
            confirmedBy: string | null;
          }
        | { kind: "threshold"; providerDidHash: Hash; token: string; threshold: bigint }
        | { kind: "reserve"; providerDidHash: Hash; token: string; reserve: bigint }
        | { kind: "registered"; providerDidHash: Hash; token: string; operationalWallet: string; threshold: bigint }
        | { kind: "paused" | "unpaused" }
        // Events of an authority, whose address is `contract`. `readyAt`: epoch milliseconds. `nonce`: how often this same call was scheduled.
        | {
            kind: "scheduled";
            operationId: Hash;
            nonce: number;
            readyAt: number;
            caller: string;
            target: string;
            data: Hash;
          }
        | { kind: "executed"; operationId: Hash; nonce: number }
        | { kind: "cancelled"; operationId: Hash; nonce: number }
        // Another change of roles or of the contract's settings. `words`: the new state in words.
        | { kind: "act"; words: string }
      ));

/** A block with its instant in epoch milliseconds. */
export type BlockRef = BlockAt & { readonly time: number };
export type BlockAt = { readonly number: number; readonly hash: string };

/** The sender of a transaction, and its nonce. */
export type SentBy = { readonly from: string; readonly nonce: number };

/**
 * An event with its transaction and block. `minedAt`: the block's instant in epoch milliseconds. `sentBy`: only of a payment, if the node states
 * it.
 */
export type EventAt = ContractEvent & {
  readonly sentBy?: SentBy | undefined;
  readonly txHash: string;
  readonly blockNumber: number;
  readonly blockHash: string;
  readonly minedAt: number;
};

/**
 * The block after which events are read. `hash`: null if nothing was read before. `most`: the most blocks to read. `seen`: a block whose hash is
 * read too.
 */
export type EventsAfter = {
  readonly number: number;
  readonly hash: string | null;
  readonly most?: number;
  readonly seen?: number | undefined;
};

/**
 * The events after a block. `forked`: that block has another hash than when it was read, also at the second node if there is one. The other state
 * without events: the node has not reached that block, or its chain became shorter. `from`: that block. `end`: the last block that was read, at or
 * before the head. `settled`: the last of these blocks that has the network's confirmations; null if none has. `paused`: whether the contract takes
 * no payments at the head; null if the node does not say.
 */
export type EventsReading =
  | { readonly state: "behind" | "forked"; readonly head: BlockRef }
  | {
      readonly state: "read";
      readonly from: BlockRef;
      readonly head: BlockRef;
      readonly end: BlockRef;
      readonly settled: BlockRef | null;
      readonly paused: boolean | null;
      readonly events: readonly EventAt[];
      /** The hash of the block `seen`; null if none was requested, or the node does not have it. */
      readonly seenHash: string | null;
      /** Whether the second node has the same events up to `settled`; null if there is no second node, or it does not answer. */
      readonly second: "same" | "other" | null;
    };

/**
 * The state of a transaction on one network. `mined` and `reverted` have the network's required confirmations; until then a transaction
 * is `pending`, with 0 confirmations while it waits for a block (CHN-10).
 */
export type SettlementReading =
  | { state: "unknown" }
  | { state: "pending"; confirmations: number }
  | { state: "reverted" }
  | {
      state: "mined";
      confirmations: number;
      blockNumber: number;
      blockHash: string;
      /** The block's instant in epoch milliseconds. */
      minedAt: number;
      settlements: Settled[];
      /** The balance of the provider's vault at the head, in base units; null if it was not requested. */
      held: bigint | null;
    };

/** A provider's split and escrow in the network's token. The vault's address is known before the vault exists. */
export type ProviderOnChain = {
  registered: boolean;
  operationalWallet: string | null;
  threshold: bigint;
  vault: string;
  balance: bigint;
};

/** A call to send; nonce, fees and key belong to the signer. */
export type ChainCall = { readonly network: string; readonly to: string; readonly data: string };

/**
 * `mined`: an earlier transaction for this purpose has just been mined, so the caller plans again. `refused`: the dry run failed with the name of
 * the contract's error (such as `UnknownProvider`) or `reverted`. `waiting`: nothing could be sent now; the caller may try again.
 */
export type Submission =
  | { readonly state: "submitted" | "mined"; readonly txHash: string }
  | { readonly state: "refused"; readonly reason: string }
  | { readonly state: "waiting"; readonly reason: WaitingReason };
export type WaitingReason = "insufficient_gas" | "fee_above_bound" | "node_refused";

/**
 * Says what happens to a different call that waits for the same purpose. `instead`: the new call replaces it under its nonce. Otherwise it keeps
 * waiting, and its hash is returned.
 */
export type Place = "instead" | "behind";

/**
 * `clear`: nothing waits. `submitted`: empty transfers replace the waiting calls, and are not mined yet. The other states are those of a
 * submission.
 */
export type Withdrawal = { readonly state: "clear" } | Exclude<Submission, { state: "refused" }>;

/**
 * Signs and sends through the Durable Object that owns the nonces of one key on one network. `key` names the purpose of the call: only one call of
 * a purpose waits for its block at a time (CHN-15). `until`: how long a call waits for other calls of the key (epoch ms, real time).
 */
export type Signer = {
  address(): Promise<ChainResult<string>>;
  submit(key: string, call: ChainCall, place: Place, until: number): Promise<ChainResult<Submission>>;
  /** Replaces the calls that wait for this purpose by empty transfers, because none is wanted any longer. */
  withdraw(key: string, until: number): Promise<ChainResult<Withdrawal>>;
};

/** A wallet change that waits for the contract's delay. `nonce`: how often this same change was scheduled. */
export type WalletChange = { readonly wallet: string; readonly effectiveAt: number; readonly nonce: number };

/** The wanted state of a provider in the contract. If the wallet is null, the contract's wallet stays as it is. */
export type WantedSplit = {
  readonly providerDidHash: string;
  readonly operationalWallet: string | null;
  readonly threshold: bigint;
  /** Returns the caller's address. */
  readonly by: Signer["address"];
  /** A change to this wallet that was seen scheduled. If its schedule is gone, it was cancelled. */
  readonly scheduled: WalletChange | null;
};

/** The next call towards a wanted state. `done`: the contract has the state. `impossible`: the contract will never have it. */
export type Plan<T> =
  | { readonly state: "done"; readonly onChain: T }
  | { readonly state: "call"; readonly call: ChainCall }
  | { readonly state: "impossible"; readonly reason: string };
/** `scheduled`: the wallet change that waits for the contract's delay; all else is as wanted. */
export type SplitOnChain = ProviderOnChain & { readonly scheduled: WalletChange | null };
export type SplitPlan = Plan<SplitOnChain>;

/** A provider's vault in an edition of the contract. */
export type VaultOf = { readonly contract: string; readonly providerDidHash: Hash };
export type VaultsReading =
  | { readonly state: "forked" }
  | { readonly state: "read"; readonly time: number; readonly balances: readonly bigint[] };

export type ReceivedBy = {
  readonly address: string;
  readonly after: number;
  readonly to: number;
  readonly enough: bigint;
};

export interface ChainGateway {
  /**
   * Accepts any text: a text that is not a hash is `unknown`, and 0x may be missing (FAC-1). With `providerDidHash`, the same request also reads
   * the balance of this provider's vault.
   */
  readSettlement(network: string, txHash: string, providerDidHash?: Hash): Promise<ChainResult<SettlementReading>>;

  /** Reads the settlement at the second node; null if the network has none. */
  readSettlementAgain(
    network: string,
    txHash: string,
    providerDidHash?: Hash,
  ): Promise<ChainResult<SettlementReading> | null>;

  /** Reads the events after a block, from at most 2,000 blocks at once. */
  readEvents(network: string, after: EventsAfter): Promise<ChainResult<EventsReading>>;

  /**
   * Reads vault balances at the end of a block, in the order of `vaults`. `forked`: the node has another block there, and so has the second node,
   * if the network has one.
   */
  readVaults(network: string, at: BlockAt, vaults: readonly VaultOf[]): Promise<ChainResult<VaultsReading>>;

  /** Reads the balances at the second node; null if the network has none. */
  readVaultsAgain(network: string, at: BlockAt, vaults: readonly VaultOf[]): Promise<ChainResult<VaultsReading> | null>;

  /**
   * Sums what an address has received by the token's own events up to the block `to`, in base units. Reads the newest blocks first, until the sum
   * reaches `enough`, the block `after` is reached, or a maximum of blocks was read.
   */
  readReceived(network: string, asked: ReceivedBy): Promise<ChainResult<bigint>>;

  /** Reads how many transactions accounts have sent up to a block; the lower number if two nodes disagree. */
  readNonces(network: string, at: BlockAt, accounts: readonly string[]): Promise<ChainResult<readonly number[]>>;

  /** Reads the hashes of blocks, in the order of `numbers`. */
  readBlocks(network: string, numbers: readonly number[]): Promise<ChainResult<readonly string[]>>;

  /**
   * Returns those of the addresses that are vaults of an edition, by their code. Asks the node once, with a short timeout; an address without an
   * answer counts as no vault.
   */
  findVaults(network: string, addresses: readonly string[]): Promise<ChainResult<readonly string[]>>;

  /** Reads the hashes at the second node; null if the network has none. */
  readBlocksAgain(network: string, numbers: readonly number[]): Promise<ChainResult<readonly string[]> | null>;

  readProvider(network: string, providerDidHash: string): Promise<ChainResult<ProviderOnChain>>;

  /**
   * Compares the contract's state with the wanted state. If wallet and threshold both differ, the wallet comes first, and the caller plans again
   * once it is mined. Another wallet that is a vault is `impossible`, because the contract itself refuses only the provider's own vault.
   */
  planSplit(network: string, wanted: WantedSplit): Promise<ChainResult<SplitPlan>>;

  /** Waits up to `waitMs` for the transaction to be in a block. */
  waitForReceipt(network: string, txHash: string, waitMs: number): Promise<ChainResult<Inclusion>>;
}

export type Inclusion = { readonly state: "waiting" | "included" | "reverted" };
