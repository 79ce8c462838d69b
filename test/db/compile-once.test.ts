// compileOnce passes its own statement to Drizzle's batch, through a member that Drizzle does not publish. A version of Drizzle that needs something
// else fails here.
import { eq, Param, Placeholder, sql } from "drizzle-orm";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { type Database, openDatabase, readAll, readBatch, readOne } from "../../src/db/batch.ts";
import { compileGiven, compileInsert, compileOnce } from "../../src/db/compiled.ts";
import { agents } from "../../src/db/tables/agents.ts";
import { principals } from "../../src/db/tables/principals.ts";
import { type Agent, createWorld, env, type World } from "../support/world.ts";

let world: World;
let seller: Agent;
let buyer: Agent;
beforeAll(async () => {
  world = await createWorld();
  seller = await world.agent("PROVIDER");
  buyer = await world.consumer();
});

const joined = (db: Database, did: unknown) =>
  db
    .select({ did: agents.did, capabilities: agents.capabilities, tenant: principals.tenant })
    .from(agents)
    .innerJoin(principals, eq(principals.principalId, agents.principalId))
    .where(sql`${agents.did} = ${did}`);

/** Notes the names of the members of its own that a caller uses. */
const noteMembers = <T extends object>(value: T, used: Set<string>): T =>
  new Proxy(value, {
    get(target, name) {
      used.add(String(name));
      const member: unknown = Reflect.get(target, name);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });

describe("the prepared form of Drizzle", () => {
  it("holds the text, and a placeholder in place of each value, in a Param if a column encodes it", () => {
    const { db } = world.deps;
    const read = joined(db, sql.placeholder("did")).prepare();
    const { sql: text } = joined(db, "").toSQL();
    expect(read.getQuery()).toMatchObject({ sql: text, params: [new Placeholder("did")] });
    const write = db.update(agents).set({ capabilities: sql.placeholder("list") as never });
    const [param] = write.prepare().getQuery().params;
    expect(param).toEqual(new Param(new Placeholder("list"), agents.capabilities));
  });

  it("is what a batch gets from `_prepare`, and a batch takes its values from `getQuery` alone", async () => {
    const { db } = world.deps;
    const [ofStatement, ofPrepared] = [new Set<string>(), new Set<string>()];
    const prepared = noteMembers(joined(db, seller.did).prepare(), ofPrepared);
    const statement = noteMembers({ _prepare: () => prepared }, ofStatement);
    const [found] = await db.batch([statement as never]);
    expect(found).toEqual(await joined(db, seller.did));
    expect([...ofStatement]).toEqual(["_prepare"]);
    expect([...ofPrepared].sort()).toEqual(["getQuery", "mapResult", "stmt"]);
  });
});

describe("a query that is compiled once", () => {
  it("answers each value's own rows, among other statements of a batch, as Drizzle reads them", async () => {
    const find = compileOnce((db) => joined(db, sql.placeholder("did")));
    const { db } = world.deps;
    const found = await readBatch(db, {
      first: readOne(find(db, { did: seller.did })),
      between: readOne(db.select({ did: agents.did }).from(agents).where(eq(agents.did, buyer.did))),
      second: readOne(find(db, { did: buyer.did })),
      none: readAll(find(db, { did: "did:aeap:nobody" })),
    });
    const expected = async (did: string) => (await joined(db, did))[0];
    expect(found).toEqual({
      first: await expected(seller.did),
      between: { did: buyer.did },
      second: await expected(buyer.did),
      none: [],
    });
    // JSON and booleans are mapped, not returned as text and number.
    expect(found.first).toEqual({ did: seller.did, capabilities: ["translation"], tenant: false });
  });

  it("builds its text once for each database", async () => {
    const build = vi.fn((db: Database) => joined(db, sql.placeholder("did")));
    const find = compileOnce(build);
    const databases = [world.deps.db, openDatabase(env.DB)];
    for (const db of databases) {
      for (const did of [seller.did, buyer.did, seller.did]) {
        const { found } = await readBatch(db, { found: readOne(find(db, { did })) });
        expect(found).toMatchObject({ did });
      }
    }
    expect(build).toHaveBeenCalledTimes(databases.length);
  });
});

describe("an insert that is compiled once", () => {
  const fresh = () => `did:aeap:${crypto.randomUUID()}`;
  /** A null must not be stored as JSON text. */
  const stored = async (did: string) =>
    (
      await env.DB.prepare("select typeof(spending_limit) as a, typeof(wallets) as b from agents where did = ?")
        .bind(did)
        .all()
    ).results;
  const rowOf = async (did: string) => (await world.deps.db.select().from(agents).where(eq(agents.did, did)))[0];

  it("stores the same as Drizzle's own insert, including nulls and JSON", async () => {
    const insert = compileInsert((db) => db.insert(agents));
    const row = await rowOf(seller.did);
    if (!row) throw new Error("no agent");
    const variants = [
      {},
      { description: null, agentRating: 0.25 },
      { description: "Does it.", agentRating: null },
      { spendingLimit: null, ratingHeaviest: [{ weight: 1, weighted: 0.5 }] },
    ];
    for (const variant of variants) {
      const [did, other] = [fresh(), fresh()];
      const given = { ...row, ...variant };
      await world.deps.db.batch([
        insert(world.deps.db, { ...given, did }) as never,
        world.deps.db.insert(agents).values({ ...given, did: other }),
      ]);
      expect(await rowOf(did)).toEqual({ ...(await rowOf(other)), did });
      const types = await stored(did);
      expect(types).toEqual(await stored(other));
    }
  });

  it("builds its text once for each set of columns, and each time for an expression", async () => {
    const build = vi.fn((db: Database) => db.insert(agents));
    const insert = compileInsert(build);
    const { db } = world.deps;
    const row = await rowOf(buyer.did);
    if (!row) throw new Error("no agent");
    const add = (given: object) => db.batch([insert(db, { ...row, did: fresh(), ...given }) as never]);
    for (const description of ["one", "two", null]) await add({ description });
    await add({ description: undefined });
    expect(build).toHaveBeenCalledTimes(2);
    const did = fresh();
    await add({ did, description: sql`upper('three')` });
    await add({ description: sql`'four'` });
    expect(build).toHaveBeenCalledTimes(4);
    expect((await rowOf(did))?.description).toBe("THREE");
  });
});

describe("a write that is compiled for the values that are given", () => {
  type Given = { did: string; description?: string | null | undefined; ratingHeaviest?: object[] | undefined };
  const built = vi.fn((db: Database, { did, ...set }: Given) =>
    db
      .update(agents)
      .set({ ...set, ...("description" in set && { revision: sql`${agents.revision} + 1` }) } as never)
      .where(eq(agents.did, did)),
  );
  const update = compileGiven<Given>(built);
  const rowOf = async () => (await world.deps.db.select().from(agents).where(eq(agents.did, buyer.did)))[0];

  it("writes only those values, including nulls and JSON, and builds its text once for each set of them", async () => {
    const { db } = world.deps;
    const write = (set: Omit<Given, "did">) => db.batch([update(db, { did: buyer.did, ...set }) as never]);
    const heaviest = [{ weight: 1, weighted: 0.5 }];
    const before = await rowOf();
    await write({ description: "one", ratingHeaviest: heaviest });
    await write({ description: undefined, ratingHeaviest: [] });
    expect(await rowOf()).toMatchObject({
      description: "one",
      ratingHeaviest: [],
      revision: (before?.revision ?? 0) + 1,
    });
    await write({ description: null, ratingHeaviest: heaviest });
    expect(await rowOf()).toMatchObject({ description: null, ratingHeaviest: heaviest });
    expect(built).toHaveBeenCalledTimes(2);
  });
});
