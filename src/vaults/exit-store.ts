// Reads for what a provider still needs its vault on a network (MKT-30).
import { type SQL, sql } from "drizzle-orm";
import type { Due } from "../core/due.ts";
import type { Environment } from "../core/vocabulary.ts";
import { type Database, guard, type Read, read, readAll, type Statement } from "../db/batch.ts";
import type { EscrowRow } from "../db/tables/money.ts";

export type VaultKey = Pick<EscrowRow, "did" | "network">;

/**
 * `sells`: the provider has not ended, and has a market in either environment where it is or will be paid. `open`: it has an open intent, task or
 * dispute, or an ended dispute that is not paid yet. `closesAt`: the end of the last dispute window.
 */
export type VaultNeeds = { readonly sells: boolean; readonly open: boolean; readonly closesAt: number };

/** The expressions name the vault. A market that failed does not count, nor a sandbox market of an agent that was promoted. */
const isSellingOn = (did: SQL, network: SQL): SQL =>
  sql`exists (select 1 from agent_markets m join agents a on a.did = m.did
    where m.did = ${did} and m.network = ${network} and m.status <> 'FAILED' and a.status not in ('REVOKED', 'TERMINATED')
      and (m.environment = 'production' or a.environment = 'sandbox'))`;

/** A dispute on any network counts, by what its vault keeps back: while it is open, and until its outcome is paid. */
const hasOpenOn = (did: SQL, network: SQL, now: number): SQL =>
  sql`(exists (select 1 from payment_intents i where i.provider_did = ${did} and i.network = ${network}
      and status in ('OPEN', 'PAID') and spent_at is null)
    or exists (select 1 from tasks t where t.provider_did = ${did} and t.environment in ('sandbox', 'production')
      and t.answer is null and t.confirm_by > ${now} and t.status in ('open', 'disputed') and t.network = ${network})
    or ${keepsBack(did)})`;

const selectLastWindowEnd = (did: SQL, network: SQL): SQL =>
  sql`coalesce((select max(windows_close_at) from escrows w where w.did = ${did} and w.network = ${network}), 0)`;

export const findVaultNeeds = (db: Database, vault: VaultKey, now: number): Read<VaultNeeds> => {
  const [did, network] = [sql`${vault.did}`, sql`${vault.network}`];
  return read(
    db
      .select({
        sells: sql<number>`${isSellingOn(did, network)}`.as("sells"),
        open: sql<number>`${hasOpenOn(did, network, now)}`.as("open"),
        closesAt: sql<number>`${selectLastWindowEnd(did, network)}`.as("closes_at"),
      })
      .from(sql`(select 1)`),
    ([row]) => ({ sells: row?.sells === 1, open: row?.open === 1, closesAt: row?.closesAt ?? 0 }),
  );
};

/** Aborts the batch if the provider sells again, has something open, or has a dispute window that is still open. */
export const guardLeaving = (db: Database, vault: VaultKey, now: number): Statement => {
  const [did, network] = [sql`${vault.did}`, sql`${vault.network}`];
  const closed = sql`${selectLastWindowEnd(did, network)} <= ${now}`;
  return guard(db, sql`not ${isSellingOn(did, network)} and not ${hasOpenOn(did, network, now)} and ${closed}`);
};

/** Looks at the next escrows from a DID on, in primary key order, and finds those whose provider no longer sells there. */
export const findUnsoldVaults = (db: Database, from: string, limit: number): Read<Due[]> =>
  readAll(
    db
      .select({ at: sql<number>`0`.as("at"), id: sql<string>`listed.did || ' ' || listed.network`.as("id") })
      .from(
        sql`(select did, network, base_threshold from escrows where did >= ${from} order by did, environment, network limit ${limit}) as listed`,
      )
      .where(sql`listed.base_threshold > 0 and not ${isSellingOn(sql`listed.did`, sql`listed.network`)}`),
  );

/** Whether a vault of an agent keeps something back for disputes. `did`: an expression that names the agent. `further`: limits the vaults. */
export const keepsBack = (did: SQL, further: SQL = sql``): SQL =>
  sql`exists (select 1 from escrows k where k.did = ${did} ${further} and (k.disputed > 0 or k.owed > 0))`;
export const findKeepsBack = (db: Database, did: string, environment: Environment): Read<boolean> =>
  read(
    db
      .select({ kept: sql<number>`${keepsBack(sql`${did}`, sql`and k.environment = ${environment}`)}`.as("kept") })
      .from(sql`(select 1)`),
    ([row]) => row?.kept === 1,
  );
