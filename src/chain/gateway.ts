// The port to the chain, in the service's words: no EVM
// library here and no exceptions. What cannot be known now, because a node does not answer, is `ok: false`; the caller maps
// that to 5xx. Hashes and addresses are 0x-prefixed lower-case hex, amounts are base units.

export type ChainResult<T> = { ok: true; value: T } | { ok: false; error: ChainUnavailable };

/** Why the chain could not be asked. Never names a URL: those may carry a provider's key. */
export type ChainUnavailable = {
  kind: "chain_unavailable";
  network: string;
  reason: "timeout" | "unreachable" | "bad_answer" | "wrong_chain" | "unknown_network";
};

/** One `Settled` of the network's own settlement contract, with the number that an arbiter's payout is bound to. */
export type Settled = {
  /** Counted from the transaction's first log, so that it stays when a reorganisation moves the transaction. */
  logIndex: number;
  settlementId: bigint;
  providerDidHash: string;
  consumerDidHash: string;
  /** null for a payment through `pay`, which names no intent. */
  intentHash: string | null;
  token: string;
  payer: string;
  /** Where the provider's part went. */
  operationalWallet: string;
  gross: bigint;
  fee: bigint;
  escrow: bigint;
  operational: bigint;
  /** What the provider's vault held right after this settlement. */
  vaultBalance: bigint;
};

/**
 * What a transaction hash is on one network. `mined` and `reverted` have the network's required confirmations; until then a
 * transaction is `pending`, with 0 confirmations while it waits for a block: what may still change is never called final.
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
    };

/** A provider's split and escrow in the network's token. The vault's address is known before it exists. */
export type ProviderOnChain = {
  registered: boolean;
  operationalWallet: string | null;
  threshold: bigint;
  vault: string;
  balance: bigint;
};

/** A call to send: what, not how; nonce, fees and key are the signer's. */
export type ChainCall = { readonly network: string; readonly to: string; readonly data: string };

/**
 * `mined`: what was sent for it before has just come into a block, so what is wanted is planned again. `refused`: the dry run says that the contract would, by its error's name (`UnknownProvider`), or `reverted`. `waiting`: nothing could be
 * sent now, and it may be asked for again: `insufficient_gas`, `fee_above_bound` or `node_refused`.
 */
export type Submission =
  | { readonly state: "submitted" | "mined"; readonly txHash: string }
  | { readonly state: "refused"; readonly reason: string }
  | { readonly state: "waiting"; readonly reason: WaitingReason };
export type WaitingReason = "insufficient_gas" | "fee_above_bound" | "node_refused";

/**
 * Who signs and sends: in the service, the Durable Object that owns the nonces of one key on one network. `key` is what the call is for:
 * while a call of it waits for its block, no second one is sent.
 */
export type Signer = { submit(key: string, call: ChainCall): Promise<ChainResult<Submission>> };

/** What the chain has to say of a provider. A null wallet is left as it is. */
export type WantedSplit = {
  readonly providerDidHash: string;
  readonly operationalWallet: string | null;
  readonly threshold: bigint;
};

/** What is left to do until the contract says what is wanted. `impossible`: it never will. */
export type SplitPlan =
  | { readonly state: "done"; readonly onChain: ProviderOnChain }
  | { readonly state: "call"; readonly call: ChainCall }
  | { readonly state: "impossible"; readonly reason: "InvalidWallet" | "UnknownProvider" };

export interface ChainGateway {
  /** Never refuses a hash: what is not one is `unknown`. A missing 0x is forgiven (public clients, step 8). */
  readSettlement(network: string, txHash: string): Promise<ChainResult<SettlementReading>>;

  readProvider(network: string, providerDidHash: string): Promise<ChainResult<ProviderOnChain>>;

  /**
   * What the contract says, held against what is wanted. Where wallet and threshold both differ the wallet comes first: plan again once
   * that is mined.
   */
  planSplit(network: string, wanted: WantedSplit): Promise<ChainResult<SplitPlan>>;

  /** Whether the transaction stands in a block of one confirmation, waited for as long as `waitMs`. */
  waitForReceipt(network: string, txHash: string, waitMs: number): Promise<ChainResult<Inclusion>>;
}

export type Inclusion = { readonly state: "waiting" | "included" | "reverted" };
