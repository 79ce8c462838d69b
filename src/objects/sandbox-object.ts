// One object per platform: records what fell due in its sandbox, part by part. Each of its calls is an invocation of its own, with the queries
// of the database that one may send (JOB-12), so an advance of the clock records all before it answers (ACC-28).
import { DurableObject } from "cloudflare:workers";

/** Rows that one recorder records. `ahead`: by how many milliseconds the caller's own clock is ahead of real time. */
export type DuePart = { readonly recorder: string; readonly ids: readonly string[]; readonly ahead: number };

export abstract class SandboxObject<E = unknown> extends DurableObject<E> {
  private last: Promise<unknown> = Promise.resolve();

  /** Returns the rows that were recorded in part. */
  abstract record(part: DuePart): Promise<string[]>;

  /** After all that were asked for before. An object does not serialise its own calls across an await. */
  protected inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.last.then(work, work);
    this.last = turn;
    return turn;
  }
}
