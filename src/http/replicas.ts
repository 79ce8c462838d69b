// D1 read replicas, by configuration: what the world reads and whose staleness harms nobody may come from the nearest copy. Everything
// that decides stays on the primary: a route says in its data which of its requests may be read so.
import type { Deps, Env } from "../context.ts";
import { memoizeBy } from "../core/memo.ts";
import { type Database, openNearest } from "../db/batch.ts";
import type { Route } from "./route.ts";

/** True when READ_REPLICAS is on. */
export const replicaConfiguration = memoizeBy(({ READ_REPLICAS }: Env): boolean => {
  if (READ_REPLICAS === "on" || READ_REPLICAS === "off") return READ_REPLICAS === "on";
  throw new Error("READ_REPLICAS is neither on nor off");
});

export const databaseFor = (route: Route, query: unknown, { db, env }: Deps): Database =>
  replicaConfiguration(env) && route.replica?.(query) ? openNearest(env.DB) : db;
