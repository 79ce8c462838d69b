// Plays a random history on the chain and on the model: each act is one block, and its effect or its refusal is what the model says.
import type { Hex, RpcLog } from "viem";
import { expect } from "vitest";
import type { Delays } from "../../scripts/chain/roles.ts";
import { Books, commitmentTo, eventsIn } from "./history-books.ts";
import { ACCOUNTS, BASES, PAYERS, PROVIDERS, TOKENS } from "./history-calls.ts";
import { Chain, type Reading } from "./history-chain.ts";
import { Chooser, type Kind } from "./history-choices.ts";
import {
  type Act,
  type Call,
  EXPIRY,
  type Facts,
  LIMITLESS,
  splitKey,
  type TokenCall,
  textOf,
  vaultOf,
} from "./history-words.ts";
import { Model } from "./model.ts";
import { type Facts as ChainFacts, UNIT } from "./support.ts";

export type Step = { readonly kind: Kind; readonly seed: number };

export class Play {
  readonly #chain: Chain;
  readonly #model: Model;
  readonly #commitments = new Map<string, Hex>();
  #beginning: { snapshot: Hex; state: Model["state"] } | null = null;
  #books = new Books();
  /** The acts so far, for the report of a failure. */
  trace: string[] = [];
  /** The contract's functions that succeeded, and the reasons of refused acts. */
  readonly through = new Set<string>();
  readonly refusals = new Set<string>();

  private constructor(chain: Chain, model: Model) {
    [this.#chain, this.#model] = [chain, model];
  }

  /** Begins with two listed tokens, two of three providers registered in both, and payers that have money. */
  static async begin(delays: Delays): Promise<Play> {
    const chain = await Chain.build(delays);
    const { timestamp } = await chain.world.client.getBlock();
    const seconds = { wallet: BigInt(delays.wallet), payOut: BigInt(delays.payOut), admin: BigInt(delays.admin) };
    const play = new Play(chain, new Model(seconds, timestamp + 1_000n));
    for (const act of play.#preparation()) await play.#act(act);
    play.#beginning = { snapshot: await chain.world.client.snapshot(), state: play.#model.state };
    return play;
  }

  stop(): Promise<void> {
    return this.#chain.world.stop();
  }

  *#preparation(): Generator<Act> {
    const model = this.#model;
    function* role(call: Call): Generator<Act> {
      const by = model.holderOf(call.fn) ?? "";
      const delay = model.delayOf(call.fn);
      if (delay > 0n) yield { on: "authority", by, how: "schedule", whose: by, call };
      model.state.now += delay;
      yield { on: "authority", by, how: "execute", whose: by, call };
    }
    const approve: TokenCall = { fn: "approve", args: ["contract", LIMITLESS] };
    const callBack = (inner: Act | null): Act => ({
      on: "hooked",
      by: "other",
      call: { fn: "callBack", args: [inner] },
    });
    for (const token of TOKENS) {
      yield* role({ fn: "listToken", args: [token, BASES[token]] });
      for (const provider of PROVIDERS.slice(0, 2)) {
        yield* role({ fn: "registerProvider", args: [provider, token, "wallet", BASES[token]] });
      }
      for (const payer of [...PAYERS, "hooked"]) {
        yield { on: token, by: "other", call: { fn: "mint", args: [payer, 1_000n * UNIT] } };
        if (payer !== "hooked") yield { on: token, by: payer, call: approve };
      }
    }
    // The hooked token pays, too.
    for (const on of TOKENS) {
      yield callBack({ on, by: "hooked", call: approve });
      yield { on: "hooked", by: "other", call: { fn: "transfer", args: ["other", 1n] } };
    }
    yield callBack(null);
  }

  async history(steps: readonly (Step | null)[]): Promise<void> {
    if (this.#beginning === null) throw new Error("nothing has begun");
    const { client } = this.#chain.world;
    await client.revert({ id: this.#beginning.snapshot });
    this.#beginning.snapshot = await client.snapshot();
    this.#model.state = structuredClone(this.#beginning.state);
    [this.#books, this.trace] = [new Books(), []];
    const chooser = new Chooser(this.#model);
    for (const step of steps) {
      if (step !== null) await this.#act(() => chooser.choose(step.kind, step.seed));
    }
  }

  async #act(given: Act | (() => Act)): Promise<void> {
    this.#model.state.now += 1n;
    const act = typeof given === "function" ? given() : given;
    const { now } = this.#model.state;
    this.trace.push(`at ${now} ${textOf(act)}`);
    const expected = this.#model.step(act);
    const answer = await this.#chain.mine(act, now);
    const refusal = typeof answer === "string" ? answer : null;
    this.trace.push(`  ${refusal ?? "came through"}`);
    expect(refusal).toBe(expected);
    if (refusal !== null) this.refusals.add(refusal);
    else if (act.on === "contract" || (act.on === "authority" && act.how === "execute")) this.through.add(act.call.fn);
    if (typeof answer !== "string") await this.#compare(answer);
  }

  async #compare(logs: readonly RpcLog[]): Promise<void> {
    const { now, said } = this.#model.state;
    const events = eventsIn(logs);
    const expected = said.map(([name, args]) => [name, this.#chain.resolve(args)]);
    expect(events.map(({ eventName, args }) => [eventName, args ?? {}])).toEqual(expected);
    const vaults = this.#books.add(events, now);
    const readings = await this.#readings();
    const stands = await this.#chain.read(readings);
    expect(stands).toEqual(Object.fromEntries(readings.map(({ label, expected }) => [label, expected])));
    this.#compareBooks(stands, vaults);
  }

  /** Checks that the events alone explain what the contract and the vaults hold, except for gifts. */
  #compareBooks(stands: Record<string, unknown>, said: Record<string, bigint>): void {
    const { tokens, settlements, callBack } = this.#model.state;
    for (const token of TOKENS) {
      const { gifts } = tokens[token];
      const held = ACCOUNTS.map((account) => stands[`${token} of ${account}`] as bigint);
      expect(held.reduce((sum, amount) => sum + amount, 0n)).toBe(stands[`${token} supply`]);
      const fees = this.#books.fees[this.#chain.hex(token)] ?? 0n;
      expect([token, stands[`${token} of contract`]]).toEqual([token, fees + (gifts["contract"] ?? 0n)]);
      for (const provider of PROVIDERS) {
        const vault = `${this.#chain.hex(provider)} ${this.#chain.hex(token)}`;
        const holds = stands[`${token} of ${vaultOf(provider)}`];
        const booked = (this.#books.vaults[vault] ?? 0n) + (gifts[vaultOf(provider)] ?? 0n);
        expect([token, provider, holds]).toEqual([token, provider, booked]);
        // With a callback, the balance may change after the contract has read it.
        if (said[vault] !== undefined && callBack === null) expect([vault, said[vault]]).toEqual([vault, holds]);
      }
    }
    const known = Object.keys(settlements).map((key) => [this.#chain.hex(key), stands[`commitment ${key}`]]);
    expect(Object.fromEntries(known)).toEqual(this.#books.commitments);
  }

  async #readings(): Promise<Reading[]> {
    const { state } = this.#model;
    const readings: Reading[] = [];
    const add = (
      { of, at }: Pick<Reading, "of" | "at">,
      label: string,
      view: string,
      args: readonly unknown[],
      expected: unknown,
    ) => readings.push({ of, at, label, view, args, expected: this.#chain.resolve(expected) });
    const contract = (label: string, view: string, args: readonly unknown[], expected: unknown) =>
      add({ of: "contract", at: "contract" }, label, view, args, expected);
    contract("fee", "feeBps", [], Number(state.feeBps));
    contract("fee recipient", "feeRecipient", [], state.feeRecipient);
    contract("paused", "paused", [], state.paused);
    contract("plain payments", "plainPayments", [], state.plainPayments);
    add({ of: "token", at: "hooked" }, "came through", "succeeded", [], state.cameThrough);
    for (const token of TOKENS) {
      const { balances, supply, paused } = state.tokens[token];
      add({ of: "token", at: token }, `${token} supply`, "totalSupply", [], supply);
      add({ of: "token", at: token }, `${token} paused`, "paused", [], paused);
      contract(`${token} base`, "baseOf", [token], state.bases[token] ?? 0n);
      for (const account of ACCOUNTS) {
        add({ of: "token", at: token }, `${token} of ${account}`, "balanceOf", [account], balances[account] ?? 0n);
      }
      for (const provider of PROVIDERS) {
        const split = splitKey(provider, token);
        const { wallet, threshold } = state.splits[split] ?? { wallet: "zero", threshold: 0n };
        contract(`split ${split}`, "splitOf", [provider, token], [wallet, threshold]);
        contract(`reserve ${split}`, "reserveOf", [provider, token], state.reserves[split] ?? 0n);
      }
    }
    for (const [key, facts] of Object.entries(state.settlements)) {
      contract(`commitment ${key}`, "commitmentOf", [key], this.#commitment(facts));
      contract(`refunded ${key}`, "refundedOf", [key], state.refunded[key] ?? 0n);
    }
    for (const [id, { at, by, call }] of Object.entries(state.scheduled)) {
      const operation = await this.#chain.operationOf(by, call);
      const due = at + EXPIRY <= state.now ? 0 : Number(at);
      add({ of: "authority", at: "authority" }, `scheduled ${id}`, "getSchedule", [operation], due);
    }
    return readings;
  }

  #commitment(facts: Facts): Hex {
    const text = textOf(facts);
    const known = this.#commitments.get(text) ?? commitmentTo(this.#chain.resolve(facts) as ChainFacts);
    this.#commitments.set(text, known);
    return known;
  }
}
