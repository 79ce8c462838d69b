// A plain model of the settlement contract (CHN-1 to CHN-7) and its authority: records, and each act as a few lines that change them. It shares
// only the vocabulary with the contract.
import {
  type Account,
  type Act,
  type Call,
  EXPIRY,
  type Facts,
  type Functions,
  keyOf,
  NONE,
  OF_CONSUMER,
  operation,
  type Payment,
  type Split,
  splitKey,
  type TokenName,
  textOf,
  unbound,
  vaultOf,
  WINDOW,
} from "./history-words.ts";
import { Ledgers, refuse } from "./model-ledgers.ts";
import { type Delays, ROLES } from "./model-roles.ts";

const MOST = 2n ** 96n - 1n;
/** The payer fixes neither wallet nor fee nor deadline, and the gross is taken from its allowance. */
const UNBOUND = { agreed: false, received: false };

export class Model extends Ledgers {
  readonly delays: Delays;

  constructor(delays: Delays, now: bigint) {
    super(now);
    this.delays = delays;
  }

  holderOf(fn: keyof Functions): Account | undefined {
    return ROLES[fn]?.[0];
  }

  delayOf(fn: keyof Functions): bigint {
    const delay = ROLES[fn]?.[1];
    return delay ? this.delays[delay] : 0n;
  }

  protected run(act: Act): void {
    if (act.on === "contract") this.#contract(act.by, act.call);
    else if (act.on === "authority") this.#authority(act.by, act.how, act.whose, act.call);
    else if (act.on === "vault") this.#vault(act.vault);
    else this.token(act.on, act.by, act.call);
  }

  // ---- The authority ---------------------------------------------------------------------------------------------------

  #authority(by: Account, how: "execute" | "schedule" | "cancel", whose: Account, call: Call): void {
    const id = operation(how === "cancel" ? whose : by, call);
    const { scheduled, now } = this.state;
    const waiting = scheduled[id];
    const delay = this.delayOf(call.fn);
    if (how === "cancel") {
      if (!waiting) refuse("AccessManagerNotScheduled");
      if (by !== whose && by !== "guardian") refuse("AccessManagerUnauthorizedCancel");
      delete scheduled[id];
      return;
    }
    const permitted = this.holderOf(call.fn) === by;
    if (!permitted || (how === "schedule" && delay === 0n)) refuse("AccessManagerUnauthorizedCall");
    const expired = waiting !== undefined && waiting.at + EXPIRY <= now;
    if (how === "schedule") {
      if (waiting && !expired) refuse("AccessManagerAlreadyScheduled");
      scheduled[id] = { at: now + delay, by, call };
      return;
    }
    if (delay > 0n) {
      if (!waiting) refuse("AccessManagerNotScheduled");
      if (waiting.at > now) refuse("AccessManagerNotReady");
      if (expired) refuse("AccessManagerExpired");
      delete scheduled[id];
    }
    this.#contract("authority", call);
  }

  /** A vault refuses every caller. Before it exists, a call has no effect. */
  #vault(vault: Account): void {
    const providers = Object.keys(this.state.splits).map((key) => key.split(" ")[0] ?? "");
    if (providers.map(vaultOf).includes(vault)) refuse("NotSettlementContract");
  }

  // ---- The contract ------------------------------------------------------------------------------------------------------

  #contract(by: Account, call: Call): void {
    if (this.holderOf(call.fn) !== undefined && by !== "authority") refuse("NotAuthority");
    const handler = this.#handlers[call.fn] as (by: Account, ...args: Call["args"]) => void;
    handler(by, ...call.args);
  }

  #once<A extends readonly unknown[]>(run: (by: Account, ...args: A) => void): (by: Account, ...args: A) => void {
    return (by, ...args) => {
      if (this.entered) refuse("ReentrancyGuardReentrantCall");
      this.entered = true;
      try {
        run(by, ...args);
      } finally {
        this.entered = false;
      }
    };
  }

  readonly #handlers: { [F in keyof Functions]: (by: Account, ...args: Functions[F]) => void } = {
    pay: this.#once((by, token, amount, provider, consumer) => {
      this.state.plainPayments += 1n;
      const payment = unbound(by, token, amount, provider, consumer, NONE);
      this.#settle(`plain ${this.state.plainPayments}`, payment, by, UNBOUND);
    }),
    payIntent: this.#once((by, token, amount, provider, consumer, intent) => {
      if (intent === NONE) refuse("ZeroHash");
      const payment = unbound(by, token, amount, provider, consumer, intent);
      this.#settle(keyOf(payment), payment, by, UNBOUND);
    }),
    settle: this.#once((by, payment) => {
      if (payment.intentHash === NONE) refuse("ZeroHash");
      this.#settle(keyOf(payment), payment, by, { agreed: true, received: false });
    }),
    settleWithAuthorization: this.#once((_, payment, from, validAfter, validBefore, salt, signer) => {
      if (payment.intentHash === NONE) refuse("ZeroHash");
      this.#base(payment.token);
      this.usable(payment.token, from, "contract");
      const { now } = this.state;
      if (now <= validAfter) refuse("FiatTokenV2: authorization is not yet valid");
      if (now >= validBefore) refuse("FiatTokenV2: authorization is expired");
      const { used } = this.state.tokens[payment.token];
      const nonce = `${from} ${textOf(payment)} ${salt}`;
      if (used[nonce]) refuse("FiatTokenV2: authorization is used or canceled");
      if (signer !== from) refuse("FiatTokenV2: invalid signature");
      used[nonce] = true;
      this.move(payment.token, from, "contract", payment.amount, true);
      this.#settle(keyOf(payment), payment, from, { agreed: true, received: true });
    }),
    depositEscrow: this.#once((by, provider, token, amount) => {
      if (this.state.paused) refuse("PaymentsPaused");
      if (amount === 0n) refuse("ZeroAmount");
      this.#base(token);
      this.#split(provider, token);
      const vault = vaultOf(provider);
      this.take(token, by, vault, amount, true);
      const vaultBalance = this.held(token, vault);
      this.say("EscrowDeposited", { providerDidHash: provider, token, from: by, amount, vaultBalance });
    }),
    refund: this.#once((by, settlement, amount) => {
      if (amount === 0n) refuse("ZeroAmount");
      const { key, token, gross, paidOut, refundTo } = this.#settlement(settlement);
      const refunded = (this.state.refunded[key] ?? 0n) + amount;
      if (paidOut + refunded > gross) refuse("ExceedsGross");
      this.state.refunded[key] = refunded;
      this.take(token, by, refundTo, amount, false);
      this.say("Refunded", { key, from: by, refundTo, token, amount });
    }),
    releaseSurplus: this.#once((_, provider, token) => {
      const { wallet: to, threshold } = this.#split(provider, token);
      const vault = vaultOf(provider);
      const vaultBalance = threshold + (this.state.reserves[splitKey(provider, token)] ?? 0n);
      const amount = this.held(token, vault) - vaultBalance;
      if (amount <= 0n) refuse("NothingToRelease");
      this.transfer(token, vault, to, amount);
      this.say("SurplusReleased", { providerDidHash: provider, token, to, amount, vaultBalance });
    }),
    moveRefundTo: (by, settlement, refundTo) => {
      if (by !== settlement.refundTo) refuse("RefundToDiffers");
      this.#replaceRefundTo(settlement, refundTo);
    },
    moveOperationalWallet: (by, provider, token, wallet) => {
      this.#replaceWallet(provider, token, by, wallet);
      this.say("OperationalWalletConfirmed", { providerDidHash: provider, token, previous: by });
    },
    sweepFees: this.#once((_, token) => {
      const amount = this.held(token, "contract");
      if (amount === 0n) refuse("ZeroAmount");
      this.transfer(token, "contract", this.state.feeRecipient, amount);
      this.say("FeesSwept", { token, to: this.state.feeRecipient, amount });
    }),
    registerProvider: (_, provider, token, wallet, threshold) => {
      if (provider === NONE) refuse("ZeroHash");
      const had = this.state.splits[splitKey(provider, token)];
      if (had && had.wallet === wallet && had.threshold === threshold) return;
      if (had) refuse("ProviderExists");
      this.#threshold(token, threshold);
      this.#wallet(provider, wallet);
      const first = this.state.firstTokens[provider];
      if (first && this.#split(provider, first).wallet !== wallet) refuse("WalletDiffers");
      this.state.firstTokens[provider] = first ?? token;
      this.state.splits[splitKey(provider, token)] = { wallet, threshold };
      const vault = vaultOf(provider);
      this.say("ProviderRegistered", { providerDidHash: provider, token, vault, operationalWallet: wallet, threshold });
    },
    setThreshold: (_, provider, token, threshold) => {
      this.#split(provider, token);
      this.#threshold(token, threshold);
      this.#change(provider, token, { threshold });
    },
    setLowThreshold: (_, provider, token, present, threshold) => {
      const { threshold: had } = this.#split(provider, token);
      if (had !== present || threshold >= present) refuse("InvalidThreshold");
      this.#change(provider, token, { threshold });
    },
    setOperationalWallet: (_, provider, token, present, wallet) =>
      this.#replaceWallet(provider, token, present, wallet),
    setReserve: (_, provider, token, reserve) => {
      this.#split(provider, token);
      if (reserve > MOST) refuse("SafeCastOverflowedUintDowncast");
      this.state.reserves[splitKey(provider, token)] = reserve;
      this.say("ReserveSet", { providerDidHash: provider, token, reserve });
    },
    payOut: this.#once((_, settlement, amount) => {
      if (amount === 0n) refuse("ZeroAmount");
      const { key, providerDidHash, token, gross, refundTo, settledAt, paidOut } = this.#settlement(settlement);
      if (this.state.now > settledAt + WINDOW) refuse("TooOld");
      if (paidOut + amount > gross) refuse("ExceedsGross");
      const vault = vaultOf(providerDidHash);
      const vaultBalance = this.held(token, vault) - amount;
      if (vaultBalance < 0n) refuse("ExceedsVault");
      this.state.settlements[key] = { ...settlement, paidOut: paidOut + amount };
      this.transfer(token, vault, refundTo, amount);
      this.say("PaidOut", { key, providerDidHash, refundTo, token, amount, vaultBalance });
    }),
    setRefundTo: (_, settlement, refundTo) => {
      const { providerDidHash, token } = settlement;
      this.#replaceRefundTo(settlement, refundTo);
      const vault = vaultOf(providerDidHash);
      if (this.isUsable(token, vault, settlement.refundTo)) refuse("RefundToAccepted");
      this.transfer(token, vault, refundTo, 0n);
    },
    pause: () => {
      this.state.paused = true;
      this.say("Paused", {});
    },
    unpause: () => {
      this.state.paused = false;
      this.say("Unpaused", {});
    },
    setFeeBps: (_, feeBps) => {
      if (feeBps > 50n) refuse("FeeTooHigh");
      this.state.feeBps = feeBps;
      this.say("FeeSet", { feeBps });
    },
    setFeeRecipient: (_, feeRecipient) => {
      if (feeRecipient === "zero") refuse("ZeroAddress");
      if (feeRecipient === "contract") refuse("InvalidWallet");
      this.state.feeRecipient = feeRecipient;
      this.say("FeeRecipientSet", { feeRecipient });
    },
    listToken: (_, token, base) => {
      if (token === "stranger") refuse("UnknownToken");
      this.state.bases[token] = base;
      this.say("TokenListed", { token, base });
    },
  };

  #settle(key: string, payment: Payment, payer: Account, { agreed, received }: typeof UNBOUND): void {
    const { token, amount: gross, providerDidHash, consumerDidHash, intentHash, refundTo } = payment;
    const { paused, settlements, now, feeBps } = this.state;
    if (paused) refuse("PaymentsPaused");
    if (gross === 0n) refuse("ZeroAmount");
    if (consumerDidHash === NONE) refuse("ZeroHash");
    if (intentHash === OF_CONSUMER && payer !== "consumer") refuse("PayerDiffers");
    this.#base(token);
    if (settlements[key]) refuse("AlreadyPaid");
    const { wallet: operationalWallet, threshold } = this.#split(providerDidHash, token);
    if (agreed) {
      if (now > payment.deadline) refuse("DeadlinePassed");
      if (feeBps > BigInt(payment.maxFeeBps)) refuse("FeeTooHigh");
      if (operationalWallet !== payment.operationalWallet) refuse("WalletDiffers");
    }
    this.#wallet(providerDidHash, refundTo);
    if (gross > MOST) refuse("SafeCastOverflowedUintDowncast");
    settlements[key] = { key, providerDidHash, token, gross, refundTo, settledAt: now, paidOut: 0n };
    if (!received) this.take(token, payer, "contract", gross, true);
    const vault = vaultOf(providerDidHash);
    const held = this.held(token, vault);
    const fee = (gross * feeBps) / 10_000n;
    const missing = threshold > held ? threshold - held : 0n;
    const tenth = (gross - fee) / 10n;
    const escrow = tenth < missing ? tenth : missing;
    const operational = gross - fee - escrow;
    if (escrow > 0n) this.transfer(token, "contract", vault, escrow, true);
    this.transfer(token, "contract", operationalWallet, operational);
    const parts = { gross, fee, escrow, operational };
    this.say("Settled", { providerDidHash, consumerDidHash, intentHash, token, payer, ...parts });
    const vaultBalance = held + escrow;
    this.say("SettlementRecorded", { key, providerDidHash, operationalWallet, refundTo, vaultBalance });
  }

  #settlement(facts: Facts): Facts {
    const known = this.state.settlements[facts.key];
    if (!known || textOf(known) !== textOf(facts)) refuse("UnknownSettlement");
    return known;
  }

  #replaceRefundTo(facts: Facts, refundTo: Account): void {
    const { key, providerDidHash } = this.#settlement(facts);
    this.#wallet(providerDidHash, refundTo);
    this.state.settlements[key] = { ...facts, refundTo };
    this.say("RefundToSet", { key, providerDidHash, refundTo });
  }

  #base(token: string): bigint {
    return this.state.bases[token] || refuse("UnknownToken");
  }

  #split(provider: string, token: string): Split {
    return this.state.splits[splitKey(provider, token)] ?? refuse("UnknownProvider");
  }

  #threshold(token: string, threshold: bigint): void {
    const base = this.#base(token);
    if (threshold > base || 2n * threshold < base) refuse("InvalidThreshold");
  }

  #wallet(provider: string, wallet: Account): void {
    if (wallet === "zero") refuse("ZeroAddress");
    if (wallet === "contract" || wallet === vaultOf(provider)) refuse("InvalidWallet");
  }

  #replaceWallet(provider: string, token: TokenName, present: Account, wallet: Account): void {
    if (this.#split(provider, token).wallet !== present) refuse("WalletDiffers");
    this.#wallet(provider, wallet);
    this.#change(provider, token, { wallet });
  }

  #change(provider: string, token: TokenName, change: Partial<Split>): void {
    this.state.splits[splitKey(provider, token)] = { ...this.#split(provider, token), ...change };
    const { wallet, threshold } = change;
    if (wallet) this.say("OperationalWalletSet", { providerDidHash: provider, token, operationalWallet: wallet });
    if (threshold !== undefined) this.say("ThresholdSet", { providerDidHash: provider, token, threshold });
  }
}
