// Shared by the tests of restatements: the tenant principal of a world, its agents, and the content of their documents.
import { and, asc, eq } from "drizzle-orm";
import { commit } from "../../src/db/batch.ts";
import { agents, aidVersions } from "../../src/db/tables/agents.ts";
import { directoryChanges } from "../../src/db/tables/directory.ts";
import { walks } from "../../src/db/tables/walks.ts";
import { SLICE } from "../../src/jobs/walk.ts";
import { createWorld, env, expectStatus, type Json, type World } from "../support/world.ts";
import { patch } from "./support.ts";

export const RENAMED = "Renamed Robotics GmbH";

/** A world whose key was used, because writing the first use would count among the trips of a test. Its account may rename itself. */
export async function usedWorld(): Promise<World> {
  const world = await createWorld();
  expectStatus(await world.call("GET", "/v1/platform"), 200);
  await storeStatus(world, "KYB_PENDING");
  return world;
}

/** Before its submission an account changes its name itself; only an accredited account has production. */
export const storeStatus = ({ platformId }: World, status: "KYB_PENDING" | "ACCREDITED") =>
  env.DB.prepare("update platforms set status = ? where platform_id = ?").bind(status, platformId).run();

export const ofTenant = (world: World) => ({ principal_id: world.tenantPrincipalId });
export const rename = async (world: World, legal_name = RENAMED): Promise<Json> =>
  expectStatus(await patch(world, world.key, { legal_name }), 200);
/** Renames, and dies before the slices after the first. */
export function dyingRename(world: World, name = RENAMED): Promise<Json> {
  world.meter.beforeBatch(3, () => Promise.reject(new Error("the isolate died")));
  return rename(world, name);
}

export const readPublic = async (world: World, path: string): Promise<Json> =>
  expectStatus(await world.call("GET", path, { key: null }), 200);
export const aid = (world: World, did: string) => readPublic(world, `/v1/agents/${did}/aid`);
export const version = (world: World, did: string, number: number) =>
  readPublic(world, `/v1/agents/${did}/aid?version=${number}`);
export const nameIn = ({ identity }: Json): string => identity.principal.name;

export const restatementsLeft = ({ deps, tenantPrincipalId }: World) =>
  deps.db.select().from(walks).where(eq(walks.subject, tenantPrincipalId));

/** The agents of the tenant principal, in their order. */
export const agentRows = ({ deps, tenantPrincipalId }: World) =>
  deps.db
    .select()
    .from(agents)
    .where(eq(agents.principalId, tenantPrincipalId))
    .orderBy(asc(agents.createdAt), asc(agents.did));
export const numbersOf = async (world: World) => (await agentRows(world)).map((row) => [row.version, row.revision]);

/** The names in the signed versions of a number, with how many versions state each. */
export async function statedNames({ deps, tenantPrincipalId }: World, number: number): Promise<Record<string, number>> {
  const found = await deps.db
    .select({ content: aidVersions.content })
    .from(agents)
    .innerJoin(aidVersions, eq(aidVersions.did, agents.did))
    .where(and(eq(agents.principalId, tenantPrincipalId), eq(aidVersions.version, number)));
  const names = found.map(({ content }) => nameIn(JSON.parse(content)));
  return Object.fromEntries([...Map.groupBy(names, (name) => name)].map(([name, each]) => [name, each.length]));
}

/** How often the directory reports an update of each agent of the platform. */
export async function updatesOf({ deps, platformId }: World): Promise<number[]> {
  const listed = await deps.db
    .select({ did: directoryChanges.did })
    .from(directoryChanges)
    .innerJoin(agents, eq(agents.did, directoryChanges.did))
    .where(and(eq(agents.platformId, platformId), eq(directoryChanges.changeType, "updated")));
  return [...Map.groupBy(listed, ({ did }) => did).values()].map((each) => each.length);
}

/** Makes `count` agents in all, each at version 2: an activated one, and copies of it. */
export async function many(world: World, count: number): Promise<void> {
  const { db } = world.deps;
  const { did } = await world.consumer(ofTenant(world));
  const [row] = await db.select().from(agents).where(eq(agents.did, did));
  const [signed] = await db.select().from(aidVersions).where(eq(aidVersions.did, did));
  if (!row || !signed) throw new Error("no agent");
  const copies = Array.from({ length: count - 1 }, () => `did:aeap:${crypto.randomUUID()}`);
  for (let at = 0; at < copies.length; at += SLICE) {
    const part = copies
      .slice(at, at + SLICE)
      .flatMap((copy, i) => [
        db.insert(agents).values({ ...row, did: copy, createdAt: row.createdAt + 1 + at + i }),
        db.insert(aidVersions).values({ ...signed, did: copy }),
      ]);
    await commit(db, part);
  }
}
