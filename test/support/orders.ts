// Plays two concurrent acts in every order: another call can come between the trips of a call.
import { withVars } from "./variants.ts";
import type { Reply, World } from "./world.ts";

type Act<Stage> = (of: World, stage: Stage) => Promise<Reply>;

/**
 * Plays the act named `between` before each trip of the other act, each time on a new stage, and finally after it. `check` gets the replies by the
 * names of the acts.
 */
export async function playEveryOrder<Stage, Name extends string>(
  world: World,
  between: Name,
  acts: Readonly<Record<Name, Act<Stage>>>,
  { set, check }: { set: () => Promise<Stage>; check: (stage: Stage, replies: Record<Name, Reply>) => Promise<void> },
): Promise<void> {
  const [outer] = (Object.keys(acts) as Name[]).filter((name) => name !== between);
  if (outer === undefined) throw new Error("there are two acts");
  const other = withoutLocks(world);
  for (let trip = 1; ; trip++) {
    const stage = await set();
    const inner = () => acts[between](other, stage);
    const played: Reply[] = [];
    world.meter.beforeBatch(trip, async () => void played.push(await inner()));
    const reply = await acts[outer](world, stage);
    world.meter.beforeBatch(Number.POSITIVE_INFINITY, async () => undefined);
    const [early] = played;
    await check(stage, { [outer]: reply, [between]: early ?? (await inner()) } as Record<Name, Reply>);
    if (!early) return;
  }
}

/**
 * Returns the world with calls that wait for no lock of an object, so that only the batches keep their order (AGT-27). The locks of chain runs stay.
 */
export function withoutLocks(world: World): World {
  const { AGENTS } = world.deps.env;
  const isOfChain = (id: string) => id.includes(" ");
  const fake = {
    idFromName: (id: string) => (isOfChain(id) ? AGENTS.idFromName(id) : null),
    get: (id: DurableObjectId | null) => (id === null ? { lock: async () => null } : AGENTS.get(id)),
  };
  return withVars(world, { AGENTS: fake as never });
}
