// Reads of the directory.
import { expect } from "vitest";
import { expectStatus, type Json, type World } from "../support/world.ts";

export const AGENTS = "/v1/directory/agents";
export const CHANGES = "/v1/directory/changes";
export const HEAD = "/v1/directory/head";

export const read = async (world: World, path: string, key = world.key): Promise<Json> =>
  expectStatus(await world.call("GET", path, { key }), 200);

/** Reads all entries of a listing, page by page, in their order. */
export async function listAll(world: World, query = "", key = world.key): Promise<Json[]> {
  const entries: Json[] = [];
  for (let cursor = ""; ; ) {
    const page = await read(world, `${AGENTS}?${query}${cursor}`, key);
    entries.push(...page.data);
    expect(page.has_more).toBe(page.next_cursor !== null);
    if (!page.has_more) return entries;
    cursor = `&cursor=${page.next_cursor}`;
  }
}

/** Picks the entries of one platform's agents. */
export const own = (entries: readonly Json[], dids: readonly string[]): Json[] =>
  entries.filter(({ did }) => dids.includes(did));

export const didsOf = (entries: readonly Json[]): string[] => entries.map(({ did }) => did);

/** Reads the records after a place, to the end. */
export async function changesFrom(
  world: World,
  place: string,
  key = world.key,
): Promise<{ records: Json[]; cursor: string }> {
  const records: Json[] = [];
  for (let query = place; ; ) {
    const page = await read(world, `${CHANGES}?limit=1000&${query}`, key);
    records.push(...page.data);
    if (!page.has_more) return { records, cursor: page.next_cursor };
    query = `cursor=${page.next_cursor}`;
  }
}
