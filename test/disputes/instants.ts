// Exact instants and exact orders: the same world at an instant of the test's choice, and an act that another one overtakes.
import { stopped } from "../support/clock.ts";
import { failingBatches, type Moment, withDatabase } from "../support/variants.ts";
import type { World } from "../support/world.ts";

/** The same world, whose clock stands still at an instant. */
export function at(world: World, instant: number): World {
  const still = stopped(world);
  still.advance(instant - still.now());
  return still;
}

/**
 * Does `other` between two trips of `act` to the database: by default between its reading and its commit. Whatever `act` has decided on is then
 * another state.
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
