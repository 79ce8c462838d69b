// Records what fell due in one sandbox, to the end (ACC-28): finds it, passes it in parts to the platform's object, and finds again, because one
// record may make another row due.
import type { Deps } from "../context.ts";
import { aheadOf } from "../core/clock.ts";
import { eachAtOnce } from "../core/parallel.ts";
import { readBatch } from "../db/batch.ts";
import { DUE_KINDS, type DueKind } from "./due-kinds.ts";
import type { Sandbox } from "./due-store.ts";

/** The rows of one kind that one reading finds. */
const FOUND_AT_ONCE = 1_000;

type Found = { readonly kind: DueKind; readonly ids: readonly string[] };

/** Returns how many rows were recorded, and whether a row failed: the next minute finds that one again. */
export async function recordDue(deps: Deps, sandbox: Sandbox): Promise<{ done: number; failed: number }> {
  const total = { done: 0, failed: 0 };
  const tried = new Set<string>();
  for (;;) {
    const found = (await findDue(deps, sandbox, FOUND_AT_ONCE))
      .map(({ kind, ids }) => ({ kind, ids: ids.filter((id) => !tried.has(tag(kind, id))) }))
      .filter(({ ids }) => ids.length > 0);
    if (found.length === 0) return total;
    for (const { kind, ids } of found) {
      for (const id of ids) tried.add(tag(kind, id));
      await eachAtOnce(partsOf(kind, ids), async (part) => {
        const { done, failed } = await recordWhole(deps, sandbox, kind, part);
        total.done += done;
        total.failed += failed;
      });
    }
  }
}

/** How many rows are due, each kind counted up to `most`. */
export async function countDue(deps: Deps, sandbox: Sandbox, most: number): Promise<number> {
  const found = await findDue(deps, sandbox, most);
  return found.reduce((sum, { ids }) => sum + ids.length, 0);
}

async function findDue({ db }: Deps, sandbox: Sandbox, limit: number): Promise<Found[]> {
  const reads = DUE_KINDS.map((kind) => [kind.recorder.name, kind.find(db, sandbox, limit)] as const);
  const found = await readBatch(db, Object.fromEntries(reads));
  return DUE_KINDS.map((kind) => ({ kind, ids: (found[kind.recorder.name] ?? []).map(({ id }) => id) }));
}

const tag = ({ recorder }: DueKind, id: string): string => `${recorder.name} ${id}`;

const partsOf = ({ part }: DueKind, ids: readonly string[]): string[][] =>
  Array.from({ length: Math.ceil(ids.length / part) }, (_, n) => ids.slice(n * part, (n + 1) * part));

/** Also what a part leaves. */
async function recordWhole(deps: Deps, { platformId }: Sandbox, kind: DueKind, part: readonly string[]) {
  const { SANDBOXES } = deps.env;
  const object = SANDBOXES.get(SANDBOXES.idFromName(platformId));
  const recorder = kind.recorder.name;
  let [done, failed] = [0, 0];
  for (let ids = part; ids.length > 0; ) {
    const recorded = await object.record({ recorder, ids, ahead: aheadOf(deps.clock) });
    done += recorded.done;
    failed += recorded.failed;
    ids = recorded.left;
  }
  return { done, failed };
}
