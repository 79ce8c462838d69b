// Which certificates are not simply valid, each found through an index over what is not ACTIVE: the cost is that of the
// exceptions, not of the certificates.
import { and, eq, isNotNull, lte, sql } from "drizzle-orm";
import { type Database, type Read, readAll } from "../db/batch.ts";
import { agents, certificates, principals } from "../db/tables.ts";

const idx = { idx: certificates.statusListIdx };

export const findReplaced = (db: Database, now: number): Read<{ idx: number }[]> =>
  readAll(
    db
      .select(idx)
      .from(certificates)
      .where(and(isNotNull(certificates.replacedAt), lte(certificates.replacedAt, now))),
  );

export const findByAgentStatus = (db: Database): Read<{ idx: number; status: string }[]> =>
  readAll(
    db
      .select({ ...idx, status: agents.status })
      .from(agents)
      .innerJoin(certificates, eq(certificates.did, agents.did))
      .where(sql`${agents.status} not in ('DRAFT', 'ACTIVE')`),
  );

export const findByPrincipalStatus = (db: Database): Read<{ idx: number }[]> =>
  readAll(
    db
      .select(idx)
      .from(principals)
      .innerJoin(agents, eq(agents.principalId, principals.principalId))
      .innerJoin(certificates, eq(certificates.did, agents.did))
      .where(sql`${principals.status} <> 'ACTIVE'`),
  );

export const findByAttestation = (db: Database, now: number): Read<{ idx: number }[]> =>
  readAll(
    db
      .select(idx)
      .from(principals)
      .innerJoin(agents, eq(agents.principalId, principals.principalId))
      .innerJoin(certificates, eq(certificates.did, agents.did))
      .where(and(sql`${principals.status} = 'ACTIVE'`, lte(principals.attestationExpiresAt, now))),
  );
