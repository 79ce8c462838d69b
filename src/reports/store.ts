// Store of the agent that a report is about (AGT-35).
import { and, eq, isNotNull, or } from "drizzle-orm";
import { type Database, type Read, readOne } from "../db/batch.ts";
import { isOfTenant, type Tenant } from "../db/statement.ts";
import { agents } from "../db/tables/agents.ts";

/** Finds the agent if it is the platform's own, in the call's environment. The sandbox keeps the history of a promoted agent (AGT-34). */
export const findReported = (db: Database, tenant: Tenant, did: string): Read<{ did: string } | null> =>
  readOne(
    db
      .select({ did: agents.did })
      .from(agents)
      .where(
        and(eq(agents.did, did), tenant.environment === "sandbox" ? wasInSandbox(tenant) : isOfTenant(agents, tenant)),
      ),
  );

const wasInSandbox = (tenant: Tenant) =>
  and(
    eq(agents.platformId, tenant.platformId),
    or(eq(agents.environment, tenant.environment), isNotNull(agents.promotedAt)),
  );
