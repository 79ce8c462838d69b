// Plays histories of signals on real rows, with the code that closes a task, ends its dispute and reverses its settlement (tasks), and in the model.
import { eq, inArray, sql } from "drizzle-orm";
import { expect } from "vitest";
import { rateAgent } from "../../src/agents/ratings.ts";
import { HOUR_MS } from "../../src/core/limits.ts";
import { move } from "../../src/core/machine.ts";
import type { Environment } from "../../src/core/vocabulary.ts";
import { commit, readBatch } from "../../src/db/batch.ts";
import { agents, ratingCounterparties } from "../../src/db/tables/agents.ts";
import { findPublicAgent } from "../../src/identity/store.ts";
import { pickRatingMethod } from "../../src/ratings/method.ts";
import { computeUnroundedRating, toConsumerSignal } from "../../src/ratings/rating.ts";
import { computeRatingFromRow, toAgentSums } from "../../src/ratings/signals.ts";
import { findCounterparty, findHeaviestOf, findRatedAgent } from "../../src/ratings/store.ts";
import { closeTask, prepareClosingReads } from "../../src/tasks/close.ts";
import { taskMachine } from "../../src/tasks/states.ts";
import { closeHeldTask, replaceVerdict, reverseTask, verdictReads } from "../../src/tasks/verdict.ts";
import type { Json, World } from "../support/world.ts";
import { type Case, Model, roundings, type Side } from "./history-model.ts";
import { insertPurchase } from "./history-rows.ts";

export type Platform = { readonly id: string; readonly offsetMs: number };

export type Cast = {
  /** The first one trades with all others, either as provider or as consumer. */
  readonly dids: readonly string[];
  readonly principals: readonly string[];
  /** Another sandbox, whose clock is ahead. */
  readonly ahead?: Platform;
};

type Part = { readonly name: string; readonly score: number };
export type Verdict = { readonly name: "upheld" | "partially_upheld" | "rejected"; readonly score: number };
type Task = {
  /** The id of its row. */
  readonly name: string;
  /** The task's end, on the clock that rules it. */
  readonly at: number;
  readonly units: number;
  readonly did: Readonly<Record<Side, string>>;
  readonly platform: Readonly<Record<Side, Platform>>;
  /** As of the settlement. */
  readonly principal: Readonly<Record<Side, string>>;
  /** The task's own signals for both sides. */
  own: Readonly<Record<Side, Part>>;
  /** Closed by the end of a dispute, so that another verdict also changes the end of the task. */
  readonly held: boolean;
  verdict: Verdict | null;
  /** The principal under which the task has rated a side; null if it gave the side no signal. */
  readonly ratedBy: Record<Side, string | null>;
};
export type NewTask = Readonly<Pick<Task, "at" | "units" | "own">> & {
  readonly provider: number;
  readonly consumer: number;
  /** An auto-confirmation without the consumer's will gives no signal before a verdict does (TSK-12). */
  readonly silent: boolean;
  /** A dispute holds the task, and ends it with this verdict. */
  readonly held?: Verdict;
  /** The side on the platform whose clock is ahead. */
  readonly ahead?: Side | null;
};

const SIDES = ["provider", "consumer"] as const;
const OTHER = { provider: "consumer", consumer: "provider" } as const;
const DECIMALS = 6;
const TOOK = { answered_promptly: HOUR_MS, answered: 48 * HOUR_MS, auto_confirmed: 72 * HOUR_MS } as const;
/** How long disputes hold a task: this is not the consumer's delay. */
const HELD_MS = 200 * HOUR_MS;

type Batch = Pick<ReturnType<typeof closeTask>, "statements" | "rated">;

export class Play {
  readonly model: Model;
  readonly tasks: Task[] = [];
  readonly #world: World;
  readonly #cast: Cast;
  readonly environment: Environment;
  /** The principal of each agent at present. */
  readonly #principalOf = new Map<string, string>();
  #names = 0;

  private constructor(world: World, method: Json, cast: Cast, environment: Environment) {
    this.model = new Model(method, environment);
    [this.#world, this.#cast, this.environment] = [world, cast, environment];
    for (const [n, did] of cast.dids.entries()) this.#principalOf.set(did, cast.principals[n] ?? "");
  }

  /** Resets the cast, in an environment. */
  static async begin(world: World, method: Json, cast: Cast, environment: Environment): Promise<Play> {
    const { db } = world.deps;
    const none = { ratingWeight: 0, ratingWeighted: 0, ratingInteractions: 0, ratingCounterparties: 0 };
    const dids = [...cast.dids];
    await db.batch([
      db.delete(ratingCounterparties).where(inArray(ratingCounterparties.did, dids)),
      ...dids.map((did, n) =>
        db
          .update(agents)
          .set({ ...none, ratingHeaviest: [], agentRating: null, environment, principalId: cast.principals[n] ?? "" })
          .where(eq(agents.did, did)),
      ),
    ]);
    return new Play(world, method, cast, environment);
  }

  get now(): number {
    return this.#world.now();
  }

  // ---- The acts ----------------------------------------------------------------------------------------------------------

  async task({ provider, consumer, silent, held, ahead = null, at: end, units, own }: NewTask): Promise<void> {
    const { db } = this.#deps;
    const did = { provider: this.#did(provider), consumer: this.#did(consumer) };
    const principal = { provider: this.#principal(did.provider), consumer: this.#principal(did.consumer) };
    // Agents of one principal have no task.
    if (principal.provider === principal.consumer) return;
    const platform = { provider: this.#platform(ahead === "provider"), consumer: this.#platform(ahead === "consumer") };
    const now = this.#nowOf(platform);
    const at = held ? now : end + (now - this.now);
    const answered = own.consumer.name as keyof typeof TOOK;
    const openedAt = at - TOOK[answered] - (held ? HELD_MS : 0);
    const taskId = await insertPurchase(this.#world, {
      ...{
        did,
        principal,
        units,
        openedAt,
        environment: this.environment,
        willed: !silent,
        confirmBy: openedAt + 72 * HOUR_MS,
      },
      platform: { provider: platform.provider.id, consumer: platform.consumer.id },
      status: held ? "disputed" : "open",
    });
    const task: Task = {
      ...{ name: taskId, at, units, did, platform, principal, verdict: held ?? null, held: held !== undefined },
      own: held ? { ...own, provider: partOf(held) } : own,
      ratedBy: { provider: null, consumer: null },
    };
    this.tasks.push(task);
    const facts = await readBatch(db, prepareClosingReads(db, taskId));
    const batch = held
      ? closeHeldTask(this.#deps, facts, { ...closedBy(held), ...columnsOf(held) }, now - HELD_MS, now)
      : closeTask(
          this.#deps,
          facts,
          move(taskMachine, "open", answered === "auto_confirmed" ? "window_ends" : "confirm"),
          { ...outcomeOf(own.provider), note: null, at },
          now,
        );
    const first = silent ? [] : SIDES;
    for (const side of first) this.#first(task, side, now);
    await this.#commit(task, batch, first, now);
  }

  /** A verdict replaces what the task has given before, also by another verdict, and keeps its date. */
  async verdict(task: Task, verdict: Verdict): Promise<void> {
    const { db } = this.#deps;
    const before = { ...task };
    task.verdict = verdict;
    if (task.held) task.own = { ...task.own, provider: partOf(verdict) };
    const now = this.#nowOf(task.platform);
    const facts = await readBatch(db, verdictReads(db, task.name));
    const ended = closedBy(verdict);
    const anew = task.held ? { ...ended, answer: ended.outcome } : {};
    const batch = replaceVerdict(this.#deps, facts, { ...anew, ...columnsOf(verdict) }, now);
    const moved = SIDES.filter((side) => {
      if (task.ratedBy[side] === null) {
        this.#first(task, side, now);
        return true;
      }
      this.model.replace(task.did[side], task.name, caseOf(task, side));
      return !sameWorth(this.model.worth(caseOf(before, side)), this.model.worth(caseOf(task, side)));
    });
    await this.#commit(task, batch, moved, now);
  }

  /** A reorg has removed the settlement. */
  async takeBack(task: Task): Promise<void> {
    const { db } = this.#deps;
    this.tasks.splice(this.tasks.indexOf(task), 1);
    const facts = await readBatch(db, prepareClosingReads(db, task.name));
    await commit(db, reverseTask(this.#deps, facts, { escrows: [], turned: false }, this.#nowOf(task.platform)));
    for (const side of SIDES) if (task.ratedBy[side] !== null) this.model.takeBack(task.did[side], task.name);
  }

  /** An intent that a consumer opened and left unpaid. It is no interaction. */
  async abandoned(consumer: number, provider: number, units: number, at: number): Promise<void> {
    const { db } = this.#deps;
    const [did, by] = [this.#did(consumer), this.#principal(this.#did(provider))];
    if (by === this.#principal(did)) return;
    const what = { side: "consumer", name: "intent_abandoned", amount: units / 10 ** DECIMALS, score: 0 } as const;
    this.model.give(did, `abandoned ${++this.#names}`, what, { at, counterparty: by, interaction: false });
    const environment = this.environment;
    const { source, ...read } = await readBatch(db, {
      source: findPublicAgent(db, did),
      heaviest: findHeaviestOf(db, sql`(${did}, ${environment})`),
      counterparty: findCounterparty(db, { did, environment }, by),
    });
    if (!source) throw new Error("an agent without its row");
    const add = toConsumerSignal(this.#method, what.name, what.amount);
    const change = { add, at, now: this.now, interaction: false, counterpartyPrincipalId: by, ...read } as const;
    const rated = rateAgent(this.#deps, { ...source, markets: [], escrows: [] }, change);
    await commit(db, rated.statements);
  }

  /** The rows of the agent's signals stay with the principal that it leaves. */
  async transfer(agent: number, principal: number): Promise<void> {
    const [did, to] = [this.#did(agent), this.#cast.principals[principal] ?? ""];
    this.#principalOf.set(did, to);
    await this.#deps.db.update(agents).set({ principalId: to }).where(eq(agents.did, did));
  }

  // ---- The readings ------------------------------------------------------------------------------------------------------

  /** Compares the rows of all agents with the model at some instants. Returns how many ratings there were. */
  async compare(...instants: number[]): Promise<number> {
    const reads = this.#cast.dids.map((did) => [did, findRatedAgent(this.#world.deps.db, did)] as const);
    const rows = Object.values(await readBatch(this.#world.deps.db, Object.fromEntries(reads)));
    let rated = 0;
    for (const row of rows) {
      if (!row) throw new Error("an agent without its row");
      const { ratingInteractions: interactions, ratingCounterparties: counterparties } = row;
      expect({ interactions, counterparties }).toEqual(this.model.counts(row.did));
      for (const now of instants) {
        const expected = this.model.rating(row.did, now);
        expectNear(computeUnroundedRating(toAgentSums(row), row.ratingHeaviest, this.#method, now), expected);
        expectRounded(computeRatingFromRow(row, this.#method, now), expected);
        rated += Number(expected !== null);
      }
    }
    return rated;
  }

  // ---- How a batch rates -------------------------------------------------------------------------------------------------

  /** Gives a side the first signal of a task. */
  #first(task: Task, side: Side, now: number): void {
    const [did, counterparty] = [task.did[side], task.principal[OTHER[side]]];
    task.ratedBy[side] = counterparty;
    // If the provider's clock is not the task's, the provider is rated from now on.
    const apart = side === "provider" ? this.#apart(task.platform) : 0;
    const at = apart === 0 ? task.at : now + apart;
    this.model.give(did, task.name, caseOf(task, side), { at, counterparty, interaction: true });
  }

  /** `moved`: the sides whose rating the model has moved. Each stored rating is right on its own clock. */
  async #commit({ did, platform }: Task, { statements, rated }: Batch, moved: readonly Side[], now: number) {
    expect(SIDES.filter((side) => rated[side])).toEqual(moved);
    await commit(this.#deps.db, statements);
    for (const side of moved) {
      const { row } = await readBatch(this.#deps.db, { row: findRatedAgent(this.#deps.db, did[side]) });
      const own = side === "provider" ? now + this.#apart(platform) : now;
      expectRounded(row?.agentRating ?? null, this.model.rating(did[side], own));
    }
  }

  /** By how much the provider's clock is ahead of the consumer's. Production has one clock. */
  #apart({ provider, consumer }: Task["platform"]): number {
    return this.environment === "sandbox" ? provider.offsetMs - consumer.offsetMs : 0;
  }
  #nowOf({ consumer }: Task["platform"]): number {
    return this.now + (this.environment === "sandbox" ? consumer.offsetMs : 0);
  }
  #platform(ahead: boolean): Platform {
    const own = { id: this.#world.platformId, offsetMs: 0 };
    return ahead ? (this.#cast.ahead ?? own) : own;
  }
  get #deps() {
    return this.#world.deps;
  }
  get #method() {
    return pickRatingMethod(this.#deps.env, this.environment);
  }
  #did(agent: number): string {
    return this.#cast.dids[agent % this.#cast.dids.length] ?? "";
  }
  #principal(did: string): string {
    return this.#principalOf.get(did) ?? "";
  }
}

/** The end of a task that a dispute has held. */
function closedBy({ name, score }: Verdict) {
  if (name === "upheld") return { outcome: "rejected", score: 0 } as const;
  return name === "rejected" ? ({ outcome: "confirmed", score: 1 } as const) : ({ outcome: "partial", score } as const);
}
const partOf = (verdict: Verdict): Part => ({ name: closedBy(verdict).outcome, score: closedBy(verdict).score });

const columnsOf = ({ name, score }: Verdict) => ({
  verdict: name,
  verdictScore: name === "partially_upheld" ? score : null,
});

function outcomeOf({ name, score }: Part) {
  if (name === "partial") return { outcome: name, score } as const;
  return name === "rejected" ? ({ outcome: name, score: 0 } as const) : ({ outcome: "confirmed", score: 1 } as const);
}

const sameWorth = (one: { r: number; w: number }, other: { r: number; w: number }): boolean =>
  one.r === other.r && one.w === other.w;

/** The case of a task for a side, after its verdict. */
function caseOf({ own, verdict, units }: Task, side: Side): Case {
  const amount = units / 10 ** DECIMALS;
  if (side === "provider" && (verdict?.name === "upheld" || verdict?.name === "partially_upheld"))
    return { side, name: `dispute_${verdict.name}`, amount, score: verdict.score };
  if (side === "consumer" && verdict?.name === "rejected") return { side, name: "dispute_rejected", amount, score: 0 };
  return { side, amount, ...own[side] };
}

function expectNear(exact: number | null, expected: number | null): void {
  if (exact === null || expected === null) expect(exact).toBe(expected);
  else expect(Math.abs(exact - expected)).toBeLessThanOrEqual(1e-9);
}

export function expectRounded(rating: number | null, expected: number | null): void {
  if (expected === null) expect(rating).toBeNull();
  else expect(roundings(expected)).toContain(rating);
}
