// The listing of the directory and one entry (DIR-7, DIR-8, DIR-9).
import { beforeAll, describe, expect, it } from "vitest";
import { indexDirectory } from "../../src/directory/changes.ts";
import { agentIn } from "../agents/support.ts";
import { createWorld, env, expectStatus, ISSUER, type Json, type World } from "../support/world.ts";
import { AGENTS, didsOf, listAll, own, read } from "./support.ts";

let world: World;
let stranger: World;
beforeAll(async () => {
  [world, stranger] = [await createWorld(), await createWorld()];
});

const entry = (did: string, reader = world) => read(reader, `${AGENTS}/${did}`);
const scoped = async (capabilities: readonly string[], role: "CONSUMER" | "PROVIDER" = "CONSUMER"): Promise<string> =>
  (
    await world.agent(role, {
      scope: { authorized_actions: [role === "CONSUMER" ? "purchase" : "sell"], capabilities },
    })
  ).did;

describe("an entry", () => {
  it("shows an agent to every platform of its environment", async () => {
    const { did } = await world.provider();
    const shown = await entry(did, stranger);
    expect(shown).toEqual({
      did,
      aid_url: `${ISSUER}/v1/agents/${did}/aid`,
      catalog_url: null,
      economic_role: "PROVIDER",
      capabilities: ["translation"],
      authorized_markets: ["GLOBAL-USDC"],
      cert_tier: "TIER_2",
      agent_rating: null,
      status: "ACTIVE",
      updated_at: expect.stringMatching(/^2\d{3}-.*Z$/),
    });
    expect(own(await listAll(stranger, "limit=100"), [did])).toEqual([shown]);
  });

  const set = (status: string) => (did: string) =>
    world.call("PATCH", `/v1/agents/${did}/status`, { body: { status } });
  const STATES: readonly (readonly [
    state: string,
    shown: string,
    under: string,
    to: (did: string) => Promise<unknown>,
  ])[] = [
    ["ACTIVE", "ACTIVE", "active", async () => undefined],
    ["SUSPENDED", "SUSPENDED", "suspended", set("SUSPENDED")],
    [
      "REVOKED",
      "REVOKED",
      "revoked",
      (did) => world.call("POST", `/v1/agents/${did}/revoke`, { body: { reason: "x" } }),
    ],
    ["TERMINATED", "TERMINATED", "revoked", set("TERMINATED")],
  ];
  it.each(STATES)("in %s is %s, found only under %s and under all", async (_state, shown, under, to) => {
    const { did } = await world.consumer();
    await to(did);
    await expectUnder(did, shown, under);
  });

  it("in FUNDING is suspended", async () => {
    const did = await agentIn(world, "FUNDING");
    expectStatus(await world.call("PATCH", `/v1/agents/${did}`, { body: { profile: { description: "New." } } }), 200);
    await expectUnder(did, "SUSPENDED", "suspended");
  });

  async function expectUnder(did: string, shown: string, under: string): Promise<void> {
    expect((await entry(did)).status).toBe(shown);
    for (const status of ["active", "suspended", "revoked", "all"]) {
      const found = own(await listAll(world, `limit=100&status=${status}`), [did]).map((one) => one.status);
      expect([status, found]).toEqual([status, status === under || status === "all" ? [shown] : []]);
    }
  }

  it("does not exist for a DRAFT", async () => {
    const did = await agentIn(world, "DRAFT");
    expect((await world.call("GET", `${AGENTS}/${did}`)).status).toBe(404);
    expect(own(await listAll(world, "limit=100&status=all"), [did])).toEqual([]);
  });

  it("does not appear in the other environment", async () => {
    const { did } = await world.consumer();
    const reply = await world.call("GET", `${AGENTS}/${did}`, { key: world.liveKey });
    expect([reply.status, reply.body.code]).toEqual([404, "not_found"]);
    expect(own(await listAll(world, "limit=100&status=all", world.liveKey), [did])).toEqual([]);
  });

  it.each(["did:aeap:00000000-0000-4000-8000-000000000000", "did:web:example.com", "x"])("%s is 404", async (did) => {
    expect((await world.call("GET", `${AGENTS}/${did}`)).body.code).toBe("not_found");
  });
});

describe("the order", () => {
  it("follows the changes, page by page, each entry once, whatever the page's size", async () => {
    const dids = [];
    for (let n = 0; n < 7; n++) dids.push((await world.consumer()).did);
    const [first, , third] = dids;
    expectStatus(await world.call("PATCH", `/v1/agents/${third}`, { body: { profile: { description: "New." } } }), 200);
    expectStatus(await world.call("PATCH", `/v1/agents/${first}`, { body: { profile: { description: "New." } } }), 200);
    const expected = [...dids.filter((did) => did !== first && did !== third), third, first];
    for (const limit of [1, 2, 3, 100]) {
      const all = await listAll(world, `limit=${limit}&status=all`);
      expect(didsOf(own(all, dids))).toEqual(expected);
      const instants = all.map((one) => one.updated_at);
      expect(instants).toEqual([...new Set(instants)].sort());
    }
  });

  it("continues after the page when an entry changes meanwhile", async () => {
    const dids = [];
    for (let n = 0; n < 4; n++) dids.push((await world.consumer()).did);
    const since = (await entry(String(dids[0]))).updated_at;
    const page = await read(world, `${AGENTS}?limit=1&updated_since=${since}`);
    expect(didsOf(page.data)).toEqual([dids[1]]);
    expectStatus(
      await world.call("PATCH", `/v1/agents/${dids[2]}`, { body: { profile: { description: "New." } } }),
      200,
    );
    const rest = await read(world, `${AGENTS}?limit=100&updated_since=${since}&cursor=${page.next_cursor}`);
    expect(didsOf(rest.data)).toEqual([dids[3], dids[2]]);
  });

  it("names the next page in a Link header too", async () => {
    await world.consumer();
    await world.consumer();
    const reply = await world.call("GET", `${AGENTS}?limit=1&status=all`);
    const [, target] = /^<([^>]+)>; rel="next"$/.exec(reply.headers.get("link") ?? "") ?? [];
    expect(new URL(String(target)).searchParams.get("cursor")).toBe(reply.body.next_cursor);
    expect(new URL(String(target)).searchParams.get("status")).toBe("all");
  });
});

describe("updated_since", () => {
  it("excludes entries that are not later, in each form of an instant", async () => {
    const [before, after] = [(await world.consumer()).did, (await world.consumer()).did];
    const at: string = (await entry(before)).updated_at;
    for (const since of [at, at.replace("Z", "%2B00:00")]) {
      expect(didsOf(await listAll(world, `limit=100&updated_since=${since}`))).toEqual([after]);
    }
    const later = new Date(Date.parse(at) - 1).toISOString();
    expect(didsOf(await listAll(world, `limit=100&updated_since=${later}`))).toEqual([before, after]);
  });
});

describe("filters", () => {
  it("accept as many and as long words as an agent may have", async () => {
    const capabilities = Array.from({ length: 50 }, (_, n) => `${n}`.padEnd(100, "é"));
    const did = await scoped(capabilities);
    const query = `capabilities=${encodeURIComponent(capabilities.join(","))}`;
    const markets = Array.from(
      { length: 50 },
      (_, n) => `DE-${"ABCDEFGHIJ"[n % 10]}${"ABCDE"[n % 5]}${"KLMNOPQRST"[n % 7]}`,
    );
    for (const indexed of [false, true]) {
      if (indexed) await world.run(indexDirectory);
      expect(didsOf(await listAll(world, query))).toEqual([did]);
      const others = ["absent", ...capabilities.slice(1)].join(",");
      expect(await listAll(world, `capabilities=${encodeURIComponent(others)}`)).toEqual([]);
      expect(await listAll(world, `${query}&markets=${markets.join(",")}`)).toEqual([]);
    }
  });

  const word = (n: number) => `skill ${n} "quoted\\" [x]`;

  it.each(["before the job has written their terms", "after it"])(
    "by capabilities, markets, role, tier and rating can be combined, %s",
    async (when) => {
      const tag = `only ${when}`;
      const both = await scoped([tag, word(1), word(2)]);
      const one = await scoped([tag, word(1)]);
      const provider = await world.provider({
        scope: { authorized_actions: ["sell"], capabilities: [tag, word(2)] },
      });
      await env.DB.prepare("update directory_entries set agent_rating = 0.8 where did = ?").bind(one).run();
      if (when === "after it") await world.run(indexDirectory);
      const found = async (query: string) =>
        didsOf(await listAll(world, `limit=2&capabilities=${encodeURIComponent(tag)}${query}`));
      const also = (capability: string) => `,${encodeURIComponent(capability)}`;
      expect(await found("")).toEqual([both, one, provider.did]);
      expect(await found(also(word(1)))).toEqual([both, one]);
      expect(await found(`${also(word(1))}${also(word(2))}`)).toEqual([both]);
      expect(await found(also("skill 1"))).toEqual([]);
      expect(await found(also('quoted\\" [x]'))).toEqual([]);
      expect(await found("&economic_role=PROVIDER")).toEqual([provider.did]);
      expect(await found("&economic_role=ENTERPRISE")).toEqual([]);
      expect(await found("&markets=GLOBAL-USDC")).toEqual([provider.did]);
      expect(await found("&markets=GLOBAL-USDC,EU-USDC")).toEqual([]);
      expect(await found("&cert_tier=TIER_1")).toEqual([both, one]);
      expect(await found("&min_agent_rating=0.8")).toEqual([one]);
      expect(await found("&min_agent_rating=0.81")).toEqual([]);
      expect(await found("&min_agent_rating=0")).toEqual([one]);
      expect(await found("&status=suspended")).toEqual([]);
    },
  );

  it("follow a change of the scope at once, and after its terms are written", async () => {
    const did = await scoped(["changes"]);
    await world.run(indexDirectory);
    expectStatus(await world.call("PATCH", `/v1/agents/${did}/scope`, { body: { capabilities: ["changed"] } }), 200);
    for (const index of [false, true]) {
      if (index) await world.run(indexDirectory);
      expect(didsOf(await listAll(world, "capabilities=changes"))).toEqual([]);
      expect(didsOf(await listAll(world, "capabilities=changed"))).toEqual([did]);
    }
    const { results } = await env.DB.prepare(
      "select term, entries from directory_term_counts where term like '% capability change_'",
    ).all();
    expect(results).toEqual([
      { term: "sandbox capability changed", entries: 1 },
      { term: "sandbox capability changes", entries: 0 },
    ]);
  });
});

describe("refusals", () => {
  it("without a key, with a wrong one and with an agent's certificate", async () => {
    for (const path of [AGENTS, `${AGENTS}/did:aeap:x`, "/v1/directory/changes", "/v1/directory/head"]) {
      const none = await world.call("GET", path, { key: null });
      expect([path, none.status, none.body.code]).toEqual([path, 401, "unauthorized"]);
      const mistyped = world.key.slice(0, -1) + (world.key.endsWith("x") ? "y" : "x");
      const wrong = await world.call("GET", path, { key: mistyped });
      expect([path, wrong.status, wrong.body.code]).toEqual([path, 401, "invalid_credentials"]);
    }
  });

  it.each([
    ["economic_role=SELLER", "economic_role"],
    ["capabilities=", "capabilities"],
    ["capabilities=a,,b", "capabilities"],
    [`capabilities=${"x".repeat(101)}`, "capabilities"],
    [`capabilities=${Array.from({ length: 51 }, (_, n) => `c${n}`).join(",")}`, "capabilities"],
    ["markets=EU", "markets"],
    ["markets=eu-usdc", "markets"],
    ["markets=EU-USDC,", "markets"],
    ["cert_tier=4", "cert_tier"],
    ["min_agent_rating=1.01", "min_agent_rating"],
    ["min_agent_rating=1.0000000000000001", "min_agent_rating"],
    ["min_agent_rating=0.50000000000000001", "min_agent_rating"],
    ["limit=20.00000000000000001", "limit"],
    ["min_agent_rating=-0.1", "min_agent_rating"],
    ["min_agent_rating=0x1", "min_agent_rating"],
    ["min_agent_rating=", "min_agent_rating"],
    ["min_agent_rating=NaN", "min_agent_rating"],
    ["status=ACTIVE", "status"],
    ["status=draft", "status"],
    ["updated_since=yesterday", "updated_since"],
    ["updated_since=2026-01-01T00:00:00+00:00", "updated_since"],
    ["updated_since=2026-01-01", "updated_since"],
    ["limit=0", "limit"],
    ["limit=101", "limit"],
    ["limit=1e1", "limit"],
    ["cursor=xyz", "cursor"],
    ["cursor=", "cursor"],
    ["limit=5&limit=6", "limit"],
    ["status=all&status=all", "status"],
    ["sort=rating", "sort"],
  ])("?%s is a fault of %s", async (query, field) => {
    const reply = await world.call("GET", `${AGENTS}?${query}`);
    expect([reply.status, reply.body.code, reply.body.field_errors.map((fault: Json) => fault.field)]).toEqual([
      422,
      "validation_failed",
      [field],
    ]);
  });

  it.each([
    ["updated_since=2026-01-01T00:00:00+00:00", "Write the plus sign of an offset as %2B in a query."],
    ["min_agent_rating=1.0000000000001", "Must be at most 1."],
    ["limit=12345678901", "Must be at most 100."],
  ])("?%s names the remedy", async (query, hint) => {
    const { body } = await world.call("GET", `${AGENTS}?${query}`);
    expect(body.field_errors[0].message).toContain(hint);
  });

  it("do not include a rating of many decimals", async () => {
    await read(world, `${AGENTS}?min_agent_rating=0.1234567890123456`);
  });

  it("include a cursor of other filters, of the other environment and of other listings", async () => {
    await world.consumer();
    await world.consumer();
    const { next_cursor } = await read(world, `${AGENTS}?limit=1&status=all`);
    const agents = await read(world, "/v1/agents?limit=1");
    const feed = await read(world, "/v1/directory/changes?limit=1");
    const faulty = [
      [`${AGENTS}?cursor=${next_cursor}`, world.key],
      [`${AGENTS}?status=all&cursor=${next_cursor}`, world.liveKey],
      [`${AGENTS}?status=all&cursor=${agents.next_cursor}`, world.key],
      [`${AGENTS}?status=all&cursor=${feed.next_cursor}`, world.key],
    ] as const;
    for (const [path, key] of faulty) {
      const reply = await world.call("GET", path, { key });
      expect([path, reply.status, reply.body.field_errors?.[0]?.field]).toEqual([path, 422, "cursor"]);
    }
    expect((await world.call("GET", `${AGENTS}?status=all&limit=5&cursor=${next_cursor}`)).status).toBe(200);
  });
});
