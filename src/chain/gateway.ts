// The port to the chain (contract section 6, "Settlement contract" and "Facilitation"), in the service's words: no EVM
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

/** A call for a signer to send: what, not how; nonce, fees and key are the signer's. */
export type ChainCall = { network: string; to: string; data: string };

/**
 * `refused` comes from the dry run or the node, with nothing sent: the contract's error by name (`UnknownProvider`), or
 * `insufficient_funds`, `nonce_too_low`, `underpriced`, `reverted`, `refused`.
 */
export type Submission = { state: "submitted"; txHash: string } | { state: "refused"; reason: string };

/** Who signs and sends; in the service, the Durable Object that owns the nonces of one key on one network. */
export type Signer = { submit(call: ChainCall): Promise<ChainResult<Submission>> };

export type ProviderRegistration = { providerDidHash: string; operationalWallet: string; threshold: bigint };

/** `unchanged`: the chain already says so, nothing was sent. */
export type RegistrationOutcome = Submission | { state: "unchanged" };

export interface ChainGateway {
  /** Never refuses a hash: what is not one is `unknown`. A missing 0x is forgiven (public clients, step 8). */
  readSettlement(network: string, txHash: string): Promise<ChainResult<SettlementReading>>;

  readProvider(network: string, providerDidHash: string): Promise<ChainResult<ProviderOnChain>>;

  /**
   * Makes the chain say what is given: registers, or sets the operational wallet or the threshold where only one differs.
   * Where both differ the wallet is set first; call again once it is mined.
   */
  registerProvider(
    network: string,
    registration: ProviderRegistration,
    signer: Signer,
  ): Promise<ChainResult<RegistrationOutcome>>;

  setThreshold(
    network: string,
    providerDidHash: string,
    threshold: bigint,
    signer: Signer,
  ): Promise<ChainResult<RegistrationOutcome>>;

  /** An arbiter's payout, out of the provider's vault to the payer of that settlement. */
  payOut(
    network: string,
    payout: { settlementId: bigint; amount: bigint; reasonHash: string },
    signer: Signer,
  ): Promise<ChainResult<Submission>>;
}
