// One call, made anew every time it is asked for, so that it can be repeated. What it needs beforehand it arranges itself, past the meter.
import type { Play } from "./play.ts";
import type { Ask } from "./wire.ts";

export type Case = {
  /** The operation as the OpenAPI document has it, or `job` and the job's name. */
  readonly route: string;
  /** Which of the route's cases, where it has several. */
  readonly variant?: string;
  readonly status: number;
  readonly ask: (play: Play) => Ask | Promise<Ask>;
  /** How many rows the call may read beside its budget, where that depends on what is stored. Asked right before the call. */
  readonly moreRows?: (play: Play) => Promise<number>;
  /** A page that is not full yet: it grows until it is, and its budget is that of a full one. */
  readonly filling?: true;
  /** Timed against the baselines: `read` in full slices, `effect` less often, since each call needs an arrangement. */
  readonly timed?: "read" | "effect";
};

export const nameOf = ({ route, variant }: Pick<Case, "route" | "variant">): string =>
  variant ? `${route} (${variant})` : route;
