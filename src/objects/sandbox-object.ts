// One object per platform records what fell due in its sandbox, part by part. Each of its calls is an invocation of its own with its own limit of
// database queries (JOB-12), so that an advance of the clock records everything before it answers (ACC-28).
import { DurableObject } from "cloudflare:workers";

/** Rows for one recorder. `ahead`: by how many milliseconds the caller's clock is ahead of real time. */
export type DuePart = { readonly recorder: string; readonly ids: readonly string[]; readonly ahead: number };

export abstract class SandboxObject<E = unknown> extends DurableObject<E> {
  private last: Promise<unknown> = Promise.resolve();

  /** Returns the rows that are not completely recorded yet. */
  abstract record(part: DuePart): Promise<string[]>;

  /** Runs `work` after all work that was requested before. An object does not serialise its own calls across an await. */
  protected inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.last.then(work, work);
    this.last = turn;
    return turn;
  }
}
