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
  operationalWallet: string;
  refundTo: string;
  gross: bigint;
  fee: bigint;
  escrow: bigint;
  operational: bigint;
  /** The balance of the provider's vault right after this settlement. */
  vaultBalance: bigint;
};

type VaultMovement = { providerDidHash: Hash; token: string; amount: bigint; vaultBalance: bigint };

/** The events of the contract (payments, vaults, splits, settings) and of its authority (roles, scheduled calls). */
export type ContractEvent =
  | ({ kind: "settled" } & Settled)
  | (LogPlace &
      (
        | ({ kind: "deposit" } & VaultMovement)
        | ({ kind: "release" } & VaultMovement)
        | ({ kind: "payout"; settlementKey: Hash; refundTo: string } & VaultMovement)
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

export type SentBy = { readonly from: string; readonly nonce: number };

/** `minedAt`: the block's instant in epoch milliseconds. `sentBy`: only of a payment, if the node states it. */
export type EventAt = ContractEvent & {
  readonly sentBy?: SentBy | undefined;
  readonly txHash: string;
  readonly blockNumber: number;
  readonly blockHash: string;
  readonly minedAt: number;
};

/** `number`: reads after this block. `hash`: null if nothing was read before. `most`: the most blocks to read. `seen`: also reads its hash. */
export type EventsAfter = {
  readonly number: number;
  readonly hash: string | null;
  readonly most?: number;
  readonly seen?: number | undefined;
};

/**
 * `forked`: the block to read after has another hash now, also at the second node if there is one. The other state without events: the node has not
 * reached that block, or its chain became shorter. `from`: that block. `end`: the last block read. `settled`: the last one that has the network's
 * confirmations; null if none has. `paused`: whether the contract is paused at the head; null if the node does not say.
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

/** `mined` and `reverted` have the required confirmations. Until then a transaction is `pending`, with 0 while it waits for a block (CHN-10). */
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

/** `instead`: replaces a different call that waits for the purpose, under its nonce. Otherwise that call stays, and its hash is returned. */
export type Precedence = "instead" | "behind";

/** `clear`: nothing waits. `submitted`: empty transfers replace the waiting calls, and are not mined yet. Others: as in a submission. */
export type Withdrawal = { readonly state: "clear" } | Exclude<Submission, { state: "refused" }>;

/**
 * Signs and sends through the Durable Object that owns the nonces of one key on one network. `key` names the purpose of the call: only one call of
 * a purpose waits for its block at a time (CHN-15). `until`: how long a call waits for other calls of the key (epoch ms, real time).
 */
export type Signer = {
  address(): Promise<ChainResult<string>>;
  submit(key: string, call: ChainCall, place: Precedence, until: number): Promise<ChainResult<Submission>>;
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

export type EditionVault = { readonly contract: string; readonly providerDidHash: Hash };
export type VaultsReading =
  | { readonly state: "forked" }
  | { readonly state: "read"; readonly time: number; readonly balances: readonly bigint[] };

export type ReceivedQuery = {
  readonly address: string;
  readonly after: number;
  readonly to: number;
  readonly enough: bigint;
};

export interface ChainGateway {
  /** A text that is not a hash is `unknown`; 0x may be missing (FAC-1). With `providerDidHash`, also reads this provider's vault balance. */
  readSettlement(network: string, txHash: string, providerDidHash?: Hash): Promise<ChainResult<SettlementReading>>;

  /** Asks the second node, like each `…Again`; null if the network has none. */
  readSettlementAgain(
    network: string,
    txHash: string,
    providerDidHash?: Hash,
  ): Promise<ChainResult<SettlementReading> | null>;

  /** Reads the events after a block, from at most 2,000 blocks at once. */
  readEvents(network: string, after: EventsAfter): Promise<ChainResult<EventsReading>>;

  /** Returns balances in the order of `vaults`. `forked`: the node has another block there, and so has the second node, if there is one. */
  readVaults(network: string, at: BlockAt, vaults: readonly EditionVault[]): Promise<ChainResult<VaultsReading>>;

  readVaultsAgain(
    network: string,
    at: BlockAt,
    vaults: readonly EditionVault[],
  ): Promise<ChainResult<VaultsReading> | null>;

  /** Sums base units by the token's own events, from the newest block down to `after`, until `enough` or a maximum of blocks is reached. */
  readReceived(network: string, asked: ReceivedQuery): Promise<ChainResult<bigint>>;

  /** Reads how many transactions accounts have sent up to a block; the lower number if two nodes disagree. */
  readNonces(network: string, at: BlockAt, accounts: readonly string[]): Promise<ChainResult<readonly number[]>>;

  /** Reads the hashes of blocks, in the order of `numbers`. */
  readBlocks(network: string, numbers: readonly number[]): Promise<ChainResult<readonly string[]>>;

  /** Returns the vaults of any edition, by their code. Asks once, with a short timeout; an address without an answer counts as no vault. */
  findVaults(network: string, addresses: readonly string[]): Promise<ChainResult<readonly string[]>>;

  readBlocksAgain(network: string, numbers: readonly number[]): Promise<ChainResult<readonly string[]> | null>;

  readProvider(network: string, providerDidHash: string): Promise<ChainResult<ProviderOnChain>>;

  /** The wallet comes before the threshold. Another wallet that is a vault is `impossible`: the contract refuses only the provider's own. */
  planSplit(network: string, wanted: WantedSplit): Promise<ChainResult<SplitPlan>>;

  waitForReceipt(network: string, txHash: string, waitMs: number): Promise<ChainResult<Inclusion>>;
}

export type Inclusion = { readonly state: "waiting" | "included" | "reverted" };
