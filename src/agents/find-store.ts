// Store of the reads of agents. Reads for a caller take its Tenant.
import { and, eq, sql } from "drizzle-orm";
import type { Due } from "../core/due.ts";
import { type Database, type Read, readAll, readOne } from "../db/batch.ts";
import { agents } from "../db/tables/agents.ts";
import { isOfTenant, type Tenant } from "../db/tenant.ts";
import {
  type AgentWithPrincipal,
  findEscrows,
  findMarkets,
  findNewestVersion,
  selectAgent,
} from "../identity/store.ts";

export const findAgent = (db: Database, tenant: Tenant, did: string): Read<AgentWithPrincipal | null> =>
  readOne(selectAgent(db, and(eq(agents.did, did), isOfTenant(agents, tenant))));

export const findAgentByReference = (db: Database, tenant: Tenant, externalRef: string): Read<{ did: string } | null> =>
  readOne(
    db
      .select({ did: agents.did })
      .from(agents)
      .where(and(isOfTenant(agents, tenant), eq(agents.externalRef, externalRef))),
  );

/** Like `findAgent`, but a live key also reaches the platform's sandbox agents (MKT-11). */
export const findOwnAgent = (db: Database, tenant: Tenant, did: string): Read<AgentWithPrincipal | null> =>
  tenant.environment === "sandbox"
    ? findAgent(db, tenant, did)
    : readOne(selectAgent(db, and(eq(agents.did, did), eq(agents.platformId, tenant.platformId))));

/** The reads of a change of an agent, in addition to the agent: its documents are built from them. */
export const buildSourceReads = (db: Database, { environment }: Tenant, did: string) => ({
  newest: findNewestVersion(db, did),
  markets: findMarkets(db, did, environment),
  escrows: findEscrows(db, did, environment),
});

/** Agents whose published rating may have decayed by now, longest due first. `clock`: empty for real time, otherwise the platform's id. */
export const findDecayedAgents = (db: Database, clock: string, now: number, after: Due, limit: number): Read<Due[]> =>
  readAll(
    db
      .select({ at: sql<number>`republish_at`.as("at"), id: agents.did })
      .from(agents)
      .where(
        and(
          // Literal text, so that SQLite uses the partial index.
          sql`republish_at is not null`,
          eq(agents.republishBy, clock),
          sql`republish_at <= ${now}`,
          sql`(republish_at, did) > (${after.at}, ${after.id})`,
        ),
      )
      .orderBy(sql`republish_at`, agents.did)
      .limit(limit),
  );
