// The death of an isolate at a chosen step: everything in progress stops for ever, without any catch or cleanup, and the Durable Objects start again
// from their storage. A step is a call of a binding: a batch of the database, a method of an object, a file, a message.
import { interceptBindings, type Step } from "./bindings.ts";
import { restartObjects } from "./readings.ts";
import { isWhole } from "./scale.ts";
import { withVars } from "./variants.ts";
import type { World } from "./world.ts";

export type Cut = {
  /** Counted from 1. */
  readonly step: number;
  /** `after`: the step had its effect. */
  readonly moment: "before" | "after";
  /** The binding and the method, such as `DB.batch`. */
  readonly name: string;
};
const MOMENTS = ["before", "after"] as const;

/** Makes an object's own calls steps of the act. They fail once the isolate is dead, so that the object has no further effect. */
type Reach = (step: Step) => Promise<unknown>;

/** Runs the act in an isolate that dies at a step; with `of`, only steps of that name count. Returns null if the act ended before. */
export async function killAt(
  world: World,
  { step: last, moment, of }: Omit<Cut, "name"> & { readonly of?: string },
  act: (dying: World) => Promise<unknown>,
  reach?: Reach,
): Promise<Cut | null> {
  const { promise: killed, resolve: kill } = Promise.withResolvers<Cut>();
  const forever = new Promise<never>(() => undefined);
  let steps = 0;
  let dead: Cut | null = null;
  const stepOf =
    (stop: (cut: Cut) => Promise<never>): Step =>
    async (name, go) => {
      if (dead) return stop(dead);
      const counts = of === undefined || name === of;
      if (counts) steps += 1;
      const isLast = counts && steps === last;
      if (!isLast || moment === "after") {
        try {
          const result = await go();
          if (!isLast && !dead) return result;
        } catch (thrown) {
          // Calls in progress fail with their object, and no caller is left to get the error.
          if (!dead) throw thrown;
        }
      }
      dead ??= { step: last, moment, name };
      return stop(dead);
    };
  await reach?.(stepOf(() => Promise.reject(new Error("the object died"))));
  const step = stepOf((cut) => {
    kill(cut);
    return forever;
  });
  const bindings = interceptBindings({ ...world.deps.env, DB: world.meter.d1 }, step);
  const serving = world.serving.now;
  const finished = act(withVars(world, bindings)).then(() => null);
  const cut = await Promise.race([killed, finished]);
  if (cut) {
    // The call that died never ends.
    world.serving.now = serving;
    await restartObjects();
  }
  return cut;
}

/** A death after a step leaves the same storage as a death before the next step, so an act with many steps tests both only in whole runs. */
export const momentsOfMany = (): readonly Cut["moment"][] => (isWhole() ? MOMENTS : ["after"]);

/** The names of the steps at which an isolate died, without numbers. */
export const namesOf = (cuts: readonly Cut[]): string[] => cuts.map(({ moment, name }) => `${moment} ${name}`);

/** The names of all cuts of an act that has these steps. */
export const cutsOf = (steps: readonly string[], moments: readonly Cut["moment"][] = MOMENTS): string[] =>
  steps.flatMap((name) => moments.map((moment) => `${moment} ${name}`));

/** A step, with the number of rows left before it and, if the step changes that, after it. Steps that run concurrently with others have neither. */
export type Leaving = readonly [name: string, before?: string | number, after?: string | number];
export const cutsLeaving = (steps: readonly Leaving[], moments: readonly Cut["moment"][] = MOMENTS): string[] =>
  steps.flatMap(([name, before, after = before]) =>
    moments.map((moment) => leftAt({ name, moment }, moment === "before" ? before : after)),
  );
export const leftAt = ({ moment, name }: Pick<Cut, "moment" | "name">, left: string | number = "any"): string =>
  `${moment} ${name}: ${left}`;

/** Calls that the service does not wait for: when one ends, the next steps may already have had their effects. */
const BESIDE = ["OUTBOX_QUEUE.send", "IDEMPOTENCY.end"];
export const isBeside = ({ name }: Cut): boolean => BESIDE.includes(name);

/**
 * Kills the isolate before and after each step of an act, each time on a new stage, until an act runs to its end. Returns all cuts in order, which
 * the test compares with its list.
 */
export async function killAtEveryStep<Stage extends { readonly world: World }>(
  set: () => Promise<Stage>,
  act: (dying: World, stage: Stage) => Promise<unknown>,
  check: (stage: Stage, cut: Cut) => Promise<unknown>,
  moments: readonly Cut["moment"][] = MOMENTS,
  reach?: Reach,
): Promise<Cut[]> {
  const cuts: Cut[] = [];
  for (let step = 1; ; step++) {
    for (const moment of moments) {
      const stage = await set();
      const cut = await killAt(stage.world, { step, moment }, (dying) => act(dying, stage), reach);
      if (!cut) return cuts;
      cuts.push(cut);
      await check(stage, cut);
    }
  }
}
