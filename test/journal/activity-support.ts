// Shared by the tests of the activity log.
import { asc, eq } from "drizzle-orm";
import { type ActivityRow, activityEntries } from "../../src/db/tables/journal.ts";
import { recordActivity } from "../../src/journal/activity.ts";
import { expectStatus, type Json, type World } from "../support/world.ts";
import { store } from "./plays/stage.ts";

export const LOG = "/v1/platform/activity";

export const readLog = async (world: World, query = "", key = world.key): Promise<Json> =>
  expectStatus(await world.call("GET", `${LOG}${query}`, { key }), 200);

/** The rows of the table, the oldest first. */
export const rowsOf = ({ deps, platformId }: World): Promise<ActivityRow[]> =>
  deps.db
    .select()
    .from(activityEntries)
    .where(eq(activityEntries.platformId, platformId))
    .orderBy(asc(activityEntries.seq));

/** Writes entries as services do, each in a batch of its own. */
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
