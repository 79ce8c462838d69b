// The interface to the chain, free of any EVM library and of exceptions. `ok: false` means that no node could answer; the caller maps it
// to 5xx. Hashes and addresses are 0x-prefixed lower-case hex, amounts are base units.

import type { Hash } from "./hashes.ts";

export type ChainResult<T> = { ok: true; value: T } | { ok: false; error: ChainUnavailable };

/** The reason why the chain could not be asked. It never names a URL, which may carry a key (CHN-12). */
export type ChainUnavailable = {
  kind: "chain_unavailable";
  network: string;
  reason: "timeout" | "unreachable" | "bad_answer" | "contradiction" | "wrong_chain" | "unknown_network";
};

/** Where an event of an edition of the network's settlement contract stands. */
type LogPlace = {
  /** Counted from the transaction's first log, so that it stays when a reorganisation moves the transaction. */
  logIndex: number;
  /** The edition that emitted it. */
  contract: string;
};

/** A payment, with the key that a payout and a refund are bound to. */
export type Settled = LogPlace & {
  settlementKey: Hash;
  providerDidHash: Hash;
  consumerDidHash: Hash;
  /** null for a payment through `pay`, which names no intent. */
  intentHash: Hash | null;
  token: string;
  payer: string;
  /** The recipient of the provider's part. */
  operationalWallet: string;
  /** Where payouts and refunds of it go. */
  refundTo: string;
  gross: bigint;
  fee: bigint;
  escrow: bigint;
  operational: bigint;
  /** The balance of the provider's vault right after this settlement. */
  vaultBalance: bigint;
};

type OfVault = { providerDidHash: Hash; token: string; amount: bigint; vaultBalance: bigint };

/** What the contract tells of payments, vaults, splits and settings, and its authority of roles and scheduled calls. */
export type ContractEvent =
  | ({ kind: "settled" } & Settled)
  | (LogPlace &
      (
        | ({ kind: "deposit" } & OfVault)
        | ({ kind: "release" } & OfVault)
        | ({ kind: "payout"; settlementKey: Hash; refundTo: string } & OfVault)
        | { kind: "refund"; settlementKey: Hash; from: string; refundTo: string; token: string; amount: bigint }
        | { kind: "refund_to"; settlementKey: Hash; refundTo: string }
        // `confirmedBy`: the wallet before, where that has itself named this one.
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
        // Of an authority, whose address is then `contract`. `readyAt`: epoch milliseconds. `nonce`: how often just this call was scheduled.
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
        // Another change of roles, or of the contract's settings. `words`: what is so now.
        | { kind: "act"; words: string }
      ));

/** A block; `time` is its instant, in epoch milliseconds. */
export type BlockRef = BlockAt & { readonly time: number };
export type BlockAt = { readonly number: number; readonly hash: string };

/** Who sent a transaction, and under which nonce. */
export type SentBy = { readonly from: string; readonly nonce: number };

/**
 * An event with its transaction and block; `minedAt` is the block's instant, in epoch milliseconds. `sentBy`: of a payment, where the node says it.
 */
export type EventAt = ContractEvent & {
  readonly sentBy?: SentBy | undefined;
  readonly txHash: string;
  readonly blockNumber: number;
  readonly blockHash: string;
  readonly minedAt: number;
};

/** Behind which block; without a hash nothing was read before. `most`: how many blocks. `seen`: a block whose hash is asked for too. */
export type EventsAfter = {
  readonly number: number;
  readonly hash: string | null;
  readonly most?: number;
  readonly seen?: number | undefined;
};

/**
 * The events behind a block. `forked`: that block is not the one that was read before, also by the second node where there is one. `behind`: the node has not come so far, or its chain has
 * become shorter. `from`: that block. `end`: the last block that was read, at or before the head. `settled`: the last one of them that has the network's
 * confirmations; null where none has. `paused`: whether the contract takes no payments at the head; null where the node's answer is none.
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
      /** The hash of the block that was asked for beside them; null where none was, or the node has none there. */
      readonly seenHash: string | null;
      /** What the second node says of the events up to `settled`; null where the network has none, or it does not answer. */
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
      /** Epoch milliseconds of the block. */
      minedAt: number;
      settlements: Settled[];
      /** What the provider's vault holds at the head, where that was asked for. Base units. */
      held: bigint | null;
    };

/** A provider's split and escrow in the network's token. The vault's address is known before it exists. */
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
 * `mined`: an earlier transaction for this purpose has just been mined, so the caller plans again. `refused`: the dry run failed with the
 * name of the contract's error (`UnknownProvider`) or `reverted`. `waiting`: nothing could be sent now; the caller may ask again.
 */
export type Submission =
  | { readonly state: "submitted" | "mined"; readonly txHash: string }
  | { readonly state: "refused"; readonly reason: string }
  | { readonly state: "waiting"; readonly reason: WaitingReason };
export type WaitingReason = "insufficient_gas" | "fee_above_bound" | "node_refused";

/** `instead`: a different call that waits for the same purpose is replaced under its nonce. `behind`: it keeps waiting, and is answered. */
export type Place = "instead" | "behind";

/** `clear`: nothing waits. `submitted`: empty transfers replace what waited, and are not mined yet. The others are those of a submission. */
export type Withdrawal = { readonly state: "clear" } | Exclude<Submission, { state: "refused" }>;

/**
 * Signs and sends: the Durable Object that owns the nonces of one key on one network. `key` names the purpose of the call: while a call
 * for it waits for its block, no second one is sent beside it (CHN-15). Who waits for others of the key does so until an instant (epoch
 * ms, real time).
 */
export type Signer = {
  /** The address that signs. */
  address(): Promise<ChainResult<string>>;
  submit(key: string, call: ChainCall, place: Place, until: number): Promise<ChainResult<Submission>>;
  /** Nothing is wanted for this purpose: what still waits for it is replaced by empty transfers. */
  withdraw(key: string, until: number): Promise<ChainResult<Withdrawal>>;
};

/** A change of the wallet that waits for the contract's delay. `nonce`: how often just this change was scheduled. */
export type WalletChange = { readonly wallet: string; readonly effectiveAt: number; readonly nonce: number };

/** The wanted state of a provider in the contract. A null wallet is left as it is. */
export type WantedSplit = {
  readonly providerDidHash: string;
  readonly operationalWallet: string | null;
  readonly threshold: bigint;
  /** Who calls. */
  readonly by: Signer["address"];
  /** A change to this wallet that was seen scheduled: when it is gone, somebody has cancelled it. */
  readonly scheduled: WalletChange | null;
};

/** The next call towards a wanted state; `done`: the contract has it; `impossible`: it never will. */
export type Plan<T> =
  | { readonly state: "done"; readonly onChain: T }
  | { readonly state: "call"; readonly call: ChainCall }
  | { readonly state: "impossible"; readonly reason: string };
/** `scheduled`: all but the wallet is as wanted, and the wallet waits for the contract's delay. */
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
   * Refuses no text: one that is not a hash is `unknown`. 0x may be missing (FAC-1). `providerDidHash`: what this provider's vault holds is asked for
   * too, in the same request.
   */
  readSettlement(network: string, txHash: string, providerDidHash?: Hash): Promise<ChainResult<SettlementReading>>;

  /** What the second node says of it; null where the network has none. */
  readSettlementAgain(
    network: string,
    txHash: string,
    providerDidHash?: Hash,
  ): Promise<ChainResult<SettlementReading> | null>;

  /** Reads what the contract told behind a block, at most 2,000 blocks at once. */
  readEvents(network: string, after: EventsAfter): Promise<ChainResult<EventsReading>>;

  /**
   * What vaults held at the end of a block; the place of each is that of its question. `forked`: the node has another block there, and so has the
   * second node, where the network has one.
   */
  readVaults(network: string, at: BlockAt, vaults: readonly VaultOf[]): Promise<ChainResult<VaultsReading>>;

  /** What the second node says of them; null where the network has none. */
  readVaultsAgain(network: string, at: BlockAt, vaults: readonly VaultOf[]): Promise<ChainResult<VaultsReading> | null>;

  /**
   * What the token's own events say that an address has received up to a block, base units: of the newest blocks first, until it comes to `enough`, the
   * block `after` is reached, or many were searched.
   */
  readReceived(network: string, asked: ReceivedBy): Promise<ChainResult<bigint>>;

  /** How many transactions accounts have sent up to a block; the lower number where two nodes say different ones. */
  readNonces(network: string, at: BlockAt, accounts: readonly string[]): Promise<ChainResult<readonly number[]>>;

  /** The hashes of blocks that the node has, in the order of their numbers here. */
  readBlocks(network: string, numbers: readonly number[]): Promise<ChainResult<readonly string[]>>;

  /**
   * Which of these addresses are vaults of an edition, by the code that stands there. The node is asked once and waited for shortly; of an
   * address without an answer nothing is known.
   */
  findVaults(network: string, addresses: readonly string[]): Promise<ChainResult<readonly string[]>>;

  /** Those that the second node has; null where the network has none. */
  readBlocksAgain(network: string, numbers: readonly number[]): Promise<ChainResult<readonly string[]> | null>;

  readProvider(network: string, providerDidHash: string): Promise<ChainResult<ProviderOnChain>>;

  /**
   * Compares the contract's state with the wanted one. Where wallet and threshold both differ the wallet comes first: plan again once
   * that is mined. Another wallet that is a vault is `impossible`: the contract itself refuses the provider's own alone.
   */
  planSplit(network: string, wanted: WantedSplit): Promise<ChainResult<SplitPlan>>;

  /** Waits up to `waitMs` for the transaction to be in a block. */
  waitForReceipt(network: string, txHash: string, waitMs: number): Promise<ChainResult<Inclusion>>;
}

export type Inclusion = { readonly state: "waiting" | "included" | "reverted" };
