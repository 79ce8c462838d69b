// Chooses the next act of a random history, and its caller.
import { Calls, Dice, PAYERS, VAULTS } from "./history-calls.ts";
import { type Account, type Act, type Call, DAY, EXPIRY, type Functions, splitKey, WINDOW } from "./history-words.ts";
import type { Model } from "./model.ts";
import { PEOPLE } from "./support.ts";

/** The weight of each kind of act. */
const CALLS = {
  pay: 6,
  payIntent: 8,
  settle: 9,
  settleWithAuthorization: 9,
  depositEscrow: 4,
  refund: 4,
  releaseSurplus: 5,
  moveOperationalWallet: 2,
  moveRefundTo: 2,
  sweepFees: 2,
  registerProvider: 2,
  setThreshold: 3,
  setLowThreshold: 4,
  setOperationalWallet: 3,
  setReserve: 3,
  payOut: 9,
  setRefundTo: 8,
  pause: 2,
  unpause: 2,
  setFeeBps: 2,
  setFeeRecipient: 2,
  listToken: 2,
} as const satisfies Record<keyof Functions, number>;
const OTHERS = {
  transfer: 4,
  mint: 1,
  approve: 1,
  blacklist: 5,
  pauseToken: 1,
  callBack: 4,
  cancel: 2,
  vault: 1,
  pass: 2,
};
export type Kind = keyof typeof CALLS | keyof typeof OTHERS;
export const KINDS = Object.entries({ ...CALLS, ...OTHERS }).map(([kind, weight]) => ({ weight, kind: kind as Kind }));

export const FUNCTIONS = Object.keys(CALLS) as (keyof Functions)[];

export class Chooser {
  readonly #model: Model;
  readonly #dice = new Dice();
  readonly #calls: Calls;

  constructor(model: Model) {
    this.#model = model;
    this.#calls = new Calls(model, this.#dice);
  }

  /** Chooses the next act. Time may pass before it. */
  choose(kind: Kind, seed: number): Act {
    const dice = this.#dice;
    dice.from(seed);
    if (kind === "pass") {
      this.#calls.wait(dice.of([60n, 3_600n, DAY, 2n * DAY, EXPIRY, dice.in(10) ? WINDOW : DAY]));
      return this.choose("payOut", seed + 1);
    }
    if (kind === "cancel") return this.#cancel();
    if (kind === "callBack") {
      const inner = dice.in(35) ? null : this.#inner();
      return { on: "hooked", by: "other", call: { fn: "callBack", args: [inner] } };
    }
    if (kind === "vault") return { on: "vault", by: dice.of(PEOPLE), vault: dice.of(VAULTS), to: "stranger" };
    if (kind === "transfer" || kind === "mint" || kind === "approve" || kind === "blacklist" || kind === "pauseToken") {
      return this.#calls.token(kind, this.#payer());
    }
    const call = this.#calls.call(kind, this.#payer());
    if (this.#model.holderOf(kind) !== undefined) return this.#role(call);
    const by = kind === "moveOperationalWallet" ? this.#mover(call) : (this.#payerOf(call) ?? this.#payer());
    // The authority refuses functions that need no role.
    if (dice.in(1)) return { on: "authority", by, how: dice.of(["execute", "schedule"]), whose: by, call };
    return { on: "contract", by, call };
  }

  // ---- Callers -----------------------------------------------------------------------------------------------------------

  #payer(): Account {
    return this.#dice.of(this.#dice.in(90) ? PAYERS : PEOPLE);
  }
  #payerOf(call: Call): Account | undefined {
    if (call.fn === "moveRefundTo" && PEOPLE.some((person) => person === call.args[0].refundTo)) {
      return this.#dice.in(80) ? call.args[0].refundTo : undefined;
    }
    return call.fn === "settle" && PAYERS.includes(call.args[0].refundTo) ? call.args[0].refundTo : undefined;
  }
  #mover(call: Call): Account {
    const [provider, token] = call.args as Functions["moveOperationalWallet"];
    const wallet = this.#model.state.splits[splitKey(provider, token)]?.wallet;
    const able = (PEOPLE as readonly Account[]).includes(wallet ?? "");
    return able && this.#dice.in(60) ? (wallet as Account) : this.#dice.of(PEOPLE);
  }

  /**
   * Makes a call by the holder of its role, or by any person. A call with a delay is scheduled, and executed when it is ready or shortly before or
   * after.
   */
  #role(call: Call): Act {
    const [dice, model] = [this.#dice, this.#model];
    const by = dice.in(60) ? (model.holderOf(call.fn) as Account) : dice.of(PEOPLE);
    if (dice.in(5)) return { on: "contract", by, call };
    const { now, scheduled: all } = model.state;
    const waiting = Object.values(all).filter(({ call: { fn } }) => fn === call.fn);
    const ready = waiting.filter(({ at }) => at + EXPIRY > now || dice.in(10));
    if (ready.length > 0 && dice.in(80)) {
      const { at, by: scheduler, call: scheduled } = dice.of(ready);
      this.#calls.wait(at - now + (dice.in(75) ? 0n : dice.of([1n, -1n, 3_600n, EXPIRY - 1n, EXPIRY])));
      return { on: "authority", by: dice.in(90) ? scheduler : by, how: "execute", whose: by, call: scheduled };
    }
    const how = dice.in(model.delayOf(call.fn) > 0n ? 15 : 97) ? "execute" : "schedule";
    return { on: "authority", by, how, whose: by, call };
  }

  #cancel(): Act {
    const dice = this.#dice;
    const by = dice.of([...PEOPLE, "guardian", "guardian", "guardian"]);
    const waiting = Object.values(this.#model.state.scheduled);
    if (waiting.length === 0 || dice.in(10)) {
      return { on: "authority", by, how: "cancel", whose: "arbiter", call: this.#calls.call("payOut", by) };
    }
    const { by: whose, call } = dice.of(waiting);
    return { on: "authority", by, how: "cancel", whose, call };
  }

  /** Chooses what the hooked token does in the middle of its transfers. */
  #inner(): Act {
    const dice = this.#dice;
    const by = "hooked";
    const kind = dice.of(["transfer", "blacklist", "vault", "mint", "call", "call", "call", "call", "call"] as const);
    if (kind === "vault") return { on: "vault", by, vault: dice.of(VAULTS), to: by };
    if (kind !== "call") return this.#calls.token(kind, by);
    const call = this.#calls.call(dice.of(FUNCTIONS), by);
    if (this.#model.holderOf(call.fn) === undefined) return { on: "contract", by, call };
    return dice.in(50) ? { on: "contract", by, call } : { on: "authority", by, how: "execute", whose: by, call };
  }
}
