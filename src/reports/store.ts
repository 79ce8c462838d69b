// Store of what a report tells of the agent itself (AGT-35).
import { and, eq, isNotNull, or } from "drizzle-orm";
import { type Database, type Read, readOne } from "../db/batch.ts";
import { agents } from "../db/tables/agents.ts";
import { type Tenant, within } from "../db/tenant.ts";

/** Is it the platform's, in the environment of the call? Of one that has gone to production, the sandbox keeps its history (AGT-34). */
export const findReported = (db: Database, tenant: Tenant, did: string): Read<{ did: string } | null> =>
  readOne(
    db
      .select({ did: agents.did })
      .from(agents)
      .where(and(eq(agents.did, did), tenant.environment === "sandbox" ? wasWithin(tenant) : within(agents, tenant))),
  );

const wasWithin = (tenant: Tenant) =>
  and(
    eq(agents.platformId, tenant.platformId),
    or(eq(agents.environment, tenant.environment), isNotNull(agents.promotedAt)),
  );
