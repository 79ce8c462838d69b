// Shared by the tests of the activity log.
import { asc, eq } from "drizzle-orm";
import { type ActivityRow, activityEntries } from "../../src/db/tables/journal.ts";
import { recordActivity } from "../../src/journal/activity.ts";
import { hashNewEntries } from "../../src/journal/activity-heads.ts";
import { store } from "../consequences/plays/stage.ts";
import { createWorld, expectStatus, type Json, type World } from "../support/world.ts";

export const LOG = "/v1/platform/activity";

export const readLog = async (world: World, query = "", key = world.key): Promise<Json> =>
  expectStatus(await world.call("GET", `${LOG}${query}`, { key }), 200);

/** The rows of the table, oldest first. */
export const rowsOf = ({ deps, platformId }: World): Promise<ActivityRow[]> =>
  deps.db
    .select()
    .from(activityEntries)
    .where(eq(activityEntries.platformId, platformId))
    .orderBy(asc(activityEntries.seq));

/** Writes entries as services do, each in its own batch. */
export async function write(world: World, count: number, subject = "agt_1"): Promise<void> {
  for (let n = 0; n < count; n++) {
    const owner = { platformId: world.platformId, environment: "sandbox" } as const;
    const actor = { type: "management_api", id: "service_sandbox_abc" } as const;
    const changes = { dispute_window_days: { from: n, to: n + 1 } };
    await store(world, (db) =>
      recordActivity(db, owner, world.now(), {
        action: "agent.scope_changed",
        actor,
        subject: { type: "agent", id: subject },
        changes,
      }),
    );
  }
}

export const verify = async (world: World, query = ""): Promise<Json> =>
  expectStatus(await world.call("GET", `${LOG}/verify${query}`), 200);
export const heads = async (world: World, query = ""): Promise<Json> =>
  expectStatus(await world.call("GET", `${LOG}/heads${query}`), 200);

/** A hashed log with this many entries, and their ids. */
export async function logOf(entries: number): Promise<{ world: World; ids: string[] }> {
  const world = await createWorld();
  await write(world, entries);
  await hashNewEntries(world.deps, world.platformId);
  const { data } = await readLog(world, "?limit=100");
  return { world, ids: data.map(({ id }: Json) => id).reverse() };
}

/** Changes the table itself, which the service never does. */
export const tamper = (world: World, sql: string, ...params: unknown[]) =>
  world.deps.env.DB.prepare(sql.replaceAll("$P", `'${world.platformId}'`))
    .bind(...params)
    .run();
