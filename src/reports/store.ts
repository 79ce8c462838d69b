// Store of what a report tells of the agent itself (AGT-35).
import { and, eq, sql } from "drizzle-orm";
import type { Environment } from "../core/vocabulary.ts";
import { type Database, type Read, read, readOne } from "../db/batch.ts";
import { agents } from "../db/tables/agents.ts";
import { type Tenant, within } from "../db/tenant.ts";
import { openIntentsOf } from "../intents/list-store.ts";
import { openTasksOf } from "../tasks/list-store.ts";

/** Is it the platform's, in the environment of the call? */
export const findReported = (db: Database, tenant: Tenant, did: string): Read<{ did: string } | null> =>
  readOne(
    db
      .select({ did: agents.did })
      .from(agents)
      .where(and(eq(agents.did, did), within(agents, tenant))),
  );

/** What an agent has open at an instant, each counted up to `most`. */
export const findOpen = (
  db: Database,
  of: { readonly did: string; readonly environment: Environment },
  now: number,
  most: number,
): Read<{ intents: number; tasks: number }> =>
  read(
    db
      .select({ intents: openIntentsOf(of, now, most).as("intents"), tasks: openTasksOf(of, now, most).as("tasks") })
      .from(sql`(select 1)`),
    ([row]) => row ?? { intents: 0, tasks: 0 },
  );
