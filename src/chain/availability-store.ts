// Store of the reasons that close networks to new intents (PAY-24).
import { and, eq, isNotNull, type SQL, sql } from "drizzle-orm";
import { type Database, type Read, read, type Statement } from "../db/batch.ts";
import { followers, networkAvailability } from "../db/tables/chain.ts";
import type { NetworkAvailability } from "./availability.ts";

/** Returns a row for each network, even if it was never read. */
export const findAvailabilities = (db: Database, networks: readonly string[]): Read<NetworkAvailability[]> =>
  read(db.select(STANDING_COLUMNS).from(selectJoinedNetworks(networks)), (rows) => rows.map(toStanding));

/** `headBlock`, `bookedBlock`: the follower's progress; null if the network was never read. */
export type Followed = NetworkAvailability & { readonly headBlock: number | null; readonly bookedBlock: number | null };

export const findFollowedNetworks = (db: Database, networks: readonly string[]): Read<Followed[]> =>
  read(db.select({ ...STANDING_COLUMNS, ...PROGRESS_COLUMNS }).from(selectJoinedNetworks(networks)), (rows) =>
    rows.map(toStanding),
  );

const aliasColumn = <T>(value: SQL, name: string): SQL.Aliased<T> => sql<T>`${value}`.as(name);
const STANDING_COLUMNS = {
  network: aliasColumn<string>(sql`named.network`, "network"),
  readThrough: aliasColumn<number>(sql`coalesce(${followers.readThrough}, 0)`, "read_through"),
  paused: aliasColumn<number>(sql`coalesce(${followers.paused}, 0)`, "paused"),
  sentAt: aliasColumn<number>(sql`coalesce(${networkAvailability.sentAt}, 0)`, "sent_at"),
  behindSince: aliasColumn<number | null>(sql`${networkAvailability.behindSince}`, "behind_since"),
  lowGasUntil: aliasColumn<number>(sql`coalesce(${networkAvailability.lowGasUntil}, 0)`, "low_gas_until"),
};
const PROGRESS_COLUMNS = {
  headBlock: aliasColumn<number | null>(sql`${followers.headBlock}`, "head_block"),
  bookedBlock: aliasColumn<number | null>(sql`${followers.bookedBlock}`, "booked_block"),
};

/** Uses `values`, whose rows D1 does not count as rows read. */
const selectJoinedNetworks = (networks: readonly string[]): SQL => {
  const rows = networks.map((network) => sql`(${network})`);
  const named = rows.length === 0 ? sql`select null as column1 where false` : sql`values ${sql.join(rows, sql`, `)}`;
  return sql`(select column1 as network from (${named})) as named
    left join ${followers} on ${followers.network} = named.network
    left join ${networkAvailability} on ${networkAvailability.network} = named.network`;
};

const toStanding = <R extends { readonly paused: number }>(row: R) => ({ ...row, paused: row.paused !== 0 });

/** Records that the follower was late and was triggered. */
export const recordFollowerTriggered = (db: Database, network: string, now: number): Statement =>
  upsertStanding(db, network, { sentAt: now, behindSince: now }, { sentAt: now, behindSince: selectBehindSince(now) });

/** Records that the follower itself could not reach the head. */
export const recordFollowerBehind = (db: Database, network: string, now: number): Statement =>
  upsertStanding(db, network, { behindSince: now }, { behindSince: selectBehindSince(now) });

const selectBehindSince = (now: number): SQL => sql`coalesce(${networkAvailability.behindSince}, ${now})`;

export const recordFollowerCaughtUp = (db: Database, network: string): Statement =>
  db
    .update(networkAvailability)
    .set({ behindSince: null })
    .where(and(eq(networkAvailability.network, network), isNotNull(networkAvailability.behindSince)));

export const recordLowGas = (db: Database, network: string, until: number): Statement =>
  upsertStanding(db, network, { lowGasUntil: until }, { lowGasUntil: until });

type Standing = typeof networkAvailability.$inferInsert;

const upsertStanding = (
  db: Database,
  network: string,
  values: Partial<Standing>,
  set: { readonly [K in keyof Standing]?: Standing[K] | SQL },
): Statement =>
  db
    .insert(networkAvailability)
    .values({ network, ...values })
    .onConflictDoUpdate({ target: networkAvailability.network, set });
