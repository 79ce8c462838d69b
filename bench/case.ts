// A case is one call, made again each time so that it can be repeated. Calls that prepare it are not metered.
import type { Play } from "./play.ts";
import type { Ask } from "./wire.ts";

export type Case = {
  /** The operation as the OpenAPI document names it, or `job` and the job's name. */
  readonly route: string;
  /** The name of the case among several of one route. */
  readonly variant?: string;
  readonly status: number;
  readonly ask: (play: Play) => Ask | Promise<Ask>;
  /** The number of rows that the call may read beyond its budget, if it depends on stored rows. Read right before the call. */
  readonly moreRows?: (play: Play) => Promise<number>;
  /** The page grows until it is full, and its budget is that of a full page. */
  readonly filling?: true;
  /** How it is compared with the baselines: `read` in full slices, `effect` less often, because each call has to be prepared. */
  readonly timed?: "read" | "effect";
};

export const nameOf = ({ route, variant }: Pick<Case, "route" | "variant">): string =>
  variant ? `${route} (${variant})` : route;
