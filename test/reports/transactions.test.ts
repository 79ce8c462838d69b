// The transactions of an account (FAC-19): of all its agents in an environment, each once, by every filter, as pages and as CSV.
import { beforeAll, describe, expect, it } from "vitest";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../src/core/limits.ts";
import { pathOf, report } from "../agents/reports-support.ts";
import { facilitated, type Pair, pairOf } from "../facilitation/support.ts";
import { copyRow } from "../support/copies.ts";
import { isWhole } from "../support/scale.ts";
import { createWorld, expectStatus, type Json, type World } from "../support/world.ts";

const PATH = "/v1/transactions";
const ids = (rows: readonly Json[]): string[] => rows.map(({ transaction_id }) => transaction_id);
const read = async (of: World, query = "", key = of.key): Promise<Json> =>
  expectStatus(await of.call("GET", `${PATH}?${query}`, { key }), 200);
const list = async (of: World, query = "", key = of.key): Promise<string[]> => ids((await read(of, query, key)).data);
const at = (instant: number): string => new Date(instant).toISOString();

/** An account that buys from another, sells to it, and lets two of its own agents trade. */
let here: World;
let there: World;
let within: Pair;
let sold: Pair;
let bought: Pair;
/** All transactions, newest first. */
const made: Json[] = [];
const of = (name: "within" | "sold" | "bought"): string[] => ids(made.filter(({ kind }) => kind === name));

beforeAll(async () => {
  [here, there] = [await createWorld(), await createWorld()];
  within = await pairOf(here);
  sold = { consumer: await there.consumer(), provider: within.provider };
  bought = { consumer: within.consumer, provider: await there.provider() };
  for (const round of [1, 2]) {
    for (const [kind, pair] of Object.entries({ within, sold, bought })) {
      const { fac } = await facilitated(kind === "bought" ? there : here, pair, `${round}.50`);
      made.unshift({ ...fac, kind });
    }
  }
});

describe("the transactions of an account", () => {
  it("include all its agents on either side, newest first, and a transaction between two of them once", async () => {
    expect(await list(here)).toEqual(ids(made));
    expect(await list(there)).toEqual(ids(made.filter(({ kind }) => kind !== "within")));
  });

  it("are shown as the agent's own list shows them", async () => {
    const { data } = await read(here, `did=${within.provider.did}`);
    expect(data).toEqual((await report(here, within.provider.did, "transactions")).data);
    const [{ receipt: _receipt, as_of_block: _block, kind: _kind, ...facts }] = made.filter(
      ({ kind }) => kind === "sold",
    );
    expect(data[0]).toEqual({
      ...facts,
      environment: "sandbox",
      consumer_did: sold.consumer.did,
      provider_did: within.provider.did,
      settled_at: data[0].settled_at,
      reversed_at: null,
    });
  });

  it("come page by page while others are being made, each exactly once", async () => {
    const first = await read(here, "limit=4");
    const { fac } = await facilitated(here, within);
    const second = await read(here, `limit=4&cursor=${first.next_cursor}`);
    expect([first.has_more, second.has_more]).toEqual([true, false]);
    expect(ids([...first.data, ...second.data])).toEqual(ids(made));
    made.unshift({ ...fac, kind: "within" });
    expect(await list(here)).toEqual(ids(made));
  });

  it("belong to the environment of the call, by a key and by a session", async () => {
    expect(await list(here, "", here.liveKey)).toEqual([]);
    const asked = (environment: string) =>
      here.person("GET", PATH, { headers: { "Service-Environment": environment } });
    expect(ids(expectStatus(await asked("sandbox"), 200).data)).toEqual(ids(made));
    expect(expectStatus(await asked("production"), 200).data).toEqual([]);
  });
});

describe("the filters of an account's transactions", () => {
  it("did selects an agent of the account on its side; another account's agent has none here, even if it traded with the account", async () => {
    expect(await list(here, `did=${within.provider.did}`)).toEqual(ids(made.filter(({ kind }) => kind !== "bought")));
    expect(await list(here, `did=${within.consumer.did}`)).toEqual(ids(made.filter(({ kind }) => kind !== "sold")));
    for (const foreign of [sold.consumer.did, bought.provider.did, `did:aeap:${crypto.randomUUID()}`]) {
      expect(await list(here, `did=${foreign}`)).toEqual([]);
    }
    expect(await list(there, `did=${sold.consumer.did}`)).toEqual(of("sold"));
  });

  it("role selects the side of the account's agents; a trade between two of them has both", async () => {
    expect(await list(here, "role=provider")).toEqual(ids(made.filter(({ kind }) => kind !== "bought")));
    expect(await list(here, "role=consumer")).toEqual(ids(made.filter(({ kind }) => kind !== "sold")));
    expect(await list(there, "role=provider")).toEqual(of("bought"));
    expect(await list(here, `did=${within.consumer.did}&role=provider`)).toEqual([]);
    expect(await list(here, `did=${within.consumer.did}&role=consumer`)).toHaveLength(5);
  });

  it("since and until select transactions settled at an instant or later, and before one", async () => {
    const { data } = await read(here);
    const [, second, third] = data;
    const [from, to] = [third.settled_at, second.settled_at];
    expect(await list(here, `since=${to}`)).toEqual(ids(data.slice(0, 2)));
    expect(await list(here, `until=${to}`)).toEqual(ids(data.slice(2)));
    expect(await list(here, `since=${from}&until=${to}`)).toEqual([third.transaction_id]);
    expect(await list(here, `since=${to}&until=${from}`)).toEqual([]);
    const first = await read(here, `until=${to}&limit=1`);
    expect(await list(here, `until=${to}&limit=1&cursor=${first.next_cursor}`)).toEqual(ids(data.slice(3, 4)));
  });

  it("status accepts settled, and refuses an unknown word", async () => {
    expect(await list(here, "status=settled")).toEqual(ids(made));
    const { status, body } = await here.call("GET", `${PATH}?status=open&role=seller&until=soon`);
    expect([status, body.code]).toEqual([422, "validation_failed"]);
    expect(body.field_errors.map(({ field }: Json) => field).sort()).toEqual(["role", "status", "until"]);
  });

  it("are bound to the cursor", async () => {
    const { next_cursor } = await read(here, "limit=1");
    for (const query of ["role=provider", `did=${within.provider.did}`, "since=2020-01-01T00:00:00Z"]) {
      const { status, body } = await here.call("GET", `${PATH}?limit=1&${query}&cursor=${next_cursor}`);
      expect([status, body.field_errors[0].field]).toEqual([422, "cursor"]);
    }
    const live = await here.call("GET", `${PATH}?limit=1&cursor=${next_cursor}`, { key: here.liveKey });
    expect([live.status, live.body.field_errors[0].field]).toEqual([422, "cursor"]);
  });
});

describe("the transactions of an account as CSV", () => {
  const csv = async (world: World, query = ""): Promise<string[][]> => {
    const reply = await world.call("GET", `${PATH}?${query}`, { headers: { Accept: "text/csv" } });
    expectStatus(reply, 200);
    const lines = reply.text.split("\r\n");
    expect(lines.pop()).toBe("");
    return lines.map((line) => line.split(","));
  };
  const rowsOf = async (world: World, query = "") => (await csv(world, query)).slice(1).map(([id]) => id);

  it("have a line each, with every member of the JSON, after a line of names", async () => {
    const [names = [], ...lines] = await csv(here, "limit=1");
    const { data } = await read(here);
    expect(names.toSorted()).toEqual(
      Object.keys(data[0])
        .filter((name) => name !== "facilitation_id")
        .sort(),
    );
    const cells = data.map((row: Json) => names.map((name) => (row[name] === null ? "" : String(row[name]))));
    expect(lines).toEqual(cells);
  });

  it("go by the same filters", async () => {
    for (const query of ["role=consumer", `did=${within.provider.did}`, "status=settled"]) {
      expect(await rowsOf(here, query)).toEqual(await list(here, query));
    }
    expect(await rowsOf(there)).toEqual(await list(there));
  });

  it("cover 31 days: the last ones, those from an instant, or those before one", async () => {
    const world = await createWorld();
    const pair = await pairOf(world);
    const { fac } = await facilitated(world, pair);
    const settledAt = `settled_at - i * ${10 * DAY_MS}`;
    const copies = { transaction_id: "printf('fac_%d', i)", log_index: "log_index + 100 + i", settled_at: settledAt };
    await copyRow("transactions", `transaction_id = '${fac.transaction_id}'`, copies, { to: 6 });
    const ago = (days: number) => at(Date.now() - days * DAY_MS);
    expect(await rowsOf(world)).toEqual([fac.transaction_id, "fac_1", "fac_2", "fac_3"]);
    expect(await rowsOf(world, `since=${ago(15)}`)).toEqual([fac.transaction_id, "fac_1"]);
    expect(await rowsOf(world, `until=${ago(25)}`)).toEqual(["fac_3", "fac_4", "fac_5"]);
    expect(await rowsOf(world, `since=${ago(45)}&until=${ago(15)}`)).toEqual(["fac_2", "fac_3", "fac_4"]);
    const refused = async (query: string) => {
      const { status, body } = await world.call("GET", `${PATH}?${query}`, { headers: { Accept: "text/csv" } });
      return [status, body.code, body.field_errors[0].field];
    };
    const { next_cursor } = await read(world, "limit=1");
    expect(await refused(`since=${ago(32)}`)).toEqual([422, "validation_failed", "since"]);
    expect(await refused(`since=${ago(50)}&until=${ago(10)}`)).toEqual([422, "validation_failed", "since"]);
    expect(await refused(`cursor=${next_cursor}`)).toEqual([422, "validation_failed", "cursor"]);
  });

  it("come slice by slice through a thousand rows, each once and in order", async () => {
    const world = await createWorld();
    const { fac } = await facilitated(world, await pairOf(world));
    // Three rows share each instant, so that a slice also ends among equal instants.
    const copies = {
      transaction_id: "printf('fac_%05d', i)",
      log_index: "log_index + 100 + i",
      settled_at: "settled_at - cast((i + 2) / 3 as integer)",
    };
    await copyRow("transactions", `transaction_id = '${fac.transaction_id}'`, copies, { to: 1_203 });
    const all = await rowsOf(world);
    expect(new Set(all).size).toBe(1_204);
    const paged: string[] = [];
    for (let cursor = ""; ; ) {
      const page = await read(world, `limit=100${cursor}`);
      paged.push(...ids(page.data));
      if (!page.has_more) break;
      cursor = `&cursor=${page.next_cursor}`;
    }
    expect(all).toEqual(paged);
  });

  it("are visible only to the account", async () => {
    for (const path of [PATH, pathOf(within.provider.did, "transactions")]) {
      const { status, body } = await here.call("GET", path, { key: null, headers: { Accept: "text/csv" } });
      expect([status, body.code]).toEqual([401, "invalid_credentials"]);
    }
  });
});

describe("the cost of a page of an account's transactions", () => {
  const PAGE = 20;
  const SMALL = 500;
  const LARGE = isWhole() ? 100_000 : 6_000;
  const worlds: { world: World; foreign: string; agent: string; newest: number }[] = [];

  beforeAll(async () => {
    for (const rows of [SMALL, LARGE]) {
      const [world, other] = [await createWorld(), await createWorld()];
      const pair = await pairOf(world);
      const pairs = [
        pair,
        { consumer: await other.consumer(), provider: pair.provider },
        { consumer: pair.consumer, provider: await other.provider() },
      ];
      for (const [n, one] of pairs.entries()) {
        const { fac } = await facilitated(n === 2 ? other : world, one);
        const copies = {
          transaction_id: "transaction_id || '-' || printf('%09d', i)",
          log_index: `log_index + 100 + i + ${n * 1_000_000}`,
          settled_at: "settled_at - i * 1000",
        };
        await copyRow("transactions", `transaction_id = '${fac.transaction_id}'`, copies, { to: rows / 2 });
      }
      const newest = Date.parse((await read(world, "limit=1")).data[0].settled_at);
      worlds.push({ world, foreign: pairs[2]?.provider.did ?? "", agent: pair.provider.did, newest });
    }
  });

  it.each([
    ["no filter", "", PAGE],
    ["a role", "role=consumer", PAGE],
    ["an agent", "did=AGENT", PAGE],
    ["a range of time", "until=UNTIL&since=SINCE", PAGE],
    ["a status", "status=settled&role=provider", PAGE],
    ["another account's agent", "did=FOREIGN", 0],
  ])("with %s is one trip and the same number of rows on each page of any history", async (_name, filter, shown) => {
    const cost = async ({ world, foreign, agent, newest }: (typeof worlds)[number]): Promise<number[]> => {
      const [until, since] = [at(newest - MINUTE_MS), at(newest - HOUR_MS)];
      const named = filter.replace("AGENT", agent).replace("FOREIGN", foreign);
      const query = named.replace("UNTIL", until).replace("SINCE", since);
      const costs: number[] = [];
      for (let cursor = "", n = 0; n < 3; n++) {
        world.meter.reset();
        const page = await read(world, `limit=${PAGE}&${query}${cursor}`);
        const { rowsRead, trips } = world.meter.reading;
        expect([trips, page.data.length]).toEqual([1, shown]);
        costs.push(rowsRead);
        if (!page.has_more) break;
        cursor = `&cursor=${page.next_cursor}`;
      }
      return costs;
    };
    const [small, large] = [await cost(worlds[0] as never), await cost(worlds[1] as never)];
    expect(Math.max(...large)).toBeLessThanOrEqual(33);
    expect(large).toEqual(small);
  });
});
