// A request as the router hands it on: parsed as far as it can be, with everything that the entrances need of it.
import type { Deps } from "../context.ts";
import type { Database } from "../db/batch.ts";
import type { AppContext } from "./app-env.ts";
import type { Route } from "./route.ts";

export type Incoming = {
  readonly context: AppContext;
  readonly deps: Deps;
  /** Where the call reads: the primary, or a copy where the route allows it. */
  readonly db: Database;
  readonly requestId: string;
  readonly background: (work: Promise<unknown>) => void;
  readonly url: URL;
  readonly rawBody: Uint8Array<ArrayBuffer>;
  /** As it was read; `validBody` once the schema has passed it. */
  readonly body: unknown;
  readonly validBody: unknown;
  readonly route: Route;
  /** Null when there is none, the route takes none, or it is malformed (then the call is refused). */
  readonly idempotencyKey: string | null;
  /** The agent whose lock the call takes first. */
  readonly lockedDid: string | null;
};
