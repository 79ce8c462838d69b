// D1 read replicas, by configuration: public reads whose staleness is harmless may come from the nearest copy. Every read that a decision depends on
// stays on the primary; a route's data names the requests that may use a replica.
import type { Deps, Env } from "../context.ts";
import { memoizeBy } from "../core/memo.ts";
import { type Database, openNearest } from "../db/batch.ts";
import type { Route } from "./route.ts";

export const replicaConfiguration = memoizeBy(({ READ_REPLICAS }: Env): boolean => {
  if (READ_REPLICAS === "on" || READ_REPLICAS === "off") return READ_REPLICAS === "on";
  throw new Error("READ_REPLICAS must be on or off");
});

export const chooseDatabase = (route: Route, query: unknown, { db, env }: Deps): Database =>
  replicaConfiguration(env) && route.replica?.(query) ? openNearest(env.DB) : db;
