// The lists of an agent's tasks, transactions and events (AGT-36, AGT-37, EVT-17): their entries, their owners and their filters.
import { beforeAll, describe, expect, it } from "vitest";
import { DAY_MS, HOUR_MS } from "../../src/core/limits.ts";
import { listNewEvents, pruneEventsJob } from "../../src/jobs/tend.ts";
import { autoConfirmTasks } from "../../src/tasks/confirm.ts";
import { confirm, facilitated, type Pair, pairOf } from "../facilitation/support.ts";
import { createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { report, taskIds, told, wholeList } from "./reports-support.ts";

let world: World;
let pair: Pair;
beforeAll(async () => {
  world = await createWorld();
  pair = await pairOf(world);
});

const WINDOW_MS = 72 * HOUR_MS;

describe("the tasks and the transactions of an agent", () => {
  it("show the same entries as the parties and the facilitation, for both sides", async () => {
    const { consumer, provider } = pair;
    const purchase = await facilitated(world, pair);
    const shown = expectStatus(await world.as(provider, "GET", `/v1/tasks/${purchase.task}`), 200);
    const { receipt: _receipt, as_of_block: _block, ...facts } = purchase.fac;
    for (const { did } of [consumer, provider]) {
      const { data: tasks } = await report(world, did, "tasks", "limit=1");
      expect(tasks).toEqual([shown]);
      const { data: transactions } = await report(world, did, "transactions", "limit=1");
      expect(transactions).toEqual([
        {
          ...facts,
          environment: "sandbox",
          consumer_did: consumer.did,
          provider_did: provider.did,
          settled_at: shown.opened_at,
          reversed_at: null,
        },
      ]);
    }
    const uninvolved = await world.consumer();
    for (const list of ["tasks", "transactions"] as const) {
      expect(await report(world, uninvolved.did, list)).toEqual({ data: [], next_cursor: null, has_more: false });
    }
  });

  it("between agents of one principal are a transaction without a task", async () => {
    const principal_id = await world.principal();
    const own = { consumer: await world.consumer({ principal_id }), provider: await world.provider({ principal_id }) };
    const { fac } = await facilitated(world, own);
    expect(fac.task_id).toBeNull();
    expect(await taskIds(world, own.consumer.did)).toEqual([]);
    const { data } = await report(world, own.consumer.did, "transactions");
    expect(data.map(({ transaction_id }: Json) => transaction_id)).toEqual([fac.transaction_id]);
  });

  it("come newest first, each once, while others are being made", async () => {
    const own = await pairOf(world, pair.provider);
    const made: Json[] = [];
    for (let n = 0; n < 4; n++) made.unshift((await facilitated(world, own)).fac);
    const first = await report(world, own.consumer.did, "transactions", "limit=3");
    await facilitated(world, own);
    const second = await report(world, own.consumer.did, "transactions", `limit=3&cursor=${first.next_cursor}`);
    const ids = (each: Json[], name: string) => each.map((one) => one[name]);
    expect(ids([...first.data, ...second.data], "transaction_id")).toEqual(ids(made, "transaction_id"));
    const tasks = await wholeList(world, own.consumer.did, "tasks", "limit=2");
    expect(ids(tasks, "task_id").slice(1)).toEqual(ids(made, "task_id"));
  });
});

describe("the filters of the tasks", () => {
  it("use the status at this instant, recorded or not, the outcome, and the instant of the opening", async () => {
    const fresh = await createWorld();
    const own = await pairOf(fresh);
    const open = async () => (await facilitated(fresh, own)).task;
    const answered = async (body: Json) => {
      const task = await open();
      expectStatus(await confirm(fresh, own.consumer, task, body), 200);
      return task;
    };
    const recorded = await open();
    fresh.advance(WINDOW_MS);
    await fresh.run(autoConfirmTasks);
    const unrecorded = await open();
    fresh.advance(WINDOW_MS - HOUR_MS);
    const since = new Date(fresh.now()).toISOString();
    const confirmed = await answered({ outcome: "confirmed" });
    const partial = await answered({ outcome: "partial", score: 0.5 });
    const rejected = await answered({ outcome: "rejected" });
    const waiting = await open();
    const before = [waiting, rejected, partial, confirmed];
    for (const { did } of [own.consumer, own.provider]) {
      const list = (query: string) => taskIds(fresh, did, query);
      expect(await list("status=open")).toEqual([waiting, unrecorded]);
      expect(await list("status=auto_confirmed")).toEqual([recorded]);
      expect(await list("outcome=confirmed")).toEqual([confirmed, recorded]);
    }
    fresh.advance(HOUR_MS);
    for (const { did } of [own.consumer, own.provider]) {
      const list = (query: string) => taskIds(fresh, did, query);
      expect(await list("")).toEqual([...before, unrecorded, recorded]);
      expect(await list("status=open")).toEqual([waiting]);
      expect(await list("status=auto_confirmed")).toEqual([unrecorded, recorded]);
      expect(await list("status=confirmed")).toEqual([rejected, partial, confirmed]);
      expect(await list("status=disputed")).toEqual([]);
      expect(await list("outcome=confirmed")).toEqual([confirmed, unrecorded, recorded]);
      expect(await list("outcome=partial")).toEqual([partial]);
      expect(await list("status=confirmed&outcome=rejected")).toEqual([rejected]);
      expect(await list("status=auto_confirmed&outcome=rejected")).toEqual([]);
      expect(await list("status=open&outcome=confirmed")).toEqual([]);
      expect(await list(`since=${since}`)).toEqual(before);
      expect(await list(`since=${since}&outcome=confirmed`)).toEqual([confirmed]);
      expect(await list(`since=${since}&status=open`)).toEqual([waiting]);
      expect((await wholeList(fresh, did, "tasks", "limit=1")).map(({ task_id }) => task_id)).toEqual(await list(""));
      for (const { status, outcome } of await wholeList(fresh, did, "tasks", "status=auto_confirmed&limit=1"))
        expect([status, outcome]).toEqual(["auto_confirmed", "confirmed"]);
    }
  });

  it("include the millisecond of the opening in `since`, in any UTC offset", async () => {
    const { task } = await facilitated(world, await pairOf(world, pair.provider));
    const { opened_at, consumer_did } = expectStatus(await world.as(pair.provider, "GET", `/v1/tasks/${task}`), 200);
    const at = Date.parse(opened_at);
    const since = async (ms: number) => taskIds(world, consumer_did, `since=${new Date(ms).toISOString()}`);
    expect(await since(at)).toEqual([task]);
    expect(await since(at + 1)).toEqual([]);
    const elsewhere = new Date(at + 2 * HOUR_MS).toISOString().replace("Z", "%2B02:00");
    expect(await taskIds(world, consumer_did, `since=${elsewhere}`)).toEqual([task]);
  });
});

describe("the events about an agent", () => {
  it("are its own and those of its purchases, each once, with the object as it was then", async () => {
    const own = await pairOf(world);
    const { task, intent, fac } = await facilitated(world, own);
    expectStatus(await confirm(world, own.consumer, task), 200);
    const purchase = [
      ["task.closed", task],
      ["task.opened", task],
      ["transaction.settled", task],
    ];
    const { consumer, provider } = own;
    const { data: bought } = await report(world, consumer.did, "events");
    const begun = (did: string) =>
      ["agent.status_changed", "agent.activated", "agent.registered"].map((type) => [type, did]);
    expect(bought.map(told)).toEqual([...purchase, ...begun(consumer.did)]);
    const { data: sold } = await report(world, provider.did, "events");
    expect(sold.map(told)).toEqual([...purchase, ["market.provisioned", provider.did], ...begun(provider.did)]);
    expect(sold[0]).toEqual(bought[0]);
    expect(sold[0].data.object).toEqual(expectStatus(await world.as(consumer, "GET", `/v1/tasks/${task}`), 200));
    expect(sold[2]).toMatchObject({
      id: expect.stringMatching(/^evt_/),
      environment: "sandbox",
      api_version: "v1",
      data: { object: { transaction_id: fac.transaction_id, intent_id: intent.intent_id } },
    });
    expect(JSON.stringify([bought, sold])).not.toContain(fac.receipt);
    const pages = await wholeList(world, provider.did, "events", "limit=1");
    expect(pages).toEqual(sold);
  });

  it.each(["before they are listed", "after it"])(
    "are found by their subjects, %s, by the agent's own platform",
    async (when) => {
      const other = await createWorld();
      const own = { consumer: await world.consumer(), provider: await other.provider() };
      const within = { consumer: own.consumer, provider: await world.provider() };
      const across = await facilitated(world, own);
      const alone = await facilitated(world, within);
      for (const { task } of [across, alone]) expectStatus(await confirm(world, own.consumer, task), 200);
      if (when === "after it") await listNewEvents(world.deps);
      const typesOf = async (by: World, subject: string) =>
        expectStatus(await by.call("GET", `/v1/events?subject=${subject}`), 200).data.map(({ type }: Json) => type);
      for (const { task, fac } of [across, alone]) {
        expect(await typesOf(world, task)).toEqual(["task.closed", "task.opened"]);
        expect(await typesOf(world, fac.transaction_id)).toEqual(["transaction.settled"]);
      }
      expect(await typesOf(other, across.task)).toEqual(["task.closed", "task.opened"]);
      expect(await typesOf(other, alone.task)).toEqual([]);
      expect(await typesOf(other, own.consumer.did)).toEqual([]);
      for (const [by, did] of [
        [world, own.consumer.did],
        [world, within.provider.did],
        [other, own.provider.did],
      ] as const)
        expect((await report(by, did, "events", "limit=100")).data).toEqual(
          expectStatus(await by.call("GET", `/v1/events?limit=100&subject=${did}`), 200).data,
        );
    },
  );

  it("belong to one platform each and have their own ids, even for the same purchase", async () => {
    const other = await createWorld();
    const own = { consumer: await world.consumer(), provider: await other.provider() };
    const { task } = await facilitated(world, own);
    const [bought] = (await report(world, own.consumer.did, "events")).data;
    const [sold] = (await report(other, own.provider.did, "events")).data;
    expect([told(bought), told(sold)]).toEqual([
      ["task.opened", task],
      ["task.opened", task],
    ]);
    expect(bought.id).not.toBe(sold.id);
    expect(bought.data).toEqual(sold.data);
  });

  it("are separate for each of many agents that are suspended at once", async () => {
    const principal_id = await world.principal();
    const each = [await world.consumer({ principal_id }), await world.consumer({ principal_id })];
    expectStatus(await world.call("POST", `/v1/principals/${principal_id}/suspend`), 200);
    for (const { did } of each) {
      const [newest] = (await report(world, did, "events")).data;
      expect([newest.type, newest.data.object.did, newest.data.object.status]).toEqual([
        "agent.status_changed",
        did,
        "SUSPENDED",
      ]);
    }
  });

  it("are those of the last 30 days; a cursor into older ones expires", async () => {
    const fresh = await createWorld();
    const { did } = await fresh.consumer();
    const first = await report(fresh, did, "events", "limit=1");
    expect(first.has_more).toBe(true);
    // The hourly job records which event was the last one.
    await fresh.run(pruneEventsJob);
    fresh.advance(30 * DAY_MS - HOUR_MS);
    expect((await report(fresh, did, "events", `cursor=${first.next_cursor}`)).data).toHaveLength(2);
    fresh.advance(HOUR_MS + 1_000);
    expect((await report(fresh, did, "events")).data).toEqual([]);
    const expired = await fresh.call("GET", `/v1/agents/${did}/events?cursor=${first.next_cursor}`);
    expect([expired.status, expired.body.code]).toEqual([410, "cursor_expired"]);
    const foreign = await world.call("GET", `/v1/agents/${did}/events?cursor=${first.next_cursor}`);
    expect([foreign.status, foreign.body.code]).toEqual([404, "not_found"]);
  });
});
