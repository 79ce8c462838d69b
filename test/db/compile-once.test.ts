// compileOnce hands Drizzle's batch a statement of its own making, by a member that Drizzle does not publish. A version of Drizzle that
// asks for something else fails here.
import { eq, sql } from "drizzle-orm";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { compileOnce, type Database, openDatabase, readAll, readBatch, readOne } from "../../src/db/batch.ts";
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

describe("a query that is compiled once", () => {
  it("answers each value's own rows, beside other statements of a batch, as Drizzle reads them", async () => {
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
    // JSON and booleans are mapped, not handed on as text and number.
    expect(found.first).toEqual({ did: seller.did, capabilities: ["translation"], tenant: false });
  });

  it("has its text written once for each database", async () => {
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
