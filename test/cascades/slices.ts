// The sizes of slices (PRN-17, PRN-24) in the tests: small ones show the same behaviour at a lower cost. A whole run takes those of the service.

import { finishCascades } from "../../src/cascades/cascades.ts";
import { FIRST_PRINCIPALS as WHOLE_PRINCIPALS } from "../../src/cascades/customer.ts";
import type { JobMessage } from "../../src/context.ts";
import { runMessage } from "../../src/jobs/run.ts";
import { SLICE as WHOLE_SLICE } from "../../src/jobs/walk.ts";
import { isWhole } from "../support/scale.ts";
import { createWorld, type World } from "../support/world.ts";

export const SLICE = isWhole() ? WHOLE_SLICE : 10;
export const FIRST_PRINCIPALS = isWhole() ? WHOLE_PRINCIPALS : 5;

/** A world whose service takes slices of these sizes. */
export async function createSlicedWorld(): Promise<World> {
  const world = await createWorld();
  Object.assign(world.deps, { slices: { agents: SLICE, principals: FIRST_PRINCIPALS } });
  return world;
}

/** Runs messages about cascades like the consumer of the queue. */
export async function workCascades(world: World, messages: readonly JobMessage[]): Promise<void> {
  for (const message of messages) await world.serve(() => runMessage(world.deps, [finishCascades], message));
}
