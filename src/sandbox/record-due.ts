// Records everything that fell due in one sandbox (ACC-28): finds rows, passes them in parts to the platform's object, and searches again, because
// one record may make another row due.
import type { Deps } from "../context.ts";
import { measureAhead } from "../core/clock.ts";
import type { Due } from "../core/due.ts";
import { runConcurrently } from "../core/parallel.ts";
import { readBatch } from "../db/batch.ts";
import { DUE_KINDS, type DueKind } from "./due-kinds.ts";
import type { Sandbox } from "./due-store.ts";

/** The rows of one kind that one read finds. */
const FOUND_AT_ONCE = 1_000;
/** How often a row is tried that is found again: another writer may win each time, or the row may fail. */
const TRIES = 3;

type Found = { readonly kind: DueKind; readonly ids: readonly string[] };

/** Returns the number of rows that are left: the next minute's sweep finds them again. */
export async function recordDue(deps: Deps, sandbox: Sandbox): Promise<number> {
  const tried = new Map<string, number>();
  const triesOf = (kind: DueKind, id: string) => tried.get(toRowKey(kind, id)) ?? 0;
  for (;;) {
    const found = await findDue(deps, sandbox, deps.slices?.due ?? FOUND_AT_ONCE);
    const due = found
      .map(({ kind, ids }) => ({ kind, ids: ids.filter((id) => triesOf(kind, id) < TRIES) }))
      .filter(({ ids }) => ids.length > 0);
    if (due.length === 0) return countFound(found);
    for (const { kind, ids } of due) {
      for (const id of ids) tried.set(toRowKey(kind, id), triesOf(kind, id) + 1);
      await recordKind(deps, sandbox, kind, ids);
    }
  }
}

/** How many rows are due, each kind counted up to `most`. */
export async function countDue(deps: Deps, sandbox: Sandbox, most: number): Promise<number> {
  return countFound(await findDue(deps, sandbox, most));
}

const countFound = (found: readonly Found[]): number => found.reduce((sum, { ids }) => sum + ids.length, 0);

async function findDue({ db }: Deps, sandbox: Sandbox, limit: number): Promise<Found[]> {
  const reads = DUE_KINDS.map((kind) => [kind.recorder.name, kind.find(db, sandbox, limit)] as const);
  const found = await readBatch(db, Object.fromEntries(reads));
  return DUE_KINDS.map((kind) => ({ kind, ids: sortByDueTime(found[kind.recorder.name] ?? []).map(({ id }) => id) }));
}

/** Rows that fell due first come first: a read returns one range after the other. */
const sortByDueTime = (due: readonly Due[]): Due[] => due.toSorted((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1));

const toRowKey = ({ recorder }: DueKind, id: string): string => `${recorder.name} ${id}`;

const splitIntoParts = ({ part }: DueKind, ids: readonly string[]): string[][] =>
  Array.from({ length: Math.ceil(ids.length / part) }, (_, n) => ids.slice(n * part, (n + 1) * part));

/** Also records the rows that a part leaves. If the object fails, as when a new version of the Worker resets it, the rows are found again. */
async function recordKind(deps: Deps, { platformId }: Sandbox, kind: DueKind, ids: readonly string[]): Promise<void> {
  const { SANDBOXES } = deps.env;
  const recorder = kind.recorder.name;
  const reach = () => SANDBOXES.get(SANDBOXES.idFromName(platformId));
  // The calls of one stub arrive in order; a stub whose call failed cannot be used again.
  let object = reach();
  await runConcurrently(splitIntoParts(kind, ids), async (part) => {
    try {
      for (let left = part; left.length > 0; )
        left = await object.record({ recorder, ids: left, ahead: measureAhead(deps.clock) });
    } catch (thrown) {
      object = reach();
      const message = thrown instanceof Error ? thrown.message : "unknown";
      console.error(JSON.stringify({ event: "sandbox_part_failed", platformId, recorder, message }));
    }
  });
}
