// Uses the data centre's cache for answers that are the same for every caller, so that repeated reads do not reach the database. Routes opt in by
// their data. A cache that fails, or that holds another value than was put there, is a miss.
import type { Deps, Env } from "../context.ts";
import { SECOND_MS } from "../core/limits.ts";
import { memoizeBy } from "../core/retry.ts";
import { type Database, openNearest } from "../db/batch.ts";
import { type Answer, answer, isAnswer } from "./answer.ts";
import type { Incoming } from "./incoming.ts";
import type { Route } from "./route.ts";

type KeptAnswer = { readonly at: number; readonly answer: Answer };

export async function answerThroughSharedCache(
  incoming: Incoming,
  query: unknown,
  representation: string,
  make: () => Promise<unknown>,
): Promise<unknown> {
  const { background, deps } = incoming;
  if (!deps.env.ISSUER) return make();
  const address = toCacheAddress(incoming, query, representation);
  const kept = await findKept(deps.sharedCache, address);
  if (kept) {
    const { headers, body } = kept.answer;
    const age = Math.max(0, Math.floor((Date.now() - kept.at) / SECOND_MS));
    return answer(200, { ...headers, Age: String(age) }, body);
  }
  const made = await make();
  if (isAnswer(made) && isSharedAnswer(made)) background(keepAnswer(deps.sharedCache, address, made));
  return made;
}

/** One address for one content: at the issuer, whatever Host was requested, the path as it was read, the query in order. */
function toCacheAddress({ context, deps, route }: Incoming, query: unknown, representation: string): string {
  const path = route.path.replace(/\{(\w+)\}/g, (_all, name: string) =>
    encodeURIComponent(context.req.param(name) ?? ""),
  );
  const asked = Object.entries(query ?? {}).filter(([, value]) => value !== undefined);
  const search = new URLSearchParams(asked.map(([name, value]) => [name, String(value)]));
  search.sort();
  search.set("representation", representation);
  return `${deps.config.issuer}${path}?${search}`;
}

const isSharedAnswer = ({ status, headers }: Answer): boolean =>
  status === 200 && headers["Cache-Control"]?.startsWith("public, ") === true;

async function findKept(cache: Cache, address: string): Promise<KeptAnswer | null> {
  try {
    const found = await cache.match(address);
    const kept: unknown = await found?.json();
    return isKeptAnswer(kept) ? kept : null;
  } catch {
    return null;
  }
}

const isKeptAnswer = (value: unknown): value is KeptAnswer =>
  typeof value === "object" &&
  value !== null &&
  "at" in value &&
  typeof value.at === "number" &&
  "answer" in value &&
  isAnswer(value.answer);

async function keepAnswer(cache: Cache, address: string, made: Answer): Promise<void> {
  const kept: KeptAnswer = { at: Date.now(), answer: made };
  const headers = { "Content-Type": "application/json", "Cache-Control": made.headers["Cache-Control"] ?? "no-store" };
  try {
    await cache.put(address, new Response(JSON.stringify(kept), { headers }));
  } catch {
    // Ignored: the next read then reaches the database.
  }
}

// ---- Read replicas -------------------------------------------------------------------------------------------------------

export const replicaConfiguration = memoizeBy(({ READ_REPLICAS }: Env): boolean => {
  if (READ_REPLICAS === "on" || READ_REPLICAS === "off") return READ_REPLICAS === "on";
  throw new Error("READ_REPLICAS must be on or off");
});

/** Public reads whose staleness is harmless may come from the nearest copy. A read that a decision depends on stays on the primary. */
export const chooseDatabase = (route: Route, query: unknown, { db, env }: Deps): Database =>
  replicaConfiguration(env) && route.replica?.(query) ? openNearest(env.DB) : db;
