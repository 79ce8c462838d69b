// What a sweep does with each that is due: one that somebody else was faster with is due again in a minute, and one that fails
// stops none of the others.
import { Conflict } from "../db/batch.ts";

/** Returns how many were done; `work` answers false where nothing was left to do. */
export async function sweepEach<T>(due: readonly T[], work: (one: T) => Promise<boolean>): Promise<number> {
  let done = 0;
  for (const one of due) {
    try {
      if (await work(one)) done += 1;
    } catch (thrown) {
      if (thrown instanceof Conflict) continue;
      const message = thrown instanceof Error ? thrown.message : "unknown";
      console.error(JSON.stringify({ event: "sweep_failed", message }));
    }
  }
  return done;
}
