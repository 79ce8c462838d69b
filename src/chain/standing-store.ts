// Store of the reasons that close networks to new intents (PAY-24).
import { and, eq, isNotNull, type SQL, sql } from "drizzle-orm";
import { type Database, type Read, read, type Statement } from "../db/batch.ts";
import { followers, networkStandings } from "../db/tables/chain.ts";
import type { NetworkStanding } from "./standing.ts";

/** Returns a row for each network, even if it was never read. */
export const findStandings = (db: Database, networks: readonly string[]): Read<NetworkStanding[]> =>
  read(db.select(STANDING).from(ofNetworks(networks)), (rows) => rows.map(toStanding));

/** `headBlock`, `bookedBlock`: the follower's progress; null if the network was never read. */
export type Followed = NetworkStanding & { readonly headBlock: number | null; readonly bookedBlock: number | null };

export const findFollowed = (db: Database, networks: readonly string[]): Read<Followed[]> =>
  read(db.select({ ...STANDING, ...PLACE }).from(ofNetworks(networks)), (rows) => rows.map(toStanding));

const column = <T>(value: SQL, name: string): SQL.Aliased<T> => sql<T>`${value}`.as(name);
const STANDING = {
  network: column<string>(sql`named.network`, "network"),
  readThrough: column<number>(sql`coalesce(${followers.readThrough}, 0)`, "read_through"),
  paused: column<number>(sql`coalesce(${followers.paused}, 0)`, "paused"),
  sentAt: column<number>(sql`coalesce(${networkStandings.sentAt}, 0)`, "sent_at"),
  behindSince: column<number | null>(sql`${networkStandings.behindSince}`, "behind_since"),
  lowGasUntil: column<number>(sql`coalesce(${networkStandings.lowGasUntil}, 0)`, "low_gas_until"),
};
const PLACE = {
  headBlock: column<number | null>(sql`${followers.headBlock}`, "head_block"),
  bookedBlock: column<number | null>(sql`${followers.bookedBlock}`, "booked_block"),
};

/** Uses `values`, whose rows D1 does not count as rows read. */
const ofNetworks = (networks: readonly string[]): SQL => {
  const rows = networks.map((network) => sql`(${network})`);
  const named = rows.length === 0 ? sql`select null as column1 where false` : sql`values ${sql.join(rows, sql`, `)}`;
  return sql`(select column1 as network from (${named})) as named
    left join ${followers} on ${followers.network} = named.network
    left join ${networkStandings} on ${networkStandings.network} = named.network`;
};

const toStanding = <R extends { readonly paused: number }>(row: R) => ({ ...row, paused: row.paused !== 0 });

/** Records that the follower was late and was triggered. */
export const noteSent = (db: Database, network: string, now: number): Statement =>
  put(db, network, { sentAt: now, behindSince: now }, { sentAt: now, behindSince: firstFound(now) });

/** Records that the follower itself could not reach the head. */
export const noteBehind = (db: Database, network: string, now: number): Statement =>
  put(db, network, { behindSince: now }, { behindSince: firstFound(now) });

const firstFound = (now: number): SQL => sql`coalesce(${networkStandings.behindSince}, ${now})`;

export const endLag = (db: Database, network: string): Statement =>
  db
    .update(networkStandings)
    .set({ behindSince: null })
    .where(and(eq(networkStandings.network, network), isNotNull(networkStandings.behindSince)));

export const noteLowGas = (db: Database, network: string, until: number): Statement =>
  put(db, network, { lowGasUntil: until }, { lowGasUntil: until });

type Standing = typeof networkStandings.$inferInsert;

const put = (
  db: Database,
  network: string,
  values: Partial<Standing>,
  set: { readonly [K in keyof Standing]?: Standing[K] | SQL },
): Statement =>
  db
    .insert(networkStandings)
    .values({ network, ...values })
    .onConflictDoUpdate({ target: networkStandings.network, set });
