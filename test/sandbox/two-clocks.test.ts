// Lists and counts of an agent whose tasks are ruled by several clocks (ACC-9, AGT-35, AGT-36, TSK-20): its sales by the clock of each buyer's
// platform, and its purchases by its own platform's clock, whichever is ahead.
import { beforeAll, describe, expect, it } from "vitest";
import { facilitated } from "../facilitation/support.ts";
import { rows } from "../promotion/support.ts";
import { attested } from "../support/clock.ts";
import { type Agent, createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { advanced, DAY_S } from "./support.ts";

const WINDOW_S = 3 * DAY_S;
const STATUSES = ["open", "auto_confirmed"] as const;

let selling: World;
let [unmoved, moved] = [] as unknown as [World, World];
let provider: Agent;
let consumers: { own: Agent; unmoved: Agent; moved: Agent };
const sold: Record<string, string[]> = { own: [], unmoved: [], moved: [] };

const buy = async (of: keyof typeof consumers): Promise<void> => {
  const { task } = await facilitated(selling, { consumer: consumers[of], provider });
  sold[of]?.push(task);
};

beforeAll(async () => {
  [selling, unmoved, moved] = [await createWorld(), await createWorld(), await createWorld()];
  provider = await selling.provider({ principal_id: await selling.principal(attested(100 * 24)) });
  consumers = {
    own: await selling.consumer(),
    unmoved: await unmoved.consumer(),
    moved: await moved.consumer(),
  };
  await advanced(moved, 30 * DAY_S);
  for (const of of ["moved", "own", "unmoved", "moved"] as const) await buy(of);
});

const ids = (tasks: readonly Json[]): string[] => tasks.map(({ task_id }) => task_id);
/** Lists the tasks as the agent, and with its platform's key. */
const lists = async (query: string): Promise<Json[][]> => [
  expectStatus(await selling.as(provider, "GET", `/v1/tasks?${query}`), 200).data,
  expectStatus(await selling.call("GET", `/v1/agents/${provider.did}/tasks?${query}`), 200).data,
];
const openCount = async (): Promise<number> =>
  expectStatus(await selling.call("GET", `/v1/agents/${provider.did}/overview`), 200).open.tasks;

/** Expects that each list by status and the count agree with the read of each task. */
async function expectShown(open: readonly string[], ended: readonly string[]): Promise<void> {
  const of = { open: [...open].sort(), auto_confirmed: [...ended].sort() };
  for (const status of STATUSES)
    for (const list of await lists(`status=${status}`)) {
      expect(ids(list).sort()).toEqual(of[status]);
      expect(list.every((task) => task.status === status)).toBe(true);
    }
  for (const list of await lists("limit=100")) {
    for (const status of STATUSES)
      expect(ids(list.filter((task) => task.status === status)).sort()).toEqual(of[status]);
    expect(list.map(({ confirm_by }) => confirm_by)).toEqual(
      list
        .map(({ confirm_by }) => confirm_by)
        .sort()
        .reverse(),
    );
    for (const { task_id, status } of list)
      expect(expectStatus(await selling.as(provider, "GET", `/v1/tasks/${task_id}`), 200).status).toBe(status);
  }
  expect(await openCount()).toBe(open.length);
}

const all = (...of: readonly (keyof typeof consumers)[]): string[] => of.flatMap((one) => sold[one] ?? []);

describe("a provider's sales to buyers with other clocks", () => {
  it("are open on each of the clocks", async () => {
    await expectShown(all("own", "unmoved", "moved"), []);
  });

  it("end only on the clock of the buyer, although other windows end earlier in real time", async () => {
    await advanced(moved, WINDOW_S);
    await expectShown(all("own", "unmoved"), all("moved"));
    const early = await rows(
      "select answer from tasks where provider_did = ? and status = 'auto_confirmed'",
      provider.did,
    );
    expect(early).toEqual([{ answer: "early" }, { answer: "early" }]);
  });

  it("stay open if the seller's own clock goes far ahead of its buyer's", async () => {
    await advanced(selling, 50 * DAY_S);
    await expectShown(all("unmoved"), all("moved", "own"));
    await buy("own");
    await buy("moved");
    const [newOwn, newMoved] = [all("own").at(-1) ?? "", all("moved").at(-1) ?? ""];
    await expectShown(
      [...all("unmoved"), newOwn, newMoved],
      [...all("moved"), ...all("own")].filter((id) => id !== newOwn && id !== newMoved),
    );
  });

  it("are not open from the instant at which the window ends on the buyer's clock, before a job has recorded it", async () => {
    const task = all("moved").at(-1) ?? "";
    await rows("update tasks set confirm_by = confirm_by - ? where task_id = ?", WINDOW_S * 1_000, task);
    for (const list of await lists("status=open")) expect(ids(list)).not.toContain(task);
    for (const list of await lists("limit=100"))
      expect(list.find(({ task_id }) => task_id === task)?.status).toBe("auto_confirmed");
    expect(await openCount()).toBe(2);
    await rows("update tasks set confirm_by = confirm_by + ? where task_id = ?", WINDOW_S * 1_000, task);
  });

  it("come in pages of one, each task once, whatever clock ended it", async () => {
    for (const query of ["", "status=auto_confirmed&", "outcome=confirmed&"]) {
      const path = `/v1/agents/${provider.did}/tasks?${query}`;
      const whole = ids(expectStatus(await selling.call("GET", `${path}limit=100`), 200).data);
      const walked: string[] = [];
      let cursor = "";
      do {
        const page = expectStatus(await selling.call("GET", `${path}limit=1${cursor}`), 200);
        walked.push(...ids(page.data));
        cursor = page.next_cursor === null ? "" : `&cursor=${page.next_cursor}`;
      } while (cursor !== "");
      expect(walked).toEqual(whole);
      expect(new Set(walked).size).toBe(whole.length);
    }
  });
});

describe("a consumer's purchases", () => {
  it("use its own platform's clock", async () => {
    const listed = async (world: World, consumer: Agent, status: string) =>
      ids(expectStatus(await world.as(consumer, "GET", `/v1/tasks?status=${status}`), 200).data).sort();
    const ended = all("moved").slice(0, 2).sort();
    expect(await listed(moved, consumers.moved, "auto_confirmed")).toEqual(ended);
    expect(await listed(moved, consumers.moved, "open")).toEqual(all("moved").slice(2));
    expect(await listed(unmoved, consumers.unmoved, "open")).toEqual(all("unmoved"));
    expect(await listed(selling, consumers.own, "auto_confirmed")).toEqual(all("own").slice(0, 1));
    expect(await listed(selling, consumers.own, "open")).toEqual(all("own").slice(1));
  });
});
