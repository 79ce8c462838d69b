// A world far from its database, which counts the sequential hops that a caller waits for. Trips to the database and calls of Durable Objects are
// hops; each lasts for some turns of the event loop after its answer, so that hops that begin together count as one.
import { interceptDatabases, type Step } from "./bindings.ts";
import { withVars } from "./variants.ts";
import { env, type World } from "./world.ts";

/** The service's own work between two hops takes fewer turns, however slow the machine is. */
const TURNS = 50;

async function passTurns(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn++) await scheduler.wait(0);
}

export type FarWorld = {
  readonly world: World;
  /** The longest chain of hops in the last call, until its answer. */
  readonly hops: () => number;
};

export function farFrom(near: World): FarWorld {
  let longest = 0;
  let answered = 0;
  const hop: Step = async (_name, go) => {
    const place = longest + 1;
    try {
      return await go();
    } finally {
      await passTurns();
      longest = Math.max(longest, place);
    }
  };
  const world = withVars(near, interceptDatabases({ ...env, DB: near.meter.d1 }, hop));
  const { app } = world;
  const fetch: typeof app.fetch = async (...args) => {
    longest = 0;
    const response = await app.fetch(...args);
    answered = longest;
    return response;
  };
  return {
    world: Object.assign(world, { app: Object.assign(Object.create(app) as typeof app, { fetch }) }),
    hops: () => answered,
  };
}
