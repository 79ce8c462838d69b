// Generates the calls of the random histories: mostly valid ones near a bound, or just beyond it, and some that make no sense.
import {
  type Account,
  type Act,
  type Call,
  DAY,
  type Facts,
  type Functions,
  LIMITLESS,
  NONE,
  OF_CONSUMER,
  type Payment,
  splitKey,
  type TokenName,
  vaultOf,
  WINDOW,
} from "./history-words.ts";
import type { Model } from "./model.ts";
import { PEOPLE, UNIT } from "./support.ts";

export const TOKENS: readonly TokenName[] = ["usdc", "hooked"];
export const PROVIDERS = ["provider0", "provider1", "provider2"] as const;
export const PAYERS: readonly Account[] = ["consumer", "stranger", "other"];
export const VAULTS = PROVIDERS.map(vaultOf);
/** Every account that ever holds a token. */
export const ACCOUNTS: readonly Account[] = [...PEOPLE, ...VAULTS, "contract", "authority", ...TOKENS];
const WALLETS: readonly Account[] = [
  "wallet",
  "wallet",
  "other",
  "feeRecipient",
  "hooked",
  ...VAULTS,
  "contract",
  "zero",
];
const REFUND_TO: readonly Account[] = [...PAYERS, ...PAYERS, ...PAYERS, "wallet", "hooked", "contract", ...VAULTS];
export const BASES: Readonly<Record<TokenName, bigint>> = { usdc: 15n * UNIT, hooked: 15n * UNIT + 1n };

/** Pseudo-random numbers that depend on the seed alone. */
export class Dice {
  #state = 0;

  from(seed: number): void {
    this.#state = seed;
  }
  below(bound: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let x = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return ((x ^ (x >>> 14)) >>> 0) % bound;
  }
  in(percent: number): boolean {
    return this.below(100) < percent;
  }
  of<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }
}

export class Calls {
  readonly #model: Model;
  readonly #dice: Dice;
  /** Earlier payments and signed payments, which are often tried again. */
  readonly #payments: Payment[] = [];
  readonly #signed: Functions["settleWithAuthorization"][] = [];

  constructor(model: Model, dice: Dice) {
    this.#model = model;
    this.#dice = dice;
  }

  /** Moves the time of the next block forward. */
  wait(seconds: bigint): void {
    if (seconds > 0n) this.#model.state.now += seconds;
  }
  #provider(): string {
    const dice = this.#dice;
    const { splits } = this.#model.state;
    const registered = PROVIDERS.filter((provider) => TOKENS.every((token) => splits[splitKey(provider, token)]));
    return dice.in(1) ? NONE : dice.of(dice.in(85) ? registered : PROVIDERS);
  }
  #amount(token: TokenName, provider: string, by: Account): bigint {
    const [dice, model] = [this.#dice, this.#model];
    const held = model.held(token, vaultOf(provider));
    const missing = (model.state.splits[splitKey(provider, token)]?.threshold ?? 0n) - held;
    const some = BigInt(dice.below(20_000_000) + 1);
    const odd = [0n, 1n, 9n, 10n, 10_000n, model.held(token, by), model.held(token, by) + 1n, 2n ** 96n, LIMITLESS];
    if (dice.in(15)) return dice.of(odd);
    // An amount near the one that fills the vault.
    if (missing > 0n && dice.in(20))
      return (missing * 10n * 10_000n) / (10_000n - model.state.feeBps) + dice.of([-9n, 0n, 9n, 20n]) + 9n;
    return dice.of([some, some, BigInt(dice.below(30_000) + 1), BigInt(dice.below(120) + 1), 10n * some]);
  }
  #payment(by: Account): Payment {
    const [dice, { now, feeBps, splits }] = [this.#dice, this.#model.state];
    const earlier = dice.in(30) && this.#payments.length > 0 ? dice.of(this.#payments) : null;
    if (earlier !== null && dice.in(60)) return earlier;
    const token = earlier?.token ?? dice.of(TOKENS);
    const providerDidHash = earlier?.providerDidHash ?? this.#provider();
    const wallet = splits[splitKey(providerDidHash, token)]?.wallet ?? "wallet";
    const payment: Payment = {
      token,
      providerDidHash,
      amount: earlier?.amount ?? this.#amount(token, providerDidHash, by),
      consumerDidHash: earlier?.consumerDidHash ?? (dice.in(2) ? NONE : dice.of(["consumer0", "consumer1"])),
      intentHash: earlier?.intentHash ?? (dice.in(2) ? NONE : dice.of(["intent0", "intent1", OF_CONSUMER])),
      operationalWallet: dice.in(95) ? wallet : dice.of(WALLETS),
      maxFeeBps: dice.of([50, 50, 50, 50, 50, Number(feeBps), Number(feeBps), dice.below(50)]),
      deadline: now + (dice.in(15) ? dice.of([0n, 0n, -1n]) : dice.of([DAY, 1_000n * DAY])),
      refundTo: dice.in(2) ? "zero" : dice.of(REFUND_TO),
    };
    this.#payments.push(payment);
    return payment;
  }
  /** Returns the facts of a settlement, sometimes with one wrong value. */
  #facts(): Facts {
    const dice = this.#dice;
    const known = Object.values(this.#model.state.settlements);
    const none = { token: "usdc", gross: 1n, refundTo: "other", settledAt: 1n, paidOut: 0n } as const;
    const facts: Facts =
      known.length > 0 ? dice.of(known) : { key: "plain 99", providerDidHash: PROVIDERS[0], ...none };
    if (!dice.in(15)) return facts;
    const other = known.length > 0 ? dice.of(known) : facts;
    return {
      ...facts,
      ...dice.of<Partial<Facts>>([
        { paidOut: 0n },
        { paidOut: facts.paidOut + 1n },
        { gross: facts.gross + 1n },
        { refundTo: dice.of(PEOPLE) },
        { settledAt: facts.settledAt + 1n },
        { providerDidHash: other.providerDidHash },
        { token: other.token },
        { key: other.key },
        { key: "plain 99" },
      ]),
    };
  }
  #threshold(token: TokenName): bigint {
    const base = this.#model.state.bases[token] ?? 0n;
    const least = (base + 1n) / 2n;
    return this.#dice.of(
      [base, least, least + UNIT, 10n * UNIT, base + 1n, least - 1n, 0n].map((t) => (t < 0n ? 0n : t)),
    );
  }

  token(kind: "transfer" | "mint" | "approve" | "blacklist" | "pauseToken", by: Account): Act {
    const [dice, { tokens }] = [this.#dice, this.#model.state];
    const on = dice.of(TOKENS);
    if (kind === "pauseToken") return { on, by, call: { fn: "setPaused", args: [!tokens[on].paused && dice.in(50)] } };
    if (kind === "approve") {
      const amount = dice.of([0n, 10n * UNIT, LIMITLESS, LIMITLESS, LIMITLESS]);
      return { on, by, call: { fn: "approve", args: ["contract", amount] } };
    }
    if (kind === "blacklist") {
      const listed = ACCOUNTS.filter((account) => tokens[on].blacklist[account]);
      const free = listed.length > 0 && dice.in(50);
      const refunded = Object.values(this.#model.state.settlements).map(({ refundTo }) => refundTo);
      const others = refunded.length > 0 && dice.in(40) ? refunded : ACCOUNTS;
      return { on, by, call: { fn: "setBlacklisted", args: [dice.of(free ? listed : others), !free] } };
    }
    const to = dice.of([...VAULTS, "contract", ...VAULTS, "contract", ...ACCOUNTS]);
    const amount = this.#amount(on, to.replace("vault ", ""), by);
    return { on, by, call: { fn: kind, args: [to, kind === "mint" ? amount % (100n * UNIT) : amount] } };
  }

  call<F extends keyof Functions>(fn: F, by: Account): Call {
    return { fn, args: this.#of[fn](by) } as Call;
  }

  readonly #of: { [F in keyof Functions]: (by: Account) => Functions[F] } = {
    pay: (by) => {
      const { token, amount, providerDidHash, consumerDidHash } = this.#payment(by);
      return [token, amount, providerDidHash, consumerDidHash];
    },
    payIntent: (by) => {
      const { token, amount, providerDidHash, consumerDidHash, intentHash } = this.#payment(by);
      return [token, amount, providerDidHash, consumerDidHash, intentHash];
    },
    settle: (by) => [this.#payment(by)],
    settleWithAuthorization: () => {
      const dice = this.#dice;
      if (this.#signed.length > 0 && dice.in(20)) return dice.of(this.#signed);
      const [from, { now }] = [dice.of(PAYERS), this.#model.state];
      const after = dice.in(15) ? dice.of([now - 1n, now]) : 0n;
      const before = now + (dice.in(15) ? dice.of([0n, 1n]) : dice.of([DAY, 1_000n * DAY]));
      // An authorization that is never valid is not signed.
      const valid = [after, before > after ? before : after + 1n] as const;
      const signer = dice.in(95) ? from : dice.of(PAYERS);
      const args: Functions["settleWithAuthorization"] = [
        this.#payment(from),
        from,
        ...valid,
        dice.of(["salt0", "salt1"]),
        signer,
      ];
      this.#signed.push(args);
      return args;
    },
    depositEscrow: (by) => {
      const [provider, token] = [this.#provider(), this.#dice.of(TOKENS)];
      return [provider, token, this.#amount(token, provider, by)];
    },
    refund: (by) => {
      const facts = this.#facts();
      const left = facts.gross - facts.paidOut - (this.#model.state.refunded[facts.key] ?? 0n);
      if (left > 0n && this.#dice.in(60)) return [facts, this.#dice.of([1n, left, left + 1n])];
      return [facts, this.#amount(facts.token, facts.providerDidHash, by)];
    },
    releaseSurplus: () => {
      // Mostly chooses a vault with a surplus.
      const { splits, reserves } = this.#model.state;
      const all = PROVIDERS.flatMap((p) => TOKENS.map((t): [string, TokenName] => [p, t]));
      const full = all.filter(([p, t]) => {
        const kept = (splits[splitKey(p, t)]?.threshold ?? 0n) + (reserves[splitKey(p, t)] ?? 0n);
        return this.#model.held(t, vaultOf(p)) > kept;
      });
      return this.#dice.of(full.length > 0 && this.#dice.in(75) ? full : all);
    },
    moveRefundTo: () => [this.#facts(), this.#dice.of([...REFUND_TO, "zero"])],
    moveOperationalWallet: () => [this.#provider(), this.#dice.of(TOKENS), this.#dice.of(WALLETS)],
    sweepFees: () => [this.#dice.of(TOKENS)],
    registerProvider: () => {
      const [provider, token] = [this.#dice.in(60) ? "provider2" : this.#provider(), this.#dice.of(TOKENS)];
      const had = this.#model.state.splits[splitKey(provider, token)];
      if (had && this.#dice.in(40)) return [provider, token, had.wallet, had.threshold];
      const first = this.#model.state.firstTokens[provider];
      const present = first && this.#model.state.splits[splitKey(provider, first)]?.wallet;
      const wallet = present && this.#dice.in(70) ? present : this.#dice.of(WALLETS);
      return [provider, token, wallet, this.#threshold(token)];
    },
    setThreshold: () => {
      const token = this.#dice.of(TOKENS);
      return [this.#provider(), token, this.#threshold(token)];
    },
    setLowThreshold: () => {
      const [provider, token] = [this.#provider(), this.#dice.of(TOKENS)];
      const present = this.#model.state.splits[splitKey(provider, token)]?.threshold ?? 0n;
      const said = this.#dice.in(90) ? present : present + 1n;
      return [
        provider,
        token,
        said,
        this.#dice.of([0n, 1n, present / 2n, present / 4n, present > 0n ? present - 1n : 0n, present]),
      ];
    },
    setOperationalWallet: () => {
      const [provider, token] = [this.#provider(), this.#dice.of(TOKENS)];
      const present = this.#model.state.splits[splitKey(provider, token)]?.wallet ?? "wallet";
      return [provider, token, this.#dice.in(90) ? present : this.#dice.of(WALLETS), this.#dice.of(WALLETS)];
    },
    setReserve: () => [
      this.#provider(),
      this.#dice.of(TOKENS),
      this.#dice.of([0n, 1n, UNIT, 5n * UNIT, 100n * UNIT, 2n ** 96n - 1n, 2n ** 96n]),
    ],
    payOut: () => {
      const [dice, model, facts] = [this.#dice, this.#model, this.#facts()];
      const last = facts.settledAt + WINDOW - model.delayOf("payOut");
      if (dice.in(4) && facts.settledAt > 1n) this.wait(last - model.state.now + dice.of([0n, 1n, -1n]));
      // Wrong facts may say that more was paid out than was paid.
      const left = facts.gross > facts.paidOut ? facts.gross - facts.paidOut : 0n;
      const held = model.held(facts.token, vaultOf(facts.providerDidHash));
      const enough = held > left;
      const most = enough ? left : held;
      const part = most > 1n ? 1n + BigInt(dice.below(Number(most))) : 1n;
      return [facts, dice.of([part, part, part, 1n, most, most, left, left + 1n, held, held + 1n, 0n])];
    },
    setRefundTo: () => {
      // Prefers a settlement whose token refuses its `refundTo`.
      const { settlements, tokens } = this.#model.state;
      const refused = Object.values(settlements).filter((one) => tokens[one.token].blacklist[one.refundTo]);
      const facts = refused.length > 0 && this.#dice.in(80) ? this.#dice.of(refused) : this.#facts();
      return [facts, this.#dice.of([...PAYERS, "other", "other", "zero"])];
    },
    pause: () => [],
    unpause: () => [],
    setFeeBps: () => [this.#dice.of([0n, 1n, 5n, 5n, 37n, 50n, 51n, 65_541n])],
    setFeeRecipient: () => [this.#dice.of(["feeRecipient", "other", ...VAULTS, "contract", "zero"])],
    listToken: () => {
      const token = this.#dice.of([...TOKENS, ...TOKENS, ...TOKENS, "stranger"] as const);
      if (token === "stranger" || (this.#model.state.bases[token] === 0n && this.#dice.in(85)))
        return [token, BASES.usdc];
      return [token, this.#dice.of([0n, BASES[token], BASES[token], 20n * UNIT, 1n])];
    },
  };
}
