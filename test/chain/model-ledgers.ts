// The part of the model that is not our contract: two tokens, one of which calls back in the middle of a transfer, and transactions that do all or
// nothing.
import {
  type Account,
  type Act,
  type Ledger,
  type Said,
  type State,
  splitKey,
  type TokenCall,
  type TokenName,
} from "./history-words.ts";

class Refusal extends Error {}
export function refuse(reason: string): never {
  throw new Refusal(reason);
}

const emptyLedger = (): Ledger => ({
  balances: {},
  allowances: {},
  blacklist: {},
  used: {},
  supply: 0n,
  paused: false,
  gifts: {},
});

export abstract class Ledgers {
  state: State;
  protected entered = false;
  #inside = false;

  constructor(now: bigint) {
    const tokens = { usdc: emptyLedger(), hooked: emptyLedger() };
    const empty = {
      bases: {},
      splits: {},
      reserves: {},
      settlements: {},
      refunded: {},
      firstTokens: {},
      scheduled: {},
      said: [],
    };
    const start = { paused: false, feeBps: 5n, feeRecipient: "feeRecipient", plainPayments: 0n };
    this.state = { now, tokens, ...empty, ...start, callBack: null, cameThrough: false };
  }

  protected abstract run(act: Act): void;

  /** Returns the reason of a refusal, after which nothing has changed, or null. */
  step(act: Act): string | null {
    this.state.said = [];
    return this.#attempt(act);
  }

  held(token: TokenName, account: Account): bigint {
    return this.state.tokens[token].balances[account] ?? 0n;
  }

  #attempt(act: Act): string | null {
    // The transaction works on a copy of the state.
    const before = this.state;
    this.state = structuredClone(before);
    try {
      this.run(act);
      return null;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.state = before;
      return error.message;
    }
  }

  protected say(name: string, args: Said[1]): void {
    this.state.said.push([name, args]);
  }

  protected token(name: TokenName, by: Account, { fn, args }: TokenCall): void {
    const token = this.state.tokens[name];
    if (fn === "transfer") this.transfer(name, by, args[0], args[1]);
    else if (fn === "mint") {
      token.supply += args[1];
      this.#credit(name, args[0], args[1], false);
    } else if (fn === "approve") token.allowances[splitKey(by, args[0])] = args[1];
    else if (fn === "setBlacklisted") token.blacklist[args[0]] = args[1];
    else if (fn === "setPaused") token.paused = args[0];
    else [this.state.callBack, this.state.cameThrough] = [args[0], false];
  }

  protected isUsable(name: TokenName, ...accounts: readonly Account[]): boolean {
    const { paused, blacklist } = this.state.tokens[name];
    return !paused && !accounts.some((account) => blacklist[account]);
  }

  protected usable(name: TokenName, ...accounts: readonly Account[]): void {
    const { paused, blacklist } = this.state.tokens[name];
    if (paused) refuse("Pausable: paused");
    if (accounts.some((account) => blacklist[account])) refuse("Blacklistable: account is blacklisted");
  }

  protected transfer(name: TokenName, from: Account, to: Account, amount: bigint, booked = false): void {
    this.usable(name, from, to);
    this.move(name, from, to, amount, booked);
  }

  /** Takes from the allowance of the contract. */
  protected take(name: TokenName, from: Account, to: Account, amount: bigint, booked: boolean): void {
    this.usable(name, "contract", from, to);
    const { allowances } = this.state.tokens[name];
    const allowance = allowances[splitKey(from, "contract")] ?? 0n;
    if (amount > allowance) refuse("ERC20: transfer amount exceeds allowance");
    allowances[splitKey(from, "contract")] = allowance - amount;
    this.move(name, from, to, amount, booked);
  }

  protected move(name: TokenName, from: Account, to: Account, amount: bigint, booked: boolean): void {
    if (amount > this.held(name, from)) refuse("ERC20: transfer amount exceeds balance");
    this.state.tokens[name].balances[from] = this.held(name, from) - amount;
    this.#credit(name, to, amount, booked);
    const { callBack } = this.state;
    if (name !== "hooked" || callBack === null || this.#inside) return;
    this.#inside = true;
    const cameThrough = this.#attempt(callBack) === null;
    this.state.cameThrough ||= cameThrough;
    this.#inside = false;
  }

  #credit(name: TokenName, to: Account, amount: bigint, booked: boolean): void {
    const { balances, gifts } = this.state.tokens[name];
    balances[to] = (balances[to] ?? 0n) + amount;
    if (!booked) gifts[to] = (gifts[to] ?? 0n) + amount;
  }
}
