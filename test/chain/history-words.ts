// The vocabulary of the random histories: accounts, hashes and keys are names, and an act is a call of the contract (CHN-1 to CHN-7), its
// authority, a token or a vault.

export type TokenName = "usdc" | "hooked";
export type Account = string;
export type Payment = {
  readonly token: TokenName;
  readonly amount: bigint;
  readonly providerDidHash: string;
  readonly consumerDidHash: string;
  readonly intentHash: string;
  readonly operationalWallet: Account;
  readonly maxFeeBps: number;
  readonly deadline: bigint;
  readonly refundTo: Account;
};
export type Facts = {
  readonly key: string;
  readonly providerDidHash: string;
  readonly token: TokenName;
  readonly gross: bigint;
  readonly refundTo: Account;
  readonly settledAt: bigint;
  readonly paidOut: bigint;
};

/** The contract's functions with their arguments in order. */
export type Functions = {
  pay: [token: TokenName, amount: bigint, provider: string, consumer: string];
  payIntent: [token: TokenName, amount: bigint, provider: string, consumer: string, intent: string];
  settle: [payment: Payment];
  /** `signer`: the account whose key signs. */
  settleWithAuthorization: [
    payment: Payment,
    from: Account,
    validAfter: bigint,
    validBefore: bigint,
    salt: string,
    signer: Account,
  ];
  depositEscrow: [provider: string, token: TokenName, amount: bigint];
  refund: [settlement: Facts, amount: bigint];
  releaseSurplus: [provider: string, token: TokenName];
  moveRefundTo: [settlement: Facts, refundTo: Account];
  moveOperationalWallet: [provider: string, token: TokenName, wallet: Account];
  sweepFees: [token: TokenName];
  registerProvider: [provider: string, token: TokenName, wallet: Account, threshold: bigint];
  setThreshold: [provider: string, token: TokenName, threshold: bigint];
  setLowThreshold: [provider: string, token: TokenName, present: bigint, threshold: bigint];
  setOperationalWallet: [provider: string, token: TokenName, present: Account, wallet: Account];
  setReserve: [provider: string, token: TokenName, reserve: bigint];
  payOut: [settlement: Facts, amount: bigint];
  setRefundTo: [settlement: Facts, refundTo: Account];
  pause: [];
  unpause: [];
  setFeeBps: [bps: bigint];
  setFeeRecipient: [to: Account];
  listToken: [token: TokenName | "stranger", base: bigint];
};
type TokenFunctions = {
  transfer: [to: Account, amount: bigint];
  mint: [to: Account, amount: bigint];
  approve: [spender: Account, amount: bigint];
  setBlacklisted: [account: Account, to: boolean];
  setPaused: [to: boolean];
  callBack: [inner: Act | null];
};
type CallOf<T> = { [F in keyof T]: { readonly fn: F; readonly args: T[F] } }[keyof T];
export type Call = CallOf<Functions>;
export type TokenCall = CallOf<TokenFunctions>;
export type Act =
  | { readonly on: "contract"; readonly by: Account; readonly call: Call }
  | {
      readonly on: "authority";
      readonly by: Account;
      readonly how: "execute" | "schedule" | "cancel";
      readonly whose: Account;
      readonly call: Call;
    }
  | { readonly on: TokenName; readonly by: Account; readonly call: TokenCall }
  | { readonly on: "vault"; readonly by: Account; readonly vault: Account; readonly to: Account };

export type Ledger = {
  balances: Record<Account, bigint>;
  allowances: Record<string, bigint>;
  blacklist: Record<Account, boolean>;
  used: Record<string, boolean>;
  supply: bigint;
  paused: boolean;
  /** Amounts that the contract or a vault received outside the contract's events. */
  gifts: Record<Account, bigint>;
};
export type Split = { readonly wallet: Account; readonly threshold: bigint };
/** An event of `SettlementContract` with its arguments by name. */
export type Said = readonly [name: string, args: Readonly<Record<string, string | bigint>>];
export type State = {
  now: bigint;
  tokens: Record<TokenName, Ledger>;
  bases: Record<string, bigint>;
  splits: Record<string, Split>;
  reserves: Record<string, bigint>;
  settlements: Record<string, Facts>;
  /** The sum of refunds by settlement key. */
  refunded: Record<string, bigint>;
  /** Each provider's first token. */
  firstTokens: Record<string, TokenName>;
  scheduled: Record<string, { at: bigint; by: Account; call: Call }>;
  paused: boolean;
  feeBps: bigint;
  feeRecipient: Account;
  plainPayments: bigint;
  /** The act of the hooked token in the middle of a transfer, and whether it succeeded. */
  callBack: Act | null;
  cameThrough: boolean;
  /** The events of the last step. */
  said: Said[];
};

export const LIMITLESS = 2n ** 256n - 1n;
export const NONE = "none";
/** An intent that only the account `consumer` may pay. */
export const OF_CONSUMER = "intentOfConsumer";
export const DAY = 86_400n;
/** How long a scheduled call may wait for its execution. */
export const EXPIRY = 7n * DAY;
export const WINDOW = 400n * DAY;

export const vaultOf = (provider: string): Account => `vault ${provider}`;
export const splitKey = (provider: string, token: string): string => `${provider} ${token}`;
export const textOf = (value: unknown): string =>
  JSON.stringify(value, (_, v) => (typeof v === "bigint" ? `${v}n` : v));
export const operation = (by: Account, call: Call): string => `${by} ${textOf(call)}`;
export const keyOf = (p: Payment): string =>
  `intent ${p.providerDidHash} ${p.consumerDidHash} ${p.intentHash} ${p.token} ${p.amount}`;

/** A payment whose payer fixes neither wallet nor fee nor deadline. */
export function unbound(
  by: Account,
  token: TokenName,
  amount: bigint,
  provider: string,
  consumer: string,
  intent: string,
): Payment {
  const agreed = { operationalWallet: "", maxFeeBps: 0, deadline: 0n, refundTo: by };
  return { token, amount, providerDidHash: provider, consumerDidHash: consumer, intentHash: intent, ...agreed };
}
