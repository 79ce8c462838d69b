// The death of an isolate at a chosen step: what it had begun stops there for ever, nothing of it is caught or cleaned up, and the Durable
// Objects begin again from their storage. A step is a call of a binding: a batch of the database, a method of an object, a file, a message.
import { interceptBindings, type Step } from "./bindings.ts";
import { restartObjects } from "./readings.ts";
import { isWhole } from "./scale.ts";
import { withVars } from "./variants.ts";
import type { World } from "./world.ts";

export type Cut = {
  /** From 1. */
  readonly step: number;
  /** Whether the step had its effect. */
  readonly moment: "before" | "after";
  /** The binding and the method, as in `DB.batch`. */
  readonly name: string;
};
const MOMENTS = ["before", "after"] as const;

/** Makes calls that an object makes itself steps of the act. Once the isolate is dead they fail, so that the object has no more effect. */
type Reach = (step: Step) => Promise<unknown>;

/** Runs the act in an isolate that dies at a step; with `of`, steps of that name alone count. Null when the act came to its end before. */
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
          // What was under way fails with its object, and nobody is left to learn of it.
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

/** A death after a step leaves in storage what a death before the next step leaves: an act of many steps takes both in whole runs alone. */
export const momentsOfMany = (): readonly Cut["moment"][] => (isWhole() ? MOMENTS : ["after"]);

/** Each step at which an isolate died, without its number. */
export const namesOf = (cuts: readonly Cut[]): string[] => cuts.map(({ moment, name }) => `${moment} ${name}`);

/** The names of all cuts of an act that has these steps. */
export const cutsOf = (steps: readonly string[], moments: readonly Cut["moment"][] = MOMENTS): string[] =>
  steps.flatMap((name) => moments.map((moment) => `${moment} ${name}`));

/** A step, with what is left before it and, where it changes that, after it; with neither where others run beside it. */
export type Leaving = readonly [name: string, before?: string | number, after?: string | number];
export const cutsLeaving = (steps: readonly Leaving[], moments: readonly Cut["moment"][] = MOMENTS): string[] =>
  steps.flatMap(([name, before, after = before]) =>
    moments.map((moment) => leftAt({ name, moment }, moment === "before" ? before : after)),
  );
export const leftAt = ({ moment, name }: Pick<Cut, "moment" | "name">, left: string | number = "any"): string =>
  `${moment} ${name}: ${left}`;

/** The call is not waited for: when it ends, the next steps may have had their effects. */
const BESIDE = ["OUTBOX_QUEUE.send", "IDEMPOTENCY.end"];
export const isBeside = ({ name }: Cut): boolean => BESIDE.includes(name);

/**
 * Kills the isolate before and after each step of an act, each time on a new stage, until an act comes to its end. Returns all cuts, in
 * order: the test says which they are.
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
