// A case is one call, made anew each time so that it can be repeated. It prepares what it needs by calls that are not metered.
import type { Play } from "./play.ts";
import type { Ask } from "./wire.ts";

export type Case = {
  /** The operation as the OpenAPI document has it, or `job` and the job's name. */
  readonly route: string;
  /** The name of the case among several of one route. */
  readonly variant?: string;
  readonly status: number;
  readonly ask: (play: Play) => Ask | Promise<Ask>;
  /** The number of rows that the call may read beyond its budget, where it depends on stored rows. Read right before the call. */
  readonly moreRows?: (play: Play) => Promise<number>;
  /** The page is not full yet: it grows until it is, and its budget is that of a full page. */
  readonly filling?: true;
  /** Compared with the baselines: `read` in full slices, `effect` less often, because each call has to be prepared. */
  readonly timed?: "read" | "effect";
};

export const nameOf = ({ route, variant }: Pick<Case, "route" | "variant">): string =>
  variant ? `${route} (${variant})` : route;
