// Exact instants and exact orders: a world at an instant of the test's choice, and an act that another one overtakes.
import { stopped } from "../support/clock.ts";
import { failingBatches, type Moment, withDatabase } from "../support/variants.ts";
import type { World } from "../support/world.ts";

/** Returns a copy of the world whose clock stands still at an instant. */
export function at(world: World, instant: number): World {
  const still = stopped(world);
  still.advance(instant - still.now());
  return still;
}

/**
 * Runs `other` between two database trips of `act`, by default between its reading and its commit, so that the state on which `act` decided has
 * changed.
 */
export async function overtaken<T>(
  world: World,
  act: (world: World) => Promise<T>,
  other: () => Promise<unknown>,
  beforeTrip = 2,
): Promise<T> {
  let met = false;
  const d1 = failingBatches(world.meter.d1, async (trip): Promise<Moment> => {
    if (trip === beforeTrip) {
      met = true;
      await other();
    }
    return "never";
  });
  const done = await act(withDatabase(world, d1));
  if (!met) throw new Error(`there was no trip ${beforeTrip}: nobody has overtaken it`);
  return done;
}
