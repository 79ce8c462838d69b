// A message records tasks as a set (TSK-3, JOB-16): in one batch, with the same result as recording them one after another.
import { beforeAll, describe, expect, it, vi } from "vitest";
import type { JobMessage } from "../../src/context.ts";
import { DAY_MS } from "../../src/core/limits.ts";
import { runMessage } from "../../src/jobs/run.ts";
import { autoConfirmTasks } from "../../src/tasks/confirm.ts";
import { confirm, facilitated } from "../facilitation/support.ts";
import { rows } from "../promotion/support.ts";
import { moveClock, stopped } from "../support/clock.ts";
import { type Agent, createWorld, type World } from "../support/world.ts";

const JOBS = "agent-accountability-jobs";
/** Two of the buyers have so much weight that it is clipped. */
const HEAVY = "900.00";
const AMOUNTS = ["1.00", "1.00", HEAVY, "1.00", HEAVY, "1.00"];

let world: World;
beforeAll(async () => {
  world = stopped(await createWorld());
});

type Trade = { readonly seller: Agent; readonly buyers: readonly Agent[]; readonly tasks: readonly string[] };

/** Sets up a seller with buyers that bought once each, the first one twice. Every window has ended. */
async function dueTrade(amounts: readonly string[] = AMOUNTS): Promise<Trade> {
  const seller = await world.provider();
  const buyers = await differentBuyers(amounts.length);
  const tasks = await dueTasks(seller, buyers, amounts);
  // The second buyer also buys from another seller, whose weight is clipped.
  const elsewhere = { consumer: buyers[1] as Agent, provider: await world.provider() };
  const other = (await facilitated(world, elsewhere, HEAVY)).task;
  await endWindows([other]);
  return { seller, buyers, tasks: [...tasks, other] };
}

async function dueTasks(seller: Agent, buyers: readonly Agent[], amounts: readonly string[]): Promise<string[]> {
  const tasks: string[] = [];
  for (const [n, amount] of [...amounts, "20.00"].entries()) {
    const consumer = buyers[n % buyers.length] as Agent;
    tasks.push((await facilitated(world, { consumer, provider: seller }, amount)).task);
  }
  await endWindows(tasks);
  return tasks;
}

async function differentBuyers(many: number): Promise<Agent[]> {
  const buyers: Agent[] = [];
  while (buyers.length < many) buyers.push(await world.consumer({ principal_id: await world.principal() }));
  return buyers;
}

const endWindows = (tasks: readonly string[]) =>
  rows(
    "update tasks set opened_at = ?, confirm_by = ? where task_id in (select value from json_each(?))",
    ...[world.now() - 73 * 3_600_000, world.now() - 3_600_000, JSON.stringify(tasks)],
  );

const record = (ids: readonly string[], more: { readonly alone?: true } = {}): Promise<void> =>
  world.serve(() =>
    runMessage(world.deps, [autoConfirmTasks], { kind: "record", job: autoConfirmTasks.name, ids, ...more }),
  );

/** Takes the messages that were sent to the jobs' queue. */
const sentJobs = () =>
  world.sent
    .splice(0)
    .filter(({ queue }) => queue === JOBS)
    .map(({ body }) => body as JobMessage);

const statuses = (tasks: readonly string[]) =>
  rows("select status from tasks where task_id in (select value from json_each(?))", JSON.stringify(tasks)).then(
    (found) => found.map(({ status }) => status),
  );

/** The rows of a trade after its tasks ended, without ids. */
async function left({ seller, buyers, tasks }: Trade) {
  const dids = [seller, ...buyers].map(({ did }) => did);
  const agents = await Promise.all(
    dids.map(
      async (did) =>
        await rows(
          `select agent_rating, rating_weight, rating_weighted, rating_interactions, rating_counterparties, rating_heaviest, settled_volumes,
            republish_at, revision, (select count(*) from directory_changes c where c.did = a.did) as changes,
            (select json_group_array(json_array(weight, weighted) order by weight) from rating_counterparties r where r.did = a.did) as counterparties,
            (select threshold from escrows e where e.did = a.did) as threshold,
            (select agent_rating = a.agent_rating from directory_entries d where d.did = a.did) as listed
          from agents a where did = ?`,
          did,
        ),
    ),
  );
  const each = await rows(
    "select status, outcome, score, closed_at, provider_rated_by is not null as rated from tasks where task_id in (select value from json_each(?))",
    JSON.stringify(tasks),
  );
  const events = await rows(
    `select count(*) as count from events where type = 'task.closed' and subject in (select value from json_each(?))
      and object ->> 'status' = 'auto_confirmed'`,
    JSON.stringify(tasks),
  );
  return { agents, each, events };
}

/** Sales of one seller to six buyers, by the buyer's number. No weight is clipped, so the second round changes the sums relatively. */
const ROUNDS: readonly (readonly (readonly [buyer: number, amount: string])[])[] = [
  [
    [0, "5.00"],
    [1, "5.00"],
    [2, "5.00"],
    [3, "5.00"],
    [4, "5.00"],
  ],
  [
    [5, "5.00"],
    [1, "0.50"],
    [5, "0.50"],
    [2, "0.50"],
    [1, "0.50"],
    [2, "0.50"],
  ],
  [
    [3, "700.00"],
    [3, "700.00"],
    [3, "700.00"],
    [4, "2.00"],
    [5, "9.00"],
  ],
  [
    [0, "5.00"],
    [0, "3.00"],
    [1, "2.00"],
  ],
];

describe("a set of tasks", () => {
  it("changes sums relatively, like one task after another, on the clocks of two platforms", async () => {
    const abroad = await createWorld();
    const parties = async () => ({ seller: await abroad.provider(), buyers: await differentBuyers(6) });
    const [together, single] = [await parties(), await parties()];
    const sell = async ({ seller, buyers }: Pick<Trade, "seller" | "buyers">, round: (typeof ROUNDS)[number]) => {
      const tasks: string[] = [];
      for (const [buyer, amount] of round)
        tasks.push((await facilitated(world, { consumer: buyers[buyer] as Agent, provider: seller }, amount)).task);
      await endWindows(tasks);
      return { seller, buyers, tasks };
    };
    for (const [n, round] of ROUNDS.entries()) {
      await Promise.all([moveClock(world, 0), moveClock(abroad, 0)]);
      const [set, each] = [await sell(together, round), await sell(single, round)];
      await Promise.all([moveClock(world, (5 + n) * DAY_MS), moveClock(abroad, 2 * DAY_MS)]);
      await record(set.tasks);
      for (const id of each.tasks) await world.serve(() => autoConfirmTasks.record(world.deps, id));
      const result = await left(set);
      expect(result, `round ${n}`).toEqual(await left(each));
      if (n === 1) expect(result.agents[0]?.[0]).toMatchObject({ listed: 1, rating_heaviest: "[]" });
    }
    await Promise.all([moveClock(world, 0), moveClock(abroad, 0)]);
  });

  it("updates the escrows of an agent that bought in one task and sells in the next", async () => {
    const sides = async (): Promise<Trade> => {
      const [seller, other] = [await world.provider(), await world.provider()];
      const buyers = await differentBuyers(2);
      const [one, two] = buyers as [Agent, Agent];
      const bought = (await facilitated(world, { consumer: one, provider: other }, "10.00")).task;
      const sold = (await facilitated(world, { consumer: two, provider: seller }, "10.00")).task;
      await endWindows([bought, sold]);
      for (const table of ["tasks", "transactions"])
        await rows(`update ${table} set consumer_did = ? where task_id = ?`, seller.did, bought);
      return { seller, buyers, tasks: [bought, sold] };
    };
    const [together, single] = [await sides(), await sides()];
    await record(together.tasks);
    for (const id of single.tasks) await world.serve(() => autoConfirmTasks.record(world.deps, id));
    const { agents } = await left(together);
    expect(agents[0]?.[0]).toMatchObject({ rating_interactions: 2 });
    expect(agents[0]).toEqual((await left(single)).agents[0]);
  });

  it("leaves the same ratings, counterparties, thresholds, lists and events as one task after another", async () => {
    const [together, single] = [await dueTrade(), await dueTrade()];
    sentJobs();
    await record(together.tasks);
    for (const message of sentJobs()) await world.serve(() => runMessage(world.deps, [autoConfirmTasks], message));
    for (const id of single.tasks) await world.serve(() => autoConfirmTasks.record(world.deps, id));
    const result = await left(together);
    expect(new Set(result.each.map(({ status }) => status))).toEqual(new Set(["auto_confirmed"]));
    expect(result.agents[0]?.[0]).toMatchObject({ rating_interactions: 7, rating_counterparties: 6 });
    expect(result.events).toEqual([{ count: 8 }]);
    expect(result).toEqual(await left(single));
    // A second round, in which clipped counterparties are stored already and take no part.
    const more = async ({ seller, buyers }: Trade): Promise<Trade> => {
      const light = buyers.filter((_, n) => AMOUNTS[n] !== HEAVY);
      return { seller, buyers, tasks: await dueTasks(seller, light, ["1.00", "1.00", "1.00", "1.00"]) };
    };
    const [moreTogether, moreSingle] = [await more(together), await more(single)];
    sentJobs();
    await record(moreTogether.tasks);
    expect(sentJobs()).toEqual([]);
    for (const id of moreSingle.tasks) await world.serve(() => autoConfirmTasks.record(world.deps, id));
    const after = await left(moreTogether);
    expect(after.agents[0]?.[0]).toMatchObject({ rating_interactions: 12, rating_counterparties: 6 });
    expect(after).toEqual(await left(moreSingle));
  });

  it("takes one batch of reads and one of writes", async () => {
    const { tasks } = await dueTrade(["10.00", "3.00"]);
    sentJobs();
    world.meter.reset();
    await world.serve(async () => autoConfirmTasks.recordSet?.(world.deps, tasks));
    const { trips, statements } = world.meter.reading;
    expect([trips, await statuses(tasks)]).toEqual([2, tasks.map(() => "auto_confirmed")]);
    // Twenty tasks fit into an invocation (JOB-12), even if each writes its event for two platforms.
    expect(statements).toBeLessThanOrEqual(9 + 20 * tasks.length);
  });

  it("is followed by a pause, so that other calls run between two sets", async () => {
    const { tasks } = await dueTrade(["10.00", "3.00"]);
    const waits = vi.spyOn(scheduler, "wait");
    await record(tasks.slice(0, 1));
    expect(waits).not.toHaveBeenCalled();
    await record(tasks.slice(1));
    expect(waits.mock.calls).toEqual([[5]]);
    waits.mockRestore();
  });

  it("leaves out tasks that are closed or not due", async () => {
    const { tasks, buyers } = await dueTrade(["10.00", "3.00", "4.00"]);
    const [open, closed, ...due] = tasks;
    await rows("update tasks set confirm_by = ? where task_id in (?, ?)", world.now() + 1, open, closed);
    await confirm(world, buyers[1] as Agent, closed as string);
    await record(tasks);
    expect(await statuses([open as string])).toEqual(["open"]);
    expect(await statuses([closed as string])).toEqual(["confirmed"]);
    expect(await statuses(due)).toEqual(due.map(() => "auto_confirmed"));
    expect(sentJobs()).toEqual([]);
  });

  it("records a task alone if it changes an escrow's state, with the same result as one task after another", async () => {
    const [together, single] = [await dueTrade(), await dueTrade()];
    for (const { seller } of [together, single]) await fund(seller);
    const { tasks, seller } = together;
    sentJobs();
    await record(tasks);
    const [message, ...others] = sentJobs();
    expect(others).toEqual([]);
    expect(message).toMatchObject({ kind: "record", job: autoConfirmTasks.name, alone: true });
    const ids = message?.kind === "record" ? message.ids : [];
    expect(await statuses(ids)).toEqual(ids.map(() => "open"));
    expect(await turnsOf(seller)).toBe(0);
    await record(ids, { alone: true });
    for (const id of single.tasks) await world.serve(() => autoConfirmTasks.record(world.deps, id));
    expect(await statuses(tasks)).toEqual(tasks.map(() => "auto_confirmed"));
    expect([await turnsOf(seller), await turnsOf(single.seller)]).toEqual([1, 1]);
    const [one, other] = await Promise.all([seller, single.seller].map(({ did }) => escrowOf(did)));
    expect([one, one?.state]).toEqual([other, "ACTIVE"]);
  });
});

/** Brings the escrow to FUNDING. A rating of 0.70 or more moves the threshold below the balance. */
async function fund({ did }: Agent): Promise<void> {
  await rows("update escrows set balance = 12000000, state = 'FUNDING' where did = ?", did);
  await rows(`update agents set escrow_states = '{"base-sepolia":"FUNDING"}' where did = ?`, did);
  await rows("delete from events where type = 'agent.escrow_state_changed' and agent_did = ?", did);
}

const turnsOf = async ({ did }: Agent): Promise<number> =>
  (await rows("select id from events where type = 'agent.escrow_state_changed' and agent_did = ?", did)).length;
const escrowOf = async (did: string) =>
  (
    await rows(
      "select e.state, e.threshold, a.escrow_states, a.rating_interactions from escrows e join agents a using (did) where did = ?",
      did,
    )
  )[0];

describe("a set that is refused", () => {
  it("changes nothing if another call has closed a task, and each task is then recorded alone", async () => {
    const { tasks, seller } = await dueTrade(["10.00", "3.00"]);
    sentJobs();
    const [first] = tasks;
    world.meter.reset();
    world.meter.beforeBatch(2, () => autoConfirmTasks.record(world.deps, first as string));
    await record(tasks);
    expect(world.meter.reading.refused).toBe(1);
    expect((await statuses(tasks)).sort()).toEqual(["auto_confirmed", "open", "open", "open"]);
    const [message, ...others] = sentJobs();
    expect([message, others]).toEqual([{ kind: "record", job: autoConfirmTasks.name, ids: tasks, alone: true }, []]);
    await world.serve(() => runMessage(world.deps, [autoConfirmTasks], message as JobMessage));
    expect(await statuses(tasks)).toEqual(tasks.map(() => "auto_confirmed"));
    expect(await rows("select rating_interactions from agents where did = ?", seller.did)).toEqual([
      { rating_interactions: 3 },
    ]);
  });

  it("does not block its other tasks if one of them fails", async () => {
    const log = vi.spyOn(console, "error").mockImplementation(() => undefined);
    const { tasks } = await dueTrade(["10.00", "3.00"]);
    const [broken, ...sound] = tasks;
    sentJobs();
    // This network is not configured.
    await rows(
      "update transactions set network = 'lost' where transaction_id = (select transaction_id from tasks where task_id = ?)",
      broken,
    );
    await record(tasks);
    expect(await statuses(tasks)).toEqual(tasks.map(() => "open"));
    for (const message of sentJobs()) await world.serve(() => runMessage(world.deps, [autoConfirmTasks], message));
    expect(await statuses(sound)).toEqual(sound.map(() => "auto_confirmed"));
    expect(await statuses([broken as string])).toEqual(["open"]);
    expect(log).toHaveBeenCalled();
    log.mockRestore();
  });
});
