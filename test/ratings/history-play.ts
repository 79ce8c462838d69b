// Plays histories of signals on real rows: as the batches that close a task, decide a dispute and take a settlement back (tasks, disputes), with
// the model beside them.
import { eq, inArray, sql } from "drizzle-orm";
import { expect } from "vitest";
import { rateAgent } from "../../src/agents/rate.ts";
import type { Environment } from "../../src/core/vocabulary.ts";
import { commit, readBatch, type Statement } from "../../src/db/batch.ts";
import { agents, ratingCounterparties } from "../../src/db/tables/agents.ts";
import { findPublicAgent } from "../../src/identity/store.ts";
import { type ConsumerCase, type ProviderCase, ratingMethod } from "../../src/ratings/method.ts";
import { consumerSignal, providerSignal, type Signal, unroundedRating } from "../../src/ratings/rating.ts";
import { ratingAt, ratingSums, type SignalChange } from "../../src/ratings/signals.ts";
import { findCounterparty, findHeaviestOf, findRatedAgent } from "../../src/ratings/store.ts";
import type { Json, World } from "../support/world.ts";
import { type Case, Model, roundings, type Side } from "./history-model.ts";

export type Cast = {
  /** The first one trades with all others, now as provider and now as consumer. */
  readonly dids: readonly string[];
  readonly principals: readonly string[];
};

type Part = { readonly name: string; readonly score: number };
export type Verdict = "upheld" | "partially_upheld" | "rejected";
type Task = {
  readonly name: string;
  readonly at: number;
  readonly units: number;
  readonly did: Readonly<Record<Side, string>>;
  /** What the task itself gives both sides. */
  readonly own: Readonly<Record<Side, Part>>;
  verdict: { readonly name: Verdict; readonly score: number } | null;
  /** The principal of the other side at the time of its signal; null where it gave none. */
  readonly ratedBy: Record<Side, string | null>;
};
export type NewTask = Pick<Task, "at" | "units" | "own"> & {
  readonly provider: number;
  readonly consumer: number;
  /** An auto-confirmation without the consumer's will gives no signal before a verdict does (TSK-12). */
  readonly silent: boolean;
};

const SIDES = ["provider", "consumer"] as const;
const OTHER = { provider: "consumer", consumer: "provider" } as const;
const DECIMALS = 6;

type Rated = {
  readonly did: string;
  readonly by: string;
  readonly change: Pick<SignalChange, "add" | "at"> &
    Partial<Pick<SignalChange, "replaces" | "interaction" | "takenBack">>;
};

export class Play {
  readonly model: Model;
  readonly tasks: Task[] = [];
  readonly #world: World;
  readonly #cast: Cast;
  readonly #environment: Environment;
  /** The principal of each agent at present. */
  readonly #principalOf = new Map<string, string>();
  #names = 0;

  private constructor(world: World, method: Json, cast: Cast, environment: Environment) {
    this.model = new Model(method, environment);
    [this.#world, this.#cast, this.#environment] = [world, cast, environment];
    for (const [n, did] of cast.dids.entries()) this.#principalOf.set(did, cast.principals[n] ?? "");
  }

  /** The cast as new, in an environment. */
  static async begin(world: World, method: Json, cast: Cast, environment: Environment): Promise<Play> {
    const { db } = world.deps;
    const none = { ratingWeight: 0, ratingWeighted: 0, ratingInteractions: 0, ratingCounterparties: 0 };
    const dids = [...cast.dids];
    await db.batch([
      db.delete(ratingCounterparties).where(inArray(ratingCounterparties.did, dids)),
      db
        .update(agents)
        .set({ ...none, ratingHeaviest: [], agentRating: null, environment })
        .where(inArray(agents.did, dids)),
    ]);
    return new Play(world, method, cast, environment);
  }

  get now(): number {
    return this.#world.now();
  }

  // ---- The acts ----------------------------------------------------------------------------------------------------------

  async task({ provider, consumer, silent, ...rest }: NewTask): Promise<void> {
    const did = { provider: this.#did(provider), consumer: this.#did(consumer) };
    const task: Task = { ...rest, name: this.#name(), did, verdict: null, ratedBy: { provider: null, consumer: null } };
    this.tasks.push(task);
    if (!silent) await this.#rate(SIDES.flatMap((side) => this.#first(task, side)));
  }

  /** A verdict takes the place of what the task has given before, also of another verdict, and is dated as that. */
  async verdict(task: Task, verdict: Task["verdict"]): Promise<void> {
    const before = { ...task };
    task.verdict = verdict;
    await this.#rate(
      SIDES.flatMap((side) => {
        const by = task.ratedBy[side];
        if (by === null) return this.#first(task, side);
        const [signal, add] = [before, task].map((one) => this.#signal(one, side)) as [Signal, Signal];
        if (signal.r === add.r && signal.weight === add.weight) return [];
        this.model.replace(task.did[side], task.name, caseOf(task, side));
        const { at } = task;
        return [{ did: task.did[side], by, change: { add, at, replaces: { signal, at } } }];
      }),
    );
  }

  /** A reorganisation has taken the settlement away. */
  async takeBack(task: Task): Promise<void> {
    this.tasks.splice(this.tasks.indexOf(task), 1);
    await this.#rate(
      SIDES.flatMap((side) => {
        const by = task.ratedBy[side];
        if (by === null) return [];
        this.model.takeBack(task.did[side], task.name);
        return [{ did: task.did[side], by, change: { add: this.#signal(task, side), at: task.at, takenBack: true } }];
      }),
    );
  }

  /** An intent that a consumer opened and left unpaid: no interaction. */
  async abandoned(consumer: number, provider: number, units: number, at: number): Promise<void> {
    const [did, by] = [this.#did(consumer), this.#principal(this.#did(provider))];
    if (by === this.#principal(did)) return;
    const what = { side: "consumer", name: "intent_abandoned", amount: units / 10 ** DECIMALS, score: 0 } as const;
    this.model.give(did, this.#name(), what, { at, counterparty: by, interaction: false });
    const add = consumerSignal(this.#method, what.name, what.amount);
    await this.#rate([{ did, by, change: { add, at, interaction: false } }]);
  }

  /** The rows of its signals stay with the principal that it leaves. */
  async transfer(agent: number, principal: number): Promise<void> {
    const [did, to] = [this.#did(agent), this.#cast.principals[principal] ?? ""];
    this.#principalOf.set(did, to);
    await this.#world.deps.db.update(agents).set({ principalId: to }).where(eq(agents.did, did));
  }

  // ---- The readings ------------------------------------------------------------------------------------------------------

  /** The rows of all agents say at some instants what the model says. Returns how many ratings there were. */
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
        expectNear(unroundedRating(ratingSums(row), row.ratingHeaviest, this.#method, now), expected);
        expectRounded(ratingAt(row, this.#method, now), expected);
        rated += Number(expected !== null);
      }
    }
    return rated;
  }

  // ---- How a batch rates -------------------------------------------------------------------------------------------------

  /** The first signal that a task gives a side: none between agents of one principal. */
  #first(task: Task, side: Side): Rated[] {
    const [did, counterparty] = [task.did[side], this.#principal(task.did[OTHER[side]])];
    if (counterparty === this.#principal(did)) return [];
    task.ratedBy[side] = counterparty;
    this.model.give(did, task.name, caseOf(task, side), { at: task.at, counterparty, interaction: true });
    return [{ did, by: counterparty, change: { add: this.#signal(task, side), at: task.at } }];
  }

  /** One trip that reads and one that writes, for both sides. */
  async #rate(sides: readonly Rated[]): Promise<void> {
    const { deps } = this.#world;
    const { db } = deps;
    const environment = this.#environment;
    const statements: Statement[] = [];
    const found = await readBatch(
      db,
      Object.fromEntries(
        sides.flatMap(({ did, by }) => [
          [`${did} source`, findPublicAgent(db, did)],
          [`${did} heaviest`, findHeaviestOf(db, sql`(${did}, ${environment})`)],
          [`${did} counterparty`, findCounterparty(db, { did, environment }, by)],
        ]),
      ),
    );
    const now = this.now;
    for (const { did, by, change } of sides) {
      const [source, heaviest, counterparty] = ["source", "heaviest", "counterparty"].map(
        (name) => (found as Json)[`${did} ${name}`],
      );
      const rated = rateAgent(
        db,
        deps,
        { ...source, markets: [], escrows: [] },
        { ...change, now, counterpartyPrincipalId: by, counterparty, heaviest },
      );
      expectRounded(rated.rating, this.model.rating(did, now));
      statements.push(...rated.statements);
    }
    await commit(db, statements);
  }

  #signal(task: Task, side: Side): Signal {
    const { name, amount, score } = caseOf(task, side);
    return side === "provider"
      ? providerSignal(this.#method, name as ProviderCase, amount, score)
      : consumerSignal(this.#method, name as ConsumerCase, amount);
  }

  get #method() {
    return ratingMethod(this.#world.deps.env, this.#environment);
  }
  #did(agent: number): string {
    return this.#cast.dids[agent % this.#cast.dids.length] ?? "";
  }
  #principal(did: string): string {
    return this.#principalOf.get(did) ?? "";
  }
  #name(): string {
    return `signal ${++this.#names}`;
  }
}

/** What counts of a task for a side, after its verdict. */
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
