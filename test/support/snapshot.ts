// Compares every row of every table before and after an act.
import { deliverNewEvents } from "../../src/journal/events.ts";
import { FOLLOWING, settledPart } from "./following.ts";
import { readDatabase, type Table } from "./readings.ts";
import type { Json, Reply, World } from "./world.ts";

/** A stored row before and after the act; null if there is none. */
export type Change = { readonly before: Json; readonly after: Json };
/** The changes of each table that differs, in the order of its keys. */
export type Difference = ReadonlyMap<string, readonly Change[]>;
export type Snapshot = ReadonlyMap<string, ReadonlyMap<string, Json>>;

/** One snapshot for each reading of the database: two snapshots without a write between them are the same object. */
const snapshots = new WeakMap<readonly Table[], Snapshot>();

export async function takeSnapshot(): Promise<Snapshot> {
  const tables = await readDatabase();
  const snapshot = snapshots.get(tables) ?? snapshotOf(tables);
  snapshots.set(tables, snapshot);
  return snapshot;
}

const snapshotOf = (tables: readonly Table[]): Snapshot =>
  new Map(
    tables.map(({ name, key, rows }) => {
      const keyed = rows.map((row) => [key.map((column) => row[column]).join(" "), settledPart(name, row)] as const);
      return [name, new Map(keyed)];
    }),
  );

/** Compares all tables before and after the act. Delivers all events first, so that an act that delivers events writes only its own. */
export async function differenceMadeBy(world: World, act: () => Promise<unknown>): Promise<Difference> {
  await deliverEvents(world);
  const before = await takeSnapshot();
  await act();
  const after = await takeSnapshot();
  if (after === before) return new Map();
  const tables = [...after].map(([name, rows]) => [name, changesOf(before.get(name) ?? new Map(), rows)] as const);
  return new Map(tables.filter(([, changes]) => changes.length > 0));
}

/** The tables that an act changes, without the parts that follow a commit by themselves. */
export async function tablesChangedBy(
  world: World,
  act: () => Promise<Reply>,
): Promise<{ reply: Reply; tables: string[] }> {
  const replies: Reply[] = [];
  const difference = await differenceMadeBy(world, async () => void replies.push(await act()));
  const [reply] = replies;
  if (!reply) throw new Error("nothing was answered");
  return { reply, tables: [...difference.keys()].filter((name) => !FOLLOWING.has(name)) };
}

export const deliverEvents = ({ deps }: World): Promise<unknown> => deliverNewEvents(deps, []);

function changesOf(before: ReadonlyMap<string, Json>, after: ReadonlyMap<string, Json>): Change[] {
  const keys = [...new Set([...before.keys(), ...after.keys()])].sort();
  return keys
    .map((key) => ({ before: before.get(key) ?? null, after: after.get(key) ?? null }))
    .filter((change) => JSON.stringify(change.before) !== JSON.stringify(change.after));
}
