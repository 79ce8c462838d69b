// Store of what closes networks to new intents (PAY-24).
import { and, eq, isNotNull, type SQL, sql } from "drizzle-orm";
import { type Database, type Read, read, readAll, type Statement } from "../db/batch.ts";
import { type FollowerRow, followers, networkStandings } from "../db/tables/chain.ts";
import type { NetworkStanding } from "./standing.ts";

/** Of each network, also of one that nobody has read or looked at. */
export function findStandings(db: Database, networks: readonly string[]): Read<NetworkStanding[]> {
  const named = sql`(select value as network from json_each(${JSON.stringify(networks)})) as named`;
  const column = <T>(value: SQL, name: string): SQL.Aliased<T> => sql<T>`${value}`.as(name);
  const query = db
    .select({
      network: column<string>(sql`named.network`, "network"),
      readThrough: column<number>(sql`coalesce(${followers.readThrough}, 0)`, "read_through"),
      paused: column<number>(sql`coalesce(${followers.paused}, 0)`, "paused"),
      sentAt: column<number>(sql`coalesce(${networkStandings.sentAt}, 0)`, "sent_at"),
      behindSince: column<number | null>(sql`${networkStandings.behindSince}`, "behind_since"),
      lowGasUntil: column<number>(sql`coalesce(${networkStandings.lowGasUntil}, 0)`, "low_gas_until"),
    })
    .from(named)
    .leftJoin(followers, sql`${followers.network} = named.network`)
    .leftJoin(networkStandings, sql`${networkStandings.network} = named.network`);
  return read(query, (rows) => rows.map((row) => ({ ...row, paused: row.paused !== 0 })));
}

export type PlaceRead = Pick<FollowerRow, "network" | "headBlock" | "bookedBlock">;

/** How far the followers of networks are. */
export const findPlaces = (db: Database, networks: readonly string[]): Read<PlaceRead[]> => {
  const { network, headBlock, bookedBlock } = followers;
  const query = db.select({ network, headBlock, bookedBlock }).from(followers);
  return readAll(query.where(sql`${network} in (select value from json_each(${JSON.stringify(networks)}))`));
};

/** The follower was found behind, and is sent off. */
export const noteSent = (db: Database, network: string, now: number): Statement =>
  put(db, network, { sentAt: now, behindSince: now }, { sentAt: now, behindSince: firstFound(now) });

/** The follower itself could not come to the head. */
export const noteBehind = (db: Database, network: string, now: number): Statement =>
  put(db, network, { behindSince: now }, { behindSince: firstFound(now) });

const firstFound = (now: number): SQL => sql`coalesce(${networkStandings.behindSince}, ${now})`;

/** It is level again. */
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
