// Tasks across an account (TSK-19) and an agent's own (TSK-20): by every filter, in their state at this instant, as pages and as CSV.
import { beforeAll, describe, expect, it } from "vitest";
import { HOUR_MS } from "../../src/core/limits.ts";
import { facilitated, type Pair, pairOf } from "../facilitation/support.ts";
import { rows } from "../promotion/support.ts";
import { copyRow } from "../support/copies.ts";
import { type Agent, createWorld, expectStatus, type Json, type World } from "../support/world.ts";

const PATH = "/v1/tasks";
const WINDOW = 72 * HOUR_MS;
const at = (instant: number): string => new Date(instant).toISOString();
const ids = (tasks: readonly Json[]): string[] => tasks.map(({ task_id }) => task_id);
const read = async (of: World, query = "", key = of.key): Promise<Json> =>
  expectStatus(await of.call("GET", `${PATH}?${query}`, { key }), 200);
const list = async (of: World, query = "", key = of.key): Promise<string[]> => ids((await read(of, query, key)).data);
const own = async (of: World, agent: Agent, query = ""): Promise<Json[]> =>
  expectStatus(await of.as(agent, "GET", `${PATH}?${query}`), 200).data;
const confirm = async (world: World, consumer: Agent, id: string, body: Json) =>
  expectStatus(await world.as(consumer, "POST", `/v1/tasks/${id}/confirm`, body), 200);

let named = 0;
/** Creates a world with one open task that is older than `settlements` settlements with a closed task. Returns the open one. */
async function openBehind(settlements: number): Promise<{ world: World; open: string }> {
  const world = await createWorld();
  const pair = await pairOf(world);
  const old = (await facilitated(world, pair)).fac;
  const { fac } = await facilitated(world, pair);
  await confirm(world, pair.consumer, fac.task_id, { outcome: "confirmed" });
  await rows("update transactions set settled_at = settled_at - 100000 where transaction_id = ?", old.transaction_id);
  named += settlements;
  const copies = {
    transaction_id: `printf('fac_%06d', i + ${named})`,
    log_index: `log_index + 100 + i + ${named}`,
    settled_at: "settled_at - 1",
  };
  await copyRow("transactions", `transaction_id = '${fac.transaction_id}'`, copies, { to: settlements });
  return { world, open: old.task_id };
}

/** An account that buys from another, sells to it, and lets two of its own agents trade. */
let here: World;
let there: World;
let within: Pair;
let sold: Pair;
let bought: Pair;
/** The ids of the first and the second task of each kind. */
const made: Record<string, string[]> = {};

beforeAll(async () => {
  [here, there] = [await createWorld(), await createWorld()];
  within = await pairOf(here);
  sold = { consumer: await there.consumer(), provider: within.provider };
  bought = { consumer: within.consumer, provider: await there.provider() };
  for (const round of [1, 2]) {
    for (const [kind, pair] of Object.entries({ within, sold, bought })) {
      const { fac } = await facilitated(kind === "bought" ? there : here, pair, `${round}.50`);
      made[kind] = [...(made[kind] ?? []), fac.task_id];
    }
  }
  await confirm(here, within.consumer, one("within", 0), { outcome: "confirmed" });
  await confirm(there, sold.consumer, one("sold", 0), {
    outcome: "partial",
    score: 0.5,
    note: "=late, and half of it",
  });
});
const one = (kind: string, n: number): string => made[kind]?.[n] ?? "";
/** All ids, newest first. */
const all = () => [1, 0].flatMap((n) => ["bought", "sold", "within"].map((kind) => one(kind, n)));

describe("the tasks of an account", () => {
  it("include all its agents on either side, newest first, and a task between two of them once (TSK-19)", async () => {
    expect(await list(here)).toEqual(all());
    expect(await list(there)).toEqual(all().filter((id) => !made["within"]?.includes(id)));
  });

  it("are shown as the agent's own list shows them", async () => {
    const { provider } = within;
    const of = expectStatus(await here.call("GET", `/v1/agents/${provider.did}/tasks`, { key: here.key }), 200);
    expect((await read(here, `did=${provider.did}`)).data).toEqual(of.data);
    expect(await own(here, provider)).toEqual(of.data);
  });

  it("come page by page while others are being made, each exactly once", async () => {
    const [first, second] = [await createWorld(), await createWorld()];
    const pair = await pairOf(first);
    const made: string[] = [];
    for (let n = 0; n < 3; n++) made.unshift((await facilitated(first, pair)).fac.task_id);
    const page = await read(first, "limit=2");
    await facilitated(first, pair);
    const next = await read(first, `limit=2&cursor=${page.next_cursor}`);
    expect([...ids(page.data), ...ids(next.data)]).toEqual(made);
    expect([page.has_more, next.has_more]).toEqual([true, false]);
    expect(await list(second)).toEqual([]);
  });

  it("belong to the environment of the call, by a key and by a session", async () => {
    expect(await list(here, "", here.liveKey)).toEqual([]);
    const asked = (environment: string) =>
      here.person("GET", PATH, { headers: { "Service-Environment": environment } });
    expect(ids(expectStatus(await asked("sandbox"), 200).data)).toEqual(all());
    expect(expectStatus(await asked("production"), 200).data).toEqual([]);
  });

  it("exclude settlements between agents of one principal, which open no task", async () => {
    const world = await createWorld();
    const provider = await world.provider();
    const consumer = await world.consumer({ principal_id: provider.principalId });
    await facilitated(world, { consumer, provider });
    const { fac } = await facilitated(world, { consumer: await world.consumer(), provider });
    expect(await list(world)).toEqual([fac.task_id]);
  });
});

describe("the filters of an account's tasks", () => {
  it("did and role select an agent of the account and the side of its agents; another account's agent has no tasks here", async () => {
    expect(await list(here, `did=${within.provider.did}`)).toEqual(all().filter((id) => !made["bought"]?.includes(id)));
    expect(await list(here, "role=consumer")).toEqual(all().filter((id) => !made["sold"]?.includes(id)));
    expect(await list(here, "role=provider")).toEqual(all().filter((id) => !made["bought"]?.includes(id)));
    expect(await list(here, `did=${within.consumer.did}&role=provider`)).toEqual([]);
    for (const foreign of [sold.consumer.did, bought.provider.did, `did:aeap:${crypto.randomUUID()}`])
      expect(await list(here, `did=${foreign}`)).toEqual([]);
  });

  it("since and until select tasks opened at an instant or later, and before one", async () => {
    const { data } = await read(here);
    const [from, to] = [data[3].opened_at, data[1].opened_at];
    expect(await list(here, `since=${to}`)).toEqual(all().slice(0, 2));
    expect(await list(here, `until=${to}`)).toEqual(all().slice(2));
    expect(await list(here, `since=${from}&until=${to}`)).toEqual(all().slice(2, 4));
    const first = await read(here, `until=${to}&limit=1`);
    expect(await list(here, `until=${to}&limit=1&cursor=${first.next_cursor}`)).toEqual(all().slice(3, 4));
  });

  it("status selects by the state at this instant, whether or not a job has recorded it (TSK-3)", async () => {
    const closed = [one("sold", 0), one("within", 0)];
    expect(await list(here, "status=confirmed")).toEqual(closed);
    expect(await list(here, "status=open")).toEqual(all().filter((id) => !closed.includes(id)));
    expect([await list(here, "status=auto_confirmed"), await list(here, "status=disputed")]).toEqual([[], []]);
    const world = await createWorld();
    const { fac } = await facilitated(world, await pairOf(world));
    await rows("update tasks set confirm_by = ? where task_id = ?", Date.now() - 1, fac.task_id);
    expect([await list(world, "status=open"), await list(world, "status=auto_confirmed")]).toEqual([[], [fac.task_id]]);
    expect((await read(world)).data[0]).toMatchObject({ status: "auto_confirmed", outcome: "confirmed", score: 1 });
  });

  it("status goes by the clock of the consumer's platform, whose sandbox may be ahead (ACC-9)", async () => {
    const [buyers, sellers] = [await createWorld(), await createWorld()];
    const pair = { consumer: await buyers.consumer(), provider: await sellers.provider() };
    const { fac } = await facilitated(sellers, pair);
    const ahead = async (world: World, by: number) =>
      rows("update platforms set clock_offset_ms = ? where platform_id = ?", by, world.platformId);
    await ahead(sellers, 2 * WINDOW);
    expect([await list(sellers, "status=open"), await list(buyers, "status=open")]).toEqual([
      [fac.task_id],
      [fac.task_id],
    ]);
    await ahead(sellers, 0);
    await ahead(buyers, 2 * WINDOW);
    for (const world of [sellers, buyers]) expect(await list(world, "status=auto_confirmed")).toEqual([fac.task_id]);
  });

  it("are refused if they make no sense, with all faults at once", async () => {
    const { status, body } = await here.call(
      "GET",
      `${PATH}?status=late&role=seller&until=soon&outcome=partial&limit=101`,
    );
    expect([status, body.code]).toEqual([422, "validation_failed"]);
    expect(body.field_errors.map(({ field }: Json) => field).sort()).toEqual([
      "limit",
      "outcome",
      "role",
      "status",
      "until",
    ]);
  });

  it("are bound to the cursor, and so is the credential", async () => {
    const { next_cursor } = await read(here, "limit=1");
    for (const query of ["role=provider", `did=${within.provider.did}`, "since=2020-01-01T00:00:00Z", "status=open"]) {
      const { status, body } = await here.call("GET", `${PATH}?limit=1&${query}&cursor=${next_cursor}`);
      expect([status, body.field_errors[0].field]).toEqual([422, "cursor"]);
    }
    const { status, body } = await here.as(within.provider, "GET", `${PATH}?limit=1&cursor=${next_cursor}`);
    expect([status, body.field_errors[0].field]).toEqual([422, "cursor"]);
  });

  it("scan a bounded number of settlements for a page, and the cursor continues after them", async () => {
    const { world, open } = await openBehind(1_500);
    const first = await read(world, "status=open");
    expect([first.data, first.has_more]).toEqual([[], true]);
    const second = await read(world, `status=open&cursor=${first.next_cursor}`);
    expect([ids(second.data), second.has_more]).toEqual([[open], false]);
  });
});

describe("the tasks of an account as CSV", () => {
  const csv = async (world: World, query = "", headers: Record<string, string> = { Accept: "text/csv" }) =>
    world.call("GET", `${PATH}?${query}`, { headers });

  it("have a line each, with every member of the JSON, and a cell that begins a formula is defused (HTTP-37)", async () => {
    const reply = await csv(here);
    expectStatus(reply, 200);
    const [names = "", ...lines] = reply.text.split("\r\n");
    const { data } = await read(here);
    expect(names.split(",").toSorted()).toEqual(
      Object.keys(data[0])
        .filter((name) => name !== "facilitation_id")
        .sort(),
    );
    expect(lines.filter((line) => line !== "").map((line) => line.split(",")[0])).toEqual(all());
    expect(reply.text).toContain(`"'=late, and half of it"`);
  });

  it("go by the same filters, and cover 31 days", async () => {
    for (const query of ["role=consumer", `did=${within.provider.did}`, "status=confirmed"]) {
      const lines = (await csv(here, query)).text.trim().split("\r\n").slice(1);
      expect(lines.map((line) => line.split(",")[0])).toEqual(await list(here, query));
    }
    const { status, body } = await csv(here, `since=${at(Date.now() - 40 * 24 * HOUR_MS)}`);
    expect([status, body.code, body.field_errors[0].field]).toEqual([422, "validation_failed", "since"]);
  });

  it("include tasks that lie beyond many settlements without a match", async () => {
    const { world, open } = await openBehind(2_500);
    const lines = (await csv(world, "status=open")).text.trim().split("\r\n").slice(1);
    expect(lines.map((line) => line.split(",")[0])).toEqual([open]);
  });
});

describe("an agent's own tasks", () => {
  it("include both of its sides, by role, status, since and until (TSK-20)", async () => {
    const { consumer, provider } = within;
    const mine = all().filter((id) => !made["sold"]?.includes(id));
    expect(ids(await own(here, consumer))).toEqual(mine);
    expect(ids(await own(here, consumer, "role=consumer"))).toEqual(mine);
    expect(await own(here, consumer, "role=provider")).toEqual([]);
    expect(ids(await own(here, consumer, "status=open"))).toEqual(mine.filter((id) => id !== one("within", 0)));
    expect(ids(await own(here, provider, "status=confirmed"))).toEqual([one("sold", 0), one("within", 0)]);
    const [, second, third] = await own(here, consumer);
    expect(ids(await own(here, consumer, `since=${second?.["opened_at"]}`))).toEqual(mine.slice(0, 2));
    expect(ids(await own(here, consumer, `until=${second?.["opened_at"]}`))).toEqual(mine.slice(2));
    const between = `since=${third?.["opened_at"]}&until=${second?.["opened_at"]}`;
    expect(ids(await own(here, consumer, between))).toEqual(mine.slice(2, 3));
  });

  it("without an answer are open until the end of their window, and auto-confirmed from then on", async () => {
    const world = await createWorld();
    const pair = await pairOf(world);
    const { fac } = await facilitated(world, pair);
    const statuses = async () => [
      ids(await own(world, pair.consumer, "status=open")),
      ids(await own(world, pair.consumer, "status=auto_confirmed")),
    ];
    expect(await statuses()).toEqual([[fac.task_id], []]);
    await rows("update tasks set confirm_by = ? where task_id = ?", Date.now() - 1, fac.task_id);
    expect(await statuses()).toEqual([[], [fac.task_id]]);
  });

  it("are visible only to the agent itself: it can name no other agent, and a stranger sees none of them", async () => {
    const stranger = await here.consumer();
    expect(await own(here, stranger)).toEqual([]);
    const { status, body } = await here.as(stranger, "GET", `${PATH}?did=${within.consumer.did}`);
    expect([status, body.code, body.field_errors[0].field]).toEqual([422, "validation_failed", "did"]);
  });
});
